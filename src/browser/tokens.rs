//! `/workspaces/{id}/tokens`: named tokens of a workspace (`access` 8).
//!
//! What must stay true: nothing is seen or made without a passphrase entered a short while ago; a
//! token's text is on the one page that answers its making and on no other. Deliberately absent: who
//! may do what, which the operations say.

use actix_web::http::StatusCode;
use actix_web::web::{self, Path, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use helix_aggregates::ids::WorkspaceId;
use serde_json::{Value, json};

use super::connections::person_of;
use super::form::Form;
use super::moment::Moment;
use super::sign_in::{refused, wait_of, waiting};
use super::visit::{self, Admits, Visit};
use super::workspaces::{FORM, WITHDRAWAL, ask, instant, said, texts};
use super::{Frame, html, projects};
use crate::app::problem::{Code, Problem};
use crate::auth::oauth::resource::Door as DoorKind;
use crate::auth::oauth::scope::{Providers, sentence, supported};
use crate::http::discovery::clients::CLIENTS;
use crate::http::door::Door;

/// Days after which a token ends.
const EXPIRIES: [u16; 6] = [1, 7, 30, 90, 180, 365];

#[derive(Template)]
#[template(path = "browser/tokens.html", config = ".askama.toml")]
struct Tokens<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    here: &'a str,
    done: Option<&'a str>,
    fault: Option<&'a str>,
    cards: Vec<Card>,
    wish: Wish,
    scopes: Vec<Choice>,
    projects: Vec<Choice>,
    expiries: [u16; 6],
}

#[derive(Template)]
#[template(path = "browser/token_review.html", config = ".askama.toml")]
struct Review<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    here: &'a str,
    wish: Wish,
    scopes: Vec<Choice>,
    projects: Vec<Choice>,
}

#[derive(Template)]
#[template(path = "browser/token_shown.html", config = ".askama.toml")]
struct Shown<'a> {
    frame: Frame<'a>,
    here: &'a str,
    token: &'a str,
    expires: Moment,
    check: String,
}

#[derive(Template)]
#[template(path = "browser/token_unlock.html", config = ".askama.toml")]
struct Unlock<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    here: &'a str,
    fault: Option<&'a str>,
}

/// What a token is to be, as its form says.
struct Wish {
    name: String,
    reach: String,
    expires_days: u16,
}

struct Choice {
    value: String,
    said: String,
    ticked: bool,
}

struct Card {
    id: String,
    name: String,
    last_four: String,
    state: String,
    live: bool,
    exposed: bool,
    sentences: Vec<String>,
    reach: String,
    made: Moment,
    ends: Moment,
    used: Option<Moment>,
}

pub fn configure(config: &mut ServiceConfig) {
    let at = |rest: &str| web::resource(format!("/workspaces/{{workspace}}/tokens{rest}"));
    config
        .service(
            at("")
                .route(web::get().to(page))
                .route(web::post().to(create)),
        )
        .service(at("/unlock").route(web::post().to(unlock)))
        .service(at("/rotate").route(web::post().to(rotate)))
        .service(at("/revoke").route(web::post().to(revoke)));
}

async fn page(Door(door): Door, request: HttpRequest, workspace: Path<String>) -> HttpResponse {
    visit::read(&door, &request, Admits::SignedIn, async |visit| {
        let query = Form::decode(request.query_string().as_bytes())?;
        let done = match query.text_or_empty("done") {
            "revoked" => Some("The token is revoked. Nothing it asks is answered any more."),
            _ => None,
        };
        show(visit, StatusCode::OK, &workspace, &query, done, None).await
    })
    .await
}

async fn unlock(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
    workspace: Path<String>,
) -> HttpResponse {
    visit::posted(&door, &request, payload, FORM, async |visit, form| {
        // Only an id leads on: anything else is a text of whoever made the link.
        let known = WorkspaceId::parse(&workspace);
        known.map_err(|_| Problem::new(Code::NoSuchPath))?;
        let person = person_of(visit)?;
        let origin = visit.origin(&person.email);
        let passphrase = form.secret("passphrase");
        let proved = door.sign_in.prove_again(person, passphrase, &origin).await;
        match proved {
            Ok(_) => Ok(visit.see(&path(&workspace))),
            Err(error) => {
                let wait = wait_of(&error);
                let (status, fault) = refused(error)?;
                let page = locked(visit, status, &workspace, Some(&fault))?;
                Ok(waiting(page, wait))
            }
        }
    })
    .await
}

