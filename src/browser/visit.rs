//! One request of a person to a page: where it comes from, who holds its session, what its form says.
//!
//! What must stay true: a cookie alone changes nothing; a form counts only from this very origin and,
//! in a session, with the session's own token (`agent-api` 8.1, settled question 58). Deliberately
//! absent: what a page does.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use actix_web::http::header::{self, HeaderValue};
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};

use super::form::Form;
use super::{Frame, Reader};
use crate::app::access::sign_in::{Origin, Person};
use crate::app::problem::{Code, Problem};
use crate::auth::oauth::throttle::Browser;
use crate::auth::session;
use crate::http::door::Doors;
use crate::http::permits::Demand;
use crate::http::pipeline::{self, Exchange, Stop, header_text, sole, values};
use crate::http::rate_limit::address_key;
use crate::http::surface::Surface;

/// What a page knows of the request it answers.
#[derive(Debug)]
pub struct Visit<'r> {
    pub door: &'r Arc<Doors>,
    pub request: &'r HttpRequest,
    /// The client's address, behind trusted proxies.
    pub sender: IpAddr,
    pub person: Option<Person>,
}

impl Visit<'_> {
    /// The frame of a page at `path`.
    pub fn frame(&self, path: &str) -> Frame<'_> {
        let frame = Frame::of(&self.door.base, path);
        Frame {
            reader: self.person.as_ref().map(|person| Reader {
                csrf: person.csrf.as_str(),
            }),
            ..frame
        }
    }

    /// Where a passphrase for `email` is entered.
    pub fn origin(&self, email: &str) -> Origin {
        let cookies: Vec<&[u8]> = values(self.request, "cookie").collect();
        let mark = self.door.sign_in.known_browser(email);
        Origin {
            address: address_key(self.sender),
            browser: if session::is_known(&cookies, &mark) {
                Browser::SignedInBefore
            } else {
                Browser::Unknown
            },
        }
    }

    /// Sends the browser to a path of this server after a form (`pages`: Post/Redirect/Get).
    pub fn see(&self, path: &str) -> HttpResponse {
        let frame = Frame::of(&self.door.base, path);
        HttpResponse::SeeOther()
            .insert_header((header::LOCATION, format!("{}{path}", frame.root)))
            .finish()
    }
}

/// Whether whoever is not signed in may see a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admits {
    Anybody,
    /// Others are sent to sign in and come back.
    SignedIn,
}

/// Answers a request to read a page.
pub async fn read<F>(
    door: &Arc<Doors>,
    request: &HttpRequest,
    admits: Admits,
    page: F,
) -> HttpResponse
where
    F: AsyncFnOnce(&Visit<'_>) -> Result<HttpResponse, Problem>,
{
    let started = Instant::now();
    let mut exchange = Exchange::of(door, request, Surface::Pages);
    let answered = async {
        let visit = come(door, request, &mut exchange).await?;
        if admits == Admits::SignedIn && visit.person.is_none() {
            return Ok(visit.see(&sign_in_first(request)));
        }
        pipeline::placed(door, Demand::Ordinary, page(&visit)).await
    }
    .await;
    pipeline::conclude(door, request, &exchange, answered, started)
}

/// Answers a form.
pub async fn posted<F>(
    door: &Arc<Doors>,
    request: &HttpRequest,
    payload: Payload,
    rules: Rules,
    page: F,
) -> HttpResponse
where
    F: AsyncFnOnce(&Visit<'_>, Form) -> Result<HttpResponse, Problem>,
{
    let started = Instant::now();
    let mut exchange = Exchange::of(door, request, Surface::Pages);
    let answered = async {
        check_form_type(request)?;
        let visit = come(door, request, &mut exchange).await?;
        check_origin(door, request, rules.origin)?;
        let limit = door.limits(Surface::Pages).body;
        let bytes = pipeline::read_bytes(limit, request, payload).await?;
        let form = Form::decode(&bytes)?;
        match (&visit.person, rules.admits) {
            (Some(person), Admits::SignedIn) if form.text("csrf") == Some(&person.csrf) => {}
            (Some(_), Admits::SignedIn) => return Err(Problem::new(Code::FormForged).into()),
            (None, Admits::SignedIn) => return Ok(visit.see("/sign-in")),
            (_, Admits::Anybody) => {}
        }
        pipeline::placed(door, rules.demand, page(&visit, form)).await
    }
    .await;
    pipeline::conclude(door, request, &exchange, answered, started)
}

/// What a form must bring.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    pub admits: Admits,
    pub origin: OriginRule,
    pub demand: Demand,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OriginRule {
    /// `Origin` says that the form is a page of this server.
    Stated,
    /// It says so or says nothing: the form carries a passphrase.
    NotForeign,
}

async fn come<'r>(
    door: &'r Arc<Doors>,
    request: &'r HttpRequest,
    exchange: &mut Exchange,
) -> Result<Visit<'r>, Stop> {
    pipeline::check_transport(door, request, exchange)?;
    pipeline::check_encoding(request)?;
    let cookies: Vec<&[u8]> = values(request, "cookie").collect();
    let person = match session::presented(&door.base, &cookies) {
        None => None,
        Some(hash) => {
            let _turn = door.permits.come_in(Demand::Ordinary).await?;
            door.sign_in.person(&hash).await.map_err(Problem::from)?
        }
    };
    Ok(Visit {
        door,
        request,
        sender: pipeline::sender_of(door, request),
        person,
    })
}

fn check_form_type(request: &HttpRequest) -> Result<(), Problem> {
    let form = header_text(request, "content-type").is_some_and(|value| {
        let name = value.split(';').next().unwrap_or_default();
        name.trim()
            .eq_ignore_ascii_case("application/x-www-form-urlencoded")
    });
    if form {
        Ok(())
    } else {
        Err(Problem::invalid(
            "Send the form as application/x-www-form-urlencoded.",
        ))
    }
}

/// Whether a request that changes something comes from a page of this server.
pub(crate) fn check_origin(
    door: &Doors,
    request: &HttpRequest,
    rule: OriginRule,
) -> Result<(), Problem> {
    let foreign = || Problem::new(Code::FormForged);
    let site = sole(request, "sec-fetch-site").map(HeaderValue::as_bytes);
    if values(request, "sec-fetch-site").next().is_some() && site != Some(b"same-origin") {
        return Err(foreign());
    }
    match sole(request, "origin").map(HeaderValue::as_bytes) {
        Some(origin) if origin == pipeline::own_origin(door, request).as_bytes() => Ok(()),
        None if values(request, "origin").next().is_none() && rule == OriginRule::NotForeign => {
            Ok(())
        }
        _ => Err(foreign()),
    }
}

/// Where to sign in, and back.
pub(super) fn sign_in_first(request: &HttpRequest) -> String {
    let wanted = request
        .uri()
        .path_and_query()
        .map_or("/", |wanted| wanted.as_str());
    let next: String = super::form::encoded(wanted);
    format!("/sign-in?next={next}")
}
