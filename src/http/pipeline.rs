//! The steps every request of the run door takes, in the contract's order (`agent-api` 1.2). The
//! request id comes first, so that every refusal carries one (settled question 3).

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::http::Method;
use actix_web::http::header::HeaderValue;
use actix_web::web::{Bytes, BytesMut, Payload};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::StreamExt;
use helix_aggregates::ids::OwnerTuple;
use serde_json::{Value, json};

use super::door::Doors;
use super::permits::Demand;
use super::query::{Query, percent_decoded};
use super::rate_limit::{Verdict, principal_key};
use super::surface::Surface;
use super::{arrival, request_id, respond};
use crate::app::access::admission::Identity;
use crate::app::access::grants::ACCESS_KIND;
use crate::app::caller::Caller;
use crate::app::problem::{Code, Problem};
use crate::app::redaction;
use crate::auth::bearer::{BearerError, Presented, VerifiedToken};
use crate::auth::{issued_bearer, oauth};
use crate::strict_json;
use crate::telemetry::millis;

/// The media type of a form.
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// A body must have arrived by then (`access` 12).
pub(super) const BODY_TIMEOUT: Duration = Duration::from_secs(15);
/// What is not a turn, a poll or a stream is answered by then (`access` 12). What a keyed request
/// did after that, its key tells.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(30);

/// What is known of one request and will stand in its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    pub surface: Surface,
    pub request_id: String,
    /// The id as logs may show it: a caller's own is free text.
    pub(crate) logged_id: String,
    pub wants_problem_json: bool,
    /// The admitted origin of a page that asks: the answer names it, refusals included.
    pub origin: Option<HeaderValue>,
    /// The limiter that judged last.
    pub limit: Option<Verdict>,
}

/// A request that passed every step.
#[derive(Debug)]
pub struct Admitted {
    pub caller: Caller,
    pub query: Query,
    /// `Null` for requests without a body.
    pub body: Value,
}

/// How a request left the pipeline early.
#[derive(Debug)]
pub(crate) enum Stop {
    Limited(Verdict),
    Problem(Problem),
}

