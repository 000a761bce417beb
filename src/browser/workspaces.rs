//! `/workspaces`: what a person has of workspaces, and what is in them (`access` 6, 9).
//!
//! What must stay true: a page asks what a program would ask, through the same operations and the same
//! policy. Deliberately absent: named tokens, which have a page of their own.

use std::collections::BTreeSet;

use actix_web::http::StatusCode;
use actix_web::web::{self, Path, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use helix_aggregates::time::Timestamp;
use serde_json::{Value, json};

use super::connections::person_of;
use super::form::Form;
use super::moment::Moment;
use super::visit::{self, Admits, OriginRule, Rules, Visit};
use super::{Frame, Notice, html, projects};
use crate::app::idempotency::IdempotencyKey;
use crate::app::problem::{Code, Problem};
use crate::app::work::Ask;
use crate::app::work::arguments::Arguments;
use crate::app::work::caller::WorkCaller;
use crate::app::work::operations::{self, Keyed, OPERATIONS};
use crate::http::door::Door;
use crate::http::permits::Demand;

pub(super) const FORM: Rules = Rules {
    admits: Admits::SignedIn,
    origin: OriginRule::Stated,
    demand: Demand::Ordinary,
};
pub(super) const WITHDRAWAL: Rules = Rules {
    demand: Demand::Withdrawal,
    ..FORM
};
/// Things of a kind on one page.
pub(super) const MOST: u64 = 100;

#[derive(Template)]
#[template(path = "browser/workspaces.html", config = ".askama.toml")]
struct List<'a> {
    frame: Frame<'a>,
    workspaces: Vec<Line>,
}

#[derive(Template)]
#[template(path = "browser/workspace.html", config = ".askama.toml")]
struct Workspace<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    here: String,
    name: String,
    role: String,
    done: Option<&'static str>,
    fault: Option<&'a str>,
    key: String,
    projects: Vec<Line>,
    members: Vec<Line>,
    invites: Vec<Line>,
    apps: Vec<App>,
    human_only: BTreeSet<String>,
}

#[derive(Template)]
#[template(path = "browser/invited.html", config = ".askama.toml")]
struct Invited<'a> {
    frame: Frame<'a>,
    here: &'a str,
    link: &'a str,
    email: &'a str,
}

#[derive(Template)]
#[template(path = "browser/join.html", config = ".askama.toml")]
struct Join<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    link: &'a str,
}

struct Line {
    id: String,
    name: String,
    note: String,
}

struct App {
    id: String,
    name: String,
    state: String,
    used: Option<Moment>,
}

pub fn configure(config: &mut ServiceConfig) {
    let at = |rest: &str| web::resource(format!("/workspaces/{{workspace}}{rest}"));
    config
        .service(web::resource("/workspaces").route(web::get().to(list)))
        .service(at("").route(web::get().to(page)))
        .service(at("/projects").route(web::post().to(create_project)))
        .service(at("/invites").route(web::post().to(invite)))
        .service(at("/connections/revoke").route(web::post().to(revoke)))
        .service(
            web::resource("/workspace-invites/{link}")
                .route(web::get().to(join_page))
                .route(web::post().to(join)),
        );
}

async fn list(Door(door): Door, request: HttpRequest) -> HttpResponse {
    visit::read(&door, &request, Admits::SignedIn, async |visit| {
        let listed = ask(visit, "workspace_list", "", &json!({})).await?;
        let page = List {
            frame: visit.frame("/workspaces"),
            workspaces: lines(&listed, "workspaces", "workspace_id", "role"),
        };
        html(StatusCode::OK, &page)
    })
    .await
}

async fn page(Door(door): Door, request: HttpRequest, workspace: Path<String>) -> HttpResponse {
    visit::read(&door, &request, Admits::SignedIn, async |visit| {
        let query = Form::decode(request.query_string().as_bytes())?;
        let done = match query.text_or_empty("done") {
            "project" => Some("The project is created."),
            "revoked" => Some("The app is disconnected. What it holds works no longer."),
            "joined" => Some("You are a member now."),
            _ => None,
        };
        show(visit, StatusCode::OK, &workspace, done, None).await
    })
    .await
}

