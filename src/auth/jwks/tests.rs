use aws_lc_rs::rsa::KeySize;
use futures_util::future::join_all;
use serde_json::json;

use super::*;
use crate::auth::test_issuer::{
    Answer, ES_1, ES_384, ES_512, KeyServer, ManualClock, RS_1, SigningKey, encode, key_set,
};
use crate::outbound::{FetchLimits, Reach};

struct Rig {
    server: KeyServer,
    clock: ManualClock,
    jwks: Jwks,
}

impl Rig {
    async fn start(answer: Answer) -> Self {
        let server = KeyServer::start(answer).await;
        let clock = ManualClock::default();
        let fetch = GuardedFetch::new(Reach::Anywhere, FetchLimits::default());
        let jwks = Jwks::new(server.url.clone(), fetch, clock.monotonic());
        Self {
            server,
            clock,
            jwks,
        }
    }

    async fn outcome(&self, kid: &str) -> Result<String, KeyError> {
        self.jwks
            .key(kid, Algorithm::Es256)
            .await
            .map(|key| key.kid().to_owned())
    }
}

fn set(kids: &[&str]) -> Answer {
    key_set(&kids.iter().map(|kid| ES_1.jwk(kid)).collect::<Vec<_>>())
}

fn down() -> Answer {
    Answer::status("503 Service Unavailable", &[], "")
}

#[tokio::test]
async fn many_callers_share_one_fetch() {
    let rig = Rig::start(set(&["a"])).await;
    let outcomes = join_all((0..50).map(|_| rig.outcome("a"))).await;
    assert!(
        outcomes
            .iter()
            .all(|outcome| *outcome == Ok("a".to_owned()))
    );
    assert_eq!(rig.server.requests(), 1);
}

#[tokio::test]
async fn a_set_is_fresh_for_ten_minutes() {
    let rig = Rig::start(set(&["a"])).await;
    assert_eq!(rig.outcome("a").await, Ok("a".to_owned()));
    rig.server.answer(set(&["b"]));
    rig.clock.advance(599);
    assert_eq!(rig.outcome("a").await, Ok("a".to_owned()));
    assert_eq!(rig.server.requests(), 1);
    rig.clock.advance(1);
    assert_eq!(rig.outcome("a").await, Err(KeyError::Unknown));
    assert_eq!(rig.outcome("b").await, Ok("b".to_owned()));
}

#[tokio::test]
async fn a_rotated_key_is_found_at_once() {
    let rig = Rig::start(set(&["a"])).await;
    assert_eq!(rig.outcome("a").await, Ok("a".to_owned()));
    rig.server.answer(set(&["a", "b"]));
    rig.clock.advance(1);
    let outcomes = join_all((0..20).map(|_| rig.outcome("b"))).await;
    assert!(
        outcomes
            .iter()
            .all(|outcome| *outcome == Ok("b".to_owned()))
    );
    assert_eq!(rig.server.requests(), 2);
}

#[tokio::test]
async fn a_caller_that_comes_during_a_fetch_gets_its_outcome() {
    let rig = Rig::start(set(&["a"])).await;
    assert_eq!(rig.outcome("a").await, Ok("a".to_owned()));
    let gate = rig.server.gate(set(&["a", "b"]));
    rig.clock.advance(1);
    let mut first = Box::pin(rig.outcome("b"));
    assert!(futures_util::poll!(&mut first).is_pending());
    rig.server.arrived(2).await;
    let mut second = Box::pin(rig.outcome("b"));
    assert!(futures_util::poll!(&mut second).is_pending());
    gate.notify_one();
    assert_eq!(
        join_all([first, second]).await,
        [Ok("b".to_owned()), Ok("b".to_owned())]
    );
    assert_eq!(rig.server.requests(), 2);
}

