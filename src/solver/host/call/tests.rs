use std::process::Command;

use serde_json::json;
use sha2::Digest;

use super::super::{BadArguments, Refusal, Span};
use super::*;
use crate::solver::corpora::{Corpora, CorporaConfig, LoadStep};
use crate::solver::fixture::{Town, library, turn};
use crate::solver::seam::{AbortReason, QuotedSpan, SolverError};

const READ: &str = "research-library.read_document";

fn reading(query: Option<&str>, source: Option<u64>) -> Value {
    json!({"query": query, "source": source, "start": null, "end": null})
}

fn quoted(passage: &Value, source: u64) -> QuotedSpan {
    QuotedSpan {
        source: SourceHandle(u32::try_from(source).unwrap()),
        span: Span {
            start: passage["start"].as_u64().unwrap(),
            end: passage["end"].as_u64().unwrap(),
        },
        quote: passage["text"].as_str().unwrap().to_owned(),
        why: String::new(),
    }
}

/// A working tree with code, documentation and a translation.
struct Tree {
    _folder: tempfile::TempDir,
    host: ToolHost,
    _handle: crate::solver::seam::AbortHandle,
}

impl Tree {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("docs")).unwrap();
        for (name, text) in [
            ("lamp.rs", "struct LampKeeper;\nfn trim_wick() {}\n"),
            (
                "docs/guide.md",
                "# Lamp\n\nThe lamp keeper trims the wick.\n\n## Oil\n\nOil comes by boat.\n",
            ),
            ("docs/guide.nb.md", "# Lampe\n\nVokteren steller veken.\n"),
        ] {
            std::fs::write(root.join(name), text).unwrap();
        }
        let mut git = Command::new("git");
        let made = git.arg("-C").arg(root).args(["init", "-q"]).status();
        assert!(made.unwrap().success());
        let config = CorporaConfig {
            libraries: Vec::new(),
            repository: Some(root.to_owned()),
            ..Default::default()
        };
        let corpora = Corpora::open(config, &|_: LoadStep| {});
        let (input, handle) = turn("anything", &["repository_evidence"]);
        Self {
            host: ToolHost::new(&input, corpora.snapshot()),
            _folder: folder,
            _handle: handle,
        }
    }

    async fn body(&self, capability: &str, arguments: Value) -> Value {
        self.host.call(capability, &arguments).await.unwrap().body
    }
}

#[tokio::test]
async fn a_passage_of_a_search_may_be_quoted_under_the_calls_receipt() {
    let town = Town::new();
    let (input, _handle) = library("anything");
    let host = ToolHost::new(&input, town.engine.corpora().snapshot());
    let answer = host
        .call(READ, &reading(Some("ferry"), None))
        .await
        .unwrap();
    let receipt = host.record().receipts.pop().unwrap();
    let bytes = canonical::to_vec(&answer.body);
    assert_eq!(receipt.receipt_ref, answer.receipt_ref);
    assert_eq!(
        receipt.answer_sha256,
        hex::encode(sha2::Sha256::digest(&bytes))
    );
    assert_eq!(receipt.bytes, bytes.len() as u64);
    let found = &answer.body["sources"][0];
    assert_eq!(found["scope"], "research_library");
    let mut span = quoted(&found["passages"][0], found["source"].as_u64().unwrap());
    let admitted = host.admit(&span).unwrap();
    assert_eq!(admitted.receipt_ref, answer.receipt_ref);
    span.quote.replace_range(0..1, "#");
    assert_eq!(host.admit(&span), Err(Refusal::Different));
}

#[tokio::test]
async fn a_listed_source_is_read_in_parts_and_only_the_parts_may_be_quoted() {
    let town = Town::new();
    let (input, _handle) = library("anything");
    let host = ToolHost::new(&input, town.engine.corpora().snapshot());
    let listed = host.call(READ, &reading(None, None)).await.unwrap().body;
    assert_eq!(
        listed["documents"],
        listed["sources"].as_array().unwrap().len()
    );
    let part = json!({"query": null, "source": 1, "start": 0, "end": 20});
    let read = host.call(READ, &part).await.unwrap().body;
    assert_eq!((&read["start"], &read["end"]), (&json!(0), &json!(20)));
    assert_eq!(read["title"], listed["sources"][1]["title"]);
    assert!(host.admit(&quoted(&read, 1)).is_ok());
    let mut beyond = quoted(&read, 1);
    beyond.span = Span { start: 20, end: 30 };
    assert_eq!(host.admit(&beyond), Err(Refusal::NotRead));
}

#[tokio::test]
async fn a_call_that_is_not_listed_is_refused_with_a_receipt() {
    let town = Town::new();
    let (mut input, _handle) = turn("anything", &["research_library", "public_web"]);
    input.allowed_tools.push("repo.search".into());
    input.allowed_tools.push("shell.run".into());
    let host = ToolHost::new(&input, town.engine.corpora().snapshot());
    let listed: Vec<&str> = host.capabilities().iter().map(|card| card.id).collect();
    assert_eq!(listed, [READ]);
    for (capability, error) in [
        ("shell.run", ToolError::NotAdmitted),
        ("repo.search", ToolError::NotAdmitted),
        ("internet-search.search_web", ToolError::NoProvider),
        ("room.environment.probe", ToolError::NotAdmitted),
    ] {
        assert_eq!(host.call(capability, &json!({})).await, Err(error));
    }
    let receipts = host.record().receipts;
    assert!(receipts.iter().all(|r| r.outcome == ToolOutcome::Refused));
    let named: Vec<_> = receipts
        .iter()
        .map(|r| (r.capability.as_str(), r.scope.as_str()))
        .collect();
    assert_eq!(
        named,
        [
            ("unknown", "unknown"),
            ("repo.search", "repository_evidence"),
            ("internet-search.search_web", "public_web"),
            ("room.environment.probe", "none"),
        ]
    );
}

