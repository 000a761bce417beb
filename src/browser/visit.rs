//! One request of a person to a page: where it comes from, who holds its session, what its form says.
//!
//! What must stay true: a cookie alone changes nothing; a form counts only from this very origin and,
//! in a session, with the session's own token (`agent-api` 8.1, settled question 58). Deliberately
//! absent: what a page does.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use actix_web::http::header;
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};

use super::form::Form;
use super::{Frame, Reader};
use crate::app::access::sign_in::{Origin, Person};
use crate::app::problem::{Code, Problem};
use crate::auth::oauth::throttle::Browser;
use crate::auth::session;
use crate::http::arrival;
use crate::http::door::Doors;
use crate::http::permits::Demand;
use crate::http::pipeline::{self, Exchange, FORM, Stop, has_media_type, values};
use crate::http::rate_limit::address_key;
use crate::http::surface::Surface;

pub use crate::http::arrival::OriginRule;

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
        let visit = come(door, request, &mut exchange, Demand::Ordinary).await?;
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
        let visit = come(door, request, &mut exchange, rules.demand).await?;
        arrival::check_origin(door, request, rules.origin)?;
        if !has_media_type(request, FORM) {
            let text = "Send the form as application/x-www-form-urlencoded.";
            return Err(Problem::invalid(text).into());
        }
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

async fn come<'r>(
    door: &'r Arc<Doors>,
    request: &'r HttpRequest,
    exchange: &mut Exchange,
    demand: Demand,
) -> Result<Visit<'r>, Stop> {
    arrival::check(door, request, exchange)?;
    pipeline::check_encoding(request)?;
    let cookies: Vec<&[u8]> = values(request, "cookie").collect();
    let person = match session::presented(&door.base, &cookies) {
        None => None,
        Some(hash) => {
            let _turn = door.permits.come_in(demand).await?;
            let person = door.sign_in.person(&hash, demand.line()).await;
            person.map_err(Problem::from)?
        }
    };
    Ok(Visit {
        door,
        request,
        sender: arrival::sender_of(door, request),
        person,
    })
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
