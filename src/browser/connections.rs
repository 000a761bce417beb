//! `/connections`: what can act for somebody, and how it is ended.

use actix_web::http::StatusCode;
use actix_web::web::{self, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use helix_aggregates::access::account::command::SignOff;
use helix_aggregates::ids::{GrantId, SessionId};
use helix_aggregates::time::Timestamp;

use super::form::Form;
use super::moment::Moment;
use super::sign_in::internal as sign_in_failed;
use super::visit::{self, Admits, OriginRule, Rules, Visit};
use super::{Frame, html};
use crate::app::access::grants::{GrantLine, GrantState, Switch};
use crate::app::access::sign_in::{Person, SessionLine};
use crate::app::problem::{Code, Problem};
use crate::auth::oauth::resource::Door as Opened;
use crate::auth::oauth::scope::{Providers, sentence};
use crate::http::door::{Apps, Door};
use crate::http::permits::Demand;

#[derive(Template)]
#[template(path = "browser/connections.html", config = ".askama.toml")]
struct Connections<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    done: Option<String>,
    /// Those that could act now or when they are resumed.
    apps: Vec<AppCard>,
    ended: Vec<AppCard>,
    sessions: Vec<SessionCard>,
}

struct AppCard {
    id: GrantId,
    name: String,
    redirect: String,
    door: &'static str,
    sentences: Vec<String>,
    state: String,
    /// The look of the state beside its words.
    mark: &'static str,
    since: Moment,
    ends: Moment,
    used: Option<Moment>,
    /// What its switch does; nothing when it is over.
    switch: &'static str,
}

struct SessionCard {
    id: SessionId,
    device: String,
    since: Moment,
    used: Option<Moment>,
    ends: Moment,
    this: bool,
}

const WITHDRAWAL: Rules = Rules {
    admits: Admits::SignedIn,
    origin: OriginRule::Stated,
    demand: Demand::Withdrawal,
};

pub fn configure(config: &mut ServiceConfig) {
    config
        .service(web::resource("/connections").route(web::get().to(page)))
        .service(web::resource("/connections/revoke").route(web::post().to(revoke)))
        .service(web::resource("/connections/pause").route(web::post().to(pause)))
        .service(web::resource("/connections/resume").route(web::post().to(resume)))
        .service(web::resource("/connections/sessions/end").route(web::post().to(end_session)));
}

async fn page(Door(door): Door, request: HttpRequest) -> HttpResponse {
    visit::read(&door, &request, Admits::SignedIn, async |visit| {
        let person = person_of(visit)?;
        let query = Form::decode(request.query_string().as_bytes())?;
        let listed = match &door.apps {
            Some(apps) => apps.grants.list(person).await?,
            None => Vec::new(),
        };
        let sessions = door
            .sign_in
            .sessions(person)
            .await
            .map_err(sign_in_failed)?;
        let changed = query.text_or_empty("app");
        let changed = listed
            .iter()
            .find(|line| line.grant_id.to_string() == changed)
            .map_or("The app", |line| line.app.as_str());
        let done = done(query.text_or_empty("done"), changed);
        let now = door.runs.core().clock.now();
        let (apps, ended) = listed
            .into_iter()
            .map(|line| app_card(line, now))
            .partition(|card| !card.switch.is_empty());
        let page = Connections {
            frame: visit.frame("/connections"),
            csrf: &person.csrf,
            done,
            apps,
            ended,
            sessions: sessions
                .into_iter()
                .map(|one| session_card(one, now))
                .collect(),
        };
        html(StatusCode::OK, &page)
    })
    .await
}

async fn revoke(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    visit::posted(&door, &request, payload, WITHDRAWAL, async |visit, form| {
        let grants = &apps_of(visit)?.grants;
        let grant = grant_of(&form)?;
        grants.revoke(person_of(visit)?, grant).await?;
        Ok(visit.see(&format!("/connections?done=revoked&app={grant}")))
    })
    .await
}

