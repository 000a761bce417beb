//! Forged tokens at the agent door, beside the table of the contract (`access` 13, K1–K4, K6–K9).

use helix::testing::AccountType;
use serde_json::{Value, json};

use crate::agent::tokens::trusting;
use crate::harness::{Answer, RUNS};
use crate::issuer::Issuer;

fn now() -> u64 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_secs()
}

/// `base` with members changed; `null` takes one away.
fn changed(mut base: Value, with: &Value) -> Value {
    let members = base.as_object_mut().unwrap();
    members.extend(with.as_object().unwrap().clone());
    members.retain(|_, value| !value.is_null());
    base
}

fn header(with: &Value) -> Value {
    changed(json!({"alg": "ES256", "kid": "es-1"}), with)
}

fn claims(with: &Value) -> Value {
    let good = json!({
        "iss": "https://id.example.org/", "aud": "https://helix.example.org/mcp",
        "sub": "user|4711", "iat": now(), "exp": now() + 300, "tenantId": "harbour-coop",
        "scope": "helix.agent_runs.read",
    });
    changed(good, with)
}

/// Forged tokens by what is wrong with them.
fn forged(issuer: &Issuer) -> Vec<(String, String)> {
    let good = claims(&json!({}));
    let mut forged = Vec::new();
    for alg in ["none", "None", "NONE", "nOnE"] {
        let header = header(&json!({"alg": alg}));
        forged.push((format!("alg {alg}"), issuer.token(&header, &good, Some(""))));
        forged.push((
            format!("alg {alg}, signed"),
            issuer.token(&header, &good, None),
        ));
    }
    for form in ["PEM", "DER", "JWK"] {
        let header = header(&json!({"alg": "HS256"}));
        forged.push((
            format!("HS256 by {form}"),
            issuer.token(&header, &good, Some(form)),
        ));
    }
    for with in [
        json!({"kid": null}),
        json!({"kid": "es-2"}),
        json!({"kid": "../../es-1"}),
        json!({"kid": "es-1' or '1'='1"}),
        json!({"kid": "k".repeat(10_000)}),
        json!({"jku": issuer.url}),
        json!({"x5u": issuer.url}),
        json!({"jwk": issuer.attacker_jwk()}),
        json!({"crit": ["tide"], "tide": 1}),
    ] {
        let with = header(&with);
        forged.push((with.to_string(), issuer.token(&with, &good, None)));
    }
    for with in [
        json!({"aud": "https://helix.example.org/mcp/"}),
        json!({"aud": "https://helix.example.org/MCP"}),
        json!({"aud": 7}),
        json!({"aud": null}),
        json!({"aud": []}),
        json!({"iss": ["https://id.example.org/"]}),
        json!({"iss": "https://id.example.org"}),
        json!({"iss": "https://id.example.org//"}),
        json!({"iss": null}),
        json!({"nbf": now() + 300}),
        json!({"iat": now() + 300}),
        json!({"exp": now() + 25 * 3_600}),
        json!({"tenantId": null}),
        json!({"tenantId": ""}),
        json!({"tenantId": ["harbour-coop"]}),
        json!({"tenantId": "harbour-coop\0"}),
        json!({"sub": null}),
        json!({"sub": ""}),
    ] {
        let token = issuer.token(&header(&json!({})), &claims(&with), None);
        forged.push((with.to_string(), token));
    }
    // A null that is there is not the same as nothing.
    for name in ["aud", "tenantId"] {
        let mut with = good.clone();
        with[name] = Value::Null;
        let token = issuer.token(&header(&json!({})), &with, None);
        forged.push((format!("{name} is null"), token));
    }
    forged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_forgery_opens_the_agent_door_or_is_told_of_a_scope() {
    let issuer = Issuer::start().await;
    let app = trusting(&issuer).await;
    app.linked("user|4711", "harbour-coop", AccountType::User)
        .await;
    let ask = async |token: &str| {
        let request = app.client().get(app.url(RUNS));
        Answer::of(request.bearer_auth(token)).await
    };
    let listed = json!({"aud": ["https://other.example.org/", "https://helix.example.org/mcp"]});
    for with in [json!({}), listed] {
        let good = issuer.token(&header(&json!({})), &claims(&with), None);
        ask(&good).await.ok(200);
    }
    for (what, token) in forged(&issuer) {
        let refused = ask(&token).await;
        assert_eq!(refused.status, 401, "{what}: {}", refused.text);
        assert_ne!(refused.code(), "insufficient_scope", "{what}");
        let challenge = refused.header("www-authenticate");
        assert!(challenge.contains("invalid_token"), "{what}: {challenge}");
    }
    // The set, and one more look for the first unknown key id.
    assert!(issuer.asked() <= 2, "{} requests", issuer.asked());
    app.finish().await;
}
