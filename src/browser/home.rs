//! `/`: what waits for whoever is signed in.

use actix_web::http::StatusCode;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;

use super::visit::{self, Admits};
use super::{Frame, html};
use crate::http::door::Door;
use crate::mcp::PATH;

#[derive(Template)]
#[template(path = "browser/home.html", config = ".askama.toml")]
struct Home<'a> {
    frame: Frame<'a>,
    name: &'a str,
    /// Connected apps.
    apps: usize,
    mcp: String,
}

pub fn configure(config: &mut ServiceConfig) {
    config.service(web::resource("/").route(web::get().to(page)));
}

async fn page(Door(door): Door, request: HttpRequest) -> HttpResponse {
    visit::read(&door, &request, Admits::SignedIn, async |visit| {
        let name = visit
            .person
            .as_ref()
            .map_or("", |person| person.name.as_str());
        let page = Home {
            frame: visit.frame("/"),
            name,
            apps: 0,
            mcp: format!("{}{PATH}", door.base.as_str()),
        };
        html(StatusCode::OK, &page)
    })
    .await
}
