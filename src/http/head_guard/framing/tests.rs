use actix_http::ServiceConfig;
use actix_http::h1::{Codec, Message};
use actix_web::web::BytesMut;
use proptest::prelude::*;
use tokio_util::codec::Decoder;

use super::oracle::{self, Outcome};
use super::*;
use crate::http::head_guard::chunks::MAX_SIZE_LINE;
use crate::http::head_guard::lines::{MAX_BYTES, MAX_FIELDS};
use crate::http::head_guard::surplus::{NAME, STAYING};

/// What came of a stream, and why it ended.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    passed: Vec<u8>,
    heads: usize,
    fault: Option<Fault>,
}

fn seen<'s>(pieces: impl IntoIterator<Item = &'s [u8]>) -> Seen {
    let mut framing = Framing::default();
    let mut seen = Seen::default();
    let mut held = Vec::new();
    for piece in pieces {
        held.extend_from_slice(piece);
        loop {
            match framing.step(&held) {
                Step::More => break,
                Step::Drop(bytes) => drop(held.drain(..bytes)),
                Step::Pass { bytes, part } => {
                    assert!(bytes > 0, "a step that passes nothing");
                    seen.passed.extend(held.drain(..bytes));
                    seen.heads += usize::from(part != Part::Body);
                }
                Step::Refuse(fault) => {
                    seen.fault = Some(fault);
                    break;
                }
            }
        }
    }
    seen
}

fn whole(stream: &[u8]) -> Seen {
    seen([stream])
}

/// The fault of a stream, and how many of its heads passed.
fn verdict(stream: impl AsRef<[u8]>) -> (usize, Option<Fault>) {
    let seen = whole(stream.as_ref());
    (seen.heads, seen.fault)
}

const GET: &str = "GET / HTTP/1.1\r\nhost: h\r\n\r\n";

fn get(fields: &str) -> String {
    format!("GET / HTTP/1.1\r\nhost: h\r\n{fields}\r\n")
}

fn chunked(body: &str) -> String {
    format!("POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n{body}")
}

/// Streams that are good as far as they go, and the number of their heads.
fn good() -> Vec<(String, usize)> {
    let counted = "POST /a?b HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\n\r\nhello";
    let list = [
        ("", 0),
        ("\r", 0),
        ("\r\n", 0),
        (GET, 1),
        (counted, 1),
        ("OPTIONS * HTTP/1.1\r\nHOST:\r\n\r\n", 1),
        ("GET http://h:1/a HTTP/1.1\r\nHost: h:1\r\n\r\n", 1),
        ("GET / HTTP/1.0\r\n\r\n", 1),
        ("POST / HTTP/1.0\r\nContent-Length: 1\r\n\r\nx", 1),
        (
            "GET / HTTP/1.1\r\nhost:h\r\nx:\t\u{e9}\u{80} ~ \r\nempty:\r\n\r\n",
            1,
        ),
        ("GET / HTTP/1.1\r\nhost: h\r\ncontent-leng", 0),
        ("PO", 0),
    ];
    let mut good: Vec<(String, usize)> =
        list.map(|(text, heads)| (text.to_owned(), heads)).to_vec();
    good.extend([
        (format!("{GET}{GET}{counted}{GET}"), 4),
        (format!("{counted}\r\n{GET}"), 2),
        (
            get("connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AA\r\n"),
            1,
        ),
        (get("content-length: 007\r\n") + "hellogo", 1),
        (get("content-length: 0\r\n") + GET, 2),
        (get("content-length: 18446744073709551615\r\n") + "hello", 1),
        (
            get("expect: 100-continue\r\ncontent-length: 3\r\n") + "x",
            1,
        ),
        (chunked("5\r\nhello\r\n0\r\n\r\n") + GET, 2),
        (
            chunked("5;a=\"b c\";d\r\nhello\r\n000\r\nx-t: y\r\n\r\n") + GET,
            2,
        ),
        (chunked("FFFFFFFFFFFFFFFF\r\nhello"), 1),
        (chunked("000000000000000a\r\nhell"), 1),
    ]);
    // What comes after the last request is nothing any more.
    for last in [
        get("connection: close\r\n"),
        get("connection: x, Close\r\n"),
        "GET / HTTP/1.0\r\n\r\n".to_owned(),
    ] {
        good.push((format!("{last}{GET}\0\n"), 1));
    }
    good.push((format!("{}{GET}", get("connection: keep-alive\r\n")), 2));
    let kept = "GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n";
    good.push((format!("{kept}{kept}"), 2));
    good
}

