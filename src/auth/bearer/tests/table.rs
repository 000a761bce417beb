//! The table of token changes, row by row.

use serde::Deserialize;
use serde_json::Map;

use super::*;
use crate::auth::test_issuer::{SigningKey, signed_part};

#[derive(Deserialize)]
struct Table {
    base: Base,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Base {
    header: Value,
    claims: Value,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    change: Change,
    expect: u16,
    #[serde(default)]
    code: String,
}

#[derive(Deserialize)]
struct Change {
    #[serde(default)]
    header: Map<String, Value>,
    #[serde(default)]
    claims: Map<String, Value>,
    #[serde(default)]
    headers: Map<String, Value>,
    sign_with: Option<String>,
    signature: Option<String>,
    /// A text, or null for a request without the header.
    #[serde(default = "usual_authorization")]
    authorization: Value,
}

fn usual_authorization() -> Value {
    json!("Bearer <token>")
}

/// Members replaced, removed where null; `{"now": n}` is a time relative to the test's.
fn changed(base: &Value, change: &Map<String, Value>) -> Value {
    let mut members = base.as_object().unwrap().clone();
    members.extend(change.clone());
    members.retain(|_, value| !value.is_null());
    for value in members.values_mut() {
        if let Some(seconds) = value.get("now") {
            *value = json!(NOW + seconds.as_f64().unwrap());
        }
    }
    Value::Object(members)
}

fn build(table: &Table, change: &Change) -> String {
    let attacker = SigningKey::p256();
    let mut header = changed(&table.base.header, &change.header);
    if change.header.contains_key("jwk") {
        header["jwk"] = attacker.jwk("es-1");
    }
    let claims = changed(&table.base.claims, &change.claims);
    let algorithm = header["alg"].as_str().unwrap();
    match (change.signature.as_deref(), change.sign_with.as_deref()) {
        (Some("zeros"), _) => format!("{}.{}", signed_part(&header, &claims), encode([0; 64])),
        (Some(text), _) => format!("{}.{text}", signed_part(&header, &claims)),
        (None, Some("PEM of es-1")) => hs256_token(ES_1.pem().as_bytes(), &header, &claims),
        (None, Some("attacker key")) => token(&attacker, &header, &claims),
        (None, Some(other)) => panic!("no such key: {other}"),
        (None, None) => match algorithm {
            "RS256" => token(&RS_1, &header, &claims),
            "EdDSA" => token(&ED_1, &header, &claims),
            _ => token(&ES_1, &header, &claims),
        },
    }
}

fn authorization(change: &Change, token: &str) -> Option<String> {
    let text = change.authorization.as_str()?;
    Some(
        text.replace("<token>", token)
            .replace("<\"a\" x 100000>", &"a".repeat(100_000)),
    )
}

/// What this layer must say: what only accounts and scopes decide later is a verified token here.
fn judge(row: &Row, outcome: Result<VerifiedToken, BearerError>) {
    let name = &row.name;
    let required = "helix.agent_runs.read";
    match (row.expect, row.code.as_str()) {
        (200, _) => {
            let verified = outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(verified.tenant, "harbour-coop", "{name}");
            assert_eq!(verified.subject, "user|4711", "{name}");
            assert!(verified.scopes.contains(required), "{name}");
        }
        (401, "unauthorized") => assert_eq!(outcome, Err(BearerError::Unauthorized), "{name}"),
        (401, "tenant_required") => assert_eq!(outcome, Err(BearerError::TenantRequired), "{name}"),
        (403, "tenant_mismatch") => assert_eq!(outcome, Err(BearerError::TenantMismatch), "{name}"),
        (403, "account_not_linked") => {
            let verified = outcome.unwrap();
            let known = (verified.tenant.as_str(), verified.subject.as_str());
            assert_ne!(known, ("harbour-coop", "user|4711"), "{name}");
        }
        (403, "insufficient_scope") => {
            assert!(!outcome.unwrap().scopes.contains(required), "{name}");
        }
        (status, code) => panic!("{name}: no rule for {status} {code}"),
    }
}

#[tokio::test]
async fn every_row_is_answered_as_the_table_says_with_hardly_a_fetch() {
    let table: Table = serde_json::from_str(include_str!("../token-claims.json")).unwrap();
    assert!(table.rows.len() >= 50);
    let rig = Rig::start().await;
    for row in &table.rows {
        rig.clock.advance(1);
        let token = build(&table, &row.change);
        let value = authorization(&row.change, &token);
        let values: Vec<&[u8]> = value.iter().map(String::as_bytes).collect();
        let headers = row.change.headers.values();
        let tenants: Vec<&[u8]> = headers
            .map(|value| value.as_str().unwrap().as_bytes())
            .collect();
        let presented = Presented {
            authorization: &values,
            tenants: &tenants,
        };
        judge(row, rig.verifier.verify(presented, NOW).await);
    }
    // The unknown key id is the one cause of a second fetch.
    assert_eq!(rig.server.requests(), 2);
}
