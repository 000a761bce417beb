use std::path::Path;

use super::super::{Refusal, Span};
use super::*;
use crate::solver::corpora::{Corpora, CorporaConfig, CorpusFault, LoadStep};
use crate::solver::fixture::turn;
use crate::solver::seam::{AbortHandle, QuotedSpan};

const SAMPLE: &str = include_str!("../../../../ops/demo/theory/tides.toml");
const REFLECT: &str = "helix_ask.reflect_theory_context";

struct Claims {
    folder: tempfile::TempDir,
    corpora: Corpora,
}

impl Claims {
    fn new(more: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tides.toml"), SAMPLE).unwrap();
        for (name, text) in more {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let corpora = Corpora::open(of(folder.path()), &|_: LoadStep| {});
        Self { folder, corpora }
    }

    fn host(&self) -> (ToolHost, AbortHandle) {
        let (input, handle) = turn("anything", &["theory_registry"]);
        (ToolHost::new(&input, self.corpora.snapshot()), handle)
    }
}

fn of(folder: &Path) -> CorporaConfig {
    CorporaConfig {
        theory: Some(folder.to_owned()),
        ..CorporaConfig::default()
    }
}

fn ids(body: &Value) -> Vec<&str> {
    let claims = body["claims"].as_array().unwrap();
    claims
        .iter()
        .map(|claim| claim["id"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_text_finds_its_claims_with_their_relations_and_contradictions() {
    let claims = Claims::new(&[]);
    let (host, _handle) = claims.host();
    let asked = json!({"text": "Does the harbour tide follow the moon or the wind?", "claims": null, "limit": 2});
    let body = host.call(REFLECT, &asked).await.unwrap().body;
    let mut found = ids(&body);
    found.sort_unstable();
    assert_eq!(found, ["tide.lunar", "tide.wind"]);
    assert_eq!(body["contradictions"], json!([["tide.lunar", "tide.wind"]]));
    let relations = json!([
        {"from": "tide.lunar", "kind": "contradicts", "to": "tide.wind"},
        {"from": "quay.flood", "kind": "depends_on", "to": "tide.lunar"},
    ]);
    assert_eq!(body["relations"], relations);
    let named = json!({"text": null, "claims": ["quay.flood", "no.such"], "limit": 8});
    let id = "theory-badge-graph.reflect_discussion_context";
    let body = host.call(id, &named).await.unwrap().body;
    assert_eq!(
        (ids(&body), &body["unknown"]),
        (vec!["quay.flood"], &json!(1))
    );
    assert_eq!(body["claims"][0]["status"], "proposed");
    for both in [("x", json!(["quay.flood"])), ("x", Value::Null)] {
        let text = if both.1.is_null() {
            Value::Null
        } else {
            both.0.into()
        };
        let asked = json!({"text": text, "claims": both.1, "limit": 1});
        let refused = host.call(REFLECT, &asked).await;
        assert!(matches!(refused, Err(ToolError::BadArguments(_))));
    }
}

#[tokio::test]
async fn a_statement_may_be_quoted_until_its_file_changes() {
    let claims = Claims::new(&[]);
    let quote = |host: &ToolHost, body: &Value| {
        let source =
            SourceHandle(u32::try_from(body["claims"][0]["source"].as_u64().unwrap()).unwrap());
        let text = body["sources"][0]["passages"][0]["text"].as_str().unwrap();
        host.admit(&QuotedSpan {
            source,
            span: Span {
                start: 0,
                end: text.len() as u64,
            },
            quote: text.to_owned(),
            why: String::new(),
        })
    };
    let asked = json!({"text": null, "claims": ["quay.flood"], "limit": 1});
    let (host, _handle) = claims.host();
    let body = host.call(REFLECT, &asked).await.unwrap().body;
    let admitted = quote(&host, &body).unwrap();
    assert_eq!(admitted.locator, "tides.toml#quay.flood");
    assert_eq!(
        admitted.quote,
        "A spring tide with a gale floods the old quay."
    );
    let (late, _handle) = claims.host();
    let body = late.call(REFLECT, &asked).await.unwrap().body;
    let changed = SAMPLE.replace("the old quay", "no quay");
    std::fs::write(claims.folder.path().join("tides.toml"), changed).unwrap();
    assert_eq!(quote(&late, &body), Err(Refusal::SourceChanged));
    claims.corpora.refresh(&|_: LoadStep| {});
    let (fresh, _handle) = claims.host();
    let body = fresh.call(REFLECT, &asked).await.unwrap().body;
    assert_eq!(
        quote(&fresh, &body).unwrap().quote,
        "A spring tide with a gale floods no quay."
    );
}

#[test]
fn one_bad_file_claim_or_relation_is_named_and_stops_nothing() {
    let again = "[[claim]]\nid = \"tide.lunar\"\nstatement = \"Another.\"\nstatus = \"open\"\n\
                 [[relation]]\nfrom = \"tide.lunar\"\nkind = \"refines\"\nto = \"no.such\"\n";
    let claims = Claims::new(&[
        ("broken.toml", "[[claim"),
        (
            "odd.toml",
            "[[claim]]\nid = \"Odd Id\"\nstatement = \"x\"\nstatus = \"open\"\n",
        ),
        (
            "later.toml",
            "[[claim]]\nid = \"x\"\nstatement = \"x\"\nstatus = \"maybe\"\n",
        ),
        ("z.toml", again),
    ]);
    let faults: Vec<_> = claims
        .corpora
        .warnings()
        .into_iter()
        .map(|warning| (warning.locator, warning.fault))
        .collect();
    let expected = [
        ("broken.toml", CorpusFault::NoClaims),
        ("later.toml", CorpusFault::NoClaims),
        ("odd.toml", CorpusFault::NoClaims),
        ("z.toml#tide.lunar", CorpusFault::DuplicateClaim),
        ("z.toml#tide.lunar", CorpusFault::UnknownClaim),
    ];
    assert_eq!(
        faults,
        expected.map(|(locator, fault)| (locator.to_owned(), fault))
    );
    assert_eq!(claims.corpora.summary()[0].documents, 3);
}

#[test]
fn a_folder_that_is_missing_is_named_until_it_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let theory = folder.path().join("theory");
    let corpora = Corpora::open(of(&theory), &|_: LoadStep| {});
    assert_eq!(corpora.warnings()[0].fault, CorpusFault::MissingFolder);
    std::fs::create_dir(&theory).unwrap();
    corpora.refresh(&|_: LoadStep| {});
    assert_eq!(corpora.warnings(), []);
}