/// Streams whose first request is malformed.
fn bad() -> Vec<(String, Fault)> {
    use Fault::{Coding, Control, FieldLine, Folded, Host, Length, LineEnd, Protocol, RequestLine};
    let mut bad = vec![
        ("\n".to_owned(), LineEnd),
        ("\r\n\r\n".to_owned(), RequestLine),
        (" GET / HTTP/1.1\r\n".to_owned(), RequestLine),
        ("{\"a\":1}".to_owned(), RequestLine),
        ("G\u{e9}T".to_owned(), RequestLine),
        ("\u{16}\u{3}\u{1}".to_owned(), Control),
        ("GET\t/ HTTP/1.1\r\n".to_owned(), RequestLine),
        ("GET /\n".to_owned(), LineEnd),
        ("GET / HTTP/1.1\n".to_owned(), LineEnd),
        ("GET / HTTP/1.1\r\nhost: h\n".to_owned(), LineEnd),
        ("GET / HTTP/1.1\r\nhost: h\r\n\n".to_owned(), LineEnd),
        ("GET / HTTP/1.1\rhost: h".to_owned(), LineEnd),
        ("GET / HTTP/1.1\r\nhost: a\rb".to_owned(), LineEnd),
        ("GET / HTTP/1.1\r\nhost: h\r\n\rx".to_owned(), LineEnd),
        ("GET /\0".to_owned(), Control),
        ("GET / HTTP/1.1\r\nho\0".to_owned(), Control),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), RequestLine),
        (
            "CONNECT h:1 HTTP/1.1\r\nhost: h\r\n\r\n".to_owned(),
            Protocol,
        ),
    ];
    for line in [
        "GET / HTTP/1.2",
        "GET / http/1.1",
        "GET /",
        "GET  / HTTP/1.1",
        "GET /  HTTP/1.1",
        "GET / HTTP/1.1 ",
        "GET / HTTP/1.1 x",
        "GET h HTTP/1.1",
        "GET h:1 HTTP/1.1",
        "GET ftp://h/ HTTP/1.1",
        "GET http:/// HTTP/1.1",
        "GET /#a HTTP/1.1",
        "GET /<a> HTTP/1.1",
        "GET * HTTP/1.1",
        "GET ../a HTTP/1.1",
    ] {
        bad.push((format!("{line}\r\nhost: h\r\n\r\n"), RequestLine));
    }
    for (fields, fault) in [
        (" folded: yes\r\n", Folded),
        ("\tfolded\r\n", Folded),
        ("x y: 1\r\n", FieldLine),
        ("x : 1\r\n", FieldLine),
        (": 1\r\n", FieldLine),
        ("x\r\n", FieldLine),
        ("x\u{e9}: 1\r\n", FieldLine),
        ("x(: 1\r\n", FieldLine),
        ("x: a\0b\r\n", Control),
        ("x: a\u{7f}b\r\n", Control),
        ("x: a\u{1b}b\r\n", Control),
        ("Host: h\r\n", Host),
        ("content-length: 1\r\ncontent-length: 2\r\n", Length),
        ("content-length: 1\r\nContent-Length: 1\r\n", Length),
        ("content-length: 1, 1\r\n", Length),
        ("content-length:\r\n", Length),
        ("content-length: +1\r\n", Length),
        ("content-length: -1\r\n", Length),
        ("content-length: 0x1\r\n", Length),
        ("content-length: 1 1\r\n", Length),
        ("content-length: 18446744073709551616\r\n", Length),
        (
            "content-length: 1\r\ntransfer-encoding: chunked\r\n",
            Coding,
        ),
        (
            "content-length: 0\r\ntransfer-encoding: chunked\r\n",
            Coding,
        ),
        (
            "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n",
            Coding,
        ),
        ("transfer-encoding: xchunked\r\n", Coding),
        ("transfer-encoding: gzip, chunked\r\n", Coding),
        ("transfer-encoding: chunked, identity\r\n", Coding),
        ("transfer-encoding: identity\r\n", Coding),
        ("transfer-encoding:\r\n", Coding),
        ("upgrade: websocket\r\n", Protocol),
        ("Upgrade: h2c, WebSocket\r\n", Protocol),
    ] {
        bad.push((get(fields), fault));
    }
    bad.push(("GET / HTTP/1.1\r\n\r\n".to_owned(), Host));
    let old = "POST / HTTP/1.0\r\n";
    bad.push((format!("{old}\r\n"), Length));
    bad.push((format!("{old}transfer-encoding: chunked\r\n\r\n"), Coding));
    bad
}