#[tokio::test]
async fn unknown_keys_cause_one_fetch_a_minute_together() {
    let rig = Rig::start(set(&["a"])).await;
    assert_eq!(rig.outcome("a").await, Ok("a".to_owned()));
    rig.clock.advance(1);
    for number in 0..30 {
        assert_eq!(
            rig.outcome(&format!("unknown-{number}")).await,
            Err(KeyError::Unknown)
        );
    }
    assert_eq!(rig.server.requests(), 2);
    rig.server.answer(set(&["a", "b"]));
    rig.clock.advance(59);
    assert_eq!(rig.outcome("b").await, Err(KeyError::Unknown));
    assert_eq!(rig.server.requests(), 2);
    rig.clock.advance(1);
    assert_eq!(rig.outcome("b").await, Ok("b".to_owned()));
    assert_eq!(rig.server.requests(), 3);
}

#[tokio::test]
async fn a_set_just_fetched_is_not_fetched_again_for_an_unknown_key() {
    let rig = Rig::start(set(&["a"])).await;
    assert_eq!(rig.outcome("b").await, Err(KeyError::Unknown));
    assert_eq!(rig.server.requests(), 1);
}

#[tokio::test]
async fn an_old_set_serves_for_a_day_while_fetching_fails() {
    let rig = Rig::start(set(&["a"])).await;
    assert_eq!(rig.outcome("a").await, Ok("a".to_owned()));
    rig.server.answer(down());
    rig.clock.advance(600);
    assert_eq!(rig.outcome("a").await, Ok("a".to_owned()));
    assert_eq!(rig.outcome("a").await, Ok("a".to_owned()));
    rig.clock.advance(59);
    assert_eq!(rig.outcome("a").await, Ok("a".to_owned()));
    assert_eq!(rig.server.requests(), 2);
    rig.clock.advance(1);
    assert_eq!(rig.outcome("a").await, Ok("a".to_owned()));
    assert_eq!(rig.server.requests(), 3);
    rig.clock.advance(24 * 3600 - 660);
    assert_eq!(rig.outcome("a").await, Ok("a".to_owned()));
    rig.clock.advance(1);
    assert_eq!(rig.outcome("a").await, Err(KeyError::Unavailable));
    rig.server.answer(set(&["a"]));
    rig.clock.advance(2);
    assert_eq!(rig.outcome("a").await, Ok("a".to_owned()));
}

#[tokio::test]
async fn without_any_set_failures_are_spaced_and_recovery_is_quick() {
    let rig = Rig::start(down()).await;
    let outcomes = join_all((0..20).map(|_| rig.outcome("a"))).await;
    assert!(
        outcomes
            .iter()
            .all(|outcome| *outcome == Err(KeyError::Unavailable))
    );
    assert_eq!(rig.server.requests(), 1);
    rig.server.answer(set(&["a"]));
    rig.clock.advance(2);
    assert_eq!(rig.outcome("a").await, Ok("a".to_owned()));
}

#[tokio::test]
async fn a_document_that_is_no_key_set_or_too_long_is_a_failure() {
    let many: Vec<Value> = (0..=MAX_KEYS)
        .map(|number| ES_1.jwk(&number.to_string()))
        .collect();
    for document in [
        json!([]),
        json!({}),
        json!({"keys": {}}),
        json!({ "keys": many }),
    ] {
        let rig = Rig::start(Answer::json(&document)).await;
        assert_eq!(rig.outcome("1").await, Err(KeyError::Unavailable));
    }
    let rig = Rig::start(key_set(&many[..MAX_KEYS])).await;
    assert_eq!(rig.outcome("63").await, Ok("63".to_owned()));
}

#[tokio::test]
async fn a_request_that_is_gone_does_not_stop_its_fetch() {
    let rig = Rig::start(set(&["a"])).await;
    {
        let mut gone = Box::pin(rig.jwks.key("a", Algorithm::Es256));
        assert!(futures_util::poll!(&mut gone).is_pending());
    }
    assert_eq!(rig.outcome("a").await, Ok("a".to_owned()));
    assert_eq!(rig.server.requests(), 1);
}

fn usable(jwk: &Value) -> bool {
    VerificationKey::from_jwk(jwk).is_some()
}

fn with(mut jwk: Value, name: &str, value: Value) -> Value {
    jwk[name] = value;
    jwk
}

