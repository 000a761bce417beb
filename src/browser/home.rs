//! `/`: what waits for whoever is signed in.

use actix_web::http::StatusCode;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use helix_aggregates::time::Timestamp;

use super::connections::person_of;
use super::moment::Moment;
use super::sign_in::internal as sign_in_failed;
use super::visit::{self, Admits};
use super::{Frame, html};
use crate::app::access::grants::{GrantLine, GrantState};
use crate::http::door::Door;
use crate::mcp::PATH;

/// Apps that are named here; the rest stand under connections.
const NAMED: usize = 5;

#[derive(Template)]
#[template(path = "browser/home.html", config = ".askama.toml")]
struct Home<'a> {
    frame: Frame<'a>,
    name: &'a str,
    /// Those that could act now or when they are resumed.
    apps: Vec<App>,
    has_sheet: bool,
    /// Those beyond the ones that are named.
    more: usize,
    mcp: String,
    /// Signed-in ones.
    browsers: usize,
    version: &'static str,
}

/// A connected app in one line.
struct App {
    name: String,
    state: &'static str,
    mark: &'static str,
    used: Option<Moment>,
}

impl App {
    fn of(line: GrantLine, now: Timestamp) -> Option<Self> {
        let (state, mark) = match line.state {
            GrantState::Live => ("live", "live"),
            GrantState::Paused => ("paused", "paused"),
            GrantState::Expired | GrantState::Ended(_) => return None,
        };
        Some(Self {
            name: line.app,
            state,
            mark,
            used: line.last_used_at.map(|at| Moment::ago(at, now)),
        })
    }
}

pub fn configure(config: &mut ServiceConfig) {
    config.service(web::resource("/").route(web::get().to(page)));
}

async fn page(Door(door): Door, request: HttpRequest) -> HttpResponse {
    visit::read(&door, &request, Admits::SignedIn, async |visit| {
        let person = person_of(visit)?;
        let apps = match &door.apps {
            Some(apps) => apps.grants.list(person).await?,
            None => Vec::new(),
        };
        let sessions = door.sign_in.sessions(person).await;
        let now = door.runs.core().clock.now();
        let mut apps: Vec<App> = apps
            .into_iter()
            .filter_map(|line| App::of(line, now))
            .collect();
        let more = apps.len().saturating_sub(NAMED);
        apps.truncate(NAMED);
        let page = Home {
            frame: visit.frame("/"),
            has_sheet: door.sign_in.has_sheet(person).await?,
            name: &person.name,
            apps,
            more,
            mcp: format!("{}{PATH}", door.base.as_str()),
            browsers: sessions.map_err(sign_in_failed)?.len(),
            version: env!("CARGO_PKG_VERSION"),
        };
        html(StatusCode::OK, &page)
    })
    .await
}
