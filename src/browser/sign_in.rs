//! `/sign-in` and `/sign-out` (`access` 3.6, settled question 51).

use std::borrow::Cow;

use actix_web::cookie::Cookie;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::web::{self, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use helix_aggregates::access::account::command::SignOff;
use helix_aggregates::text::Text;

use super::form::Form;
use super::visit::{self, Admits, OriginRule, Rules, Visit};
use super::{Frame, html};
use crate::app::access::accounts::AccountsError;
use crate::app::access::sign_in::{SignInError, Started};
use crate::app::problem::{Code, Problem};
use crate::auth::session;
use crate::config::BaseUrl;
use crate::http::door::Door;
use crate::http::permits::Demand;
use crate::http::pipeline::header_text;

#[derive(Template)]
#[template(path = "browser/sign_in.html", config = ".askama.toml")]
struct SignInPage<'a> {
    frame: Frame<'a>,
    fault: Option<&'a str>,
    next: &'a str,
    email: &'a str,
}

pub fn configure(config: &mut ServiceConfig) {
    config
        .service(
            web::resource("/sign-in")
                .route(web::get().to(page))
                .route(web::post().to(sign_in)),
        )
        .service(web::resource("/sign-out").route(web::post().to(sign_out)));
}

async fn page(Door(door): Door, request: HttpRequest) -> HttpResponse {
    visit::read(&door, &request, Admits::Anybody, async |visit| {
        let query = Form::decode(request.query_string().as_bytes())?;
        let next = local(query.text_or_empty("next"));
        if visit.person.is_some() {
            return Ok(visit.see(next));
        }
        show(visit, StatusCode::OK, None, next, "")
    })
    .await
}

async fn sign_in(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    let rules = Rules {
        admits: Admits::Anybody,
        origin: OriginRule::Stated,
        demand: Demand::Ordinary,
    };
    visit::posted(&door, &request, payload, rules, async |visit, form| {
        let (email, next) = (
            form.text_or_empty("email"),
            local(form.text_or_empty("next")),
        );
        let passphrase = form.secret("passphrase");
        let device = device_of(&request);
        let origin = visit.origin(email);
        match door
            .sign_in
            .sign_in(email, passphrase, &origin, device)
            .await
        {
            Ok(started) => {
                let mut response = handed(visit, &started, next);
                let mark = door.sign_in.known_browser(email);
                set(&mut response, &session::known(&door.base, mark));
                Ok(response)
            }
            Err(error) => {
                let wait = wait_of(&error);
                let (status, fault) = refused(error)?;
                Ok(waiting(
                    show(visit, status, Some(&fault), next, email)?,
                    wait,
                ))
            }
        }
    })
    .await
}

async fn sign_out(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    let rules = Rules {
        admits: Admits::SignedIn,
        origin: OriginRule::Stated,
        demand: Demand::Withdrawal,
    };
    visit::posted(&door, &request, payload, rules, async |visit, _| {
        if let Some(person) = &visit.person {
            let ended = door
                .sign_in
                .end_session(person, person.session, SignOff::SignOut);
            ended.await.map_err(internal)?;
        }
        Ok(signed_out(visit.see("/sign-in"), &door.base))
    })
    .await
}

fn show(
    visit: &Visit<'_>,
    status: StatusCode,
    fault: Option<&str>,
    next: &str,
    email: &str,
) -> Result<HttpResponse, Problem> {
    let page = SignInPage {
        frame: visit.frame("/sign-in"),
        fault,
        next,
        email,
    };
    html(status, &page)
}

/// Gives the browser its session and sends it on.
pub(super) fn handed(visit: &Visit<'_>, started: &Started, next: &str) -> HttpResponse {
    let mut response = visit.see(next);
    set(
        &mut response,
        &session::cookie(&visit.door.base, &started.token),
    );
    response
}

/// Takes the session from the browser.
pub(super) fn signed_out(mut response: HttpResponse, base: &BaseUrl) -> HttpResponse {
    set(&mut response, &session::cleared(base));
    response
}

fn set(response: &mut HttpResponse, cookie: &Cookie<'_>) {
    if let Ok(value) = HeaderValue::from_str(&cookie.to_string()) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
}

