use helix_aggregates::agent::evidence::item::ToolOutcome;
use sha2::{Digest, Sha256};

use super::super::Span;
use super::*;
use crate::solver::corpora::{Corpora, CorporaConfig, LoadStep};
use crate::solver::fixture::turn;
use crate::solver::seam::{AbortHandle, AbortReason, QuotedSpan};
use crate::solver::tools::remote::RemoteConfig;
use crate::testing::upstream::formats::{self, Paper as Told};
use crate::testing::upstream::{Manner, Reply, Upstream as Server};

const SEARCH: &str = "internet-search.search_web";
const LOOK_UP: &str = "scholarly-research.lookup_papers";
const FETCH: &str = "scholarly-research.fetch_full_text";
const NUMBERS: &str = "scholarly-research.extract_numeric_parameters";

fn host(scope: &str, remotes: RemoteConfig) -> (ToolHost, AbortHandle) {
    let config = CorporaConfig {
        remotes,
        ..CorporaConfig::default()
    };
    let corpora = Corpora::open(config, &|_: LoadStep| {});
    let (input, handle) = turn("anything", &[scope]);
    (ToolHost::new(&input, corpora.snapshot()), handle)
}

fn web(server: &Server) -> (ToolHost, AbortHandle) {
    let search = Some(server.base.parse().unwrap());
    host(
        "public_web",
        RemoteConfig {
            search,
            ..RemoteConfig::default()
        },
    )
}

fn papers(server: &Server) -> (ToolHost, AbortHandle) {
    let arxiv = Some(server.base.parse().unwrap());
    host(
        "scholarly_research",
        RemoteConfig {
            arxiv,
            ..RemoteConfig::default()
        },
    )
}

fn asked(query: &str) -> Value {
    json!({"query": query, "limit": 8})
}

#[tokio::test]
async fn a_snippet_may_be_quoted_and_is_retained_once() {
    let results = formats::searxng(&[
        ("Tides", "https://a.example/t", "High tide is at 06:12."),
        ("Quay", "https://a.example/q", "The quay is shut."),
    ]);
    let server = Server::start(move |_| Reply::json(&results)).await;
    let (host, _handle) = web(&server);
    assert_eq!(host.capabilities().len(), 1);
    let first = host.call(SEARCH, &asked("tide")).await.unwrap();
    let again = host.call(SEARCH, &asked("quay")).await.unwrap();
    assert_eq!(first.body, again.body);
    assert_eq!(host.list("public_web", 8).unwrap().len(), 2);
    let source = &first.body["sources"][0];
    assert_eq!(source["locator"], "https://a.example/t");
    assert_eq!(source["passages"][0]["text"], "High tide is at 06:12.");
    let quoted = QuotedSpan {
        source: SourceHandle(0),
        span: Span { start: 0, end: 9 },
        quote: "High tide".into(),
        why: String::new(),
    };
    let admitted = host.admit(&quoted).unwrap();
    assert_eq!(admitted.receipt_ref, first.receipt_ref);
    let retained = hex::encode(Sha256::digest("High tide is at 06:12."));
    assert_eq!(admitted.snapshot_sha256, retained);
}

