//! Where a request comes from: its address, host, origin and scheme (`agent-api` 1.11, 8.1).
//!
//! What must stay true: the address is counted before anything else is looked at. Deliberately absent:
//! who asks.

use std::net::{IpAddr, Ipv4Addr};

use actix_web::HttpRequest;
use actix_web::http::header::HeaderValue;

use super::door::Doors;
use super::exposure;
use super::pipeline::{Exchange, Stop, count, now_ms, sole, values};
use super::rate_limit::{WindowLimiter, address_key};
use super::surface::PagesOf;
use super::transport::{RequestHead, Scheme, TransportRefusal};
use crate::app::problem::{Code, Problem};

/// How clearly a change that a browser asks for must come from a page of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OriginRule {
    /// Both `Origin` and `Sec-Fetch-Site` say so.
    StatedTwice,
    /// `Origin` says so.
    Stated,
    /// It says so or says nothing: the form carries a passphrase.
    NotForeign,
}

/// Counts a request against a further limit of its address.
pub(crate) fn count_address(
    door: &Doors,
    request: &HttpRequest,
    limiter: &WindowLimiter,
) -> Result<(), Stop> {
    let address = sender_of(door, request);
    match limiter.hit(&address_key(address), now_ms(door)) {
        Some(verdict) if !verdict.allowed => Err(Stop::Limited(verdict)),
        Some(_) | None => Ok(()),
    }
}

/// The client's address, behind trusted proxies.
pub(crate) fn sender_of(door: &Doors, request: &HttpRequest) -> IpAddr {
    let headers = |name| values(request, name).collect::<Vec<&[u8]>>();
    let (forwarded_for, forwarded_proto) =
        (headers("x-forwarded-for"), headers("x-forwarded-proto"));
    let head = RequestHead {
        peer: peer_of(request),
        socket: Scheme::Http,
        hosts: &[],
        origins: &[],
        forwarded_for: &forwarded_for,
        forwarded_proto: &forwarded_proto,
    };
    door.transport.sender(&head).address
}

/// The origin that a page of this server has in the browser that asks. The host has been admitted.
pub(crate) fn own_origin(door: &Doors, request: &HttpRequest) -> String {
    let host = sole(request, "host").and_then(|host| host.to_str().ok());
    let base = door.base.origin();
    match (host, base.split_once("://")) {
        (Some(host), Some((scheme, _))) => format!("{scheme}://{}", host.to_ascii_lowercase()),
        _ => base.to_owned(),
    }
}

fn peer_of(request: &HttpRequest) -> IpAddr {
    request
        .peer_addr()
        .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip())
}

/// Address limit, then host, origin and scheme.
pub(crate) fn check(
    door: &Doors,
    request: &HttpRequest,
    exchange: &mut Exchange,
) -> Result<(), Stop> {
    let headers = |name| values(request, name).collect::<Vec<&[u8]>>();
    let authority = request
        .uri()
        .authority()
        .map(|authority| authority.as_str().as_bytes());
    let mut hosts = headers("host");
    // An absolute URI or HTTP/2 names the host itself; a Host that says otherwise is refused.
    if let Some(authority) = authority
        && hosts != [authority]
    {
        hosts.push(authority);
    }
    let forwarded_for = headers("x-forwarded-for");
    let origins = match exchange.surface.admits_pages_of() {
        PagesOf::AnySite => Vec::new(),
        PagesOf::Admitted => headers("origin"),
    };
    let forwarded_proto = headers("x-forwarded-proto");
    let head = RequestHead {
        peer: peer_of(request),
        socket: Scheme::Http,
        hosts: &hosts,
        origins: &origins,
        forwarded_for: &forwarded_for,
        forwarded_proto: &forwarded_proto,
    };
    let address = door.transport.sender(&head).address;
    count(
        exchange,
        door.limits(exchange.surface)
            .by_address
            .hit(&address_key(address), now_ms(door)),
    )?;
    exposure::note(door, request);
    door.transport.admit(&head).map_err(|refusal| {
        Problem::new(match refusal {
            TransportRefusal::HostNotAllowed => Code::HostNotAllowed,
            TransportRefusal::OriginNotAllowed => Code::OriginNotAllowed,
            TransportRefusal::HttpsRequired => Code::HttpsRequired,
        })
    })?;
    Ok(())
}

/// Whether a request that changes something comes from a page of this server.
pub(crate) fn check_origin(
    door: &Doors,
    request: &HttpRequest,
    rule: OriginRule,
) -> Result<(), Problem> {
    let own = own_origin(door, request);
    let said = |name, own: &[u8]| {
        let sent = values(request, name).next().is_some();
        let is_own = sole(request, name).is_some_and(|value| value.as_bytes() == own);
        (sent, is_own)
    };
    let from_here = match said("sec-fetch-site", b"same-origin") {
        (true, is_own) => is_own,
        (false, _) => rule != OriginRule::StatedTwice,
    };
    let of_own = match said("origin", own.as_bytes()) {
        (true, is_own) => is_own,
        (false, _) => rule == OriginRule::NotForeign,
    };
    if from_here && of_own {
        Ok(())
    } else {
        Err(Problem::new(Code::FormForged))
    }
}

/// The origin of a page that may read the answer.
pub(crate) fn admitted_origin(door: &Doors, request: &HttpRequest) -> Option<HeaderValue> {
    let origin = sole(request, "origin")?;
    door.transport
        .admits_origin(origin.as_bytes())
        .then(|| origin.clone())
}
