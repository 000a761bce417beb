use serde_json::json;

use super::*;
use crate::auth::test_issuer::{Answer, KeyServer};

fn anywhere() -> GuardedFetch {
    GuardedFetch::new(Reach::Anywhere, FetchLimits::default())
}

fn public() -> GuardedFetch {
    GuardedFetch::new(Reach::Public, FetchLimits::default())
}

fn url(text: &str) -> Url {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_json_document_is_fetched() {
    let server = KeyServer::start(Answer::json(&json!({"a": [1]}))).await;
    assert_eq!(anywhere().json(&server.url).await, Ok(json!({"a": [1]})));
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let target = KeyServer::start(Answer::json(&json!({}))).await;
    let location = format!("location: {}", target.url);
    for status in ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"] {
        let server = KeyServer::start(Answer::status(status, &[&location], "")).await;
        let number = status[..3].parse().unwrap();
        assert_eq!(
            anywhere().json(&server.url).await,
            Err(FetchError::Status(number))
        );
        assert_eq!((server.requests(), target.requests()), (1, 0));
    }
}

#[tokio::test]
async fn every_status_but_200_is_a_failure() {
    for (status, number) in [
        ("204 No Content", 204),
        ("404 Not Found", 404),
        ("500 Oops", 500),
    ] {
        let server = KeyServer::start(Answer::status(status, &[], "")).await;
        assert_eq!(
            anywhere().json(&server.url).await,
            Err(FetchError::Status(number))
        );
    }
}