async fn pause(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    visit::posted(&door, &request, payload, WITHDRAWAL, async |visit, form| {
        let grants = &apps_of(visit)?.grants;
        let grant = grant_of(&form)?;
        let paused = grants.switch(person_of(visit)?, grant, Switch::Off);
        paused.await?;
        Ok(visit.see(&format!("/connections?done=paused&app={grant}")))
    })
    .await
}

async fn resume(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    visit::posted(&door, &request, payload, WITHDRAWAL, async |visit, form| {
        let grants = &apps_of(visit)?.grants;
        let grant = grant_of(&form)?;
        let resumed = grants.switch(person_of(visit)?, grant, Switch::On);
        resumed.await?;
        Ok(visit.see(&format!("/connections?done=resumed&app={grant}")))
    })
    .await
}

async fn end_session(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    visit::posted(&door, &request, payload, WITHDRAWAL, async |visit, form| {
        let session = SessionId::parse(form.text_or_empty("session"))
            .map_err(|_| Problem::invalid("The form names no session."))?;
        let ended = door
            .sign_in
            .end_session(person_of(visit)?, session, SignOff::Owner);
        ended.await.map_err(sign_in_failed)?;
        Ok(visit.see("/connections?done=ended"))
    })
    .await
}

pub(super) fn person_of<'v>(visit: &'v Visit<'_>) -> Result<&'v Person, Problem> {
    visit
        .person
        .as_ref()
        .ok_or_else(|| Problem::new(Code::Internal))
}

fn apps_of<'v>(visit: &'v Visit<'_>) -> Result<&'v Apps, Problem> {
    let apps = visit.door.apps.as_ref();
    apps.ok_or_else(|| Problem::new(Code::NoSuchPath))
}

fn grant_of(form: &Form) -> Result<GrantId, Problem> {
    GrantId::parse(form.text_or_empty("grantId"))
        .map_err(|_| Problem::invalid("The form names no connection."))
}

/// What a form has just changed, in words.
fn done(word: &str, app: &str) -> Option<String> {
    Some(match word {
        "revoked" => format!("{app} is disconnected. What it holds works no longer."),
        "paused" => format!("{app} is paused: nothing is answered until you resume it."),
        "resumed" => format!("{app} works again."),
        "ended" => "That browser is signed out.".to_owned(),
        _ => return None,
    })
}

fn app_card(line: GrantLine, now: Timestamp) -> AppCard {
    let (state, mark, switch) = match &line.state {
        GrantState::Live => ("live".to_owned(), "live", "pause"),
        GrantState::Paused => ("paused".to_owned(), "paused", "resume"),
        GrantState::Expired => ("expired".to_owned(), "over", ""),
        GrantState::Ended(reason) => (ended(reason).to_owned(), "over", ""),
    };
    AppCard {
        id: line.grant_id,
        name: line.app,
        redirect: line.redirect,
        door: match line.door {
            Opened::Agent => "agent runs of your account",
            Opened::Vault => "your context vault",
            Opened::Workspace => "a workspace",
        },
        sentences: line
            .scopes
            .iter()
            .filter_map(|word| sentence(word, Providers::default()))
            .collect(),
        state,
        mark,
        since: Moment::at(line.given_at),
        ends: Moment::at(line.ended_at.unwrap_or(line.expires_at)),
        used: line.last_used_at.map(|at| Moment::ago(at, now)),
        switch,
    }
}

/// Why a connection ended, in words.
fn ended(reason: &str) -> &'static str {
    match reason {
        "revoked_by_owner" => "revoked by you",
        "revoked_by_app" => "ended by the app",
        "replaced" => "replaced by a newer connection",
        "code_replayed" | "code_guessed" | "refresh_reused" => {
            "ended: its credential was used twice"
        }
        "unused" => "ended: not used for 30 days",
        _ => "ended",
    }
}

fn session_card(line: SessionLine, now: Timestamp) -> SessionCard {
    SessionCard {
        id: line.session,
        device: line.device,
        since: Moment::at(line.since),
        used: line.used.map(|at| Moment::ago(at, now)),
        ends: Moment::at(line.ends),
        this: line.this,
    }
}
