//! The guard on a pipe, with a router that is played by the test.

use tokio::io::{AsyncWriteExt, DuplexStream};

use super::*;

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: h\r\n\r\n";
const LONG: Duration = Duration::from_secs(600);
/// Long enough to be waited for, and no longer.
const SHORT: Duration = Duration::from_millis(20);

const PATIENT: Patience = Patience {
    head: LONG,
    body: LONG,
};

/// A client and the guard of its connection.
fn pipe(patience: Patience) -> (DuplexStream, Guarded<DuplexStream>) {
    let (client, socket) = tokio::io::duplex(1 << 20);
    let metrics = Metrics::new().unwrap();
    (client, Guarded::new(socket, patience, metrics))
}

async fn read(guarded: &mut Guarded<DuplexStream>, bytes: usize) -> Vec<u8> {
    let mut read = vec![0; bytes];
    guarded.read_exact(&mut read).await.unwrap();
    read
}

/// Whether the end of the stream is told now.
fn is_at_end(guarded: &mut Guarded<DuplexStream>) -> bool {
    let mut byte = [0];
    let mut room = ReadBuf::new(&mut byte);
    let mut context = Context::from_waker(std::task::Waker::noop());
    let end = Pin::new(guarded).poll_read(&mut context, &mut room);
    assert!(room.filled().is_empty());
    end.is_ready()
}

/// Plays the end of a connection from both sides; returns what the client read.
async fn parted(mut client: DuplexStream, mut guarded: Guarded<DuplexStream>) -> String {
    let mut said = Vec::new();
    let reading = async {
        client.read_to_end(&mut said).await.unwrap();
        client.shutdown().await.unwrap();
    };
    let (shut, ()) = tokio::join!(guarded.shutdown(), reading);
    shut.unwrap();
    String::from_utf8(said).unwrap()
}

fn cut(guarded: &Guarded<DuplexStream>, reason: &str) -> u64 {
    let counter = &guarded.metrics.connections_cut;
    counter.with_label_values(&[reason]).get()
}

#[tokio::test]
async fn a_head_is_held_back_until_it_is_whole_and_nothing_is_held_of_an_idle_connection() {
    let (mut client, mut guarded) = pipe(PATIENT);
    let (first, second) = GET.split_at(20);
    client.write_all(first).await.unwrap();
    assert!(!is_at_end(&mut guarded));
    assert_eq!(guarded.held.len(), 20);
    client.write_all(second).await.unwrap();
    assert_eq!(read(&mut guarded, GET.len()).await, GET);
    assert!(!is_at_end(&mut guarded));
    assert_eq!(guarded.held.capacity(), 0);
}

#[tokio::test]
async fn a_refusal_waits_for_the_answers_that_are_owed() {
    let (mut client, mut guarded) = pipe(PATIENT);
    client
        .write_all(&[GET, GET, b"GET\n"].concat())
        .await
        .unwrap();
    assert_eq!(read(&mut guarded, 2 * GET.len()).await, [GET, GET].concat());
    assert!(!is_at_end(&mut guarded));
    let ledger = guarded.ledger();
    let owed = [(); 2].map(|()| ledger::Debt(Rc::clone(&ledger)));
    for debt in owed {
        assert!(!is_at_end(&mut guarded));
        guarded.write_all(b"answer, ").await.unwrap();
        drop(debt);
    }
    assert!(is_at_end(&mut guarded));
    assert_eq!(cut(&guarded, "line_end"), 1);
    let said = parted(client, guarded).await;
    let refusal = said.strip_prefix("answer, answer, ").unwrap();
    assert!(
        refusal.starts_with("HTTP/1.1 400 Bad Request\r\n"),
        "{refusal}"
    );
}

