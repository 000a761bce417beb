//! `/`: what waits for whoever is signed in.

use actix_web::http::StatusCode;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;

use super::visit::{self, Admits};
use super::{Frame, html};
use crate::app::access::grants::{GrantLine, GrantState};
use crate::http::door::Door;
use crate::mcp::PATH;

#[derive(Template)]
#[template(path = "browser/home.html", config = ".askama.toml")]
struct Home<'a> {
    frame: Frame<'a>,
    name: &'a str,
    /// Connected apps.
    apps: usize,
    has_sheet: bool,
    mcp: String,
}

pub fn configure(config: &mut ServiceConfig) {
    config.service(web::resource("/").route(web::get().to(page)));
}

async fn page(Door(door): Door, request: HttpRequest) -> HttpResponse {
    visit::read(&door, &request, Admits::SignedIn, async |visit| {
        let Some(person) = &visit.person else {
            return Ok(visit.see("/sign-in"));
        };
        let listed = match &door.apps {
            Some(apps) => apps.grants.list(person).await?,
            None => Vec::new(),
        };
        let connected =
            |line: &&GrantLine| matches!(line.state, GrantState::Live | GrantState::Paused);
        let page = Home {
            frame: visit.frame("/"),
            name: &person.name,
            apps: listed.iter().filter(connected).count(),
            has_sheet: door.sign_in.has_sheet(person).await?,
            mcp: format!("{}{PATH}", door.base.as_str()),
        };
        html(StatusCode::OK, &page)
    })
    .await
}