/// Chunked bodies with the byte that is wrong at their end.
fn bad_chunks() -> Vec<String> {
    let mut bodies: Vec<String> = [
        "\r",
        "g",
        " ",
        "-",
        "+",
        ";",
        "0x",
        "5 ",
        "5\n",
        "5\rx",
        "5;\n",
        "5;a\0",
        "5;a\u{7f}",
        "5\r\nhellox",
        "5\r\nhello\n",
        "5\r\nhello\rx",
        "5\r\nhello\r\n\r",
        "11111111111111111",
    ]
    .map(str::to_owned)
    .to_vec();
    bodies.push(format!("5;{}", "a".repeat(MAX_SIZE_LINE - 1)));
    bodies
}

#[test]
fn well_formed_requests_pass_one_after_another() {
    for (stream, heads) in good() {
        assert_eq!(verdict(&stream), (heads, None), "{stream:?}");
    }
}

#[test]
fn a_malformed_head_is_refused_and_nothing_of_it_passes() {
    for (stream, fault) in bad() {
        for before in ["", GET, &chunked("1\r\nx\r\n0\r\n\r\n")] {
            let seen = whole(format!("{before}{stream}").as_bytes());
            assert_eq!(seen.fault, Some(fault), "{stream:?}");
            assert_eq!(seen.passed, before.as_bytes(), "{stream:?}");
        }
    }
}

#[test]
fn a_malformed_chunk_ends_the_body_at_the_byte_that_is_wrong() {
    for body in bad_chunks() {
        let stream = chunked(&body);
        let seen = whole(format!("{stream}{GET}").as_bytes());
        assert_eq!(seen.fault, Some(Fault::Chunk), "{body:?}");
        assert_eq!(
            seen.passed,
            &stream.as_bytes()[..stream.len() - 1],
            "{body:?}"
        );
    }
    for trailers in [" a", "a b", "a\n", "a: \0", ":", "a: b\r\n c"] {
        let stream = chunked(&format!("0\r\n{trailers}"));
        assert_eq!(verdict(&stream), (1, Some(Fault::Trailer)), "{trailers:?}");
    }
}

#[test]
fn a_head_may_have_100_fields_and_32_kib_and_not_one_more() {
    let fields = |count: usize| get(&"x: 1\r\n".repeat(count - 1));
    assert_eq!(verdict(fields(MAX_FIELDS)), (1, None));
    assert_eq!(
        verdict(fields(MAX_FIELDS + 1)),
        (0, Some(Fault::TooManyFields))
    );
    let flood = "x: 1\r\n".repeat(100_000);
    assert_eq!(verdict(get(&flood)), (0, Some(Fault::TooManyFields)));
    let long = |bytes: usize| {
        let rest = bytes - get("x: \r\n").len();
        get(&format!("x: {}\r\n", "a".repeat(rest)))
    };
    assert_eq!(long(MAX_BYTES).len(), MAX_BYTES);
    assert_eq!(verdict(long(MAX_BYTES) + &long(MAX_BYTES)), (2, None));
    assert_eq!(verdict(long(MAX_BYTES + 1)), (0, Some(Fault::TooLong)));
    assert_eq!(verdict("a".repeat(MAX_BYTES)), (0, None));
    assert_eq!(
        verdict("a".repeat(MAX_BYTES + 1)),
        (0, Some(Fault::TooLong))
    );
    let trailers = chunked(&format!("0\r\n{}", "x: 1\r\n".repeat(MAX_FIELDS)));
    assert_eq!(verdict(&trailers), (1, None));
    assert_eq!(verdict(trailers + "x"), (1, Some(Fault::Trailer)));
}

