use proptest::prelude::*;

use super::*;
use crate::auth::oauth::redirect::OneWordSchemes;

const BASE: &str = "https://helix.example.org";
const BACK: &str = "https://notes.example.org/oauth/back";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

const GOOD: [(&str, &str); 6] = [
    ("response_type", "code"),
    ("client_id", "tide"),
    ("redirect_uri", BACK),
    ("state", "s 1"),
    ("code_challenge", CHALLENGE),
    ("code_challenge_method", "S256"),
];

fn resources() -> Resources {
    Resources {
        issuer: BASE.to_owned(),
        agent_audience: Some(format!("{BASE}/mcp")),
        vault: Some(format!("{BASE}/vault/mcp")),
        workspace: Some(format!("{BASE}/workspace/mcp")),
    }
}

fn redirect(text: &str) -> Redirect {
    Redirect::register(text, &OneWordSchemes::default()).unwrap()
}

fn client(redirects: &[&str]) -> RegisteredClient {
    RegisteredClient {
        client_id: "tide".to_owned(),
        redirects: redirects.iter().map(|text| redirect(text)).collect(),
    }
}

fn asked(pairs: &[(&str, &str)]) -> Result<Asked, PageError> {
    let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    Asked::read(pairs.iter().map(owned))
}

/// Judges a request of the one client there is.
fn judged(pairs: &[(&str, &str)]) -> Result<AuthorizationRequest, Refusal> {
    let asked = asked(pairs).map_err(Refusal::Page)?;
    let known = client(&[BACK, "http://127.0.0.1:7001/back"]);
    let found = (asked.client_id() == Some("tide")).then_some(&known);
    asked.check(found, &resources())
}

/// The good request with one parameter replaced, added, or left out.
fn with<'p>(name: &'p str, value: Option<&'p str>) -> Vec<(&'p str, &'p str)> {
    let mut pairs: Vec<_> = GOOD.into_iter().filter(|pair| pair.0 != name).collect();
    pairs.extend(value.map(|value| (name, value)));
    pairs
}

fn plus<'p>(more: &[(&'p str, &'p str)]) -> Vec<(&'p str, &'p str)> {
    [&GOOD[..], more].concat()
}

fn error(pairs: &[(&str, &str)]) -> AuthorizeError {
    match judged(pairs).unwrap_err() {
        Refusal::Redirect {
            redirect,
            error,
            state,
        } => {
            assert_eq!(redirect.as_str(), BACK);
            assert_eq!(state.as_deref(), Some("s 1"));
            error
        }
        Refusal::Page(error) => panic!("{error:?}"),
    }
}

#[test]
fn a_good_request_is_carried_whole() {
    let request = judged(&plus(&[
        ("scope", "propose work bogus"),
        ("of_nobody", "1"),
    ]))
    .unwrap();
    assert_eq!(
        request,
        AuthorizationRequest {
            client_id: "tide".to_owned(),
            redirect: redirect(BACK),
            state: Some("s 1".to_owned()),
            challenge: Challenge::parse(CHALLENGE).unwrap(),
            requested: Requested::of(Door::Vault, "work propose"),
        }
    );
    assert_eq!(request.door(), Door::Vault);
    assert_eq!(judged(&with("state", None)).unwrap().state, None);
    assert_eq!(judged(&with("state", Some(""))).unwrap().state, None);
    assert!(judged(&plus(&[("response_mode", "query")])).is_ok());
}

#[test]
fn the_answer_goes_to_the_port_that_was_presented() {
    let presented = "http://127.0.0.1:51999/back";
    let request = judged(&with("redirect_uri", Some(presented))).unwrap();
    assert_eq!(request.redirect.as_str(), presented);
}