async fn create_project(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
    workspace: Path<String>,
) -> HttpResponse {
    visit::posted(&door, &request, payload, FORM, async |visit, form| {
        let mut wish = json!({"name": form.text_or_empty("name").trim()});
        let description = form.text_or_empty("description").trim();
        if !description.is_empty() {
            wish["description"] = description.into();
        }
        let key = IdempotencyKey::parse(form.text("key"))?;
        match keyed(visit, "project_create", &workspace, &wish, Some(key)).await {
            Ok(_) => Ok(visit.see(&format!("/workspaces/{workspace}?done=project"))),
            Err(problem) => failed(visit, &workspace, problem).await,
        }
    })
    .await
}

async fn invite(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
    workspace: Path<String>,
) -> HttpResponse {
    visit::posted(&door, &request, payload, FORM, async |visit, form| {
        let email = form.text_or_empty("email").trim();
        let wish = json!({"email": email, "role": form.text_or_empty("role")});
        let made = match ask(visit, "member_invite", &workspace, &wish).await {
            Ok(made) => made,
            Err(problem) => return failed(visit, &workspace, problem).await,
        };
        let here = format!("/workspaces/{workspace}");
        let page = Invited {
            frame: visit.frame(&here),
            here: &here,
            link: said(&made, "link"),
            email,
        };
        html(StatusCode::OK, &page)
    })
    .await
}

async fn revoke(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
    workspace: Path<String>,
) -> HttpResponse {
    visit::posted(&door, &request, payload, WITHDRAWAL, async |visit, form| {
        let wish = json!({"connection_id": form.text_or_empty("connection_id")});
        ask(visit, "connection_revoke", &workspace, &wish).await?;
        Ok(visit.see(&format!("/workspaces/{workspace}?done=revoked")))
    })
    .await
}

async fn join_page(Door(door): Door, request: HttpRequest, link: Path<String>) -> HttpResponse {
    visit::read(&door, &request, Admits::SignedIn, async |visit| {
        let page = Join {
            frame: visit.frame("/workspace-invites"),
            csrf: &person_of(visit)?.csrf,
            link: &link,
        };
        html(StatusCode::OK, &page)
    })
    .await
}

async fn join(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
    link: Path<String>,
) -> HttpResponse {
    visit::posted(&door, &request, payload, FORM, async |visit, _| {
        let joined = ask(visit, "invite_accept", "", &json!({"token": link.as_str()})).await;
        match joined {
            Ok(joined) => {
                let workspace = said(&joined, "workspace_id");
                Ok(visit.see(&format!("/workspaces/{workspace}?done=joined")))
            }
            Err(problem) if problem.code == Code::NothingThere => {
                let page = Notice {
                    frame: visit.frame("/workspace-invites"),
                    title: "This invitation does not work any more",
                    text: "An invitation works once and for 30 days, and a newer one takes its place. Ask for another.",
                    next: Some(("/workspaces", "Your workspaces")),
                };
                html(StatusCode::NOT_FOUND, &page)
            }
            Err(problem) => Err(problem),
        }
    })
    .await
}

/// The page once more, with what was wrong.
async fn failed(
    visit: &Visit<'_>,
    workspace: &str,
    problem: Problem,
) -> Result<HttpResponse, Problem> {
    let (status, fault) = told(problem)?;
    show(visit, status, workspace, None, Some(&fault)).await
}

/// How a form is answered that could not do what it says; what no other form would mend stays a problem.
pub(super) fn told(problem: Problem) -> Result<(StatusCode, String), Problem> {
    let shown = matches!(
        problem.code,
        Code::InvalidRequest
            | Code::LimitReached
            | Code::VersionConflict
            | Code::ProposalClosed
            | Code::ReviewClosed
            | Code::RoleRequired
            | Code::ReauthenticationRequired
            | Code::ProjectArchived
            | Code::CredentialInContent
    );
    if !shown {
        return Err(problem);
    }
    let status = StatusCode::from_u16(problem.code.row().status);
    let status = status.unwrap_or(StatusCode::BAD_REQUEST);
    Ok((status, problem.message.into_owned()))
}

