//! `/authorize`: whether an app may act for somebody (`access` 3.4).

mod within;

use std::borrow::Cow;

use actix_web::http::StatusCode;
use actix_web::http::header;
use actix_web::web::{self, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use secrecy::ExposeSecret;

use super::form::Form;
use super::moment::Moment;
use super::sign_in::{internal as sign_in_failed, refused, wait_of, waiting};
use super::visit::{self, Admits, OriginRule, Rules, Visit};
use super::{Frame, Notice, html, html_leading_to};
use crate::app::access::consents::{ConsentError, Question};
use crate::app::access::grants::{Decision, Earlier, GrantsError, Within, shown};
use crate::app::access::sign_in::{Proved, SignInError};
use crate::app::problem::{Code, Problem};
use crate::app::work::choices::WorkspaceChoice;
use crate::auth::oauth::redirect::Shown;
use crate::auth::oauth::resource::Door as DoorKind;
use crate::auth::oauth::scope::{Providers, Scopes, sentence};
use crate::http::arrival;
use crate::http::door::{Apps, Door};
use crate::http::permits::Demand;
use crate::http::pipeline::{Stop, values};
use crate::store::log::Meta;

/// Days after which a connection ends by itself.
const EXPIRIES: [u16; 5] = [1, 7, 30, 90, 365];

#[derive(Template)]
#[template(path = "browser/consent.html", config = ".askama.toml")]
struct Consent<'a> {
    frame: Frame<'a>,
    whither: String,
    on_this_computer: bool,
    app: &'a str,
    registered: Moment,
    fault: Option<&'a str>,
    /// What is wrong with who decides, said where they are asked.
    proof: Option<&'a str>,
    handle: &'a str,
    asking: String,
    asked: Vec<Choice>,
    others: Vec<Choice>,
    /// One of them was ticked before, so they are not folded away.
    others_ticked: bool,
    workspaces: Vec<within::Offered>,
    reach: &'a str,
    expiries: Vec<Expiry>,
    keep_existing: bool,
    signed_in: Option<&'a str>,
    email: &'a str,
}

/// A scope on the page.
struct Choice {
    word: &'static str,
    sentence: String,
    ticked: bool,
}

/// After how long a connection ends by itself.
struct Expiry {
    days: u16,
    said: String,
    chosen: bool,
}

pub fn configure(config: &mut ServiceConfig) {
    config.service(
        web::resource("/authorize")
            .route(web::get().to(page))
            .route(web::post().to(decide)),
    );
}

async fn page(Door(door): Door, request: HttpRequest) -> HttpResponse {
    visit::read(&door, &request, Admits::Anybody, async |visit| {
        let apps = apps_for(visit)?;
        count(visit, apps)?;
        match apps
            .consents
            .ask(request.query_string(), visit.person.as_ref())
            .await
        {
            // Whose workspaces there are to choose from is known of somebody signed in alone (settled
            // question 50).
            Ok(question) if wants_workspace(&question) && visit.person.is_none() => {
                Ok(visit.see(&visit::sign_in_first(&request)))
            }
            Ok(question) => {
                let choices = choices(visit, &question).await?;
                show(visit, StatusCode::OK, &question, &choices, None, None)
            }
            Err(error) => not_asked(visit, error),
        }
    })
    .await
}

async fn decide(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    let rules = Rules {
        admits: Admits::Anybody,
        // The form carries a passphrase (settled question 58).
        origin: OriginRule::NotForeign,
        demand: Demand::Ordinary,
    };
    visit::posted(&door, &request, payload, rules, async |visit, form| {
        let apps = apps_for(visit)?;
        count(visit, apps)?;
        let session = visit.person.as_ref().map(|person| person.session.uuid());
        let handle = form.text_or_empty("oauthreq");
        let question = match apps.consents.asked(handle, session).await {
            Ok(question) => question,
            Err(error) => return not_asked(visit, error),
        };
        match form.text("action") {
            Some("deny") => match apps.consents.deny(&question).await {
                Ok(url) => Ok(sent(&url)),
                Err(error) => not_asked(visit, error),
            },
            Some("allow") => allow(visit, apps, &question, &form).await,
            _ => Err(Problem::invalid("The form says neither allow nor deny.")),
        }
    })
    .await
}

