//! `/workspaces/{id}/projects/{id}`: the briefs and reviews of a project, and what waits for a person
//! (`access` 6, 9).
//!
//! What must stay true: a page asks what a program would ask. Deliberately absent: texts, which briefs
//! and reviews show on pages of their own.

use actix_web::http::StatusCode;
use actix_web::web::{self, Path, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use serde_json::{Value, json};

use super::connections::person_of;
use super::form::Form;
use super::visit::{self, Admits, Visit};
use super::workspaces::{FORM, MOST, ask, fresh_key, keyed, said, told};
use super::{Frame, html};
use crate::app::idempotency::IdempotencyKey;
use crate::app::problem::{Code, Problem};
use crate::http::door::Door;

/// Pages of a list that hold as many projects as a workspace can have.
const PAGES: usize = 2;

#[derive(Template)]
#[template(path = "browser/project.html", config = ".askama.toml")]
struct Project<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    up: String,
    here: String,
    name: String,
    description: String,
    fault: Option<&'a str>,
    key: String,
    waiting: Vec<Line>,
    briefs: Vec<Line>,
    reviews: Vec<Line>,
    /// Not all are listed.
    cut: bool,
}

/// A link, and what is said of it.
struct Line {
    href: String,
    name: String,
    note: String,
}

pub fn configure(config: &mut ServiceConfig) {
    let at = |rest: &str| {
        web::resource(format!(
            "/workspaces/{{workspace}}/projects/{{project}}{rest}"
        ))
    };
    config
        .service(at("").route(web::get().to(page)))
        .service(at("/briefs").route(web::post().to(create_brief)));
}

async fn page(
    Door(door): Door,
    request: HttpRequest,
    path: Path<(String, String)>,
) -> HttpResponse {
    visit::read(&door, &request, Admits::SignedIn, async |visit| {
        show(visit, StatusCode::OK, &path, None).await
    })
    .await
}

async fn create_brief(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
    path: Path<(String, String)>,
) -> HttpResponse {
    visit::posted(&door, &request, payload, FORM, async |visit, form: Form| {
        let (workspace, project) = &*path;
        let wish = json!({"project_id": project, "title": form.text_or_empty("title").trim()});
        let key = IdempotencyKey::parse(form.text("key"))?;
        match keyed(visit, "brief_create", workspace, &wish, Some(key)).await {
            Ok(made) => {
                let brief = said(&made["brief"], "brief_id");
                Ok(visit.see(&format!("{}/briefs/{brief}", here(&path))))
            }
            Err(problem) => {
                let (status, fault) = told(problem)?;
                show(visit, status, &path, Some(&fault)).await
            }
        }
    })
    .await
}

fn here((workspace, project): &(String, String)) -> String {
    format!("/workspaces/{workspace}/projects/{project}")
}

async fn show(
    visit: &Visit<'_>,
    status: StatusCode,
    path: &(String, String),
    fault: Option<&str>,
) -> Result<HttpResponse, Problem> {
    let (workspace, project) = path;
    let wish = json!({"project_id": project, "limit": MOST});
    let briefs = ask(visit, "brief_list", workspace, &wish).await?;
    let reviews = ask(visit, "review_list", workspace, &wish).await?;
    let all = all(visit, workspace).await?;
    let seen = all
        .iter()
        .find(|one| said(one, "project_id") == project)
        .ok_or_else(|| Problem::new(Code::NothingThere))?;
    let here = here(path);
    let briefs_seen = lines(&briefs, "briefs", "brief_id", &here);
    let reviews_seen = lines(&reviews, "reviews", "review_id", &here);
    let page = Project {
        frame: visit.frame(&here),
        csrf: &person_of(visit)?.csrf,
        up: format!("/workspaces/{workspace}"),
        name: said(seen, "name").to_owned(),
        description: said(seen, "description").to_owned(),
        fault,
        key: fresh_key(visit),
        waiting: waiting(&briefs, &reviews, &here),
        briefs: briefs_seen,
        reviews: reviews_seen,
        cut: briefs["next_cursor"].is_string() || reviews["next_cursor"].is_string(),
        here,
    };
    html(status, &page)
}

/// The projects of a workspace, all of them.
pub(super) async fn all(visit: &Visit<'_>, workspace: &str) -> Result<Vec<Value>, Problem> {
    let mut wish = json!({"limit": MOST});
    let mut all = Vec::new();
    for _ in 0..PAGES {
        let listed = ask(visit, "project_list", workspace, &wish).await?;
        all.extend(listed["projects"].as_array().into_iter().flatten().cloned());
        if !listed["next_cursor"].is_string() {
            break;
        }
        wish["cursor"] = listed["next_cursor"].clone();
    }
    Ok(all)
}

fn lines(seen: &Value, list: &str, id: &str, here: &str) -> Vec<Line> {
    let all = seen[list].as_array().into_iter().flatten();
    all.map(|one| Line {
        href: format!("{here}/{list}/{}", said(one, id)),
        name: said(one, "title").to_owned(),
        note: note(one),
    })
    .collect()
}

fn note(one: &Value) -> String {
    if one["review_id"].is_string() {
        let version = one["brief_version"].as_u64().unwrap_or_default();
        let state = said(one, "state").replace('_', " ");
        return format!("version {version}, {state}");
    }
    match one["version"].as_u64() {
        None | Some(0) => "no text yet".to_owned(),
        Some(version) => format!("version {version}"),
    }
}

/// Gates that are open, and proposals that nobody has decided or committed.
fn waiting(briefs: &Value, reviews: &Value, here: &str) -> Vec<Line> {
    let gates = reviews["reviews"].as_array().into_iter().flatten();
    let gates = gates.filter(|one| said(one, "state") == "awaiting_gate");
    let gates = gates.map(|one| Line {
        href: format!("{here}/reviews/{}", said(one, "review_id")),
        name: format!("Review of {}", said(one, "title")),
        note: "every step is done: approve or reject".to_owned(),
    });
    let proposed = briefs["briefs"].as_array().into_iter().flatten();
    let proposed = proposed.filter_map(|one| {
        let open = one["open_proposals"].as_u64().filter(|open| *open > 0)?;
        Some(Line {
            href: format!("{here}/briefs/{}#proposals", said(one, "brief_id")),
            name: said(one, "title").to_owned(),
            note: if open == 1 {
                "1 proposal".to_owned()
            } else {
                format!("{open} proposals")
            },
        })
    });
    gates.chain(proposed).collect()
}