#[tokio::test]
async fn a_document_ends_at_its_limit_however_it_is_framed() {
    let limit = FetchLimits::default().bytes;
    let exact = format!("[{}]", " ".repeat(limit - 2));
    let server = KeyServer::start(Answer::status("200 OK", &[], &exact)).await;
    assert_eq!(anywhere().json(&server.url).await, Ok(json!([])));

    server.answer(Answer::status("200 OK", &[], &format!("{exact} ")));
    assert_eq!(anywhere().json(&server.url).await, Err(FetchError::TooLong));

    let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", "[".repeat(limit + 1));
    server.answer(Answer::Stall(endless.into_bytes()));
    assert_eq!(anywhere().json(&server.url).await, Err(FetchError::TooLong));
}

#[tokio::test]
async fn a_slow_server_is_given_up_at_the_deadline() {
    let limits = FetchLimits {
        deadline: Duration::from_millis(50),
        ..FetchLimits::default()
    };
    let fetch = GuardedFetch::new(Reach::Anywhere, limits);
    for said in [
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{",
    ] {
        let server = KeyServer::start(Answer::Stall(said.as_bytes().to_vec())).await;
        assert_eq!(
            fetch.json(&server.url).await,
            Err(FetchError::TooSlow),
            "{said:?}"
        );
    }
}

#[tokio::test]
async fn doubtful_json_is_refused() {
    for body in ["", "{", "{}{}", r#"{"keys":[],"keys":[]}"#, "<html>"] {
        let server = KeyServer::start(Answer::status("200 OK", &[], body)).await;
        assert_eq!(
            anywhere().json(&server.url).await,
            Err(FetchError::NotJson),
            "{body:?}"
        );
    }
}

#[tokio::test]
async fn a_broken_connection_is_unreachable() {
    let server = KeyServer::start(Answer::Raw(Vec::new())).await;
    assert_eq!(
        anywhere().json(&server.url).await,
        Err(FetchError::Unreachable)
    );
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}".to_vec();
    server.answer(Answer::Raw(cut));
    assert_eq!(
        anywhere().json(&server.url).await,
        Err(FetchError::Unreachable)
    );
}

#[tokio::test]
async fn urls_with_credentials_or_other_schemes_are_refused() {
    for text in [
        "http://user@127.0.0.1/",
        "http://:pw@127.0.0.1/",
        "file:///etc/hosts",
        "data:,x",
    ] {
        assert_eq!(
            anywhere().json(&url(text)).await,
            Err(FetchError::UrlNotAdmitted),
            "{text}"
        );
    }
}

#[tokio::test]
async fn public_reach_connects_to_no_inner_address() {
    let server = KeyServer::start(Answer::json(&json!({}))).await;
    let port = server.url.port().unwrap();
    for (text, expected) in [
        (
            format!("http://127.0.0.1:{port}/"),
            FetchError::UrlNotAdmitted,
        ),
        (
            format!("https://127.0.0.1:{port}/"),
            FetchError::UrlNotAdmitted,
        ),
        ("http://127.0.0.1/".to_owned(), FetchError::UrlNotAdmitted),
        (
            "https://127.0.0.1/".to_owned(),
            FetchError::AddressNotPublic,
        ),
        (
            "https://2130706433/".to_owned(),
            FetchError::AddressNotPublic,
        ),
        ("https://0x7f.1/".to_owned(), FetchError::AddressNotPublic),
        (
            "https://localhost/".to_owned(),
            FetchError::AddressNotPublic,
        ),
        ("https://[::1]/".to_owned(), FetchError::AddressNotPublic),
        (
            "https://[::ffff:8.8.8.8]/".to_owned(),
            FetchError::AddressNotPublic,
        ),
        (
            "https://10.1.2.3:443/".to_owned(),
            FetchError::AddressNotPublic,
        ),
        (
            "https://169.254.169.254/".to_owned(),
            FetchError::AddressNotPublic,
        ),
    ] {
        assert_eq!(public().json(&url(&text)).await, Err(expected), "{text}");
    }
    assert_eq!(server.requests(), 0);
}

#[tokio::test]
async fn every_name_resolves_to_the_judged_addresses() {
    let judged: Vec<SocketAddr> = vec!["203.0.113.7:443".parse().unwrap()];
    let name = "rebinding.example.org".parse().unwrap();
    let resolved: Vec<SocketAddr> = Judged(judged.clone())
        .resolve(name)
        .await
        .unwrap()
        .collect();
    assert_eq!(resolved, judged);
}

#[test]
fn one_inner_address_condemns_a_name() {
    let (outer, inner): (SocketAddr, SocketAddr) = (
        "1.1.1.1:443".parse().unwrap(),
        "10.0.0.1:443".parse().unwrap(),
    );
    assert_eq!(judge(vec![outer]), Ok(vec![outer]));
    assert_eq!(judge(vec![outer, inner]), Err(FetchError::AddressNotPublic));
    assert_eq!(judge(vec![inner, outer]), Err(FetchError::AddressNotPublic));
    assert_eq!(judge(Vec::new()), Err(FetchError::Unreachable));
}

#[test]
fn only_globally_routed_addresses_are_public() {
    for text in [
        "1.1.1.1",
        "100.63.255.255",
        "172.32.0.1",
        "198.20.0.1",
        "223.255.255.1",
        "2606:4700::1",
    ] {
        assert!(is_public(text.parse().unwrap()), "{text}");
    }
    for text in [
        "0.0.0.0",
        "10.0.0.1",
        "100.64.0.1",
        "127.255.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:1.1.1.1",
        "::1.1.1.1",
        "64:ff9b::101:101",
        "2002:101:101::1",
        "2001::1",
        "2001:db8::1",
        "3fff::1",
        "fc00::1",
        "fd12::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(!is_public(text.parse().unwrap()), "{text}");
    }
}

#[tokio::test]
async fn an_answer_is_handed_over_whatever_its_status() {
    let answer = "HTTP/1.1 429 Slow down\r\nretry-after: 7\r\nlocation: /elsewhere\r\n\
        content-type: Text/Plain; charset=utf-8\r\ncontent-length: 5\r\n\r\nlater";
    let server = KeyServer::start(Answer::Raw(answer.into())).await;
    let request = Outgoing::post(server.url.clone(), "application/json", b"{}".to_vec());
    let fetched = anywhere().send(request).await.unwrap();
    assert_eq!(
        fetched,
        Fetched {
            status: 429,
            media_type: "text/plain".to_owned(),
            location: Some("/elsewhere".to_owned()),
            challenge: None,
            retry_after: Some(Duration::from_secs(7)),
            body: b"later".to_vec(),
        }
    );
}

#[test]
fn what_is_sent_and_what_came_back_are_not_printed() {
    let url = url("https://example.org/?token=canary");
    let secret = HeaderValue::from_static("Bearer canary");
    let request = Outgoing::post(url, "text/plain", b"canary".to_vec())
        .header(reqwest::header::AUTHORIZATION, secret);
    let fetched = Fetched {
        status: 200,
        media_type: String::new(),
        location: Some("https://example.org/canary".to_owned()),
        challenge: None,
        retry_after: None,
        body: b"canary".to_vec(),
    };
    let printed = format!("{request:?} {fetched:?}");
    assert!(!printed.contains("canary"), "{printed}");
    assert!(
        printed.contains("POST") && printed.contains("200"),
        "{printed}"
    );
}

#[tokio::test]
async fn a_status_is_the_whole_answer_when_something_is_told() {
    let server = KeyServer::start(Answer::status(
        "202 Accepted",
        &["retry-after: 7"],
        "more than one byte",
    ))
    .await;
    let limits = FetchLimits {
        bytes: 1,
        ..FetchLimits::default()
    };
    let guard = GuardedFetch::new(Reach::Anywhere, limits);
    let request = Outgoing::post(server.url.clone(), "application/json", b"{}".to_vec());
    let told = guard.tell(request).await.unwrap();
    assert_eq!((told.status, told.body.len()), (202, 0));
    assert_eq!(told.retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn an_address_is_admitted_or_refused_without_being_asked_anything() {
    let server = KeyServer::start(Answer::json(&json!({}))).await;
    assert_eq!(anywhere().admit(&server.url).await, Ok(()));
    assert_eq!(server.requests(), 0);
    let inner = url("https://127.0.0.1/");
    assert_eq!(
        public().admit(&inner).await,
        Err(FetchError::AddressNotPublic)
    );
    assert_eq!(
        public().admit(&server.url).await,
        Err(FetchError::UrlNotAdmitted)
    );
}
