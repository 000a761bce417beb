//! Scopes that are read through other people's servers, and the theory registry: from a start to
//! evidence that reads back.

use std::sync::atomic::{AtomicUsize, Ordering};

use helix::testing::upstream::formats::{self, Paper};
use helix::testing::upstream::{Manner, Reply, Upstream};
use helix::testing::{Setup, TestApp, Turns};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::harness::{Answer, Client, RUNS};

async fn solved(settings: Vec<(&'static str, String)>) -> TestApp {
    TestApp::with(Setup {
        turns: Turns::Solved,
        settings,
        ..Setup::default()
    })
    .await
}

/// A run over one scope after its first turn.
async fn turned(client: &Client<'_>, objective: &str, scope: &str) -> Answer {
    let body = json!({"objective": objective, "database_scope": [scope]});
    let run = client.started("ferry-plan-0001", &body).await;
    let turn = json!({"expected_version": 1, "instruction": "Answer with quotes."});
    let done = client.continue_run(&run, "ferry-turn-0001", &turn).await;
    done.ok(200)
}

/// Every evidence item of a run, read back.
async fn items(client: &Client<'_>, run: &Answer) -> Vec<Value> {
    let id = run.run_id();
    let mut items = Vec::new();
    for item_ref in run.body["evidence"]["evidence_refs"].as_array().unwrap() {
        let path = item_ref.as_str().unwrap().replace(':', "%3A");
        let item = client.get(&format!("{RUNS}/{id}/evidence/{path}")).await;
        items.push(item.ok(200).body);
    }
    items
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_over_the_web_completes_with_exact_quotes_that_read_back() {
    let snippet = "The last ferry to Vik leaves at 21:15 on weekdays.";
    let results = formats::searxng(&[
        (
            "Ferries",
            "https://user:pw@ferries.example/vik?token=abcdef#top",
            snippet,
        ),
        (
            "Bakery",
            "https://bakery.example/",
            "Bread is sold from six.",
        ),
    ]);
    let server = Upstream::start(move |_| Reply::json(&results)).await;
    let app = solved(vec![("search_base_url", server.base.clone())]).await;
    let client = Client::new(&app, &app.developer("dev").await);
    let asked = "When does the last ferry to Vik leave?";
    let done = turned(&client, asked, "public_web").await;
    assert_eq!(
        done.statuses(),
        "completed/completed/authorized",
        "{}",
        done.text
    );
    let items = items(&client, &done).await;
    let item = &items[0];
    assert_eq!(item["quote"], snippet);
    assert_eq!(item["kind"], "internet_search_evidence");
    assert_eq!(item["source"]["scope"], "public_web");
    assert_eq!(item["source"]["locator"], "https://ferries.example/vik");
    let receipts = done.body["evidence"]["receipt_refs"].as_array().unwrap();
    assert!(receipts.contains(&item["receipt_ref"]), "{}", done.text);
    let asked = server.asked();
    assert_eq!(asked, ["/search?q=last+ferry+Vik+leave&format=json"]);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_completes_a_run_over_the_literature() {
    let tide = Paper {
        title: "Surges of the inner harbour",
        doi: "10.1000/surge",
        year: 2019,
        text: "The storm surge of 1911 reached 3.1 metres at the old quay.",
        pdf: "",
    };
    let server = Upstream::start(move |path| match path.split('?').next() {
        Some("/openalex/works") => Reply::json(&formats::openalex(&[tide])),
        Some("/crossref/works") => Reply::json(&formats::crossref(&[tide])),
        Some("/arxiv/api/query") => Reply::atom(formats::arxiv(&[])),
        _ => Reply::status(404),
    })
    .await;
    let at = |name: &str| format!("{}/{name}", server.base);
    let app = solved(vec![
        ("openalex_base_url", at("openalex")),
        ("crossref_base_url", at("crossref")),
        ("arxiv_base_url", at("arxiv")),
    ])
    .await;
    let client = Client::new(&app, &app.caller("ana").await);
    let asked = "How high was the storm surge of 1911 at the old quay?";
    let done = turned(&client, asked, "scholarly_research").await;
    assert_eq!(
        done.statuses(),
        "completed/completed/authorized",
        "{}",
        done.text
    );
    let items = items(&client, &done).await;
    assert_eq!(items.len(), 1, "one paper of two indexes is one source");
    assert_eq!(items[0]["quote"], tide.text);
    assert_eq!(items[0]["kind"], "scholarly_evidence");
    assert_eq!(
        items[0]["source"]["locator"],
        "https://doi.org/10.1000/surge"
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_text_that_is_gone_bars_no_run_that_its_abstract_answered() {
    let tide = Paper {
        title: "Surges of the inner harbour",
        year: 2019,
        text: "The storm surge of 1911 reached 3.1 metres at the old quay.",
        ..Paper::default()
    };
    let server = Upstream::start(move |path| match path.split('?').next() {
        Some("/arxiv/api/query") => Reply::atom(formats::arxiv(&[tide])),
        _ => Reply::status(404),
    })
    .await;
    let base = format!("{}/arxiv", server.base);
    let app = solved(vec![("arxiv_base_url", base)]).await;
    let client = Client::new(&app, &app.caller("ana").await);
    let asked = "How high was the storm surge of 1911 at the old quay?";
    let done = turned(&client, asked, "scholarly_research").await;
    let fetched = |path: &String| path.starts_with("/arxiv/pdf/");
    assert!(server.asked().iter().any(fetched), "{:?}", server.asked());
    assert_eq!(
        done.statuses(),
        "completed/completed/authorized",
        "{}",
        done.text
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_answer_limits_the_turn_and_does_not_end_it() {
    let wind = Paper {
        title: "Gales over the harbour",
        year: 2020,
        text: "A gale from the west floods the old quay at spring tide.",
        ..Paper::default()
    };
    let server = Upstream::start(move |path| {
        if path.starts_with("/openalex/") {
            Reply::json(&formats::openalex(&[wind]))
        } else {
            Reply::status(200).in_manner(Manner::Silent)
        }
    })
    .await;
    let at = |name: &str| format!("{}/{name}", server.base);
    let app = solved(vec![
        ("openalex_base_url", at("openalex")),
        ("crossref_base_url", at("crossref")),
        ("tool_timeout_ms", "2000".to_owned()),
    ])
    .await;
    let client = Client::new(&app, &app.caller("ana").await);
    let asked = "Which gale floods the old quay?";
    let done = turned(&client, asked, "scholarly_research").await;
    assert_eq!(done.statuses(), "waiting/needs_more_evidence/authorized");
    let limitation = "The scope scholarly_research was not read in full: Crossref gave no usable \
                      answer, because it did not answer in time.";
    assert_eq!(done.body["unresolved_requirements"], json!([limitation]));
    let items = items(&client, &done).await;
    assert_eq!(items[0]["quote"], wind.text);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_search_leaves_its_receipt_in_the_evidence_stream() {
    let server = Upstream::start(|_| Reply::status(429)).await;
    let app = solved(vec![("search_base_url", server.base.clone())]).await;
    let client = Client::new(&app, &app.developer("dev").await);
    let done = turned(&client, "When does the ferry leave?", "public_web").await;
    assert_eq!(done.body["lifecycle_status"], "waiting", "{}", done.text);
    let unresolved = done.body["unresolved_requirements"].to_string();
    assert!(
        unresolved.contains("it answered with status 429"),
        "{unresolved}"
    );
    let options = &app.database().options;
    let mut database = PgConnection::connect_with(options).await.unwrap();
    let payloads: Vec<String> = sqlx::query_scalar(
        "select convert_from(payload, 'UTF8') from es.event where kind = 'tool_receipt_recorded'",
    )
    .fetch_all(&mut database)
    .await
    .unwrap();
    database.close().await.unwrap();
    assert!(
        payloads.iter().any(|payload| {
            payload.contains("internet-search.search_web") && payload.contains("failed")
        }),
        "{payloads:?}"
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_over_the_theory_registry_quotes_a_statement() {
    let folder = tempfile::tempdir().unwrap();
    let claims = include_str!("../../../ops/demo/theory/tides.toml");
    std::fs::write(folder.path().join("tides.toml"), claims).unwrap();
    let path = folder.path().to_str().unwrap().to_owned();
    let app = solved(vec![("theory_dir", path)]).await;
    let client = Client::new(&app, &app.developer("dev").await);
    let asked = "What floods the old quay in a gale?";
    let done = turned(&client, asked, "theory_registry").await;
    assert_eq!(
        done.statuses(),
        "completed/completed/authorized",
        "{}",
        done.text
    );
    let items = items(&client, &done).await;
    assert_eq!(
        items[0]["quote"],
        "A spring tide with a gale floods the old quay."
    );
    assert_eq!(items[0]["kind"], "theory_context_evidence");
    assert_eq!(items[0]["source"]["locator"], "tides.toml#quay.flood");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_answers_again_is_missed_no_more() {
    let asked = AtomicUsize::new(0);
    let wind = Paper {
        title: "Gales over the harbour",
        year: 2020,
        text: "A gale from the west floods the old quay at spring tide.",
        ..Paper::default()
    };
    let server = Upstream::start(move |path| {
        if path.starts_with("/openalex/") {
            Reply::json(&formats::openalex(&[wind]))
        } else if asked.fetch_add(1, Ordering::SeqCst) == 0 {
            Reply::status(429)
        } else {
            Reply::json(&formats::crossref(&[]))
        }
    })
    .await;
    let at = |name: &str| format!("{}/{name}", server.base);
    let app = solved(vec![
        ("openalex_base_url", at("openalex")),
        ("crossref_base_url", at("crossref")),
    ])
    .await;
    let client = Client::new(&app, &app.caller("ana").await);
    let first = turned(
        &client,
        "Which gale floods the old quay?",
        "scholarly_research",
    )
    .await;
    assert_eq!(first.statuses(), "waiting/needs_more_evidence/authorized");
    let turn = json!({"expected_version": first.version(), "instruction": "Try again."});
    let done = client
        .continue_run(&first.run_id(), "ferry-turn-0002", &turn)
        .await;
    let done = done.ok(200);
    assert_eq!(
        done.statuses(),
        "completed/completed/authorized",
        "{}",
        done.text
    );
    assert_eq!(done.body["unresolved_requirements"], json!([]));
    app.finish().await;
}