impl Stop {
    /// As one problem, for pages.
    pub(crate) fn into_problem(self) -> Problem {
        match self {
            Self::Problem(problem) => problem,
            Self::Limited(verdict) => Problem {
                retry_after: u32::try_from(verdict.retry_after_s).ok(),
                ..Problem::new(Code::TooMany)
            },
        }
    }
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// Takes a request through the pipeline and, if it passes, to its handler.
pub async fn serve<F, H>(
    door: &Arc<Doors>,
    request: &HttpRequest,
    payload: Payload,
    demand: Demand,
    handler: H,
) -> HttpResponse
where
    H: FnOnce(Admitted) -> F,
    F: Future<Output = Result<HttpResponse, Problem>>,
{
    let started = Instant::now();
    let mut exchange = Exchange::of(door, request, Surface::RunRest);
    let admitted = admit(door, request, payload, demand, &mut exchange).await;
    let answered = match admitted {
        Ok(admitted) => {
            let done = placed(door, demand, handler(admitted)).await;
            says_why(door, request, demand, done).await
        }
        Err(stop) => Err(stop),
    };
    conclude(door, request, &exchange, answered, started)
}

/// What may be said of a credential that died while its request was under way, found by looking it up
/// again: revoked, paused and unlinked are told apart (`access` 2, 4.1).
pub(crate) async fn says_why<T>(
    door: &Doors,
    request: &HttpRequest,
    demand: Demand,
    done: Result<T, Stop>,
) -> Result<T, Stop> {
    match done {
        Err(Stop::Problem(problem)) if problem.code == Code::CredentialEnded => {
            let now = identify(door, request, demand).await;
            // It lives again, or is another one: what was refused stays refused.
            Err(now.err().unwrap_or(problem).into())
        }
        done => done,
    }
}

/// Does `work` once there is a place for it.
pub(crate) async fn placed<T, P: Into<Stop>>(
    door: &Doors,
    demand: Demand,
    work: impl Future<Output = Result<T, P>>,
) -> Result<T, Stop> {
    let _place = door.permits.enter(demand).await?;
    let done = match demand {
        Demand::Waiting => work.await,
        Demand::Ordinary | Demand::Withdrawal => {
            let late = |_| Problem::new(Code::Unavailable).because("no answer in time");
            tokio::time::timeout(TOTAL_TIMEOUT, work)
                .await
                .map_err(late)?
        }
    };
    done.map_err(Into::into)
}

/// Answers a request that no handler takes. Where it comes from is judged all the same.
pub fn refuse(door: &Doors, request: &HttpRequest, problem: Problem) -> HttpResponse {
    let started = Instant::now();
    let mut exchange = Exchange::of(door, request, Surface::RunRest);
    let answered = arrival::check(door, request, &mut exchange).and(Err(Stop::Problem(problem)));
    conclude(door, request, &exchange, answered, started)
}

/// Renders, counts and logs the end of a request.
pub(crate) fn conclude(
    door: &Doors,
    request: &HttpRequest,
    exchange: &Exchange,
    answered: Result<HttpResponse, Stop>,
    started: Instant,
) -> HttpResponse {
    let (response, code, cause) = match answered {
        Ok(response) => (response, "ok", None),
        Err(Stop::Limited(verdict)) => (
            respond::limited(&verdict, exchange, &door.base),
            "rate_limited",
            None,
        ),
        Err(Stop::Problem(problem)) => {
            let code = problem.code.row().code;
            let response = respond::problem(&problem, exchange, &door.base);
            (response, code, problem.cause)
        }
    };
    let response = respond::finish(response, exchange);
    record(
        door,
        request,
        exchange,
        &response,
        code,
        cause.as_deref(),
        started,
    );
    response
}

impl Exchange {
    pub(crate) fn of(door: &Doors, request: &HttpRequest, surface: Surface) -> Self {
        let sent = sole(request, "x-request-id").map(HeaderValue::as_bytes);
        let mut made = false;
        let request_id = request_id::assign(sent, surface.origin(), || {
            made = true;
            door.runs.core().ids.uuid()
        });
        let logged_id = if made {
            request_id.clone()
        } else {
            request_id::fingerprint(&request_id)
        };
        Self {
            surface,
            request_id,
            logged_id,
            wants_problem_json: accepts(request, "application/problem+json"),
            origin: arrival::admitted_origin(door, request),
            limit: None,
        }
    }
}

async fn admit(
    door: &Arc<Doors>,
    request: &HttpRequest,
    payload: Payload,
    demand: Demand,
    exchange: &mut Exchange,
) -> Result<Admitted, Stop> {
    arrival::check(door, request, exchange)?;
    let limit = door.limits(exchange.surface).body;
    let body = read_body(limit, request, payload).await?;
    let query = Query::decode(request.query_string())?;
    // The text as it stood in the address too: some shapes are a name and its value, and one begins
    // with the question mark.
    let raw = percent_decoded(&format!("?{}", request.query_string()));
    if redaction::is_protected(&json!([query.to_value(), raw, body])) {
        return Err(Problem::credential_material().into());
    }
    let caller = identify(door, request, demand).await?;
    charge(door, exchange, &caller)?;
    Ok(Admitted {
        caller,
        query,
        body,
    })
}

/// Who sends the request: token, then account.
pub(crate) async fn identify(
    door: &Doors,
    request: &HttpRequest,
    demand: Demand,
) -> Result<Caller, Problem> {
    let line = demand.line();
    if let Some(apps) = &door.apps
        && apps.opens(oauth::resource::Door::Agent)
    {
        let authorization: Vec<&[u8]> = values(request, "authorization").collect();
        let hash = issued_bearer::presented(ACCESS_KIND, &authorization)?;
        let _turn = door.permits.come_in(demand).await?;
        let issuer = apps.grants.issuer();
        let caller = door.admission.admit_app(&hash, issuer, line).await?;
        return same_tenant(request, caller);
    }
    let token = authenticate(door, request).await?;
    let identity = Identity {
        issuer: token.issuer,
        tenant: token.tenant,
        provider: token.provider,
        subject: token.subject,
        scopes: token.scopes,
    };
    let _turn = door.permits.come_in(demand).await?;
    door.admission.admit(identity, line).await
}

/// A tenant header is a claim about the token, and must agree with it (`agent-api` 11.2).
fn same_tenant(request: &HttpRequest, caller: Caller) -> Result<Caller, Problem> {
    let tenant = caller.owner.tenant.as_bytes();
    if tenant_headers(request).any(|header| header != tenant) {
        return Err(Problem::new(Code::TenantMismatch));
    }
    Ok(caller)
}

fn tenant_headers(request: &HttpRequest) -> impl Iterator<Item = &[u8]> {
    ["x-tenant-id", "x-customer-id", "x-org-id"]
        .into_iter()
        .flat_map(|name| values(request, name))
}

/// Counts one operation of `caller` against the principal's limit.
pub(crate) fn charge(door: &Doors, exchange: &mut Exchange, caller: &Caller) -> Result<(), Stop> {
    let OwnerTuple {
        tenant,
        issuer,
        subject,
        ..
    } = &caller.owner;
    let key = principal_key(tenant, issuer, subject);
    let limits = door.limits(exchange.surface);
    count(exchange, limits.by_principal.hit(&key, now_ms(door)))
}

pub(crate) fn now_ms(door: &Doors) -> u64 {
    u64::try_from(door.runs.core().clock.now().millis()).unwrap_or(0)
}

/// Notes a limiter's verdict; both write the same headers, so the last one is what clients see.
pub(crate) fn count(exchange: &mut Exchange, verdict: Option<Verdict>) -> Result<(), Stop> {
    let Some(verdict) = verdict else {
        return Ok(());
    };
    exchange.limit = Some(verdict);
    if verdict.allowed {
        Ok(())
    } else {
        Err(Stop::Limited(verdict))
    }
}

pub(crate) async fn read_body(
    limit: usize,
    request: &HttpRequest,
    payload: Payload,
) -> Result<Value, Problem> {
    check_encoding(request)?;
    if request.method() != Method::POST {
        return Ok(Value::Null);
    }
    let bytes = read_bytes(limit, request, payload).await?;
    strict_json::read(&bytes).map_err(|error| {
        Problem::invalid(format!(
            "The body is not one strict JSON value: {} at byte {}.",
            error.fault, error.offset
        ))
    })
}

pub(crate) fn check_encoding(request: &HttpRequest) -> Result<(), Problem> {
    if request.headers().contains_key("content-encoding") {
        return Err(Problem::new(Code::EncodingNotSupported));
    }
    Ok(())
}

/// The body, bounded in bytes and time.
pub(crate) async fn read_bytes(
    limit: usize,
    request: &HttpRequest,
    payload: Payload,
) -> Result<Bytes, Problem> {
    let announced =
        header_text(request, "content-length").and_then(|text| text.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limit as u64) {
        return Err(Problem::new(Code::BodyTooLarge));
    }
    tokio::time::timeout(BODY_TIMEOUT, collect(payload, limit))
        .await
        .map_err(|_| Problem::new(Code::BodyTimeout))?
}

async fn collect(mut payload: Payload, limit: usize) -> Result<Bytes, Problem> {
    let mut body = BytesMut::new();
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| Problem::invalid("The body was cut off."))?;
        if body.len() + chunk.len() > limit {
            return Err(Problem::new(Code::BodyTooLarge));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

async fn authenticate(door: &Doors, request: &HttpRequest) -> Result<VerifiedToken, Problem> {
    let authorization: Vec<&[u8]> = values(request, "authorization").collect();
    let tenants: Vec<&[u8]> = tenant_headers(request).collect();
    let presented = Presented {
        authorization: &authorization,
        tenants: &tenants,
    };
    let now = door.runs.core().clock.now().millis();
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds of this age are exact in a double"
    )]
    let now = now as f64 / 1_000.0;
    door.verifier
        .verify(presented, now)
        .await
        .map_err(|error| match error {
            BearerError::TwoAuthorizationHeaders => {
                Problem::invalid("Send one Authorization header.")
            }
            BearerError::Unauthorized => Problem::new(Code::Unauthorized),
            BearerError::TenantRequired => Problem::new(Code::TenantRequired),
            BearerError::TenantMismatch => Problem::new(Code::TenantMismatch),
            BearerError::NotConfigured | BearerError::KeysUnavailable => {
                Problem::new(Code::AuthNotConfigured).because(error)
            }
        })
}