/// The status and the words of a refusal, or a fault of ours.
pub(super) fn refused(error: SignInError) -> Result<(StatusCode, Cow<'static, str>), Problem> {
    let said = |status, text: &'static str| Ok((status, Cow::Borrowed(text)));
    match error {
        SignInError::Wrong => said(
            StatusCode::UNAUTHORIZED,
            "There is no account with this address and passphrase.",
        ),
        SignInError::Unverified => said(
            StatusCode::FORBIDDEN,
            "The address of this account has not been confirmed yet. Open the link that was sent to it.",
        ),
        SignInError::Wait(seconds) => Ok((
            StatusCode::TOO_MANY_REQUESTS,
            Cow::Owned(format!(
                "That failed too often. Try again in {seconds} seconds."
            )),
        )),
        SignInError::Busy => said(
            StatusCode::TOO_MANY_REQUESTS,
            "Many people are signing in right now. Try again in a moment.",
        ),
        SignInError::PassphraseLength => said(
            StatusCode::BAD_REQUEST,
            "A passphrase has at least 10 characters and at most 1,024 bytes.",
        ),
        SignInError::WrongCode => said(
            StatusCode::UNAUTHORIZED,
            "There is no account with this address and unused recovery code.",
        ),
        SignInError::PassphrasesDiffer => said(
            StatusCode::BAD_REQUEST,
            "The two passphrases are not the same.",
        ),
        SignInError::LinkSpent => said(StatusCode::NOT_FOUND, "This link does not work any more."),
        SignInError::HasOwner => said(StatusCode::CONFLICT, "This server has its owner already."),
        SignInError::Account(AccountsError::EmailTaken) => said(
            StatusCode::BAD_REQUEST,
            "Another account has this e-mail address.",
        ),
        SignInError::Account(AccountsError::Invalid { field, reason }) => Ok((
            StatusCode::BAD_REQUEST,
            Cow::Owned(format!("{field}: {reason}.")),
        )),
        other @ SignInError::Account(_) => Err(internal(other)),
    }
}

/// Seconds until the next try, where one has to wait.
pub(super) fn wait_of(error: &SignInError) -> Option<u64> {
    match error {
        SignInError::Wait(seconds) => Some(*seconds),
        SignInError::Busy => Some(2),
        SignInError::Wrong
        | SignInError::Unverified
        | SignInError::PassphraseLength
        | SignInError::PassphrasesDiffer
        | SignInError::WrongCode
        | SignInError::LinkSpent
        | SignInError::HasOwner
        | SignInError::Account(_) => None,
    }
}

pub(super) fn waiting(mut page: HttpResponse, seconds: Option<u64>) -> HttpResponse {
    if let Some(seconds) = seconds {
        let wait = HeaderValue::from(seconds);
        page.headers_mut().insert(header::RETRY_AFTER, wait);
    }
    page
}

pub(super) fn internal(error: SignInError) -> Problem {
    if let SignInError::Account(AccountsError::Store(error)) = error {
        return error.into();
    }
    Problem::new(Code::Internal).because(error)
}

/// A path of this server, or its start: whoever sends somebody here does not choose another site.
fn local(next: &str) -> &str {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    if next.starts_with('/') && !next.starts_with("//") && next.bytes().all(plain) {
        next
    } else {
        "/"
    }
}

/// How lists name the browser that sends a request: its kind and system, nothing finer.
pub(super) fn device_of(request: &HttpRequest) -> Text<120> {
    let agent = header_text(request, "user-agent").unwrap_or("");
    let named = |known: &[(&str, &'static str)]| {
        known
            .iter()
            .find(|(mark, _)| agent.contains(mark))
            .map(|(_, name)| *name)
    };
    // Browsers name their ancestors too, so the more particular stands first.
    let browser = named(&[
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
        ("curl/", "curl"),
    ]);
    let system = named(&[
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ]);
    let name = match (browser, system) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) => "A browser".to_owned(),
    };
    Text::parse(&name).unwrap_or_else(|_| unreachable!("the names are constants"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_server_are_gone_to_after_signing_in() {
        for (next, gone_to) in [
            ("/connections?a=b", "/connections?a=b"),
            ("", "/"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example", "/"),
            ("/a\nb", "/"),
            ("connections", "/"),
        ] {
            assert_eq!(local(next), gone_to, "{next:?}");
        }
    }

    #[test]
    fn a_browser_is_named_by_kind_and_system() {
        let of = |agent: &str| {
            let request = actix_web::test::TestRequest::default()
                .insert_header(("user-agent", agent))
                .to_http_request();
            device_of(&request).as_str().to_owned()
        };
        let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
        assert_eq!(of(firefox), "Firefox on Linux");
        assert_eq!(of("x"), "A browser");
    }
}