async fn create(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
    workspace: Path<String>,
) -> HttpResponse {
    visit::posted(&door, &request, payload, FORM, async |visit, form| {
        let bad = StatusCode::BAD_REQUEST;
        if let Some(fault) = fault_of(&form) {
            return show(visit, bad, &workspace, &form, None, Some(fault)).await;
        }
        if form.text("step") != Some("create") {
            return review(visit, &workspace, &form).await;
        }
        let reach = if form.text("reach") == Some("all") {
            json!({"kind": "all"})
        } else {
            json!({"kind": "listed", "project_ids": form.all("projects").collect::<Vec<_>>()})
        };
        let wish = json!({
            "name": form.text_or_empty("name"),
            "scopes": form.all("scopes").collect::<Vec<_>>(),
            "reach": reach,
            "expires_days": days_of(&form),
        });
        match ask(visit, "token_create", &workspace, &wish).await {
            Ok(made) => shown(visit, &workspace, &made),
            Err(problem) => failed(visit, &workspace, &form, problem).await,
        }
    })
    .await
}

async fn rotate(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
    workspace: Path<String>,
) -> HttpResponse {
    visit::posted(&door, &request, payload, FORM, async |visit, form| {
        let mut wish = json!({"token_id": form.text_or_empty("token_id")});
        if let Some(Ok(grace)) = form.text("grace_seconds").map(str::parse::<u64>) {
            wish["grace_seconds"] = grace.into();
        }
        match ask(visit, "token_rotate", &workspace, &wish).await {
            Ok(made) => shown(visit, &workspace, &made),
            Err(problem) => failed(visit, &workspace, &form, problem).await,
        }
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
        let wish = json!({"token_id": form.text_or_empty("token_id")});
        match ask(visit, "token_revoke", &workspace, &wish).await {
            Ok(_) => Ok(visit.see(&format!("{}?done=revoked", path(&workspace)))),
            Err(problem) => failed(visit, &workspace, &form, problem).await,
        }
    })
    .await
}

fn path(workspace: &str) -> String {
    format!("/workspaces/{workspace}/tokens")
}

/// What is missing before anything is asked.
fn fault_of(form: &Form) -> Option<&'static str> {
    if form.text_or_empty("name").trim().is_empty() {
        return Some("Give the token a name, so that you know it again.");
    }
    if form.all("scopes").next().is_none() {
        return Some("Tick at least one thing that the token may do.");
    }
    match form.text("reach") {
        Some("all") => None,
        Some("listed") if form.all("projects").next().is_some() => None,
        Some("listed") => Some("Tick the projects that the token may reach."),
        _ => Some("Say which projects the token may reach."),
    }
}

fn days_of(form: &Form) -> u16 {
    let days = form.text("expires_days").and_then(|days| days.parse().ok());
    days.unwrap_or(30)
}

async fn failed(
    visit: &Visit<'_>,
    workspace: &str,
    form: &Form,
    problem: Problem,
) -> Result<HttpResponse, Problem> {
    if problem.code == Code::ReauthenticationRequired {
        return locked(visit, StatusCode::FORBIDDEN, workspace, None);
    }
    if !matches!(problem.code, Code::InvalidRequest | Code::LimitReached) {
        return Err(problem);
    }
    let status = StatusCode::from_u16(problem.code.row().status);
    let status = status.unwrap_or(StatusCode::BAD_REQUEST);
    show(visit, status, workspace, form, None, Some(&problem.message)).await
}

async fn show(
    visit: &Visit<'_>,
    status: StatusCode,
    workspace: &str,
    form: &Form,
    done: Option<&str>,
    fault: Option<&str>,
) -> Result<HttpResponse, Problem> {
    let listed = match ask(visit, "token_list", workspace, &json!({})).await {
        Ok(listed) => listed,
        Err(problem) if problem.code == Code::ReauthenticationRequired => {
            return locked(visit, StatusCode::OK, workspace, None);
        }
        Err(problem) => return Err(problem),
    };
    let here = path(workspace);
    let page = Tokens {
        frame: visit.frame(&here),
        csrf: &person_of(visit)?.csrf,
        here: &here,
        done,
        fault,
        cards: listed["tokens"]
            .as_array()
            .map_or_else(Vec::new, |all| all.iter().map(card).collect()),
        wish: wish_of(form),
        scopes: scopes(form),
        projects: reachable(visit, workspace, form).await?,
        expiries: EXPIRIES,
    };
    html(status, &page)
}

