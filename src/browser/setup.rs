//! `/setup/{link}`: the first owner makes their account (`pages`, first run 3).

use actix_web::http::StatusCode;
use actix_web::web::{self, Path, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use secrecy::ExposeSecret;

use super::form::Form;
use super::sign_in::{device_of, handed, refused};
use super::visit::{self, Admits, OriginRule, Rules, Visit};
use super::{Frame, Notice, html};
use crate::app::access::sign_in::{SetUp, SignInError, Whence};
use crate::app::problem::Problem;
use crate::http::door::Door;
use crate::http::permits::Demand;

#[derive(Template)]
#[template(path = "browser/setup.html", config = ".askama.toml")]
struct Setup<'a> {
    frame: Frame<'a>,
    action: String,
    fault: Option<&'a str>,
    name: &'a str,
    email: &'a str,
}

pub fn configure(config: &mut ServiceConfig) {
    config.service(
        web::resource("/setup/{link}")
            .route(web::get().to(page))
            .route(web::post().to(set_up)),
    );
}

async fn page(Door(door): Door, request: HttpRequest, link: Path<String>) -> HttpResponse {
    visit::read(&door, &request, Admits::Anybody, async |visit| {
        if door.sign_in.is_setup_link(&link, visit.sender).await? {
            show(visit, StatusCode::OK, &link, None, None)
        } else {
            spent(visit)
        }
    })
    .await
}

async fn set_up(
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
        if passphrase.expose_secret() != form.text_or_empty("passphrase_confirm") {
            let error = SignInError::PassphrasesDiffer;
            return failed(visit, &link, &form, error);
        }
        let filled = SetUp {
            name: form.text_or_empty("name").to_owned(),
            email: form.text_or_empty("email").to_owned(),
            passphrase,
        };
        let from = Whence {
            sender: visit.sender,
            device: device_of(&request),
        };
        match door.sign_in.set_up(&link, filled, from).await {
            Ok(started) => Ok(handed(visit, &started, "/")),
            Err(SignInError::LinkSpent) => spent(visit),
            Err(error) => failed(visit, &link, &form, error),
        }
    })
    .await
}

fn failed(
    visit: &Visit<'_>,
    link: &str,
    form: &Form,
    error: SignInError,
) -> Result<HttpResponse, Problem> {
    let (status, fault) = refused(error)?;
    show(visit, status, link, Some(&fault), Some(form))
}

fn show(
    visit: &Visit<'_>,
    status: StatusCode,
    link: &str,
    fault: Option<&str>,
    form: Option<&Form>,
) -> Result<HttpResponse, Problem> {
    let frame = visit.frame("/setup");
    let page = Setup {
        action: format!("{}/setup/{link}", frame.root),
        frame,
        fault,
        name: form.map_or("", |form| form.text_or_empty("name")),
        email: form.map_or("", |form| form.text_or_empty("email")),
    };
    html(status, &page)
}

/// One answer for a link that was used, is over or never was.
fn spent(visit: &Visit<'_>) -> Result<HttpResponse, Problem> {
    let page = Notice {
        frame: visit.frame("/setup"),
        title: "This link does not work any more",
        text: "A setup link works once, for 60 minutes, and on the machine of the server alone unless it was made with \
            --public. As long as the server has no owner, `helix owner link` makes a new one.",
        next: Some(("/sign-in", "Sign in instead")),
    };
    html(StatusCode::NOT_FOUND, &page)
}