#[test]
fn what_cannot_be_trusted_is_answered_by_a_page() {
    let long = "x".repeat(4097);
    for (pairs, expected) in [
        (
            plus(&[("state", "s 2")]),
            PageError::Parameters(ParameterFault::Repeated),
        ),
        (
            plus(&[("redirect_uri", BACK)]),
            PageError::Parameters(ParameterFault::Repeated),
        ),
        (
            plus(&[("of_nobody", "1"), ("of_nobody", "1")]),
            PageError::Parameters(ParameterFault::Repeated),
        ),
        (
            with("state", Some(&long)),
            PageError::Parameters(ParameterFault::TooLong),
        ),
        (with("client_id", None), PageError::UnknownClient),
        (with("client_id", Some("")), PageError::UnknownClient),
        (with("client_id", Some("ebb")), PageError::UnknownClient),
        (with("redirect_uri", None), PageError::NoRedirect),
        (with("redirect_uri", Some("")), PageError::NoRedirect),
        (
            with("redirect_uri", Some("https://evil.example/")),
            PageError::UnmatchedRedirect,
        ),
        (
            with(
                "redirect_uri",
                Some("https://notes.example.org/oauth/back/"),
            ),
            PageError::UnmatchedRedirect,
        ),
        (
            with("redirect_uri", Some("http://localhost:7001/back")),
            PageError::UnmatchedRedirect,
        ),
    ] {
        assert_eq!(judged(&pairs), Err(Refusal::Page(expected)), "{pairs:?}");
    }
}

#[test]
fn a_single_registered_redirect_must_be_named_all_the_same() {
    let asked = asked(&with("redirect_uri", None)).unwrap();
    let refused = asked.check(Some(&client(&[BACK])), &resources());
    assert_eq!(refused, Err(Refusal::Page(PageError::NoRedirect)));
}

#[test]
fn each_later_fault_is_told_to_the_client() {
    let resource = |text: &'static str| plus(&[("resource", text)]);
    for (pairs, expected, code) in [
        (
            with("response_type", None),
            AuthorizeError::ResponseType,
            "unsupported_response_type",
        ),
        (
            with("response_type", Some("token")),
            AuthorizeError::ResponseType,
            "unsupported_response_type",
        ),
        (
            with("response_type", Some("code token")),
            AuthorizeError::ResponseType,
            "unsupported_response_type",
        ),
        (
            with("code_challenge", None),
            AuthorizeError::Challenge,
            "invalid_request",
        ),
        (
            with("code_challenge", Some(&CHALLENGE[..42])),
            AuthorizeError::Challenge,
            "invalid_request",
        ),
        (
            with("code_challenge_method", None),
            AuthorizeError::ChallengeMethod,
            "invalid_request",
        ),
        (
            with("code_challenge_method", Some("plain")),
            AuthorizeError::ChallengeMethod,
            "invalid_request",
        ),
        (
            with("code_challenge_method", Some("s256")),
            AuthorizeError::ChallengeMethod,
            "invalid_request",
        ),
        (
            plus(&[("response_mode", "fragment")]),
            AuthorizeError::ResponseMode,
            "invalid_request",
        ),
        (
            plus(&[("response_mode", "form_post")]),
            AuthorizeError::ResponseMode,
            "invalid_request",
        ),
        (
            plus(&[("request", "e30.e30.")]),
            AuthorizeError::RequestObject,
            "invalid_request",
        ),
        (
            plus(&[("request_uri", "https://notes.example.org/r")]),
            AuthorizeError::RequestObject,
            "invalid_request",
        ),
        (
            resource("/mcp"),
            TargetError::Unknown.into(),
            "invalid_target",
        ),
        (
            resource("https://other.example.org/mcp"),
            TargetError::Unknown.into(),
            "invalid_target",
        ),
        (
            plus(&[
                ("resource", "https://helix.example.org/mcp"),
                ("resource", "https://helix.example.org/vault/mcp"),
            ]),
            TargetError::TwoDoors.into(),
            "invalid_target",
        ),
        (
            plus(&[("scope", "work brief:read")]),
            AuthorizeError::MixedScope,
            "invalid_scope",
        ),
    ] {
        let found = error(&pairs);
        assert_eq!(found, expected, "{pairs:?}");
        assert_eq!(found.code().as_str(), code);
    }
}

