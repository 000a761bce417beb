//! `/invite/{link}`: somebody who was invited, or lost the passphrase, chooses one (`vault` 7).

use actix_web::http::StatusCode;
use actix_web::web::{self, Path, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use secrecy::ExposeSecret;

use super::sign_in::{device_of, handed, refused};
use super::visit::{self, Admits, OriginRule, Rules, Visit};
use super::{Frame, Notice, html};
use crate::app::access::sign_in::SignInError;
use crate::app::problem::Problem;
use crate::http::door::Door;
use crate::http::permits::Demand;

#[derive(Template)]
#[template(path = "browser/invite.html", config = ".askama.toml")]
struct Invite<'a> {
    frame: Frame<'a>,
    action: String,
    fault: Option<&'a str>,
}

pub fn configure(config: &mut ServiceConfig) {
    config.service(
        web::resource("/invite/{link}")
            .route(web::get().to(page))
            .route(web::post().to(choose)),
    );
}

async fn page(Door(door): Door, request: HttpRequest, link: Path<String>) -> HttpResponse {
    visit::read(&door, &request, Admits::Anybody, async |visit| {
        if door.sign_in.is_choice_link(&link).await? {
            show(visit, StatusCode::OK, &link, None)
        } else {
            spent(visit)
        }
    })
    .await
}

async fn choose(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
    link: Path<String>,
) -> HttpResponse {
    let rules = Rules {
        admits: Admits::Anybody,
        origin: OriginRule::Stated,
        demand: Demand::Ordinary,
    };
    visit::posted(&door, &request, payload, rules, async |visit, form| {
        let passphrase = form.secret("passphrase");
        let chosen = if passphrase.expose_secret() == form.text_or_empty("passphrase2") {
            let device = device_of(&request);
            door.sign_in.choose(&link, passphrase, device).await
        } else {
            Err(SignInError::PassphrasesDiffer)
        };
        match chosen {
            Ok(started) => Ok(handed(visit, &started, "/")),
            Err(SignInError::LinkSpent) => spent(visit),
            Err(error) => {
                let (status, fault) = refused(error)?;
                show(visit, status, &link, Some(&fault))
            }
        }
    })
    .await
}

fn show(
    visit: &Visit<'_>,
    status: StatusCode,
    link: &str,
    fault: Option<&str>,
) -> Result<HttpResponse, Problem> {
    let frame = visit.frame("/invite");
    let page = Invite {
        action: format!("{}/invite/{link}", frame.root),
        frame,
        fault,
    };
    html(status, &page)
}

/// One answer for a link that was used, is over or never was.
fn spent(visit: &Visit<'_>) -> Result<HttpResponse, Problem> {
    let page = Notice {
        frame: visit.frame("/invite"),
        title: "This link does not work any more",
        text: "An invitation works once and for 30 days, a link for a new passphrase once and for an hour. Whoever runs \
            the server can make another.",
        next: Some(("/sign-in", "Sign in instead")),
    };
    html(StatusCode::NOT_FOUND, &page)
}
