//! Listeners: the doors on one, metrics on another.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use actix_http::{HttpService, Protocol};
use actix_service::{ServiceFactoryExt, fn_service, map_config};
use actix_web::dev::{AppConfig, Server, ServerHandle};
use actix_web::rt::net::TcpStream;
use actix_web::web::{self, Data};
use actix_web::{App, HttpResponse, HttpServer};

use super::door::Readiness;
use super::head_guard::{Guarded, Patience, router};
use super::pipeline::BODY_TIMEOUT;
use super::{
    agent, discovery, hang_up, health, oauth, protected_resource, session_lane, work, workers,
};
use crate::browser;
use crate::metrics::Metrics;

/// Time for a client to send its request head (`access` 12).
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// After what the guard or the router allows, before the next line of defence acts: their answers
/// are the better ones.
const GRACE: Duration = Duration::from_secs(2);
const PATIENCE: Patience = Patience {
    head: HEAD_TIMEOUT,
    body: BODY_TIMEOUT.saturating_add(GRACE),
};
/// Time for requests in flight to end when the server stops.
const DRAIN: u64 = 10;
/// Open connections a worker thread serves at once.
const CONNECTIONS: usize = 4_096;
/// Connections that may wait to be accepted; the system may allow fewer (`net.core.somaxconn`).
const BACKLOG: i32 = 4_096;

/// Serves the doors on a bound listener. Signals are the caller's business.
pub fn doors(
    listener: TcpListener,
    readiness: Readiness,
    metrics: Metrics,
) -> std::io::Result<Server> {
    let builder = Server::build()
        .workers(std::thread::available_parallelism().map_or(2, usize::from))
        .max_concurrent_connections(CONNECTIONS)
        .shutdown_timeout(DRAIN)
        .disable_signals();
    let stopping = builder.graceful_shutdown_signal();
    let address = listener.local_addr()?;
    let connections = move || {
        let app = App::new()
            .app_data(Data::new(readiness.clone()))
            .configure(health::configure)
            .configure(agent::configure)
            .configure(workers::configure)
            .configure(work::configure)
            .configure(crate::mcp::configure)
            .configure(protected_resource::configure)
            .configure(oauth::configure)
            .configure(session_lane::configure)
            .configure(discovery::configure)
            .configure(browser::configure)
            .default_service(web::to(agent::unknown_path))
            .wrap_fn(router::answer);
        // Nothing asks actix-web for its own name or address, so its defaults may stand.
        let service = map_config(app, |()| AppConfig::default())
            .map_err(|error: actix_web::Error| error.error_response());
        let stopping = stopping.clone();
        let http = HttpService::build()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            .keep_alive(Duration::from_secs(75))
            .client_request_timeout(HEAD_TIMEOUT + GRACE)
            .client_disconnect_timeout(Duration::from_secs(2))
            .local_addr(address)
            .on_connect_ext(|guarded: &Guarded<TcpStream>, data| {
                data.insert(guarded.ledger());
                hang_up::watch(guarded.socket(), data);
            })
            .finish(service);
        let metrics = metrics.clone();
        fn_service(move |socket: TcpStream| {
            let peer = socket.peer_addr().ok();
            let guarded = Guarded::new(socket, PATIENCE, metrics.clone());
            std::future::ready(Ok((guarded, Protocol::Http1, peer)))
        })
        .and_then(http)
    };
    Ok(builder.listen("doors", listener, connections)?.run())
}

/// Serves `/metrics`, and nothing else.
pub fn metrics(listener: TcpListener, metrics: Metrics) -> std::io::Result<Server> {
    let server = HttpServer::new(move || {
        App::new()
            .app_data(Data::new(metrics.clone()))
            .route("/metrics", web::get().to(exposition))
    })
    .workers(1)
    .client_request_timeout(HEAD_TIMEOUT)
    .shutdown_timeout(1)
    .disable_signals()
    .listen(listener)?;
    Ok(server.run())
}

async fn exposition(metrics: Data<Metrics>) -> HttpResponse {
    match metrics.render() {
        Ok(text) => HttpResponse::Ok()
            .content_type("text/plain; version=0.0.4; charset=utf-8")
            .body(text),
        Err(_) => HttpResponse::InternalServerError().finish(),
    }
}

/// Binds without listening to anyone yet, so that a taken port is reported before anything starts.
pub fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    // The standard library lets 128 wait. Whoever comes on top of that believes to be connected and never
    // hears of the server again.
    rustix::net::listen(&listener, BACKLOG)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Stops a server: in-flight requests get their time when `graceful`.
pub async fn stop(handle: &ServerHandle, graceful: bool) {
    handle.stop(graceful).await;
}