/// Every fault at once, in the order in which they are to be reported.
#[test]
fn the_first_fault_in_order_answers() {
    let faults: [(&str, &str, Refusal); 10] = {
        let page = Refusal::Page;
        let told = |error| Refusal::Redirect {
            redirect: redirect(BACK),
            error,
            state: Some("s 1".to_owned()),
        };
        [
            (
                "of_nobody",
                "1",
                page(PageError::Parameters(ParameterFault::Repeated)),
            ),
            ("client_id", "ebb", page(PageError::UnknownClient)),
            (
                "redirect_uri",
                "https://evil.example/",
                page(PageError::UnmatchedRedirect),
            ),
            ("response_type", "token", told(AuthorizeError::ResponseType)),
            ("code_challenge", "short", told(AuthorizeError::Challenge)),
            (
                "code_challenge_method",
                "plain",
                told(AuthorizeError::ChallengeMethod),
            ),
            (
                "response_mode",
                "fragment",
                told(AuthorizeError::ResponseMode),
            ),
            ("request", "e30", told(AuthorizeError::RequestObject)),
            ("resource", "/mcp", told(TargetError::Unknown.into())),
            ("scope", "work brief:read", told(AuthorizeError::MixedScope)),
        ]
    };
    for first in 0..faults.len() {
        let mut pairs: Vec<_> = GOOD.to_vec();
        for (name, value, _) in &faults[first..] {
            pairs.retain(|pair| pair.0 != *name);
            pairs.push((*name, *value));
        }
        if first == 0 {
            pairs.push(("of_nobody", "1"));
        }
        assert_eq!(judged(&pairs), Err(faults[first].2.clone()), "{first}");
    }
}

#[test]
fn the_resource_tells_the_door_and_else_the_words_do() {
    let origin = ("resource", BASE);
    let context = ("resource", "https://helix.example.org/api/context/");
    let mcp = ("resource", "https://helix.example.org/mcp");
    let vault = |scope| Requested::of(Door::Vault, scope);
    let agent = |scope| Requested::of(Door::Agent, scope);
    let workspace = |scope| Requested::of(Door::Workspace, scope);
    for (more, expected) in [
        (&[][..], vault("")),
        (&[origin], vault("")),
        (&[("scope", "bogus offline_access")], vault("")),
        (&[("scope", "work")], vault("work")),
        (&[origin, ("scope", "review:run")], workspace("review:run")),
        (
            &[("scope", "helix.rooms.read bogus")],
            agent("helix.rooms.read"),
        ),
        (&[context], vault("")),
        (&[context, context], vault("")),
        (&[mcp, ("scope", "work")], agent("")),
        (
            &[mcp, origin, ("scope", "helix.rooms.read work")],
            agent("helix.rooms.read"),
        ),
        (&[mcp, ("scope", "work brief:read")], agent("")),
    ] {
        let request = judged(&plus(more)).unwrap();
        assert_eq!(request.requested, expected, "{more:?}");
    }
}

#[test]
fn a_door_that_is_not_served_is_refused_also_by_its_words() {
    let external = Resources {
        agent_audience: None,
        ..resources()
    };
    for more in [
        ("resource", "https://helix.example.org/mcp"),
        ("scope", "helix.agent_runs.read"),
    ] {
        let asked = asked(&plus(&[more])).unwrap();
        let refused = asked.check(Some(&client(&[BACK])), &external).unwrap_err();
        let Refusal::Redirect { error, .. } = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(error.code(), ErrorCode::InvalidTarget, "{more:?}");
    }
}

fn url(redirect_to: &str, outcome: Outcome<'_>, state: Option<&str>) -> String {
    let answer = Answer {
        outcome,
        state,
        issuer: BASE,
    };
    answer_url(&redirect(redirect_to), &answer)
}