/// Questions and answers count alike against their address.
fn count(visit: &Visit<'_>, apps: &Apps) -> Result<(), Problem> {
    let counted = arrival::count_address(visit.door, visit.request, &apps.questions);
    counted.map_err(Stop::into_problem)
}

async fn allow(
    visit: &Visit<'_>,
    apps: &Apps,
    question: &Question,
    form: &Form,
) -> Result<HttpResponse, Problem> {
    let bad = StatusCode::BAD_REQUEST;
    let choices = choices(visit, question).await?;
    let Some(scopes) = Scopes::chosen(question.request.door(), form.all("scopes")) else {
        let fault = "Tick at least one thing that the app may do, or deny.";
        return show(visit, bad, question, &choices, Some(fault), Some(form));
    };
    let within = if wants_workspace(question) {
        match within::chosen(&choices, form) {
            Ok(within) => within,
            Err(fault) => return show(visit, bad, question, &choices, Some(fault), Some(form)),
        }
    } else {
        Within::Account
    };
    let days = form
        .text("expires_days")
        .map_or(Some(30), |days| days.parse().ok());
    let Some(expires_days) = days.filter(|days| EXPIRIES.contains(days)) else {
        return Err(Problem::invalid(
            "The form names an expiry that was not offered.",
        ));
    };
    let (proved, meta) = match prove(visit, form).await {
        Ok(proved) => proved,
        Err(error) => return unproved(visit, question, &choices, form, error),
    };
    let earlier = if form.text("keep_existing") == Some("1") {
        Earlier::Kept
    } else {
        Earlier::Replaced
    };
    let decision = Decision {
        request: &question.request,
        app: &question.app,
        scopes,
        within,
        expires_days,
        earlier,
        handle_hash: question.handle_hash,
    };
    match apps.grants.give(&proved, &meta, &decision).await {
        Ok(code) => Ok(sent(&apps.consents.answer(question, code.expose_secret()))),
        Err(GrantsError::Spent) => not_asked(visit, ConsentError::Spent),
        Err(GrantsError::PassphraseChanged) => {
            unproved(visit, question, &choices, form, SignInError::Wrong)
        }
        Err(error @ GrantsError::TooMany) => {
            let fault = format!("{error}. Revoke one first.");
            show(
                visit,
                StatusCode::CONFLICT,
                question,
                &choices,
                Some(&fault),
                Some(form),
            )
        }
        Err(error) => Err(error.into()),
    }
}

fn wants_workspace(question: &Question) -> bool {
    question.request.door() == DoorKind::Workspace
}

/// The workspaces to choose from, where the door is theirs.
async fn choices(visit: &Visit<'_>, question: &Question) -> Result<Vec<WorkspaceChoice>, Problem> {
    match &visit.person {
        Some(person) if wants_workspace(question) => visit.door.work.choices(person).await,
        Some(_) | None => Ok(Vec::new()),
    }
}

/// The page once more, for whoever did not show the account's passphrase.
fn unproved(
    visit: &Visit<'_>,
    question: &Question,
    choices: &[WorkspaceChoice],
    form: &Form,
    error: SignInError,
) -> Result<HttpResponse, Problem> {
    let wait = wait_of(&error);
    let (status, fault) = refused(error)?;
    let shown = show(visit, status, question, choices, Some(&fault), Some(form))?;
    Ok(waiting(shown, wait))
}

/// Whoever decides has just entered the passphrase, signed in or not.
async fn prove(visit: &Visit<'_>, form: &Form) -> Result<(Proved, Meta), SignInError> {
    let passphrase = form.secret("passphrase");
    let sign_in = &visit.door.sign_in;
    if let Some(person) = &visit.person {
        let origin = visit.origin(&person.email);
        let proved = sign_in.prove_again(person, passphrase, &origin).await?;
        return Ok((proved, person.meta()));
    }
    let email = form.text_or_empty("email");
    let origin = visit.origin(email);
    let proved = sign_in.prove(email, passphrase, &origin).await?;
    Ok((proved, Meta::new()))
}