#[tokio::test]
async fn arguments_beside_the_published_parameters_are_refused_without_their_text() {
    let town = Town::new();
    let (input, _handle) = library("anything");
    let host = ToolHost::new(&input, town.engine.corpora().snapshot());
    for (arguments, fault) in [
        (json!({"secret": "x"}), BadArguments::Missing("query")),
        (
            reading(Some("ferry"), Some(0)),
            BadArguments::Exclusive("query", "source"),
        ),
    ] {
        let refused = host.call(READ, &arguments).await.unwrap_err();
        assert_eq!(refused, ToolError::BadArguments(fault));
        assert!(!refused.to_string().contains("secret"));
    }
    let unknown = host.call(READ, &reading(None, Some(7))).await;
    assert_eq!(unknown, Err(ToolError::UnknownSource));
    let receipts = host.record().receipts;
    assert!(receipts.iter().all(|r| r.outcome == ToolOutcome::Failed));
    assert_eq!(receipts.len(), 3);
}

#[tokio::test]
async fn an_answer_beyond_the_allowance_is_withheld() {
    let town = Town::new();
    let (mut input, _handle) = library("anything");
    input.allowance.bytes = 100;
    let host = ToolHost::new(&input, town.engine.corpora().snapshot());
    let withheld = host.call(READ, &reading(Some("ferry"), None)).await;
    assert_eq!(withheld, Err(ToolError::Exhausted));
    assert_eq!(host.record().receipts[0].outcome, ToolOutcome::Exhausted);
}

#[tokio::test]
async fn a_stopped_turn_is_answered_no_more() {
    let town = Town::new();
    let (input, handle) = library("anything");
    let host = ToolHost::new(&input, town.engine.corpora().snapshot());
    handle.raise(AbortReason::Cancelled);
    let stopped = host.call(READ, &reading(None, None)).await;
    let reason = SolverError::Aborted(AbortReason::Cancelled);
    assert_eq!(stopped, Err(ToolError::Stopped(reason)));
}

#[tokio::test]
async fn a_search_among_code_finds_joined_names_and_one_among_documents_finds_prose() {
    let tree = Tree::new();
    let asked = json!({"query": "lamp keeper", "limit": 8});
    let locators = |body: Value| -> Vec<String> {
        let sources = body["sources"].as_array().unwrap().clone();
        let of = |source: &Value| source["locator"].as_str().unwrap().to_owned();
        sources.iter().map(of).collect()
    };
    let code = tree.body("repo-code.search_concept", asked.clone()).await;
    assert_eq!(locators(code), ["lamp.rs"]);
    for capability in ["docs.search", "docs-viewer.search_docs"] {
        let found = locators(tree.body(capability, asked.clone()).await);
        assert_eq!(found[0], "docs/guide.md", "{capability}");
        assert!(!found.contains(&"lamp.rs".to_owned()), "{capability}");
    }
}

#[tokio::test]
async fn a_document_is_validated_outlined_located_in_and_read() {
    let tree = Tree::new();
    let named = json!({"locators": ["docs/guide.md", "docs/none.md", "../../etc/passwd"]});
    let known = tree
        .body("docs-viewer.validate_doc_candidates", named)
        .await;
    let valid: Vec<&Value> = known["candidates"].as_array().unwrap().iter().collect();
    assert_eq!(
        (&valid[0]["valid"], &valid[0]["source"]),
        (&json!(true), &json!(0))
    );
    assert_eq!(
        (valid[1], valid[2]),
        (&json!({"valid": false}), &json!({"valid": false}))
    );
    let outline = tree
        .body("docs-viewer.summarize_doc", json!({"source": 0}))
        .await;
    let headings: Vec<&Value> = outline["sections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| &s["heading"])
        .collect();
    assert_eq!(headings, ["Lamp", "Oil"]);
    let asked = json!({"source": 0, "query": "boat", "limit": 1});
    let located = tree.body("docs-viewer.locate_in_doc", asked).await;
    let passage = &located["sources"][0]["passages"][0];
    assert_eq!(passage["text"], "Oil comes by boat.");
    assert!(tree.host.admit(&quoted(passage, 0)).is_ok());
    let all = json!({"source": 0, "start": null, "end": null});
    let read = tree.body("docs-viewer.read_visible_surface", all).await;
    assert_eq!(
        read["text"].as_str().unwrap().len() as u64,
        read["length"].as_u64().unwrap()
    );
}

#[tokio::test]
async fn a_translation_is_read_where_there_is_one_and_named_where_not() {
    let tree = Tree::new();
    let named = json!({"locators": ["docs/guide.md"]});
    tree.body("docs-viewer.validate_doc_candidates", named)
        .await;
    let ask =
        |language: &str| json!({"source": 0, "language": language, "start": null, "end": null});
    let id = "docs-viewer.read_active_translation";
    let read = tree.body(id, ask("NB")).await;
    assert_eq!(read["locator"], "docs/guide.nb.md");
    assert!(read["text"].as_str().unwrap().contains("Vokteren"));
    let absent = tree.body(id, ask("fr")).await;
    assert_eq!(
        (&absent["languages"], absent.get("text")),
        (&json!(["nb"]), None)
    );
}