#[test]
fn keys_that_must_not_verify_are_dropped() {
    let (ec, rsa) = (ES_1.jwk("k"), RS_1.jwk("k"));
    assert!(usable(&ec) && usable(&rsa));
    assert!(usable(&with(ec.clone(), "alg", json!("ES256"))));
    assert!(usable(&with(ec.clone(), "key_ops", json!(["verify"]))));
    for jwk in [
        json!({"kty": "oct", "kid": "k", "k": encode("secret")}),
        json!({"kty": "OKP", "kid": "k", "crv": "Ed25519", "x": encode([7; 32])}),
        with(ec.clone(), "use", json!("enc")),
        with(ec.clone(), "use", json!(null)),
        with(ec.clone(), "key_ops", json!(["sign"])),
        with(ec.clone(), "d", json!("AA")),
        with(ec.clone(), "kid", json!("")),
        with(ec.clone(), "kid", json!(7)),
        with(ec.clone(), "kid", json!("k".repeat(257))),
        with(ec.clone(), "alg", json!("RS256")),
        with(ec.clone(), "alg", json!("ES384")),
        with(ec.clone(), "alg", json!("HS256")),
        with(ec.clone(), "crv", json!("P-384")),
        with(ec.clone(), "crv", json!("secp256k1")),
        with(ec.clone(), "x", json!("A")),
        with(rsa.clone(), "e", json!("Ag")),
        with(rsa.clone(), "e", json!("")),
        with(rsa.clone(), "n", json!(encode([0; 256]))),
        with(rsa.clone(), "n", json!(encode([0xff; 128]))),
        with(
            rsa.clone(),
            "n",
            json!(encode([&[0x7f; 1][..], &[0xff; 255]].concat())),
        ),
        with(rsa, "n", json!(encode([0xff; 1025]))),
        json!("key"),
    ] {
        assert!(!usable(&jwk), "{jwk}");
    }
}

#[test]
fn each_algorithm_verifies_its_own_keys_only() {
    let message = b"header.payload";
    let big = SigningKey::rsa(KeySize::Rsa3072);
    let keys: [(&SigningKey, &[Algorithm]); 5] = [
        (
            &RS_1,
            &[Algorithm::Rs256, Algorithm::Rs384, Algorithm::Rs512],
        ),
        (&big, &[Algorithm::Rs256]),
        (&ES_1, &[Algorithm::Es256]),
        (&ES_384, &[Algorithm::Es384]),
        (&ES_512, &[Algorithm::Es512]),
    ];
    for (key, algorithms) in keys {
        let public = VerificationKey::from_jwk(&key.jwk("k")).unwrap();
        for algorithm in algorithms {
            let mut signature = key.sign(algorithm.name(), message);
            assert!(public.verifies(*algorithm, message, &encode(&signature)));
            assert!(!public.verifies(*algorithm, b"header.payloae", &encode(&signature)));
            for other in ["RS256", "ES256", "ES384", "ES512"] {
                let other = Algorithm::parse(other).unwrap();
                let admitted = public.fits(other) && other == *algorithm;
                assert_eq!(
                    public.verifies(other, message, &encode(&signature)),
                    admitted
                );
            }
            signature[5] ^= 1;
            assert!(!public.verifies(*algorithm, message, &encode(&signature)));
            assert!(!public.verifies(*algorithm, message, "not base64!"));
            assert!(!public.verifies(*algorithm, message, ""));
        }
    }
}

#[test]
fn a_key_with_an_algorithm_of_its_own_serves_no_other() {
    let jwk = with(RS_1.jwk("k"), "alg", json!("RS256"));
    let key = VerificationKey::from_jwk(&jwk).unwrap();
    assert!(key.fits(Algorithm::Rs256));
    assert!(!key.fits(Algorithm::Rs512));
}

#[test]
fn the_admitted_algorithms_are_the_known_ones_of_the_list() {
    assert_eq!(
        Algorithm::admitted("RS256, ES256"),
        [Algorithm::Rs256, Algorithm::Es256]
    );
    assert_eq!(Algorithm::admitted("HS256,none,EdDSA,es256,PS256,"), []);
    assert_eq!(Algorithm::admitted("ES512,HS256"), [Algorithm::Es512]);
}
