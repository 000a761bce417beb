use proptest::prelude::*;
use secrecy::ExposeSecret;

use super::*;

/// Client, way and secret.
type Seen = (String, AuthMethod, Option<String>);

fn read(body: &[(&str, &str)], headers: &[&str]) -> Result<Seen, TokenError> {
    let pairs = body
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()));
    let mut parameters = Parameters::read(pairs).unwrap();
    let headers: Vec<&[u8]> = headers.iter().map(|header| header.as_bytes()).collect();
    let found = ClientCredentials::read(&mut parameters, &headers)?;
    let method = found.method();
    let secret = match &found.proof {
        Proof::None => None,
        Proof::Basic(secret) | Proof::Post(secret) => Some(secret.expose_secret().to_owned()),
    };
    Ok((found.client_id, method, secret))
}

fn header(pair: &str) -> String {
    format!("Basic {}", STANDARD.encode(pair))
}

fn seen(id: &str, method: AuthMethod, secret: Option<&str>) -> Seen {
    (id.to_owned(), method, secret.map(str::to_owned))
}

#[test]
fn three_ways_are_read() {
    let id = ("client_id", "tide");
    assert_eq!(read(&[id], &[]), Ok(seen("tide", AuthMethod::None, None)));
    assert_eq!(
        read(&[id, ("client_secret", "s")], &[]),
        Ok(seen("tide", AuthMethod::SecretPost, Some("s")))
    );
    assert_eq!(
        read(&[], &[&header("tide:s")]),
        Ok(seen("tide", AuthMethod::SecretBasic, Some("s")))
    );
    let empty_secret = read(&[id, ("client_secret", "")], &[]);
    assert_eq!(empty_secret, Ok(seen("tide", AuthMethod::None, None)));
}

#[test]
fn two_ways_at_once_are_refused_but_the_same_id_is_no_second_way() {
    let basic = header("tide:s");
    for body in [
        &[("client_id", "tide"), ("client_secret", "s")][..],
        &[("client_secret", "s")],
        &[("client_id", "ebb")],
        &[("client_id", "ebb"), ("client_secret", "s")],
    ] {
        let refused = read(body, &[&basic]);
        assert_eq!(refused, Err(TokenError::TwoAuthentications), "{body:?}");
    }
    assert_eq!(
        read(&[("client_id", "tide")], &[&basic]),
        Ok(seen("tide", AuthMethod::SecretBasic, Some("s")))
    );
}

#[test]
fn two_headers_are_refused() {
    let basic = header("tide:s");
    for headers in [[basic.as_str(), basic.as_str()], ["Bearer x", &basic]] {
        assert_eq!(
            read(&[], &headers),
            Err(TokenError::TwoAuthorizationHeaders)
        );
    }
}

#[test]
fn a_client_that_does_not_present_itself_is_refused() {
    for body in [&[][..], &[("client_id", "")], &[("client_secret", "s")]] {
        let refused = read(body, &[]);
        assert_eq!(
            refused,
            Err(TokenError::Client(ClientVia::Body)),
            "{body:?}"
        );
    }
}

#[test]
fn a_header_that_is_no_basic_pair_is_refused_also_beside_a_good_body() {
    for bad in [
        String::new(),
        "Basic".to_owned(),
        "Basic ".to_owned(),
        format!("Basic  {}", STANDARD.encode("tide:s")),
        format!("Bearer {}", STANDARD.encode("tide:s")),
        format!("{} ", header("tide:s")),
        "Basic tide:s".to_owned(),
        header("tide"),
        header(":s"),
        header("tide%2:s"),
        header("tide:s%zz"),
        header("tide:s%+1"),
        header("tide:%ff"),
        header("tide:%é1"),
        format!("Basic {}", STANDARD.encode([b't', b':', 0xff])),
    ] {
        let refused = read(&[("client_id", "tide")], &[&bad]);
        assert_eq!(refused, Err(TokenError::Client(ClientVia::Header)), "{bad}");
    }
}

#[test]
fn both_halves_of_a_pair_are_form_decoded() {
    for (pair, id, secret) in [
        ("tide:a:b", "tide", "a:b"),
        ("tide:", "tide", ""),
        ("ti+de%2B:a+b%20%25", "ti de+", "a b %"),
        (
            "https%3A%2F%2Fnotes.example.org%2Fid:s",
            "https://notes.example.org/id",
            "s",
        ),
        ("ti%C3%A9de:%c3%a9", "tiéde", "é"),
    ] {
        let found = read(&[], &[&header(pair)]);
        assert_eq!(found, Ok(seen(id, AuthMethod::SecretBasic, Some(secret))));
    }
    let other_case = header("tide:s").replace("Basic", "bASIC");
    assert!(read(&[], &[&other_case]).is_ok());
}

#[test]
fn a_refusal_challenges_only_who_used_the_header() {
    let of = |proof| ClientCredentials {
        client_id: "tide".to_owned(),
        proof,
    };
    let challenge = |proof| of(proof).refusal().challenge();
    assert_eq!(challenge(Proof::None), None);
    assert_eq!(challenge(Proof::Post("s".into())), None);
    assert_eq!(challenge(Proof::Basic("s".into())), Some("Basic"));
    let shown = format!("{:?}", of(Proof::Basic("marked".into())));
    assert!(!shown.contains("marked"), "{shown}");
}

proptest! {
    #[test]
    fn any_encoded_pair_is_read_back(id in ".{1,12}", secret in ".{0,12}") {
        let encoded = |text: &str| {
            let escapes: Vec<_> = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
            escapes.concat()
        };
        let pair = format!("{}:{}", encoded(&id), encoded(&secret));
        let found = read(&[], &[&header(&pair)]);
        prop_assert_eq!(found, Ok(seen(&id, AuthMethod::SecretBasic, Some(&secret))));
    }

    #[test]
    fn any_header_is_judged(bytes in any::<Vec<u8>>()) {
        let mut parameters = Parameters::default();
        let read = ClientCredentials::read(&mut parameters, &[&bytes]);
        prop_assert_eq!(read.err(), Some(TokenError::Client(ClientVia::Header)));
    }
}
