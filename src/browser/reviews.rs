//! `/workspaces/{id}/projects/{id}/reviews/{id}`: what agents found, and the decision at the gate
//! (`access` 6.1, 9).

use actix_web::http::StatusCode;
use actix_web::web::{self, Path, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use serde_json::{Value, json};

use super::briefs::author;
use super::connections::person_of;
use super::form::{Form, encoded};
use super::moment::Moment;
use super::visit::{self, Admits, Visit};
use super::workspaces::{FORM, MOST, ask, instant, said, texts, told};
use super::{Frame, html};
use crate::app::problem::Problem;
use crate::http::door::Door;

#[derive(Template)]
#[template(path = "browser/review.html", config = ".askama.toml")]
struct Review<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    up: String,
    here: String,
    title: String,
    brief: String,
    brief_version: u64,
    state: String,
    version: u64,
    by: String,
    started: Moment,
    ends: Moment,
    gate: Option<Gate>,
    steps: Vec<Step>,
    finding_count: u64,
    findings: Vec<Finding>,
    /// Where the next findings are.
    more: Option<String>,
    may_decide: bool,
    done: Option<&'static str>,
    fault: Option<&'a str>,
}

/// The latest decision.
struct Gate {
    decision: String,
    reason: String,
    at: Moment,
}

struct Step {
    id: String,
    title: String,
    state: String,
    until: Option<Moment>,
}

struct Finding {
    title: String,
    kind: String,
    severity: String,
    step: String,
    detail: String,
    refs: Vec<String>,
}

/// Workspace, project and review.
type Place = (String, String, String);

pub fn configure(config: &mut ServiceConfig) {
    config.service(
        web::resource("/workspaces/{workspace}/projects/{project}/reviews/{review}")
            .route(web::get().to(page))
            .route(web::post().to(decide)),
    );
}

fn here((workspace, project, review): &Place) -> String {
    format!("/workspaces/{workspace}/projects/{project}/reviews/{review}")
}

async fn page(Door(door): Door, request: HttpRequest, place: Path<Place>) -> HttpResponse {
    visit::read(&door, &request, Admits::SignedIn, async |visit| {
        let query = Form::decode(request.query_string().as_bytes())?;
        let done = match query.text_or_empty("done") {
            "approve" => Some("The review is approved and complete."),
            "reject" => {
                Some("The review is rejected. Its steps are open again; its findings stay.")
            }
            _ => None,
        };
        let cursor = query.text("cursor");
        show(visit, StatusCode::OK, &place, cursor, (done, None)).await
    })
    .await
}

async fn decide(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
    place: Path<Place>,
) -> HttpResponse {
    visit::posted(&door, &request, payload, FORM, async |visit, form| {
        let (workspace, project, review) = &*place;
        let version: u64 = form
            .text_or_empty("expected_version")
            .parse()
            .unwrap_or_default();
        let decision = form.text_or_empty("decision");
        let mut wish = json!({"project_id": project, "review_id": review, "decision": decision,
            "expected_version": version});
        let reason = form.text_or_empty("reason").trim();
        if !reason.is_empty() {
            wish["reason"] = reason.into();
        }
        match ask(visit, "review_gate", workspace, &wish).await {
            Ok(_) => Ok(visit.see(&format!("{}?done={}", here(&place), encoded(decision)))),
            Err(problem) => {
                let (status, fault) = told(problem)?;
                show(visit, status, &place, None, (None, Some(&fault))).await
            }
        }
    })
    .await
}

async fn show(
    visit: &Visit<'_>,
    status: StatusCode,
    place: &Place,
    cursor: Option<&str>,
    (done, fault): (Option<&'static str>, Option<&str>),
) -> Result<HttpResponse, Problem> {
    let (workspace, project, review) = place;
    let mut wish = json!({"project_id": project, "review_id": review, "limit": MOST});
    if let Some(cursor) = cursor {
        wish["cursor"] = cursor.into();
    }
    let seen = ask(visit, "review_get", workspace, &wish).await?;
    let workspace_seen = ask(visit, "workspace_get", workspace, &json!({})).await?;
    let role = said(&workspace_seen["caller"], "role");
    let (one, here) = (&seen["review"], here(place));
    let state = said(one, "state");
    let number = |name: &str| one[name].as_u64().unwrap_or_default();
    let project = format!("/workspaces/{workspace}/projects/{project}");
    let page = Review {
        frame: visit.frame(&here),
        csrf: &person_of(visit)?.csrf,
        brief: format!("{project}/briefs/{}", said(one, "brief_id")),
        up: project,
        title: said(one, "title").to_owned(),
        brief_version: number("brief_version"),
        state: state.replace('_', " "),
        version: number("version"),
        by: author(one),
        started: Moment::at(instant(one, "created_at")),
        ends: Moment::at(instant(one, "expires_at")),
        gate: gate(&one["gate"]),
        steps: steps(&seen),
        finding_count: number("finding_count"),
        findings: findings(&seen),
        more: seen["next_cursor"]
            .as_str()
            .map(|cursor| format!("{here}?cursor={}", encoded(cursor))),
        may_decide: state == "awaiting_gate" && role != "member",
        done,
        fault,
        here,
    };
    html(status, &page)
}

fn gate(one: &Value) -> Option<Gate> {
    one.is_object().then(|| Gate {
        decision: said(one, "decision").to_owned(),
        reason: said(one, "reason").to_owned(),
        at: Moment::at(instant(one, "decided_at")),
    })
}

fn steps(seen: &Value) -> Vec<Step> {
    let all = seen["steps"].as_array().into_iter().flatten();
    all.map(|one| Step {
        id: said(one, "step_id").to_owned(),
        title: said(one, "title").to_owned(),
        state: said(one, "state").to_owned(),
        until: one["lease_expires_at"]
            .is_string()
            .then(|| Moment::at(instant(one, "lease_expires_at"))),
    })
    .collect()
}

fn findings(seen: &Value) -> Vec<Finding> {
    let steps = steps(seen);
    let title = |id: &str| {
        let step = steps.iter().find(|step| step.id == id);
        step.map_or_else(String::new, |step| step.title.clone())
    };
    let all = seen["findings"].as_array().into_iter().flatten();
    all.map(|one| Finding {
        title: said(one, "title").to_owned(),
        kind: said(one, "kind").to_owned(),
        severity: said(one, "severity").to_owned(),
        step: title(said(one, "step_id")),
        detail: said(one, "detail").to_owned(),
        refs: texts(one, "refs").into_iter().map(str::to_owned).collect(),
    })
    .collect()
}
