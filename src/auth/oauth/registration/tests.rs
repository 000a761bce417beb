use proptest::prelude::*;
use serde_json::json;

use super::*;

const BACK: &str = "https://notes.example.org/oauth/back";

fn read(document: &Value) -> Result<ClientMetadata, RegistrationError> {
    ClientMetadata::read(document, &OneWordSchemes::default())
}

/// The least document with some members added or replaced.
fn document(members: Value) -> Value {
    let mut document = json!({"redirect_uris": [BACK]});
    let Value::Object(members) = members else {
        panic!("members are an object");
    };
    document.as_object_mut().unwrap().extend(members);
    document
}

fn with(members: Value) -> Result<ClientMetadata, RegistrationError> {
    read(&document(members))
}

fn refusal(members: Value) -> ErrorCode {
    with(members).map(|_| ()).unwrap_err().code()
}

#[test]
fn the_least_registration_gets_every_default() {
    let metadata = read(&json!({"redirect_uris": [BACK]})).unwrap();
    assert_eq!(
        json!(metadata.members()),
        json!({
            "redirect_uris": [BACK],
            "client_name": "notes.example.org",
            "token_endpoint_auth_method": "client_secret_basic",
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
        })
    );
    assert_eq!(metadata.auth_method, AuthMethod::SecretBasic);
}

#[test]
fn every_known_member_is_kept_and_every_other_ignored() {
    let known = json!({
        "redirect_uris": [BACK, "http://127.0.0.1/back", "cursor://back"],
        "client_name": "Tide",
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code"],
        "response_types": ["code"],
        "logo_uri": "https://notes.example.org/logo.png",
        "client_uri": "https://notes.example.org",
        "policy_uri": "https://notes.example.org/policy",
        "tos_uri": "",
        "jwks_uri": "https://notes.example.org/keys",
        "contacts": ["a@notes.example.org", "b@notes.example.org"],
    });
    let mut sent = known.clone();
    let unknown = json!({
        "scope": 7, "software_id": null, "client_id": "mine", "client_secret": "mine", "": {},
    });
    sent.as_object_mut()
        .unwrap()
        .extend(unknown.as_object().unwrap().clone());
    assert_eq!(json!(read(&sent).unwrap().members()), known);
}

#[test]
fn a_document_that_is_no_object_is_refused() {
    for value in [json!([]), json!("x"), json!(null), json!(7), json!([{}])] {
        assert_eq!(read(&value), Err(RegistrationError::NotAnObject));
    }
}

#[test]
fn a_missing_empty_or_mistyped_redirect_list_is_bad_metadata() {
    let eleven: Vec<_> = (0..11).map(|n| format!("{BACK}/{n}")).collect();
    for value in [
        json!([]),
        json!(BACK),
        json!({"0": BACK}),
        json!(null),
        json!([7]),
        json!([BACK, null]),
        json!([[BACK]]),
        json!(eleven),
    ] {
        let refused = with(json!({"redirect_uris": value})).unwrap_err();
        assert_eq!(refused, RegistrationError::RedirectList);
        assert_eq!(refused.code(), ErrorCode::InvalidClientMetadata);
    }
    assert_eq!(read(&json!({})), Err(RegistrationError::RedirectList));
    assert!(with(json!({"redirect_uris": eleven[..10]})).is_ok());
}

#[test]
fn one_bad_redirect_spoils_the_list() {
    for bad in [
        "",
        "/back",
        "notes.example.org/back",
        "http://evil",
        "https://me:pw@notes.example.org/back",
        "https://notes.example.org/back#part",
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,hello",
        "vbscript:msgbox",
        "file:///etc/hosts",
        "mailto:a@example.org",
        "blob:https://notes.example.org/1",
        "https://*.example.org/back",
        "http://127.0.0.1.evil/back",
        "http://localhost@evil/back",
        "https://notes.example.org\\back",
        "http://0.0.0.0:7001/back",
        "http://127.4.5.6/back",
        "notesapp://oauth/back",
        "https://notes.example.org/\0",
        "https://notes.example.org/a\nb",
        "java\tscript:alert(1)",
    ] {
        for list in [json!([bad]), json!([BACK, bad]), json!([bad, BACK])] {
            let code = refusal(json!({"redirect_uris": list}));
            assert_eq!(code, ErrorCode::InvalidRedirectUri, "{bad:?}");
        }
    }
}