#[tokio::test]
async fn who_waits_for_an_answer_to_end_is_woken_by_its_end() {
    let (mut client, mut guarded) = pipe(PATIENT);
    client.write_all(&[GET, b"\0"].concat()).await.unwrap();
    assert_eq!(read(&mut guarded, GET.len()).await, GET);
    let debt = ledger::Debt(guarded.ledger());
    let (end, ()) = tokio::join!(guarded.read_u8(), async {
        tokio::task::yield_now().await;
        drop(debt);
    });
    assert_eq!(end.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn a_refusal_is_the_last_word_whatever_the_router_writes_after_it() {
    let (mut client, mut guarded) = pipe(PATIENT);
    client.write_all(b"\0").await.unwrap();
    assert!(is_at_end(&mut guarded));
    let mut context = Context::from_waker(std::task::Waker::noop());
    assert!(
        Pin::new(&mut guarded)
            .poll_shutdown(&mut context)
            .is_pending()
    );
    guarded
        .write_all(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        .await
        .unwrap();
    let said = parted(client, guarded).await;
    assert_eq!(said.matches("HTTP/1.1").count(), 1, "{said}");
}

#[tokio::test]
async fn a_connection_that_the_router_closes_first_gets_no_refusal() {
    let (mut client, mut guarded) = pipe(PATIENT);
    client.write_all(&[GET, b"\0"].concat()).await.unwrap();
    assert_eq!(read(&mut guarded, GET.len()).await, GET);
    assert!(!is_at_end(&mut guarded), "an answer is owed");
    assert_eq!(parted(client, guarded).await, "");
}

#[tokio::test]
async fn a_body_at_fault_ends_when_the_answers_before_it_are_given_and_is_the_routers_to_answer() {
    let post = b"POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n";
    let (mut client, mut guarded) = pipe(PATIENT);
    client.write_all(&[GET, post, b"?"].concat()).await.unwrap();
    let passed = read(&mut guarded, GET.len() + post.len()).await;
    assert!(passed.ends_with(post));
    assert!(!is_at_end(&mut guarded));
    drop(ledger::Debt(guarded.ledger()));
    assert!(is_at_end(&mut guarded));
    assert_eq!(cut(&guarded, "chunk"), 1);
    assert_eq!(parted(client, guarded).await, "");
}

#[tokio::test]
async fn a_late_head_is_answered_408_the_first_and_every_other() {
    let patience = Patience {
        head: SHORT,
        ..PATIENT
    };
    for sent in ["", "G", "GET / HTTP/1.1\r\nhost: h\r\n", "\r\n"] {
        let (mut client, mut guarded) = pipe(patience);
        client.write_all(sent.as_bytes()).await.unwrap();
        guarded.read_u8().await.unwrap_err();
        assert_eq!(cut(&guarded, "late_head"), 1);
        let said = parted(client, guarded).await;
        assert!(
            said.starts_with("HTTP/1.1 408 Request Timeout\r\n"),
            "{said}"
        );
    }
    let (mut client, mut guarded) = pipe(patience);
    client.write_all(&[GET, b"G"].concat()).await.unwrap();
    assert_eq!(read(&mut guarded, GET.len()).await, GET);
    drop(ledger::Debt(guarded.ledger()));
    guarded.read_u8().await.unwrap_err();
    assert!(parted(client, guarded).await.starts_with("HTTP/1.1 408 "));
}

#[tokio::test]
async fn a_connection_between_two_requests_is_in_nobodys_way() {
    let patience = Patience {
        head: SHORT,
        body: SHORT,
    };
    let (mut client, mut guarded) = pipe(patience);
    client.write_all(GET).await.unwrap();
    assert_eq!(read(&mut guarded, GET.len()).await, GET);
    client.write_all(b"\r\n").await.unwrap();
    let waited = tokio::time::timeout(3 * SHORT, guarded.read_u8()).await;
    assert!(waited.is_err(), "{waited:?}");
    client.write_all(GET).await.unwrap();
    assert_eq!(read(&mut guarded, GET.len()).await, GET);
}

#[tokio::test]
async fn a_body_that_stops_coming_ends_and_is_the_routers_to_answer() {
    let patience = Patience {
        body: SHORT,
        ..PATIENT
    };
    for framing in ["content-length: 9", "transfer-encoding: chunked"] {
        let (mut client, mut guarded) = pipe(patience);
        let head = format!("POST / HTTP/1.1\r\nhost: h\r\n{framing}\r\n\r\n1");
        client.write_all(head.as_bytes()).await.unwrap();
        assert_eq!(read(&mut guarded, head.len()).await, head.as_bytes());
        guarded.read_u8().await.unwrap_err();
        assert_eq!(cut(&guarded, "late_body"), 1);
        assert_eq!(parted(client, guarded).await, "");
    }
}

#[tokio::test]
async fn a_late_body_that_never_pauses_is_read_as_long_as_its_answer_is_owed() {
    let patience = Patience {
        body: Duration::ZERO,
        ..PATIENT
    };
    let (mut client, mut guarded) = pipe(patience);
    let head = b"POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n";
    client.write_all(head).await.unwrap();
    assert_eq!(read(&mut guarded, head.len()).await, head);
    let chunk = b"1\r\nx\r\n";
    for _ in 0..3 {
        client.write_all(chunk).await.unwrap();
        assert_eq!(read(&mut guarded, chunk.len()).await, chunk);
    }
    drop(ledger::Debt(guarded.ledger()));
    client.write_all(chunk).await.unwrap();
    guarded.read_u8().await.unwrap_err();
    assert_eq!(cut(&guarded, "late_body"), 1);
}

#[tokio::test]
async fn a_body_in_time_is_not_cut_by_the_time_of_the_head_before_it() {
    let patience = Patience {
        head: SHORT,
        ..PATIENT
    };
    let (mut client, mut guarded) = pipe(patience);
    let head = b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 1\r\n\r\n";
    client.write_all(head).await.unwrap();
    assert_eq!(read(&mut guarded, head.len()).await, head);
    let waited = tokio::time::timeout(3 * SHORT, guarded.read_u8()).await;
    assert!(waited.is_err(), "{waited:?}");
    client.write_all(b"x").await.unwrap();
    assert_eq!(guarded.read_u8().await.unwrap(), b'x');
}

#[tokio::test]
async fn a_client_that_goes_is_seen_to_go() {
    let (mut client, mut guarded) = pipe(PATIENT);
    client.write_all(&GET[..20]).await.unwrap();
    drop(client);
    let end = guarded.read_u8().await.unwrap_err();
    assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn who_goes_on_sending_still_reads_the_refusal() {
    let (client, mut guarded) = pipe(PATIENT);
    let (mut reader, mut writer) = tokio::io::split(client);
    let flood = "x: 1\r\n".repeat(1_000_000);
    let sending = async {
        writer
            .write_all(GET.strip_suffix(b"\r\n").unwrap())
            .await
            .unwrap();
        writer.write_all(flood.as_bytes()).await.unwrap();
        writer.shutdown().await.unwrap();
    };
    let refusing = async {
        guarded.read_u8().await.unwrap_err();
        guarded.shutdown().await.unwrap();
    };
    let mut said = String::new();
    let hearing = reader.read_to_string(&mut said);
    let ((), (), end) = tokio::join!(sending, refusing, hearing);
    end.unwrap();
    assert!(said.starts_with("HTTP/1.1 431 "), "{said}");
}

#[test]
fn a_refusal_is_an_answer_like_every_other() {
    for (fault, status) in [
        (Fault::LineEnd, 400),
        (Fault::TooManyFields, 431),
        (Fault::TooLong, 431),
        (Fault::LateHead, 408),
    ] {
        let refusal = Refusal::of(&fault.problem().unwrap());
        let text = String::from_utf8(refusal.bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status_line = format!("HTTP/1.1 {status} ");
        assert!(head.starts_with(&status_line), "{head}");
        for line in [
            "Content-Type: application/json".to_owned(),
            format!("Content-Length: {}", body.len()),
            "Cache-Control: no-store".to_owned(),
            "Pragma: no-cache".to_owned(),
            "X-Content-Type-Options: nosniff".to_owned(),
            format!("X-Request-Id: {}", refusal.request_id),
            "Connection: close".to_owned(),
        ] {
            assert!(head.contains(&format!("\r\n{line}\r\n")), "{line}: {head}");
        }
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["schema"], "helix.agent_api.error.v1");
        assert_eq!(body["error"], "invalid_request");
        assert_eq!(body["request_id"], refusal.request_id.as_str());
        assert_eq!(body["retryable"], false);
        assert!(body["message"].is_string());
    }
}