#[test]
fn answers_are_appended_to_whatever_the_redirect_has() {
    let iss = "iss=https%3A%2F%2Fhelix.example.org";
    for (back, expected) in [
        (BACK, format!("{BACK}?code=c&state=s&{iss}")),
        (
            "https://notes.example.org",
            format!("https://notes.example.org?code=c&state=s&{iss}"),
        ),
        (
            "https://notes.example.org/back?app=1",
            format!("https://notes.example.org/back?app=1&code=c&state=s&{iss}"),
        ),
        (
            "https://notes.example.org/back?",
            format!("https://notes.example.org/back?code=c&state=s&{iss}"),
        ),
        (
            "https://notes.example.org/back?app=1&",
            format!("https://notes.example.org/back?app=1&code=c&state=s&{iss}"),
        ),
        (
            "cursor://back",
            format!("cursor://back?code=c&state=s&{iss}"),
        ),
        (
            "org.example.notes:",
            format!("org.example.notes:?code=c&state=s&{iss}"),
        ),
    ] {
        assert_eq!(url(back, Outcome::Code("c"), Some("s")), expected);
    }
}

#[test]
fn errors_carry_code_description_state_and_issuer() {
    assert_eq!(
        url(
            BACK,
            Outcome::Error(AuthorizeError::Denied),
            Some("s 1&x=é")
        ),
        format!(
            "{BACK}?error=access_denied&error_description=the%20owner%20denied%20the%20request\
             &state=s%201%26x%3D%C3%A9&iss=https%3A%2F%2Fhelix.example.org"
        )
    );
    let stateless = url(BACK, Outcome::Error(AuthorizeError::MixedScope), None);
    assert!(!stateless.contains("state="), "{stateless}");
}

#[test]
fn debug_shows_no_code() {
    let outcome = Outcome::Code("marked");
    let answer = Answer {
        outcome,
        state: None,
        issuer: BASE,
    };
    assert!(!format!("{answer:?} {outcome:?}").contains("marked"));
}

/// Reads a query back as a client would.
fn parameters(url: &str) -> Vec<(String, String)> {
    let decoded = |text: &str| {
        let mut bytes = Vec::new();
        let mut rest = text.as_bytes();
        while let Some((&byte, after)) = rest.split_first() {
            if byte == b'%' {
                let hex = std::str::from_utf8(&after[..2]).unwrap();
                bytes.push(u8::from_str_radix(hex, 16).unwrap());
                rest = &after[2..];
            } else {
                bytes.push(byte);
                rest = after;
            }
        }
        String::from_utf8(bytes).unwrap()
    };
    let (_, query) = url.split_once('?').unwrap();
    query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap())
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

proptest! {
    #[test]
    fn a_state_comes_back_as_it_was_and_adds_no_parameter(state in any::<String>()) {
        let url = url("https://notes.example.org/back?app=1", Outcome::Code("c"), Some(&state));
        prop_assert!(url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'));
        let expected = [("app", "1"), ("code", "c"), ("state", &state), ("iss", BASE)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        prop_assert_eq!(parameters(&url), expected);
    }

    #[test]
    fn no_redirect_happens_to_a_place_that_was_not_registered(
        pairs in proptest::collection::vec(
            (
                proptest::sample::select(vec![
                    "response_type", "client_id", "redirect_uri", "state", "code_challenge",
                    "code_challenge_method", "response_mode", "request", "resource", "scope",
                ]),
                proptest::sample::select(vec![
                    "", "code", "tide", BACK, "http://127.0.0.1:9/back", "https://evil.example/",
                    CHALLENGE, "S256", "plain", "query", "work", BASE, "\r\nLocation: x",
                ]),
            ),
            0..10,
        ),
    ) {
        let redirect = match judged(&pairs) {
            Err(Refusal::Page(_)) => return Ok(()),
            Ok(AuthorizationRequest { redirect, .. }) | Err(Refusal::Redirect { redirect, .. }) => {
                redirect
            }
        };
        prop_assert!([BACK, "http://127.0.0.1:9/back"].contains(&redirect.as_str()));
        prop_assert!(pairs.contains(&("client_id", "tide")));
        prop_assert!(pairs.contains(&("redirect_uri", redirect.as_str())));
    }
}