fn apps_for<'v>(visit: &'v Visit<'_>) -> Result<&'v Apps, Problem> {
    // No agent consents to itself (`access` 9).
    if values(visit.request, "authorization").next().is_some() {
        return Err(Problem::new(Code::HumanActionRequired));
    }
    let apps = visit.door.apps.as_ref();
    apps.ok_or_else(|| Problem::new(Code::NoSuchPath))
}

/// Sends the browser to the app; the form is not posted again (`access` 13, K23).
fn sent(url: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((header::LOCATION, url))
        .finish()
}

fn show(
    visit: &Visit<'_>,
    status: StatusCode,
    question: &Question,
    choices: &[WorkspaceChoice],
    fault: Option<&str>,
    form: Option<&Form>,
) -> Result<HttpResponse, Problem> {
    let request = &question.request;
    let offer = request.requested.offer();
    // What was ticked stays ticked when the page is shown again.
    let ticked = |word: &str| match form {
        Some(form) => form.all("scopes").any(|chosen| chosen == word),
        None => offer.ticked.contains(word),
    };
    let listed = |words: &[&'static str]| {
        let choice = |word: &&'static str| Choice {
            word,
            sentence: sentence(word, Providers::default()).unwrap_or_default(),
            ticked: ticked(word),
        };
        words.iter().map(choice).collect::<Vec<_>>()
    };
    let others = listed(&offer.folded);
    let now = visit.door.runs.core().clock.now();
    // A form that cannot be read so is told at its top; a person who is not known, where they are asked.
    let (fault, proof) = match status {
        StatusCode::BAD_REQUEST | StatusCode::CONFLICT => (fault, None),
        _ => (None, fault),
    };
    let page = Consent {
        frame: visit.frame("/authorize"),
        whither: shown(request),
        on_this_computer: matches!(request.redirect.shown(), Shown::ThisComputer),
        app: &question.app,
        registered: Moment::ago(question.registered_at, now),
        fault,
        proof,
        handle: question.handle.expose_secret(),
        asking: format!("{} is asking for these", question.app),
        asked: listed(&offer.open),
        others_ticked: others.iter().any(|choice| choice.ticked),
        others,
        workspaces: within::offered(choices, form),
        reach: form.map_or("", |form| form.text_or_empty("reach")),
        expiries: expiries(form),
        keep_existing: form.is_some_and(|form| form.text("keep_existing") == Some("1")),
        signed_in: visit.person.as_ref().map(|person| person.email.as_str()),
        email: form.map_or("", |form| form.text_or_empty("email")),
    };
    html_leading_to(status, &page, &request.redirect.form_action_origin())
}

fn expiries(form: Option<&Form>) -> Vec<Expiry> {
    let chosen = form
        .and_then(|form| form.text("expires_days"))
        .and_then(|days| days.parse().ok())
        .unwrap_or(30);
    let expiry = |days: u16| Expiry {
        days,
        said: match days {
            1 => "1 day".to_owned(),
            365 => "1 year".to_owned(),
            _ => format!("{days} days"),
        },
        chosen: days == chosen,
    };
    EXPIRIES.into_iter().map(expiry).collect()
}

fn not_asked(visit: &Visit<'_>, error: ConsentError) -> Result<HttpResponse, Problem> {
    let said = |status, title: &str, text: Cow<'_, str>| {
        let page = Notice {
            frame: visit.frame("/authorize"),
            title,
            text: &text,
            next: None,
        };
        html(status, &page)
    };
    match error {
        ConsentError::Page(error) => {
            let text = format!("The app did not ask in a way that can be answered: {error}.");
            said(StatusCode::BAD_REQUEST, "This app cannot be connected", text.into())
        }
        ConsentError::Told(url) => Ok(sent(&url)),
        ConsentError::Spent => said(
            StatusCode::BAD_REQUEST,
            "This question is over",
            "It was answered already, or stood open for more than ten minutes. Start again in the app.".into(),
        ),
        ConsentError::OtherSession => said(
            StatusCode::FORBIDDEN,
            "This question is not yours",
            "It was shown in another session. Start again in the app.".into(),
        ),
        ConsentError::Store(error) => Err(sign_in_failed(error.into())),
    }
}
