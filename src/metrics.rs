//! What the process counts, prefix `helix_`, base units, low cardinality.

use std::sync::Arc;

use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry, TextEncoder,
};

/// All metrics of one server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Metrics {
    inner: Arc<Inner>,
}

impl std::ops::Deref for Metrics {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.inner
    }
}

#[derive(Debug)]
pub struct Inner {
    registry: Registry,
    pub requests: HistogramVec,
    pub connections_cut: IntCounterVec,
    pub requests_waiting: IntGaugeVec,
    pub requests_shed: IntCounterVec,
    pub turns: HistogramVec,
    pub turns_running: IntGauge,
    pub idempotency: IntCounterVec,
    pub version_conflicts: IntCounter,
    pub appended_events: IntCounter,
    pub append_conflicts: IntCounter,
    pub append_queue: IntGauge,
    pub flush_commands: Histogram,
    pub flush_seconds: Histogram,
    pub flush_splits: IntCounter,
    pub pool_connections: IntGaugeVec,
    pub projection_lag: IntGaugeVec,
    pub projection_parked: IntGaugeVec,
    pub recovered: IntCounterVec,
    pub webhook_attempts: HistogramVec,
    pub webhook_messages: IntCounterVec,
    pub webhook_waiting: IntGauge,
    pub webhook_oldest: IntGauge,
    pub webhook_disabled: IntGauge,
    pub webhook_lag: IntGauge,
}

const SECONDS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0,
];

impl Metrics {
    /// Registers every metric once.
    #[rustfmt::skip]
    pub fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let r = &registry;
        let inner = Inner {
            requests: histograms(r, "http_request_duration_seconds", "Time to answer a request.", &["route", "method", "code"])?,
            connections_cut: counters(r, "http_connections_cut_total", "Connections ended because what came was no request, or came too late.", &["reason"])?,
            requests_waiting: gauges(r, "http_requests_waiting", "Requests that wait for a place, by whose places they are.", &["places"])?,
            requests_shed: counters(r, "http_requests_shed_total", "Requests turned away for want of a place.", &["places", "reason"])?,
            turns: histograms(r, "turn_duration_seconds", "Time a turn took, by how it ended.", &["outcome"])?,
            turns_running: gauge(r, "turns_running", "Turns executing in this process.")?,
            idempotency: counters(r, "idempotency_total", "Keyed operations, by result.", &["result"])?,
            version_conflicts: counter(r, "version_conflicts_total", "Commands refused for a stale version.")?,
            appended_events: counter(r, "events_appended_total", "Events committed by this process.")?,
            append_conflicts: counter(r, "append_conflicts_total", "Appends refused because a stream head moved.")?,
            append_queue: gauge(r, "append_queue_depth", "Commands waiting for a flush.")?,
            flush_commands: histogram(r, "flush_commands", "Commands in one flush.", &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0])?,
            flush_seconds: histogram(r, "flush_duration_seconds", "Time of one flush, its commit included.", SECONDS)?,
            flush_splits: counter(r, "flush_splits_total", "Flushes split because a part was refused.")?,
            pool_connections: gauges(r, "pool_connections", "Database connections, by state.", &["state"])?,
            projection_lag: gauges(r, "projection_lag_events", "Events a projection has not folded yet.", &["projection"])?,
            projection_parked: gauges(r, "projection_parked_streams", "Streams parked by a projection.", &["projection"])?,
            recovered: counters(r, "runs_swept_total", "Runs changed by the sweeper, by transition.", &["transition"])?,
            webhook_attempts: histograms(r, "webhook_attempt_duration_seconds", "Time of one attempt to deliver a webhook message, by result.", &["result"])?,
            webhook_messages: counters(r, "webhook_messages_total", "Webhook messages made by this process, and ended by it.", &["result"])?,
            webhook_waiting: gauge(r, "webhook_waiting_messages", "Webhook messages that wait to be delivered.")?,
            webhook_oldest: gauge(r, "webhook_oldest_waiting_seconds", "Age of the oldest webhook message that waits.")?,
            webhook_disabled: gauge(r, "webhook_disabled_endpoints", "Webhook endpoints that are disabled.")?,
            webhook_lag: gauge(r, "webhook_lag_events", "Events that nobody has looked at for webhook endpoints.")?,
            registry,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// The Prometheus text form.
    pub fn render(&self) -> Result<String, prometheus::Error> {
        let mut out = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

fn opts(name: &str, help: &str) -> Opts {
    Opts::new(format!("helix_{name}"), help)
}

fn register<C: prometheus::core::Collector + Clone + 'static>(
    registry: &Registry,
    metric: C,
) -> Result<C, prometheus::Error> {
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

fn counter(registry: &Registry, name: &str, help: &str) -> Result<IntCounter, prometheus::Error> {
    register(registry, IntCounter::with_opts(opts(name, help))?)
}

fn gauge(registry: &Registry, name: &str, help: &str) -> Result<IntGauge, prometheus::Error> {
    register(registry, IntGauge::with_opts(opts(name, help))?)
}

fn counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntCounterVec, prometheus::Error> {
    register(registry, IntCounterVec::new(opts(name, help), labels)?)
}

fn gauges(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntGaugeVec, prometheus::Error> {
    register(registry, IntGaugeVec::new(opts(name, help), labels)?)
}

fn histogram(
    registry: &Registry,
    name: &str,
    help: &str,
    buckets: &[f64],
) -> Result<Histogram, prometheus::Error> {
    let options = HistogramOpts::from(opts(name, help)).buckets(buckets.to_vec());
    register(registry, Histogram::with_opts(options)?)
}

fn histograms(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<HistogramVec, prometheus::Error> {
    let options = HistogramOpts::from(opts(name, help)).buckets(SECONDS.to_vec());
    register(registry, HistogramVec::new(options, labels)?)
}