#[test]
fn a_repeated_redirect_is_kept_once() {
    let metadata = with(json!({"redirect_uris": [BACK, "cursor://back", BACK]})).unwrap();
    let texts: Vec<_> = metadata.redirects.iter().map(Redirect::as_str).collect();
    assert_eq!(texts, [BACK, "cursor://back"]);
}

#[test]
fn a_known_member_of_the_wrong_type_is_refused() {
    let text = [
        json!(null),
        json!(7),
        json!({}),
        json!([]),
        json!(true),
        json!(["x"]),
    ];
    let list = [
        json!(null),
        json!(7),
        json!({}),
        json!("code"),
        json!([7]),
        json!([null]),
    ];
    let texts = ["client_name", "token_endpoint_auth_method"]
        .into_iter()
        .chain(LINKS)
        .flat_map(|member| text.iter().map(move |value| (member, value)));
    let lists = ["grant_types", "response_types", "contacts"]
        .into_iter()
        .flat_map(|member| list.iter().map(move |value| (member, value)));
    for (member, value) in texts.chain(lists) {
        let refused = with(json!({member: value})).unwrap_err();
        assert_eq!(refused, RegistrationError::WrongType(member), "{value}");
        assert_eq!(refused.code(), ErrorCode::InvalidClientMetadata);
    }
}

#[test]
fn three_ways_to_authenticate_are_admitted() {
    for method in AuthMethod::ALL {
        let text = method.as_str();
        let metadata = with(json!({"token_endpoint_auth_method": text})).unwrap();
        assert_eq!(metadata.auth_method, method);
        assert_eq!(metadata.members()["token_endpoint_auth_method"], text);
    }
    for other in [
        "",
        "None",
        "private_key_jwt",
        "client_secret_jwt",
        "tls_client_auth",
    ] {
        let refused = with(json!({"token_endpoint_auth_method": other})).unwrap_err();
        assert_eq!(refused, RegistrationError::AuthMethod, "{other}");
    }
}

#[test]
fn grant_and_response_types_are_subsets_of_ours() {
    let grants = |list: Value| with(json!({"grant_types": list})).map(|client| client.grant_types);
    let all = vec!["authorization_code", "refresh_token"];
    for (list, expected) in [
        (json!([]), all.clone()),
        (json!(["refresh_token", "authorization_code"]), all),
        (json!(["authorization_code"]), vec!["authorization_code"]),
        (
            json!(["refresh_token", "refresh_token"]),
            vec!["refresh_token"],
        ),
    ] {
        assert_eq!(grants(list), Ok(expected));
    }
    for word in [
        "implicit",
        "password",
        "client_credentials",
        "",
        "Refresh_Token",
    ] {
        let refused = grants(json!(["authorization_code", word]));
        assert_eq!(refused, Err(RegistrationError::GrantTypes), "{word}");
    }
    for word in ["token", "id_token", "code token", ""] {
        let refused = with(json!({"response_types": ["code", word]}));
        assert_eq!(refused, Err(RegistrationError::ResponseTypes), "{word}");
    }
    let none_named = with(json!({"response_types": []})).unwrap();
    assert_eq!(none_named.response_types, ["code"]);
}

#[test]
fn a_client_without_a_name_is_called_by_its_first_redirect() {
    for (first, expected) in [
        (BACK, "notes.example.org"),
        ("https://NOTES.example.org:8443/", "notes.example.org"),
        ("http://127.0.0.1:7001/back", "127.0.0.1"),
        ("http://[::1]/back", "[::1]"),
        ("org.example.notes:/back", "org.example.notes"),
        ("cursor://back", "cursor"),
    ] {
        for name in [None, Some(""), Some("   "), Some("\u{3164}\u{200b}")] {
            let mut sent = json!({"redirect_uris": [first, "zed://back"]});
            if let Some(name) = name {
                sent["client_name"] = json!(name);
            }
            assert_eq!(read(&sent).unwrap().name, expected, "{name:?}");
        }
    }
    let long = format!("https://{0}.{0}/", "a".repeat(50));
    let metadata = read(&json!({"redirect_uris": [long]})).unwrap();
    assert_eq!(metadata.name.len(), 80);
}