#[test]
fn of_the_fields_that_actix_http_reads_95_pass_and_the_one_that_carries_others_never() {
    let fields = |count: usize| get(&"connection: x\r\n".repeat(count - 1));
    assert_eq!(verdict(fields(STAYING)), (1, None));
    assert_eq!(
        verdict(fields(STAYING + 1)),
        (0, Some(Fault::TooManyFields))
    );
    assert_eq!(
        verdict(get(&format!("{NAME}: eDog\r\n"))),
        (0, Some(Fault::FieldLine))
    );
}

#[test]
fn a_chunks_line_may_have_256_bytes() {
    let line = |bytes: usize| chunked(&format!("1;{}\r\nx", "a".repeat(bytes - 4)));
    assert_eq!(verdict(line(MAX_SIZE_LINE)), (1, None));
    assert_eq!(verdict(line(MAX_SIZE_LINE + 1)), (1, Some(Fault::Chunk)));
}

#[test]
fn where_a_stream_is_cut_makes_no_difference() {
    let streams = good().into_iter().map(|(stream, _)| stream);
    let streams = streams.chain(
        bad()
            .into_iter()
            .map(|(stream, _)| format!("{GET}{stream}{GET}")),
    );
    let bodies = bad_chunks().into_iter().map(|body| chunked(&body) + GET);
    for stream in streams.chain(bodies) {
        let stream = stream.as_bytes();
        let expected = whole(stream);
        for cut in 0..=stream.len() {
            let (first, second) = stream.split_at(cut);
            assert_eq!(seen([first, second]), expected, "{stream:?} at {cut}");
        }
        assert_eq!(
            seen(stream.chunks(1)),
            expected,
            "{stream:?} by single bytes"
        );
    }
}

thread_local! {
    /// It starts a task that tells it the time, which nobody asks for here.
    static CONFIG: ServiceConfig = {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let tasks = tokio::task::LocalSet::new();
        let (_in_runtime, _in_tasks) = (runtime.enter(), tasks.enter());
        ServiceConfig::default()
    };
}

/// What actix-http makes of bytes that passed.
fn decoded(passed: &[u8]) -> Vec<Vec<u8>> {
    let mut codec = Codec::new(CONFIG.with(Clone::clone));
    let mut bytes = BytesMut::from(passed);
    let mut bodies: Vec<Vec<u8>> = Vec::new();
    while let Some(message) = codec
        .decode(&mut bytes)
        .expect("actix-http takes what passed")
    {
        match message {
            Message::Item(_) => bodies.push(Vec::new()),
            Message::Chunk(Some(chunk)) => bodies.last_mut().unwrap().extend_from_slice(&chunk),
            Message::Chunk(None) => {}
        }
    }
    assert!(
        bytes.is_empty(),
        "actix-http sees the beginning of another head"
    );
    bodies
}

#[track_caller]
fn check(stream: &[u8]) {
    let found = whole(stream);
    let expected = oracle::judge(stream);
    let got = Outcome {
        bodies: decoded(&found.passed),
        refused: found.fault.is_some(),
        passed: found.passed,
    };
    assert_eq!(found.heads, expected.bodies.len());
    assert_eq!(got, expected);
}

