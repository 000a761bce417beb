//! `/account` and `/recover`: what owners do with their own account.

use actix_web::http::StatusCode;
use actix_web::web::{self, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use secrecy::ExposeSecret;

use super::form::Form;
use super::sign_in::{
    device_of, handed, internal as sign_in_failed, refused, signed_out, wait_of, waiting,
};
use super::visit::{self, Admits, OriginRule, Rules, Visit};
use super::{Frame, Notice, html};
use crate::app::access::sign_in::{Person, Proved, SignInError};
use crate::app::problem::Problem;
use crate::app::work::parting::PartingError;
use crate::http::door::Door;
use crate::http::permits::Demand;

#[derive(Template)]
#[template(path = "browser/account.html", config = ".askama.toml")]
struct Account<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    name: &'a str,
    email: &'a str,
    id: String,
    done: Option<&'static str>,
    /// Which form was refused, and why.
    fault: Option<(&'static str, String)>,
    has_sheet: bool,
}

#[derive(Template)]
#[template(path = "browser/recovery_sheet.html", config = ".askama.toml")]
struct Sheet<'a> {
    frame: Frame<'a>,
    email: &'a str,
    server: &'a str,
    codes: Vec<&'a str>,
}

#[derive(Template)]
#[template(path = "browser/recover.html", config = ".askama.toml")]
struct Recover<'a> {
    frame: Frame<'a>,
    fault: Option<&'a str>,
    email: &'a str,
}

const OWN: Rules = Rules {
    admits: Admits::SignedIn,
    origin: OriginRule::Stated,
    demand: Demand::Withdrawal,
};
const ANYBODY: Rules = Rules {
    admits: Admits::Anybody,
    origin: OriginRule::Stated,
    demand: Demand::Ordinary,
};

pub fn configure(config: &mut ServiceConfig) {
    config
        .service(web::resource("/account").route(web::get().to(page)))
        .service(web::resource("/account/passphrase").route(web::post().to(change)))
        .service(web::resource("/account/recovery-sheet").route(web::post().to(sheet)))
        .service(web::resource("/account/delete").route(web::post().to(delete)))
        .service(
            web::resource("/recover")
                .route(web::get().to(recover_page))
                .route(web::post().to(recover)),
        );
}

async fn page(Door(door): Door, request: HttpRequest) -> HttpResponse {
    visit::read(&door, &request, Admits::SignedIn, async |visit| {
        let query = Form::decode(request.query_string().as_bytes())?;
        let done = (query.text("done") == Some("passphrase")).then_some(
            "The passphrase is changed, and every other browser is signed out. Apps stay connected; end those you \
                do not trust under Connections.",
        );
        show(visit, StatusCode::OK, done, None).await
    })
    .await
}

async fn change(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    visit::posted(&door, &request, payload, OWN, async |visit, form| {
        let fresh = form.secret("passphrase_new");
        if fresh.expose_secret() != form.text_or_empty("passphrase_confirm") {
            let error = SignInError::PassphrasesDiffer;
            return failed(visit, "passphrase", error).await;
        }
        let changed = async {
            let (person, proved) = prove(visit, &form).await?;
            door.sign_in.change_passphrase(person, &proved, fresh).await
        };
        match changed.await {
            Ok(()) => Ok(visit.see("/account?done=passphrase")),
            Err(error) => failed(visit, "passphrase", error).await,
        }
    })
    .await
}

async fn sheet(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    visit::posted(&door, &request, payload, OWN, async |visit, form| {
        let issued = async {
            let (person, proved) = prove(visit, &form).await?;
            let codes = door.sign_in.issue_sheet(person, &proved).await?;
            Ok((person, codes))
        };
        match issued.await {
            Ok((person, codes)) => {
                let page = Sheet {
                    frame: visit.frame("/account"),
                    email: &person.email,
                    server: door.base.as_str(),
                    codes: codes.iter().map(ExposeSecret::expose_secret).collect(),
                };
                html(StatusCode::OK, &page)
            }
            Err(error) => failed(visit, "sheet", error).await,
        }
    })
    .await
}

