//! `…/briefs/{id}/proposals/{id}`: what a proposal changes, and a person's word on it (`access` 9).
//!
//! What must stay true: every act names the version that its page showed.

use actix_web::http::StatusCode;
use actix_web::web::{self, Path, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::briefs::author;
use super::connections::person_of;
use super::form::Form;
use super::moment::Moment;
use super::visit::{self, Admits, Visit};
use super::workspaces::{FORM, ask, instant, said, told};
use super::{Frame, html};
use crate::app::problem::{Code, Problem};
use crate::http::door::Door;

/// Equal lines around a change.
const CONTEXT: usize = 3;

#[derive(Template)]
#[template(path = "browser/proposal.html", config = ".askama.toml")]
struct Proposal<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    up: String,
    here: String,
    summary: String,
    title: String,
    state: String,
    by: String,
    made: Moment,
    version: u64,
    base: u64,
    current: u64,
    text: String,
    changes: Vec<Change>,
    reason: Option<String>,
    done: Option<&'static str>,
    fault: Option<&'a str>,
}

/// One line of the difference to the text in force.
struct Change {
    tag: &'static str,
    said: &'static str,
    line: String,
}

/// Workspace, project, brief and proposal.
type Place = (String, String, String, String);

pub fn configure(config: &mut ServiceConfig) {
    config.service(
        web::resource(
            "/workspaces/{workspace}/projects/{project}/briefs/{brief}/proposals/{proposal}",
        )
        .route(web::get().to(page))
        .route(web::post().to(act)),
    );
}

fn up((workspace, project, brief, _): &Place) -> String {
    format!("/workspaces/{workspace}/projects/{project}/briefs/{brief}")
}

fn here(place: &Place) -> String {
    format!("{}/proposals/{}", up(place), place.3)
}

async fn page(Door(door): Door, request: HttpRequest, place: Path<Place>) -> HttpResponse {
    visit::read(&door, &request, Admits::SignedIn, async |visit| {
        let query = Form::decode(request.query_string().as_bytes())?;
        let done = match query.text_or_empty("done") {
            "approve" => Some("The proposal is approved. Its text binds once somebody commits it."),
            "reject" => Some("The proposal is rejected."),
            "commit" => Some("The text is committed and binds."),
            "rebase" => Some("The proposal fits the text in force now."),
            _ => None,
        };
        show(visit, StatusCode::OK, &place, (done, None)).await
    })
    .await
}

async fn act(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
    place: Path<Place>,
) -> HttpResponse {
    visit::posted(
        &door,
        &request,
        payload,
        FORM,
        async |visit, form| match acted(visit, &place, &form).await {
            Ok(done) => Ok(visit.see(&format!("{}?done={done}", here(&place)))),
            Err(problem) => {
                let (status, fault) = told(problem)?;
                show(visit, status, &place, (None, Some(&fault))).await
            }
        },
    )
    .await
}

/// Does what the pressed button says.
async fn acted(visit: &Visit<'_>, place: &Place, form: &Form) -> Result<&'static str, Problem> {
    let (workspace, project, brief, proposal) = place;
    let shown: u64 = form
        .text_or_empty("expected_version")
        .parse()
        .unwrap_or_default();
    let wish = |version: u64| {
        json!({"project_id": project, "brief_id": brief, "proposal_id": proposal,
            "expected_version": version})
    };
    let decided = async |word: &str| {
        let mut wish = wish(shown);
        wish["decision"] = word.into();
        let reason = form.text_or_empty("reason").trim();
        if !reason.is_empty() {
            wish["reason"] = reason.into();
        }
        ask(visit, "brief_proposal_decide", workspace, &wish).await
    };
    let commit =
        async |version| ask(visit, "brief_proposal_commit", workspace, &wish(version)).await;
    match form.text_or_empty("act") {
        "approve" => decided("approve").await.map(|_| "approve"),
        "reject" => decided("reject").await.map(|_| "reject"),
        "commit" => commit(shown).await.map(|_| "commit"),
        "approve_and_commit" => {
            let approved = decided("approve").await?;
            let version = approved["proposal"]["version"].as_u64();
            commit(version.unwrap_or_default()).await.map(|_| "commit")
        }
        "rebase" => {
            let mut wish = wish(shown);
            wish["body"] = form.text_or_empty("body").replace("\r\n", "\n").into();
            let rebased = ask(visit, "brief_proposal_rebase", workspace, &wish).await;
            rebased.map(|_| "rebase")
        }
        _ => Err(Problem::invalid("The form names nothing to do.")),
    }
}

async fn show(
    visit: &Visit<'_>,
    status: StatusCode,
    place: &Place,
    (done, fault): (Option<&'static str>, Option<&str>),
) -> Result<HttpResponse, Problem> {
    let (workspace, project, brief, proposal) = place;
    let wish = json!({"project_id": project, "brief_id": brief});
    let seen = ask(visit, "brief_get", workspace, &wish).await?;
    let wish = json!({"project_id": project, "brief_id": brief, "proposal_id": proposal});
    let listed = ask(visit, "brief_proposal_list", workspace, &wish).await?;
    let one = listed["proposals"].get(0);
    let one = one.ok_or_else(|| Problem::new(Code::NothingThere))?;
    let (brief, text) = (&seen["brief"], said(one, "body").to_owned());
    let number = |of: &Value, name: &str| of[name].as_u64().unwrap_or_default();
    let here = here(place);
    let page = Proposal {
        frame: visit.frame(&here),
        csrf: &person_of(visit)?.csrf,
        up: up(place),
        summary: said(one, "summary").to_owned(),
        title: said(brief, "title").to_owned(),
        state: said(one, "state").to_owned(),
        by: author(one),
        made: Moment::at(instant(one, "created_at")),
        version: number(one, "version"),
        base: number(one, "base_version"),
        current: number(brief, "version"),
        changes: changes(said(brief, "body"), &text),
        text,
        reason: one["decision"]["reason"].as_str().map(str::to_owned),
        done,
        fault,
        here,
    };
    html(status, &page)
}

fn changes(old: &str, new: &str) -> Vec<Change> {
    let diff = TextDiff::from_lines(old, new);
    let groups = diff.grouped_ops(CONTEXT);
    let ops = groups.iter().flatten();
    ops.flat_map(|op| diff.iter_changes(op))
        .map(|change| {
            let (tag, said) = match change.tag() {
                ChangeTag::Delete => ("del", "taken out"),
                ChangeTag::Insert => ("ins", "put in"),
                ChangeTag::Equal => ("span", ""),
            };
            Change {
                tag,
                said,
                line: change.value().trim_end_matches(['\n', '\r']).to_owned(),
            }
        })
        .collect()
}