#[test]
fn oracle_and_actix_http_agree_about_every_example() {
    let streams = good().into_iter().map(|(stream, _)| stream);
    let streams = streams.chain(
        bad()
            .into_iter()
            .map(|(stream, _)| format!("{GET}{stream}{GET}")),
    );
    let bodies = bad_chunks();
    // The length of a chunk's line is a limit, of which the oracle knows nothing.
    let bodies = bodies.iter().filter(|body| body.len() < MAX_SIZE_LINE);
    for stream in streams.chain(bodies.map(|body| chunked(body) + GET)) {
        check(stream.as_bytes());
    }
}

#[test]
fn oracle_and_actix_http_agree_about_every_byte_at_every_place() {
    let streams = [
        GET.to_owned(),
        get("content-length: 2\r\n") + "ab" + GET,
        chunked("1;e\r\na\r\n0\r\nt: u\r\n\r\n") + GET,
    ];
    for stream in streams {
        for place in 0..stream.len() {
            for byte in 0..=u8::MAX {
                let mut stream = stream.clone().into_bytes();
                stream[place] = byte;
                check(&stream);
            }
        }
    }
}

/// One request, mostly good.
fn request() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => Just("POST / HTTP/1.1\r\n"),
        2 => Just("GET /a?b=c HTTP/1.1\r\n"),
        1 => Just("GET http://h/ HTTP/1.1\r\n"),
        1 => Just("POST / HTTP/1.0\r\n"),
        1 => Just("GET / HTTP/1.0\r\nconnection: keep-alive\r\n"),
    ];
    let fields = prop::collection::vec(
        prop_oneof![
            Just("x-a: b, c\r\n"),
            Just("Accept:*/*\r\n"),
            Just("connection: keep-alive\r\n"),
            Just("Upgrade: h2c\r\n"),
            Just("x:\r\n"),
        ],
        0..3,
    );
    let bodies = prop_oneof![
        Just("\r\n".to_owned()),
        "[a-c\r\n]{0,9}".prop_map(|body| format!("content-length: {}\r\n\r\n{body}", body.len())),
        prop::collection::vec("[a-c\r\n]{1,5}", 0..3).prop_map(|chunks| {
            let chunks = chunks
                .iter()
                .map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len()));
            let chunks: String = chunks.collect();
            format!("transfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n")
        }),
    ];
    (line, fields, bodies)
        .prop_map(|(line, fields, body)| format!("{line}host: h\r\n{}{body}", fields.concat()))
}

/// A place in a stream and what is done there.
fn change() -> impl Strategy<Value = (prop::sample::Index, Option<&'static str>)> {
    let texts = prop::sample::select(vec![
        "\r",
        "\n",
        "\r\n",
        " ",
        "\t",
        ":",
        "\0",
        "\u{e9}",
        "a",
        "0",
        "5",
        ";",
        ",",
        "/",
        "#",
        "host: h\r\n",
        "content-length: 1\r\n",
        "transfer-encoding: chunked\r\n",
        "connection: close\r\n",
        "upgrade: websocket\r\n",
        GET,
    ]);
    (
        any::<prop::sample::Index>(),
        prop::option::weighted(0.7, texts),
    )
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let requests = prop::collection::vec(request(), 1..4);
    let changes = prop::collection::vec(change(), 0..3);
    (requests, changes).prop_map(|(requests, changes)| {
        let mut stream = requests.concat().into_bytes();
        for (place, change) in changes {
            let at = place.index(stream.len());
            match change {
                Some(text) => drop(stream.splice(at..at, text.bytes())),
                None => drop(stream.remove(at)),
            }
        }
        stream
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn pipelined_requests_in_any_pieces_are_judged_as_the_oracle_judges_the_whole(
        stream in stream(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        check(&stream);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts.into_iter().chain([stream.len()]) {
            pieces.push(&stream[from..cut]);
            from = cut;
        }
        prop_assert_eq!(seen(pieces), whole(&stream));
    }

    #[test]
    fn bytes_of_any_kind_are_judged_as_the_oracle_judges_them(
        stream in prop::collection::vec(prop_oneof![
            any::<u8>(),
            prop::sample::select(b"\r\n :;0a/".to_vec()),
        ], 0..60),
    ) {
        check(&stream);
        prop_assert_eq!(seen(stream.chunks(1)), whole(&stream));
    }
}
