//! Browser lanes of an account: JSON for the pages of this very origin (`agent-api` 8.1, 8.5).
//!
//! What must stay true: the cookie alone changes nothing, since whatever changes something must state
//! this origin twice, in `Origin` and in `Sec-Fetch-Site`; no answer names a subject or a bearer.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use actix_web::http::{Method, StatusCode, header};
use actix_web::web::{self, Path, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;

use super::arrival::{self, OriginRule};
use super::door::{Door, Doors};
use super::permits::Demand;
use super::pipeline::{self, Exchange, Stop, values};
use super::respond;
use super::surface::Surface;
use crate::app::access::accounts::AccountsError;
use crate::app::access::sign_in::Person;
use crate::app::problem::{Code, Problem};
use crate::auth::session;

const BINDINGS: &str = "/api/account/session/agent-bindings";
const BINDING: &str = "/api/account/session/agent-bindings/{binding_ref}";

/// Every route of these lanes.
pub const ROUTES: [(&str, &str); 2] = [("GET", BINDINGS), ("DELETE", BINDING)];

pub fn configure(config: &mut ServiceConfig) {
    config
        .service(web::resource(BINDINGS).route(web::get().to(list)))
        .service(web::resource(BINDING).route(web::delete().to(unlink)));
}

async fn list(Door(door): Door, request: HttpRequest) -> HttpResponse {
    serve(&door, &request, Demand::Ordinary, async |person| {
        let bindings = door.accounts.bindings_of(&person).await.map_err(failed)?;
        let ready = bindings.iter().any(|binding| binding.revoked_at.is_none());
        let body = json!({
            "schema": "helix.agent_account_bindings.v1",
            "oauth_ready": ready,
            "bindings": bindings,
        });
        Ok(respond::json_body(&mut HttpResponse::Ok(), &body))
    })
    .await
}

async fn unlink(Door(door): Door, request: HttpRequest, reference: Path<String>) -> HttpResponse {
    serve(&door, &request, Demand::Withdrawal, async |person| {
        let unlinked = door
            .accounts
            .unlink_own(&person, &reference)
            .await
            .map_err(failed)?;
        let body = json!({
            "schema": "helix.agent_account_binding_receipt.v1",
            "operation": "agent_account_binding.revoke",
            "binding": unlinked.binding,
            "already_revoked": unlinked.already_revoked,
            "answer_authority": false,
            "assistant_answer": false,
        });
        Ok(respond::json_body(&mut HttpResponse::Ok(), &body))
    })
    .await
}

/// Address limit, origin, session, in the order of `agent-api` 8.1.
async fn serve<F>(
    door: &Arc<Doors>,
    request: &HttpRequest,
    demand: Demand,
    answer: impl FnOnce(Person) -> F,
) -> HttpResponse
where
    F: Future<Output = Result<HttpResponse, Problem>>,
{
    let started = Instant::now();
    let mut exchange = Exchange::of(door, request, Surface::SessionLane);
    let answered = async {
        arrival::check(door, request, &mut exchange)?;
        if *request.method() != Method::GET {
            arrival::check_origin(door, request, OriginRule::StatedTwice)?;
        }
        let person = person_of(door, request, demand).await?;
        pipeline::placed(door, demand, answer(person)).await
    }
    .await;
    // Nobody is told of a session on a page of another site.
    exchange.origin = None;
    pipeline::conclude(door, request, &exchange, answered, started)
}

async fn person_of(door: &Doors, request: &HttpRequest, demand: Demand) -> Result<Person, Stop> {
    let cookies: Vec<&[u8]> = values(request, "cookie").collect();
    let none = || Problem::new(Code::SessionRequired);
    // A bearer beside a cookie decides, and no bearer opens this lane (`access` 1.2).
    if values(request, "authorization").next().is_some() {
        return Err(none().into());
    }
    let hash = session::presented(&door.base, &cookies).ok_or_else(none)?;
    let _turn = door.permits.come_in(demand).await?;
    let person = door.sign_in.person(&hash, demand.line()).await;
    Ok(person.map_err(Problem::from)?.ok_or_else(none)?)
}

fn failed(error: AccountsError) -> Problem {
    match error {
        AccountsError::NoBinding => Problem::new(Code::NoSuchPath),
        AccountsError::Store(error) => error.into(),
        AccountsError::Account(_)
        | AccountsError::Binding(_)
        | AccountsError::EmailTaken
        | AccountsError::NoAccount
        | AccountsError::Invalid { .. } => Problem::new(Code::Internal).because(error),
    }
}

/// A failure in the lane's own envelope: a fixed message for each code.
pub(super) fn problem(problem: &Problem) -> HttpResponse {
    let row = problem.code.row();
    let (error, message) = if problem.code == Code::FormForged {
        let error = "agent_account_binding_cross_origin_forbidden";
        (error, "Send this from a page of this server.")
    } else if problem.code == Code::NoSuchPath {
        ("binding_not_found", "There is no such binding.")
    } else {
        (row.code, row.message)
    };
    let body = json!({
        "schema": "helix.agent_account_binding_error.v1",
        "ok": false,
        "error": error,
        "message": message,
        "subject_included": false,
        "bearer_included": false,
    });
    let status = StatusCode::from_u16(row.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = HttpResponse::build(status);
    if let Some(seconds) = problem.retry_after {
        response.insert_header((header::RETRY_AFTER, seconds.to_string()));
    }
    respond::json_body(&mut response, &body)
}
