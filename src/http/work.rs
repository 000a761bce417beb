//! The workspace door over REST: `/api/v1/workspaces` (`access` 4.1, 6.2).
//!
//! What must stay true: routes are the rows of the registry and nothing else; who asks is known before
//! the body is read; a cookie changes nothing unless a page of this server sent it. Deliberately absent:
//! any rule of a workspace.

mod answer;
mod identity;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use actix_web::http::Method;
use actix_web::http::header::{self, HeaderValue};
use actix_web::web::{self, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Map, Value};

use super::agent::{key_of, segment};
use super::arrival;
use super::door::{Door, Doors};
use super::permits::Demand;
use super::pipeline::{self, Exchange, Stop};
use super::query::Query;
use super::surface::Surface;
use crate::app::idempotency::IdempotencyKey;
use crate::app::problem::{Code, Problem};
use crate::app::work::arguments::{Arguments, Field, Kind};
use crate::app::work::caller::WorkCaller;
use crate::app::work::operations::{Haste, Keyed, OPERATIONS, Operation, Who, of_route};
use crate::app::work::{Ask, policy};
use crate::strict_json;

pub(crate) use answer::envelope;
pub(super) use answer::{limited, problem};
pub(crate) use identity::bearer;

/// Every route of this door.
pub fn routes() -> impl Iterator<Item = (&'static str, &'static str)> {
    OPERATIONS.iter().map(|one| (one.method, one.path))
}

pub fn configure(config: &mut ServiceConfig) {
    let paths: BTreeSet<&str> = OPERATIONS.iter().map(|one| one.path).collect();
    for path in paths {
        config.service(web::resource(path).default_service(web::to(handle)));
    }
}

async fn handle(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    let started = Instant::now();
    let mut exchange = Exchange::of(&door, &request, Surface::Workspace);
    let pattern = request.match_pattern().unwrap_or_default();
    let answered = match of_route(request.method().as_str(), &pattern) {
        Some(operation) => serve(&door, &request, payload, operation, &mut exchange).await,
        None => arrival::check(&door, &request, &mut exchange)
            .and(Err(Problem::new(Code::MethodNotAllowed).into())),
    };
    let mut response = pipeline::conclude(&door, &request, &exchange, answered, started);
    if response.status() == 405
        && let Ok(allowed) = HeaderValue::from_str(&methods_of(&pattern))
    {
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

fn methods_of(pattern: &str) -> String {
    let methods: BTreeSet<&str> = routes()
        .filter(|(_, path)| *path == pattern)
        .map(|(method, _)| method)
        .collect();
    methods.into_iter().collect::<Vec<_>>().join(", ")
}

/// The steps of `access` 4.1 in their order.
async fn serve(
    door: &Arc<Doors>,
    request: &HttpRequest,
    payload: Payload,
    operation: &'static Operation,
    exchange: &mut Exchange,
) -> Result<HttpResponse, Stop> {
    arrival::check(door, request, exchange)?;
    pipeline::check_encoding(request)?;
    let demand = match operation.demand {
        Haste::Ordinary => Demand::Ordinary,
        Haste::Withdrawal => Demand::Withdrawal,
    };
    let caller = identity::of(door, request, demand).await?;
    let limits = door.limits(exchange.surface);
    let principal = caller.row_id.to_string();
    let verdict = limits.by_principal.hit(&principal, pipeline::now_ms(door));
    pipeline::count(exchange, verdict)?;
    let wish = wish(limits.body, request, payload, operation, &caller).await;
    let workspace = operation
        .path
        .contains("{workspace_id}")
        .then(|| segment(request, "workspace_id"));
    let ask = |Wish { arguments, key }| Ask {
        caller: &caller,
        operation,
        workspace: workspace.as_deref(),
        key,
        arguments,
    };
    let work = async {
        match wish {
            Ok(wish) => door.work.perform(&ask(wish)).await,
            Err(problem) => Err(door.work.refused(&ask(Wish::default()), problem).await),
        }
        .map(|answer| answer::of(&answer))
    };
    pipeline::placed(door, demand, work).await
}

/// What is wished for besides the operation.
#[derive(Debug, Default)]
struct Wish {
    arguments: Arguments,
    key: Option<IdempotencyKey>,
}

async fn wish(
    limit: usize,
    request: &HttpRequest,
    payload: Payload,
    operation: &Operation,
    caller: &WorkCaller,
) -> Result<Wish, Problem> {
    policy::admit(caller, operation)?;
    // Nothing is read for what does not exist yet.
    let arguments = if operation.who == Who::Unbuilt {
        Arguments::default()
    } else {
        arguments(limit, request, payload, operation).await?
    };
    let key = match operation.keyed {
        Keyed::Yes => Some(key_of(request)?),
        Keyed::No => None,
    };
    Ok(Wish { arguments, key })
}

/// Path, query and body as one strict object.
async fn arguments(
    limit: usize,
    request: &HttpRequest,
    payload: Payload,
    operation: &Operation,
) -> Result<Arguments, Problem> {
    let query = Query::decode(request.query_string())?;
    let has_body = matches!(*request.method(), Method::POST | Method::PATCH);
    let mut sent = if has_body {
        query.read().finish()?;
        body(limit, request, payload).await?
    } else {
        Value::Object(asked(&query, operation)?)
    };
    if let Value::Object(members) = &mut sent {
        for field in operation
            .fields
            .iter()
            .filter(|field| in_path(operation, field))
        {
            if members.contains_key(field.name) {
                let text = format!("unrecognized keys: {} stands in the path.", field.name);
                return Err(Problem::invalid(text));
            }
            members.insert(field.name.to_owned(), segment(request, field.name).into());
        }
    }
    Arguments::check(&sent, operation.fields)
}

fn in_path(operation: &Operation, field: &Field) -> bool {
    operation.path.contains(&format!("{{{}}}", field.name))
}

/// The members that a query spells. What is no number stays a text, and is refused as one.
fn asked(query: &Query, operation: &Operation) -> Result<Map<String, Value>, Problem> {
    let mut read = query.read();
    let mut members = Map::new();
    for field in operation
        .fields
        .iter()
        .filter(|field| !in_path(operation, field))
    {
        let Some(text) = read.text(field.name) else {
            continue;
        };
        let digits =
            !text.is_empty() && text.len() <= 15 && text.bytes().all(|b| b.is_ascii_digit());
        let value = match (field.kind, text.parse::<u64>()) {
            (Kind::Number(..), Ok(number)) if digits => Value::from(number),
            _ => Value::from(text),
        };
        members.insert(field.name.to_owned(), value);
    }
    read.finish()?;
    Ok(members)
}

/// The body; nothing is an empty object.
async fn body(limit: usize, request: &HttpRequest, payload: Payload) -> Result<Value, Problem> {
    let bytes = pipeline::read_bytes(limit, request, payload).await?;
    if bytes.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    strict_json::read(&bytes).map_err(|error| {
        Problem::invalid(format!(
            "The body is not one strict JSON value: {} at byte {}.",
            error.fault, error.offset
        ))
    })
}