/// A header that stands exactly once.
pub(crate) fn sole<'r>(request: &'r HttpRequest, name: &'static str) -> Option<&'r HeaderValue> {
    let mut sent = request.headers().get_all(name);
    sent.next().filter(|_| sent.next().is_none())
}

pub(crate) fn values<'r>(
    request: &'r HttpRequest,
    name: &'static str,
) -> impl Iterator<Item = &'r [u8]> {
    request.headers().get_all(name).map(HeaderValue::as_bytes)
}

pub fn header_text<'r>(request: &'r HttpRequest, name: &str) -> Option<&'r str> {
    request
        .headers()
        .get(name)
        .and_then(|value| value.to_str().ok())
}

/// Whether the body is said to be of this media type, whatever its parameters.
pub(crate) fn has_media_type(request: &HttpRequest, media_type: &str) -> bool {
    header_text(request, "content-type").is_some_and(|value| {
        let name = value.split(';').next().unwrap_or_default();
        name.trim().eq_ignore_ascii_case(media_type)
    })
}

pub fn accepts(request: &HttpRequest, media_type: &str) -> bool {
    header_text(request, "accept").is_some_and(|accept| {
        accept.split(',').any(|part| {
            part.split(';')
                .next()
                .is_some_and(|name| name.trim().eq_ignore_ascii_case(media_type))
        })
    })
}

/// One readable line and one observation a request; no text of the caller in either.
fn record(
    door: &Doors,
    request: &HttpRequest,
    exchange: &Exchange,
    response: &HttpResponse,
    code: &str,
    cause: Option<&str>,
    started: Instant,
) {
    let route = route_of(request).unwrap_or_else(|| "unmatched".to_owned());
    let elapsed = started.elapsed().as_secs_f64();
    let status = response.status().as_u16();
    door.metrics
        .requests
        .with_label_values(&[route.as_str(), method_label(request.method()), code])
        .observe(elapsed);
    let duration_ms = millis(elapsed);
    let request_id = exchange.logged_id.as_str();
    match cause {
        Some(cause) if status >= 500 => {
            tracing::error!(request.id = request_id, %route, status, code, duration_ms, cause, "request failed");
        }
        _ => tracing::info!(request.id = request_id, %route, status, code, duration_ms, "request"),
    }
}

/// The route's pattern as the contract writes it, without the router's regex.
pub fn route_of(request: &HttpRequest) -> Option<String> {
    request
        .match_pattern()
        .map(|pattern| pattern.replace(":.+}", "}"))
}

/// Methods are caller's text: only known ones become a label.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