async fn review(visit: &Visit<'_>, workspace: &str, form: &Form) -> Result<HttpResponse, Problem> {
    let here = path(workspace);
    let page = Review {
        frame: visit.frame(&here),
        csrf: &person_of(visit)?.csrf,
        here: &here,
        wish: wish_of(form),
        scopes: scopes(form).into_iter().filter(|one| one.ticked).collect(),
        projects: reachable(visit, workspace, form)
            .await?
            .into_iter()
            .filter(|one| one.ticked)
            .collect(),
    };
    html(StatusCode::OK, &page)
}

fn shown(visit: &Visit<'_>, workspace: &str, made: &Value) -> Result<HttpResponse, Problem> {
    let here = path(workspace);
    let url = format!("{}/workspace/mcp", visit.door.base.as_str());
    let curl = CLIENTS.iter().find(|client| client.name == "curl");
    let page = Shown {
        frame: visit.frame(&here),
        here: &here,
        token: said(made, "token"),
        expires: Moment::at(instant(made, "expires_at")),
        check: curl
            .and_then(|client| client.token_for(&url))
            .unwrap_or_default(),
    };
    html(StatusCode::OK, &page)
}

fn locked(
    visit: &Visit<'_>,
    status: StatusCode,
    workspace: &str,
    fault: Option<&str>,
) -> Result<HttpResponse, Problem> {
    let here = path(workspace);
    let page = Unlock {
        frame: visit.frame(&here),
        csrf: &person_of(visit)?.csrf,
        here: &here,
        fault,
    };
    html(status, &page)
}

fn wish_of(form: &Form) -> Wish {
    Wish {
        name: form.text_or_empty("name").to_owned(),
        reach: form.text_or_empty("reach").to_owned(),
        expires_days: days_of(form),
    }
}

/// All that a token may be allowed, ticked as the form says or as its template does.
fn scopes(form: &Form) -> Vec<Choice> {
    let template: &[&str] = match form.text_or_empty("template") {
        "read" => &["brief:read"],
        "propose" => &["brief:read", "brief:write"],
        _ => &[],
    };
    let ticked: Vec<&str> = form.all("scopes").collect();
    supported(DoorKind::Workspace)
        .map(|word| Choice {
            value: word.to_owned(),
            said: sentence(word, Providers::default()).unwrap_or_else(|| word.to_owned()),
            ticked: ticked.contains(&word) || template.contains(&word),
        })
        .collect()
}

/// The projects that a token can be confined to.
async fn reachable(
    visit: &Visit<'_>,
    workspace: &str,
    form: &Form,
) -> Result<Vec<Choice>, Problem> {
    let ticked: Vec<&str> = form.all("projects").collect();
    let all = projects::all(visit, workspace).await?;
    Ok(all
        .iter()
        .map(|project| Choice {
            value: said(project, "project_id").to_owned(),
            said: said(project, "name").to_owned(),
            ticked: ticked.contains(&said(project, "project_id")),
        })
        .collect())
}

fn card(token: &Value) -> Card {
    let words = texts(token, "scopes");
    let sentences = words
        .iter()
        .map(|word| sentence(word, Providers::default()).unwrap_or_else(|| (*word).to_owned()));
    let projects = token["reach"]["project_ids"].as_array().map(Vec::len);
    Card {
        id: said(token, "token_id").to_owned(),
        name: said(token, "name").to_owned(),
        last_four: said(token, "last_four").to_owned(),
        live: said(token, "state") == "live",
        state: said(token, "state").to_owned(),
        exposed: token["exposed"] == true,
        sentences: sentences.collect(),
        reach: match projects {
            None => "all projects, those to come included".to_owned(),
            Some(1) => "1 project".to_owned(),
            Some(number) => format!("{number} projects"),
        },
        made: Moment::at(instant(token, "created_at")),
        ends: Moment::at(instant(token, "expires_at")),
        used: token["last_used_at"]
            .is_string()
            .then(|| Moment::at(instant(token, "last_used_at"))),
    }
}