async fn show(
    visit: &Visit<'_>,
    status: StatusCode,
    workspace: &str,
    done: Option<&'static str>,
    fault: Option<&str>,
) -> Result<HttpResponse, Problem> {
    let seen = ask(visit, "workspace_get", workspace, &json!({})).await?;
    let projects = json!({"projects": projects::all(visit, workspace).await?});
    let members = ask(visit, "member_list", workspace, &json!({})).await?;
    let apps = ask(visit, "connection_list", workspace, &json!({})).await?;
    let here = format!("/workspaces/{workspace}");
    let page = Workspace {
        frame: visit.frame(&here),
        csrf: &person_of(visit)?.csrf,
        here,
        name: said(&seen["workspace"], "name").to_owned(),
        role: said(&seen["caller"], "role").to_owned(),
        done,
        fault,
        key: fresh_key(visit),
        projects: lines(&projects, "projects", "project_id", "description"),
        members: lines(&members, "members", "account_id", "role"),
        invites: lines(&members, "invites", "invite_id", "role")
            .into_iter()
            .zip(members["invites"].as_array().into_iter().flatten())
            .map(|(line, invite)| Line {
                name: said(invite, "email").to_owned(),
                ..line
            })
            .collect(),
        apps: apps["connections"]
            .as_array()
            .into_iter()
            .flatten()
            .map(app)
            .collect(),
        human_only: human_only(),
    };
    html(status, &page)
}

/// Names what one form does, so that it is done once however often it is sent.
pub(super) fn fresh_key(visit: &Visit<'_>) -> String {
    format!("page-{}", visit.door.runs.core().ids.uuid())
}

/// What no agent may do, from the one registry that says so.
fn human_only() -> BTreeSet<String> {
    let only = OPERATIONS.iter().filter(|one| one.who.is_human_only());
    only.map(|one| one.name.replace('_', " ")).collect()
}

fn lines(seen: &Value, list: &str, id: &str, note: &str) -> Vec<Line> {
    let all = seen[list].as_array().into_iter().flatten();
    all.map(|one| Line {
        id: said(one, id).to_owned(),
        name: said(one, "name").to_owned(),
        note: said(one, note).to_owned(),
    })
    .collect()
}

fn app(connection: &Value) -> App {
    App {
        id: said(connection, "connection_id").to_owned(),
        name: said(connection, "app").to_owned(),
        state: said(connection, "state").to_owned(),
        used: connection["last_used_at"]
            .is_string()
            .then(|| Moment::at(instant(connection, "last_used_at"))),
    }
}

pub(super) fn said<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

pub(super) fn texts<'v>(value: &'v Value, name: &str) -> Vec<&'v str> {
    let all = value[name].as_array().into_iter().flatten();
    all.filter_map(Value::as_str).collect()
}

pub(super) fn instant(value: &Value, name: &str) -> Timestamp {
    Timestamp::parse(said(value, name)).unwrap_or_default()
}

/// Asks what a program would ask; `workspace` is empty where the question names none.
pub(super) async fn ask(
    visit: &Visit<'_>,
    name: &str,
    workspace: &str,
    sent: &Value,
) -> Result<Value, Problem> {
    keyed(visit, name, workspace, sent, None).await
}

pub(super) async fn keyed(
    visit: &Visit<'_>,
    name: &str,
    workspace: &str,
    sent: &Value,
    key: Option<IdempotencyKey>,
) -> Result<Value, Problem> {
    let operation = operations::named(name).ok_or_else(|| Problem::new(Code::Internal))?;
    debug_assert_eq!(key.is_some(), operation.keyed == Keyed::Yes);
    let caller = WorkCaller::of(person_of(visit)?.clone());
    let ask = |arguments| Ask {
        caller: &caller,
        operation,
        workspace: Some(workspace).filter(|id| !id.is_empty()),
        key,
        arguments,
    };
    let work = &visit.door.work;
    match Arguments::check(sent, operation.fields) {
        Ok(arguments) => Ok(Value::Object(work.perform(&ask(arguments)).await?.body)),
        Err(problem) => Err(work.refused(&ask(Arguments::default()), problem).await),
    }
}
