use secrecy::ExposeSecret;

use super::*;
use crate::auth::oauth::client_auth::Proof;
use crate::auth::oauth::error_code::ErrorCode;
use crate::auth::oauth::parameters::ParameterFault;
use crate::auth::oauth::pkce::Challenge;
use crate::auth::oauth::token_error::ClientVia;

// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

const CODE: [(&str, &str); 5] = [
    ("grant_type", "authorization_code"),
    ("client_id", "tide"),
    ("code", "hx_ac_1"),
    ("redirect_uri", "http://127.0.0.1:51999/back"),
    ("code_verifier", VERIFIER),
];

const REFRESH: [(&str, &str); 3] = [
    ("grant_type", "refresh_token"),
    ("client_id", "tide"),
    ("refresh_token", "hx_rt_1"),
];

fn pairs(body: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    body.iter().map(owned).collect()
}

fn read(body: &[(&str, &str)]) -> Result<TokenRequest, TokenError> {
    TokenRequest::read(pairs(body), &[])
}

fn refused(body: &[(&str, &str)]) -> TokenError {
    read(body).map(|_| ()).unwrap_err()
}

fn without<'b>(body: &[(&'b str, &'b str)], name: &str) -> Vec<(&'b str, &'b str)> {
    let kept = |pair: &&(&str, &str)| pair.0 != name;
    body.iter().filter(kept).copied().collect()
}

fn plus<'b>(body: &[(&'b str, &'b str)], more: &[(&'b str, &'b str)]) -> Vec<(&'b str, &'b str)> {
    [body, more].concat()
}

fn exchange(body: &[(&str, &str)]) -> CodeExchange {
    let TokenRequest::AuthorizationCode(exchange) = read(body).unwrap() else {
        panic!("another act was read");
    };
    exchange
}

fn refresh(body: &[(&str, &str)]) -> Refresh {
    let TokenRequest::RefreshToken(refresh) = read(body).unwrap() else {
        panic!("another act was read");
    };
    refresh
}

fn revocation(body: &[(&str, &str)]) -> Revocation {
    let TokenRequest::Revoke(revocation) = read(body).unwrap() else {
        panic!("another act was read");
    };
    revocation
}

#[test]
fn a_code_exchange_carries_all_that_binds_the_code() {
    let resource = ("resource", "https://helix.example.org/mcp");
    let read = exchange(&plus(&CODE, &[resource, resource, ("of_nobody", "1")]));
    assert_eq!(read.client.client_id, "tide");
    assert!(matches!(read.client.proof, Proof::None));
    assert_eq!(read.code.expose_secret(), "hx_ac_1");
    assert_eq!(read.redirect_uri, "http://127.0.0.1:51999/back");
    let challenge = Challenge::parse(CHALLENGE).unwrap();
    assert!(challenge.is_met_by(&read.verifier));
    assert_eq!(read.resources, [resource.1, resource.1]);
    assert!(exchange(&CODE).resources.is_empty());
}

#[test]
fn a_malformed_verifier_is_read_and_meets_nothing() {
    let challenge = Challenge::parse(CHALLENGE).unwrap();
    for verifier in [&VERIFIER[..42], &"a".repeat(129), "x"] {
        let body = plus(
            &without(&CODE, "code_verifier"),
            &[("code_verifier", verifier)],
        );
        assert!(!challenge.is_met_by(&exchange(&body).verifier));
    }
}

#[test]
fn a_refresh_carries_its_scope_only_when_one_is_named() {
    let read = refresh(&REFRESH);
    assert_eq!(read.token.expose_secret(), "hx_rt_1");
    assert_eq!(read.scope, None);
    assert_eq!(refresh(&plus(&REFRESH, &[("scope", "")])).scope, None);
    let named = refresh(&plus(&REFRESH, &[("scope", "work propose")]));
    assert_eq!(named.scope.as_deref(), Some("work propose"));
}

#[test]
fn a_missing_parameter_is_named_and_an_empty_one_is_missing() {
    for (whole, names) in [
        (&CODE[..], &["code", "redirect_uri", "code_verifier"][..]),
        (&REFRESH, &["refresh_token"]),
    ] {
        for &name in names {
            let lacking = without(whole, name);
            assert_eq!(refused(&lacking), TokenError::Missing(name));
            let empty = plus(&lacking, &[(name, "")]);
            assert_eq!(refused(&empty), TokenError::Missing(name));
        }
    }
    for body in [&[][..], &[("grant_type", "")], &[("client_id", "tide")]] {
        assert_eq!(refused(body), TokenError::Missing("grant_type"));
    }
}

#[test]
fn a_repeated_parameter_is_refused_whatever_it_is() {
    for name in ["grant_type", "code", "client_id", "scope", "of_nobody"] {
        let body = plus(&CODE, &[(name, "1"), (name, "1")]);
        let fault = TokenError::Parameters(ParameterFault::Repeated);
        assert_eq!(refused(&body), fault, "{name}");
    }
    let long = "x".repeat(4097);
    let fault = TokenError::Parameters(ParameterFault::TooLong);
    assert_eq!(refused(&plus(&CODE, &[("state", &long)])), fault);
}