#[test]
fn names_are_stripped_cut_or_refused() {
    let name = |sent: &str| with(json!({"client_name": sent})).map(|client| client.name);
    assert_eq!(name(" \u{202e}Tide\u{2069} "), Ok("Tide".to_owned()));
    assert_eq!(name(&"x".repeat(10_240)), Ok("x".repeat(80)));
    let markup = "<script>alert(1)</script>";
    assert_eq!(name(markup), Ok(markup.to_owned()));
    for (sent, error) in [
        ("You (web)", NameError::Reserved),
        ("you (Phone)", NameError::Reserved),
        ("Helix (owner)", NameError::Reserved),
        ("Tide\u{1f}read", NameError::ControlCharacter),
    ] {
        let refused = name(sent).unwrap_err();
        assert_eq!(refused, RegistrationError::Name(error));
        assert_eq!(refused.code(), ErrorCode::InvalidClientMetadata);
    }
}

fn public(members: Value) -> ClientMetadata {
    let mut document = document(members);
    document["token_endpoint_auth_method"] = json!("none");
    read(&document).unwrap()
}

#[test]
fn only_a_public_client_has_a_fingerprint() {
    for method in AuthMethod::ALL {
        let metadata = with(json!({"token_endpoint_auth_method": method.as_str()})).unwrap();
        let public = method == AuthMethod::None;
        assert_eq!(metadata.fingerprint().is_some(), public, "{method:?}");
    }
}

#[test]
fn identical_metadata_has_one_fingerprint_and_any_difference_another() {
    let plain = public(json!({})).fingerprint();
    for same in [
        json!({"grant_types": ["refresh_token", "authorization_code"]}),
        json!({"response_types": ["code"]}),
        json!({"client_name": " notes.example.org "}),
        json!({"redirect_uris": [BACK, BACK]}),
        json!({"scope": "work", "software_id": "of nobody"}),
    ] {
        assert_eq!(public(same.clone()).fingerprint(), plain, "{same}");
    }
    let mut seen = vec![plain];
    for other in [
        json!({"client_name": "Tide"}),
        json!({"client_name": "tide"}),
        json!({"redirect_uris": [format!("{BACK}/")]}),
        json!({"redirect_uris": [BACK, "zed://back"]}),
        json!({"grant_types": ["authorization_code"]}),
        json!({"logo_uri": "https://notes.example.org/1"}),
        json!({"client_uri": "https://notes.example.org/1"}),
        json!({"policy_uri": "https://notes.example.org/1"}),
        json!({"tos_uri": "https://notes.example.org/1"}),
        json!({"jwks_uri": "https://notes.example.org/1"}),
        json!({"contacts": []}),
        json!({"contacts": ["a", "b"]}),
        json!({"contacts": ["a,b"]}),
        json!({"contacts": ["a\",\"b"]}),
    ] {
        let fingerprint = public(other.clone()).fingerprint();
        assert!(!seen.contains(&fingerprint), "{other}");
        seen.push(fingerprint);
    }
}

#[test]
fn descriptions_are_fit_for_the_wire() {
    for error in [
        RegistrationError::NotAnObject,
        RegistrationError::RedirectList,
        RegistrationError::Redirect(RedirectError::Scheme),
        RegistrationError::Redirect(RedirectError::PlainHttp),
        RegistrationError::WrongType("client_name"),
        RegistrationError::Name(NameError::Reserved),
        RegistrationError::AuthMethod,
        RegistrationError::GrantTypes,
        RegistrationError::ResponseTypes,
    ] {
        let text = error.to_string();
        let fit = |c: char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\');
        assert!(!text.is_empty() && text.chars().all(fit), "{text}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!(BACK)),
        Just(json!("none")),
        Just(json!("code")),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(".{0,4}", inner, 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_registered_registers_again_as_the_same(
        members in proptest::collection::btree_map(
            proptest::sample::select(vec![
                "client_name", "token_endpoint_auth_method", "grant_types", "response_types",
                "logo_uri", "client_uri", "policy_uri", "tos_uri", "jwks_uri", "contacts", "other",
            ]),
            any_json(),
            0..4,
        ),
    ) {
        let Ok(metadata) = with(json!(members)) else { return Ok(()) };
        let answer = json!(metadata.members());
        prop_assert!(!answer.as_object().unwrap().values().any(Value::is_null));
        let again = read(&answer).unwrap();
        prop_assert_eq!(again.fingerprint(), metadata.fingerprint());
        prop_assert_eq!(again, metadata);
    }

    #[test]
    fn no_document_without_redirects_is_registered(document in any_json()) {
        prop_assert!(read(&document).is_err());
    }
}