#[tokio::test]
async fn a_failed_call_leaves_its_receipt_and_is_unreached_until_it_succeeds() {
    let tries = std::sync::atomic::AtomicUsize::new(0);
    let results = formats::searxng(&[("T", "https://a.example/t", "text")]);
    let server =
        Server::start(
            move |_| match tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
                0 => Reply::status(429),
                _ => Reply::json(&results),
            },
        )
        .await;
    let (host, _handle) = web(&server);
    let failed = host.call(SEARCH, &asked("tide")).await;
    assert_eq!(failed, Err(ToolError::Remote(RemoteError::Status(429))));
    let record = host.record();
    assert_eq!(record.receipts[0].outcome, ToolOutcome::Failed);
    assert_eq!(record.unreached[0].upstream, Upstream::Search);
    host.call(SEARCH, &asked("tide")).await.unwrap();
    assert_eq!(host.record().unreached, []);
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn a_turn_that_is_stopped_waits_for_no_server_and_its_call_has_a_receipt() {
    let silent = Reply::status(200).in_manner(Manner::Silent);
    let server = Server::start(move |_| silent.clone()).await;
    let (host, handle) = web(&server);
    let arguments = asked("tide");
    let mut waiting = std::pin::pin!(host.call(SEARCH, &arguments));
    let waited = tokio::time::timeout(Duration::from_millis(50), &mut waiting).await;
    assert!(waited.is_err());
    handle.raise(AbortReason::Cancelled);
    let stopped = SolverError::Aborted(AbortReason::Cancelled);
    assert_eq!(waiting.await, Err(ToolError::Stopped(stopped)));
    assert_eq!(host.record().receipts[0].outcome, ToolOutcome::Exhausted);
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_any_more_has_a_receipt() {
    let silent = Reply::status(200).in_manner(Manner::Silent);
    let server = Server::start(move |_| silent.clone()).await;
    let (host, _handle) = web(&server);
    let arguments = asked("tide");
    let call = host.call(SEARCH, &arguments);
    let left = tokio::time::timeout(Duration::from_millis(50), call).await;
    assert!(left.is_err());
    assert_eq!(host.record().receipts[0].outcome, ToolOutcome::Exhausted);
}

#[tokio::test]
async fn a_paper_is_looked_up_fetched_once_and_its_values_are_found_where_they_stand() {
    let tide = Told {
        title: "Tides",
        year: 2020,
        text: "The tide rises 2.4 metres.",
        ..Told::default()
    };
    let bare = Told {
        title: "Without abstract",
        year: 2021,
        ..Told::default()
    };
    let server = Server::start(move |path| {
        if path.starts_with("/api/query") {
            Reply::atom(formats::arxiv(&[bare, tide]))
        } else {
            Reply::of(
                "text/plain",
                "The surge reached 3.1 metres in 1911.\n\nNobody slept.",
            )
        }
    })
    .await;
    let (host, _handle) = papers(&server);
    let found = host.call(LOOK_UP, &asked("tide")).await.unwrap().body;
    let told = &found["papers"];
    assert_eq!(
        (&told[0]["abstract_source"], &told[0]["full_text"]),
        (&Value::Null, &json!(true))
    );
    assert_eq!(
        (&told[1]["abstract_source"], &told[1]["title"]),
        (&json!(0), &json!("Tides"))
    );
    assert_eq!(found["unreached"], json!([]));
    let part = json!({"paper": 0, "start": 0, "end": 9});
    let read = host.call(FETCH, &part).await.unwrap().body;
    assert_eq!(
        (&read["text"], &read["source"]),
        (&json!("The surge"), &json!(1))
    );
    host.call(FETCH, &part).await.unwrap();
    assert_eq!(server.asked().len(), 2);
    let ask = json!({"source": 1, "query": "surge", "limit": 10});
    let values = host.call(NUMBERS, &ask).await.unwrap().body["values"].clone();
    let seen = (&values[0]["number"], &values[0]["unit"], &values[0]["kind"]);
    assert_eq!(seen, (&json!("3.1"), &json!("metres"), &json!("measure")));
    let value = QuotedSpan {
        source: SourceHandle(1),
        span: Span {
            start: values[0]["start"].as_u64().unwrap(),
            end: values[0]["end"].as_u64().unwrap(),
        },
        quote: values[0]["text"].as_str().unwrap().to_owned(),
        why: String::new(),
    };
    assert_eq!(host.admit(&value).unwrap().quote, "3.1 metres");
    let unknown = json!({"paper": 9, "start": null, "end": null});
    assert_eq!(
        host.call(FETCH, &unknown).await,
        Err(ToolError::UnknownSource)
    );
}
