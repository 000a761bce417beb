//! `/workspaces/{id}/projects/{id}/briefs/{id}`: a brief as it binds, what is proposed for it, and what a
//! person does to its text at once (`access` 6.1, settled question 42).

use actix_web::http::StatusCode;
use actix_web::web::{self, Path, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use serde_json::{Value, json};

use super::connections::person_of;
use super::form::Form;
use super::moment::Moment;
use super::visit::{self, Admits, Visit};
use super::workspaces::{FORM, MOST, ask, fresh_key, instant, keyed, said, told};
use super::{Frame, html};
use crate::app::idempotency::IdempotencyKey;
use crate::app::problem::Problem;
use crate::http::door::Door;

#[derive(Template)]
#[template(path = "browser/brief.html", config = ".askama.toml")]
struct Brief<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    up: String,
    here: String,
    title: String,
    done: Option<&'static str>,
    fault: Option<&'a str>,
    key: String,
    /// Of the text that is shown; 0 while there is none.
    version: u64,
    /// In force.
    current: u64,
    text: String,
    committed: Option<Moment>,
    proposals: Vec<Proposed>,
}

struct Proposed {
    href: String,
    summary: String,
    state: String,
    by: String,
    made: Moment,
}

/// Workspace, project and brief.
type Place = (String, String, String);

pub fn configure(config: &mut ServiceConfig) {
    let at = |rest: &str| {
        web::resource(format!(
            "/workspaces/{{workspace}}/projects/{{project}}/briefs/{{brief}}{rest}"
        ))
    };
    config
        .service(
            at("")
                .route(web::get().to(page))
                .route(web::post().to(change)),
        )
        .service(at("/reviews").route(web::post().to(start_review)));
}

fn here((workspace, project, brief): &Place) -> String {
    format!("/workspaces/{workspace}/projects/{project}/briefs/{brief}")
}

async fn page(Door(door): Door, request: HttpRequest, place: Path<Place>) -> HttpResponse {
    visit::read(&door, &request, Admits::SignedIn, async |visit| {
        let query = Form::decode(request.query_string().as_bytes())?;
        let done = match query.text_or_empty("done") {
            "edited" => Some("The text is changed and binds."),
            "reverted" => Some("The earlier text binds again, as a new version."),
            _ => None,
        };
        let version = query.text("version").and_then(|text| text.parse().ok());
        show(visit, StatusCode::OK, &place, version, (done, None)).await
    })
    .await
}

/// Writes the text anew, or takes an earlier one again.
async fn change(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
    place: Path<Place>,
) -> HttpResponse {
    visit::posted(&door, &request, payload, FORM, async |visit, form| {
        let (workspace, project, brief) = &*place;
        let number = |name: &str| form.text_or_empty(name).parse::<u64>().unwrap_or_default();
        let mut wish = json!({"project_id": project, "brief_id": brief,
            "expected_version": number("expected_version")});
        let (act, done) = if form.text("to_version").is_some() {
            wish["to_version"] = number("to_version").into();
            ("brief_revert", "reverted")
        } else {
            // Browsers send every end of line as two characters.
            let body = form.text_or_empty("body").replace("\r\n", "\n");
            wish["body"] = body.into();
            wish["summary"] = form.text_or_empty("summary").trim().into();
            ("brief_edit", "edited")
        };
        match ask(visit, act, workspace, &wish).await {
            Ok(_) => Ok(visit.see(&format!("{}?done={done}", here(&place)))),
            Err(problem) => failed(visit, &place, problem).await,
        }
    })
    .await
}

async fn start_review(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
    place: Path<Place>,
) -> HttpResponse {
    visit::posted(&door, &request, payload, FORM, async |visit, form| {
        let (workspace, project, brief) = &*place;
        let version: u64 = form.text_or_empty("version").parse().unwrap_or_default();
        let wish = json!({"project_id": project, "brief_id": brief, "brief_version": version});
        let key = IdempotencyKey::parse(form.text("key"))?;
        match keyed(visit, "review_start", workspace, &wish, Some(key)).await {
            Ok(made) => {
                let review = said(&made["review"], "review_id");
                let at = format!("/workspaces/{workspace}/projects/{project}/reviews/{review}");
                Ok(visit.see(&at))
            }
            Err(problem) => failed(visit, &place, problem).await,
        }
    })
    .await
}

async fn failed(
    visit: &Visit<'_>,
    place: &Place,
    problem: Problem,
) -> Result<HttpResponse, Problem> {
    let (status, fault) = told(problem)?;
    show(visit, status, place, None, (None, Some(&fault))).await
}

async fn show(
    visit: &Visit<'_>,
    status: StatusCode,
    place: &Place,
    version: Option<u64>,
    (done, fault): (Option<&'static str>, Option<&str>),
) -> Result<HttpResponse, Problem> {
    let (workspace, project, brief) = place;
    let mut wish = json!({"project_id": project, "brief_id": brief});
    if let Some(version) = version {
        wish["version"] = version.into();
    }
    let seen = ask(visit, "brief_get", workspace, &wish).await?;
    let wish = json!({"project_id": project, "brief_id": brief, "limit": MOST});
    let proposals = ask(visit, "brief_proposal_list", workspace, &wish).await?;
    let seen = &seen["brief"];
    let version = seen["version"].as_u64().unwrap_or_default();
    let here = here(place);
    let page = Brief {
        frame: visit.frame(&here),
        csrf: &person_of(visit)?.csrf,
        up: format!("/workspaces/{workspace}/projects/{project}"),
        title: said(seen, "title").to_owned(),
        done,
        fault,
        key: fresh_key(visit),
        version,
        current: seen["current_version"].as_u64().unwrap_or(version),
        text: said(seen, "body").to_owned(),
        committed: seen["committed_at"]
            .is_string()
            .then(|| Moment::at(instant(seen, "committed_at"))),
        proposals: proposed(&proposals, &here),
        here,
    };
    html(status, &page)
}

fn proposed(listed: &Value, here: &str) -> Vec<Proposed> {
    let all = listed["proposals"].as_array().into_iter().flatten();
    all.map(|one| Proposed {
        href: format!("{here}/proposals/{}", said(one, "proposal_id")),
        summary: said(one, "summary").to_owned(),
        state: said(one, "state").to_owned(),
        by: author(one),
        made: Moment::at(instant(one, "created_at")),
    })
    .collect()
}

/// Who made a thing, as pages say it.
pub(super) fn author(one: &Value) -> String {
    match said(&one["author"], "kind") {
        "human" => "a person".to_owned(),
        "app" => "an app".to_owned(),
        _ => "an agent with a named token".to_owned(),
    }
}