async fn delete(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    visit::posted(&door, &request, payload, OWN, async |visit, form| {
        let deleted = async {
            let (person, proved) = prove(visit, &form).await?;
            let with = match door.work.part(person).await {
                Ok(with) => with,
                Err(stays) => return Ok(Some(stays)),
            };
            door.sign_in.delete_account(person, &proved, with).await?;
            Ok(None)
        };
        match deleted.await {
            Ok(Some(PartingError::OnlyOwner(name))) => {
                let fault = format!(
                    "You are the only owner of “{name}”, where others work. Make somebody else an owner, or take \
                     the others out, and try again."
                );
                show(visit, StatusCode::CONFLICT, None, Some(("delete", fault))).await
            }
            Ok(Some(PartingError::Problem(problem))) => Err(problem),
            Ok(None) => {
                let frame = Frame::of(&door.base, "/account");
                let page = Notice {
                    frame,
                    title: "The account is gone",
                    text: "What was stored for it can no longer be read by anybody, and everything that could act \
                        for it has ended.",
                    next: None,
                };
                Ok(signed_out(html(StatusCode::OK, &page)?, &door.base))
            }
            Err(error) => failed(visit, "delete", error).await,
        }
    })
    .await
}

async fn recover_page(Door(door): Door, request: HttpRequest) -> HttpResponse {
    visit::read(&door, &request, Admits::Anybody, async |visit| {
        show_recover(visit, StatusCode::OK, None, "")
    })
    .await
}

async fn recover(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    visit::posted(&door, &request, payload, ANYBODY, async |visit, form| {
        let email = form.text_or_empty("email");
        let fresh = form.secret("passphrase");
        let recovered = if fresh.expose_secret() == form.text_or_empty("passphrase_confirm") {
            let code = form.text_or_empty("code");
            let origin = visit.origin(email);
            let device = device_of(&request);
            door.sign_in
                .recover(email, code, fresh, &origin, device)
                .await
        } else {
            Err(SignInError::PassphrasesDiffer)
        };
        match recovered {
            Ok(started) => Ok(handed(visit, &started, "/account?done=passphrase")),
            Err(error) => {
                let wait = wait_of(&error);
                let (status, fault) = refused(error)?;
                Ok(waiting(
                    show_recover(visit, status, Some(&fault), email)?,
                    wait,
                ))
            }
        }
    })
    .await
}

/// Whoever is signed in and has just entered the passphrase.
async fn prove<'v>(visit: &'v Visit<'_>, form: &Form) -> Result<(&'v Person, Proved), SignInError> {
    let person = visit.person.as_ref().ok_or(SignInError::Wrong)?;
    let origin = visit.origin(&person.email);
    let passphrase = form.secret("passphrase");
    let proved = visit
        .door
        .sign_in
        .prove_again(person, passphrase, &origin)
        .await?;
    Ok((person, proved))
}

async fn failed(
    visit: &Visit<'_>,
    which: &'static str,
    error: SignInError,
) -> Result<HttpResponse, Problem> {
    let wait = wait_of(&error);
    let (status, fault) = refused(error)?;
    let shown = show(visit, status, None, Some((which, fault.into_owned()))).await?;
    Ok(waiting(shown, wait))
}

async fn show(
    visit: &Visit<'_>,
    status: StatusCode,
    done: Option<&'static str>,
    fault: Option<(&'static str, String)>,
) -> Result<HttpResponse, Problem> {
    let Some(person) = &visit.person else {
        return Ok(visit.see("/sign-in"));
    };
    let has_sheet = visit.door.sign_in.has_sheet(person).await;
    let page = Account {
        frame: visit.frame("/account"),
        csrf: &person.csrf,
        name: &person.name,
        email: &person.email,
        id: person.account.to_string(),
        done,
        fault,
        has_sheet: has_sheet.map_err(|error| sign_in_failed(error.into()))?,
    };
    html(status, &page)
}

fn show_recover(
    visit: &Visit<'_>,
    status: StatusCode,
    fault: Option<&str>,
    email: &str,
) -> Result<HttpResponse, Problem> {
    let page = Recover {
        frame: visit.frame("/recover"),
        fault,
        email,
    };
    html(status, &page)
}