#[test]
fn other_grant_types_are_unsupported() {
    for grant in [
        "password",
        "client_credentials",
        "implicit",
        "Authorization_Code",
        "urn:ietf:params:oauth:grant-type:device_code",
    ] {
        let body = plus(&without(&CODE, "grant_type"), &[("grant_type", grant)]);
        assert_eq!(refused(&body), TokenError::GrantType, "{grant}");
        let with_token = [("grant_type", grant), ("token", "hx_rt_1")];
        assert_eq!(refused(&with_token), TokenError::GrantType, "{grant}");
    }
}

#[test]
fn a_client_that_is_not_named_is_unknown() {
    for body in [&CODE[..], &REFRESH] {
        let error = refused(&without(body, "client_id"));
        assert_eq!(error, TokenError::Client(ClientVia::Body));
        assert_eq!(error.code(), ErrorCode::InvalidClient);
    }
}

#[test]
fn faults_of_the_form_come_before_those_of_the_client() {
    let nameless = without(&without(&CODE, "client_id"), "code");
    assert_eq!(refused(&nameless), TokenError::Missing("code"));
}

#[test]
fn the_header_authenticates_both_grants() {
    let header: &[u8] = b"Basic dGlkZTpz";
    for body in [&CODE[..], &REFRESH] {
        let read = TokenRequest::read(pairs(&without(body, "client_id")), &[header]);
        let client = match read.unwrap() {
            TokenRequest::AuthorizationCode(exchange) => exchange.client,
            TokenRequest::RefreshToken(refresh) => refresh.client,
            other @ TokenRequest::Revoke(_) => panic!("{other:?}"),
        };
        assert_eq!(client.client_id, "tide");
        assert!(matches!(client.proof, Proof::Basic(_)));
        let twice = plus(body, &[("client_secret", "s")]);
        let error = TokenRequest::read(pairs(&twice), &[header]).unwrap_err();
        assert_eq!(error, TokenError::TwoAuthentications);
    }
}

#[test]
fn a_token_without_a_grant_is_a_revocation() {
    for (hint, expected) in [
        (None, None),
        (Some("access_token"), Some(TokenHint::AccessToken)),
        (Some("refresh_token"), Some(TokenHint::RefreshToken)),
        (Some("id_token"), None),
    ] {
        let mut body = vec![("token", "hx_rt_1")];
        body.extend(hint.map(|hint| ("token_type_hint", hint)));
        let read = revocation(&body);
        assert_eq!(read.token.expose_secret(), "hx_rt_1");
        assert_eq!(read.hint, expected);
        assert_eq!(read.client_id, None);
    }
}

#[test]
fn the_revocation_path_needs_no_grant_type_and_ignores_one() {
    let body = [("token", "hx_rt_1"), ("grant_type", "refresh_token")];
    let read = Revocation::read(pairs(&body), &[]).unwrap();
    assert_eq!(read.token.expose_secret(), "hx_rt_1");
    let error = Revocation::read(pairs(&[("client_id", "tide")]), &[]).unwrap_err();
    assert_eq!(error, TokenError::Missing("token"));
}

#[test]
fn a_revocation_tells_which_client_was_named_however_it_was() {
    let token = ("token", "hx_rt_1");
    let named = ("client_id", "tide");
    for (body, headers, expected) in [
        (&[token][..], &[][..], None),
        (&[token, named], &[], Some("tide")),
        (&[token, named, ("client_secret", "s")], &[], Some("tide")),
        (&[token], &[&b"Basic dGlkZTpz"[..]], Some("tide")),
        (&[token], &[b"Bearer x"], None),
        (&[token, named], &[b"Bearer x"], Some("tide")),
        (&[token, named], &[b"Basic ???"], Some("tide")),
    ] {
        let read = Revocation::read(pairs(body), headers).unwrap();
        assert_eq!(read.client_id.as_deref(), expected);
    }
    let other = [token, ("client_id", "ebb")];
    let error = Revocation::read(pairs(&other), &[b"Basic dGlkZTpz"]).unwrap_err();
    assert_eq!(error, TokenError::TwoAuthentications);
}

#[test]
fn nothing_shows_a_credential() {
    let secrets = [("client_secret", "marked"), ("scope", "work")];
    let marked = |name: &'static str, body: &[(&'static str, &'static str)]| {
        plus(&without(body, name), &[(name, "marked")])
    };
    for body in [
        plus(&marked("code", &CODE), &secrets),
        marked("code_verifier", &CODE),
        marked("refresh_token", &REFRESH),
        vec![("token", "marked")],
    ] {
        let shown = format!("{:?}", read(&body).unwrap());
        assert!(!shown.contains("marked"), "{shown}");
    }
}
