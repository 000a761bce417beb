mod outer_form;
mod table;

use reqwest::Url;
use serde_json::{Value, json};

use super::*;
use crate::auth::test_issuer::{
    Answer, ED_1, ES_1, ES_384, KeyServer, ManualClock, RS_1, encode, hs256_token, key_set, token,
};

const NOW: f64 = 1_900_000_000.0;
const ISSUER: &str = "https://id.example.org/";
const AUDIENCE: &str = "https://helix.example.org/mcp";
const SECRET: &str = "a-quay-secret-of-thirty-two-chars";

struct Rig {
    server: KeyServer,
    clock: ManualClock,
    verifier: BearerVerifier,
}

impl Rig {
    async fn start() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut JwksConfig)) -> Self {
        let keys = [
            ES_1.jwk("es-1"),
            RS_1.jwk("rs-1"),
            ED_1.jwk("ed-1"),
            ES_384.jwk("384"),
        ];
        let server = KeyServer::start(key_set(&keys)).await;
        let clock = ManualClock::default();
        let mut config = config(server.url.clone());
        change(&mut config);
        let verifier = BearerVerifier::new(BearerConfig::Jwks(config), clock.monotonic());
        Self {
            server,
            clock,
            verifier,
        }
    }

    async fn verify(&self, token: &str) -> Result<VerifiedToken, BearerError> {
        verify(&self.verifier, token).await
    }

    async fn claims(&self, change: impl FnOnce(&mut Value)) -> Result<VerifiedToken, BearerError> {
        let mut claims = claims();
        change(&mut claims);
        self.verify(&token(&ES_1, &header(), &claims)).await
    }

    async fn header(&self, change: impl FnOnce(&mut Value)) -> Result<VerifiedToken, BearerError> {
        let mut header = header();
        change(&mut header);
        self.verify(&token(&ES_1, &header, &claims())).await
    }
}

async fn verify(verifier: &BearerVerifier, token: &str) -> Result<VerifiedToken, BearerError> {
    let value = format!("Bearer {token}");
    let presented = Presented {
        authorization: &[value.as_bytes()],
        tenants: &[],
    };
    verifier.verify(presented, NOW).await
}

fn config(jwks_url: Url) -> JwksConfig {
    JwksConfig {
        issuer: ISSUER.to_owned(),
        audience: AUDIENCE.to_owned(),
        loopback_audience: None,
        jwks_url,
        provider: "harbour-id".to_owned(),
        algorithms: Algorithm::admitted("RS256,ES256"),
        tenant_claim: None,
        max_lifetime: DEFAULT_MAX_LIFETIME,
        require_at_jwt: false,
        production: false,
        allow_private: false,
    }
}

fn local() -> LocalConfig {
    LocalConfig {
        issuer: ISSUER.to_owned(),
        audience: AUDIENCE.to_owned(),
        loopback_audience: None,
        provider: "local".to_owned(),
        secret: SECRET.into(),
        tenant_claim: None,
    }
}

fn closed(config: BearerConfig) -> BearerVerifier {
    BearerVerifier::new(config, ManualClock::default().monotonic())
}

fn header() -> Value {
    json!({"alg": "ES256", "kid": "es-1"})
}

fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "user|4711", "exp": NOW + 300.0,
        "tenantId": "harbour-coop", "scope": "helix.agent_runs.read",
    })
}

const REFUSED: Result<VerifiedToken, BearerError> = Err(BearerError::Unauthorized);

#[tokio::test]
async fn a_valid_token_yields_what_the_issuer_signed() {
    let rig = Rig::start().await;
    let scopes = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let expected = VerifiedToken {
        issuer: ISSUER.to_owned(),
        tenant: "harbour-coop".to_owned(),
        provider: "harbour-id".to_owned(),
        subject: "user|4711".to_owned(),
        scopes: scopes(&["helix.agent_runs.read"]),
        expires_at: NOW + 300.0,
    };
    assert_eq!(rig.claims(|_| {}).await, Ok(expected));

    let verified = rig
        .claims(|claims| {
            claims["scope"] = json!("a  b");
            claims["scp"] = json!(["c", 7, "d e"]);
            claims["scopes"] = json!("f a");
        })
        .await
        .unwrap();
    assert_eq!(verified.scopes, scopes(&["a", "b", "c", "d e", "f"]));
    assert_eq!(rig.server.requests(), 1);
}

#[tokio::test]
async fn times_are_judged_with_five_seconds_of_leeway() {
    let rig = Rig::start().await;
    for (name, time, admitted) in [
        ("exp", json!(NOW - 4.9), true),
        ("exp", json!(NOW - 5.0), false),
        ("exp", json!(1e300), false),
        ("nbf", json!(NOW + 5.0), true),
        ("nbf", json!(NOW + 5.5), false),
        ("nbf", json!(null), false),
        ("nbf", json!("0"), false),
        ("iat", json!(NOW + 5.0), true),
        ("iat", json!(NOW + 300.0), false),
        ("iat", json!(null), false),
        ("iat", json!(0), false),
    ] {
        let outcome = rig.claims(|claims| claims[name] = time.clone()).await;
        assert_eq!(outcome.is_ok(), admitted, "{name} {time}");
    }
}

#[tokio::test]
async fn a_token_lives_for_a_day_at_most() {
    let day = 86_400.0;
    let rig = Rig::start().await;
    let life = |from: Option<f64>, until: f64| {
        rig.claims(move |claims| {
            claims["exp"] = json!(until);
            if let Some(from) = from {
                claims["iat"] = json!(from);
            }
        })
    };
    assert!(life(Some(NOW - 60.0), NOW - 60.0 + day).await.is_ok());
    assert_eq!(life(Some(NOW - 60.0), NOW - 59.0 + day).await, REFUSED);
    assert!(life(None, NOW + day).await.is_ok());
    assert_eq!(life(None, NOW + day + 1.0).await, REFUSED);

    let longer = Rig::with(|config| config.max_lifetime *= 30).await;
    assert!(
        longer
            .claims(|claims| claims["exp"] = json!(NOW + 29.0 * day))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn claims_of_the_wrong_kind_are_refused() {
    let rig = Rig::start().await;
    for (name, value) in [
        ("iss", json!([ISSUER])),
        ("aud", json!(7)),
        ("aud", json!([AUDIENCE, 7])),
        ("aud", json!(AUDIENCE.to_uppercase())),
        ("sub", json!("s".repeat(256))),
        ("sub", json!("a\nb")),
        ("tenantId", json!("a\nb")),
        ("tenantId", json!("a\u{0}b")),
        ("nonce", json!("n")),
        ("at_hash", json!(null)),
    ] {
        assert_eq!(
            rig.claims(|claims| claims[name] = value.clone()).await,
            REFUSED,
            "{name} {value}"
        );
    }
    assert!(
        rig.claims(|claims| claims["sub"] = json!("s".repeat(255)))
            .await
            .is_ok()
    );
    for value in [json!(null), json!(""), json!([]), json!(7)] {
        let outcome = rig
            .claims(|claims| claims["tenantId"] = value.clone())
            .await;
        assert_eq!(outcome, Err(BearerError::TenantRequired), "{value}");
    }
}

#[tokio::test]
async fn a_loopback_audience_counts_where_it_is_configured() {
    let audience = "http://127.0.0.1:8787/mcp";
    let rig = Rig::with(|config| config.loopback_audience = Some(audience.to_owned())).await;
    assert!(rig.claims(|_| {}).await.is_ok());
    assert!(
        rig.claims(|claims| claims["aud"] = json!([audience]))
            .await
            .is_ok()
    );
    let plain = Rig::start().await;
    assert_eq!(
        plain.claims(|claims| claims["aud"] = json!(audience)).await,
        REFUSED
    );
}

#[tokio::test]
async fn a_claim_given_twice_is_refused() {
    let rig = Rig::start().await;
    let doubled = claims().to_string().replacen('{', r#"{"sub":"admin","#, 1);
    let signed = format!("{}.{}", encode(header().to_string()), encode(doubled));
    let signature = encode(ES_1.sign("ES256", signed.as_bytes()));
    assert_eq!(rig.verify(&format!("{signed}.{signature}")).await, REFUSED);
}

#[tokio::test]
async fn a_configured_tenant_claim_replaces_the_list() {
    let rig = Rig::with(|config| config.tenant_claim = Some("https://x/org".to_owned())).await;
    assert_eq!(rig.claims(|_| {}).await, Err(BearerError::TenantRequired));
    let verified = rig
        .claims(|claims| claims["https://x/org"] = json!("reef"))
        .await
        .unwrap();
    assert_eq!(verified.tenant, "reef");
}

#[tokio::test]
async fn a_key_that_was_rotated_out_stops_working_and_its_successor_works() {
    let rig = Rig::start().await;
    assert!(rig.header(|_| {}).await.is_ok());
    rig.server.answer(key_set(&[ES_1.jwk("es-2")]));
    rig.clock.advance(1);
    assert!(
        rig.header(|header| header["kid"] = json!("es-2"))
            .await
            .is_ok()
    );
    rig.clock.advance(60);
    assert_eq!(rig.header(|_| {}).await, REFUSED);
}

#[tokio::test]
async fn unreachable_keys_are_told_apart_from_a_bad_token() {
    let rig = Rig::start().await;
    rig.server.answer(Answer::status("500 Oops", &[], ""));
    assert_eq!(rig.header(|_| {}).await, Err(BearerError::KeysUnavailable));
}

#[tokio::test]
async fn production_fetches_no_keys_from_the_inner_network() {
    let guarded = Rig::with(|config| config.production = true).await;
    assert_eq!(
        guarded.header(|_| {}).await,
        Err(BearerError::KeysUnavailable)
    );
    assert_eq!(guarded.server.requests(), 0);
    let allowed = Rig::with(|config| {
        config.production = true;
        config.allow_private = true;
    })
    .await;
    assert!(allowed.header(|_| {}).await.is_ok());
}

#[tokio::test]
async fn the_local_lane_takes_its_secret_and_nothing_else() {
    let verifier = closed(BearerConfig::LocalHs256(local()));
    let plain = json!({"alg": "HS256"});
    let mut long_lived = claims();
    long_lived["exp"] = json!(NOW + 1e7);
    for header in [
        plain.clone(),
        json!({"alg": "HS256", "kid": "any", "typ": "JWT"}),
    ] {
        let token = hs256_token(SECRET.as_bytes(), &header, &long_lived);
        assert_eq!(verify(&verifier, &token).await.unwrap().provider, "local");
    }
    let other_secret = hs256_token(&[b'x'; 33], &plain, &claims());
    let other_name = hs256_token(SECRET.as_bytes(), &json!({"alg": "HS384"}), &claims());
    let other_key = token(&ES_1, &header(), &claims());
    for token in [other_secret, other_name, other_key] {
        assert_eq!(verify(&verifier, &token).await, REFUSED);
    }
}

#[tokio::test]
async fn what_is_not_configured_whole_stays_closed() {
    let url: Url = "http://127.0.0.1:9/keys".parse().unwrap();
    let no_algorithms = JwksConfig {
        algorithms: Algorithm::admitted("HS256"),
        ..config(url)
    };
    let short = LocalConfig {
        secret: SECRET[..31].into(),
        ..local()
    };
    let token = hs256_token(SECRET.as_bytes(), &json!({"alg": "HS256"}), &claims());
    // Nothing set: no credential exists, so every token is an unknown one (settled question 11).
    assert_eq!(
        verify(&closed(BearerConfig::NotConfigured), &token).await,
        Err(BearerError::Unauthorized)
    );
    for config in [
        BearerConfig::Malformed,
        BearerConfig::Jwks(no_algorithms),
        BearerConfig::LocalHs256(short),
    ] {
        assert_eq!(
            verify(&closed(config), &token).await,
            Err(BearerError::NotConfigured)
        );
    }
}

#[tokio::test]
async fn nothing_shows_a_token_or_a_secret() {
    let config = BearerConfig::LocalHs256(local());
    let shown = format!("{config:?}");
    assert!(shown.contains(ISSUER) && !shown.contains(SECRET), "{shown}");
    let rig = Rig::start().await;
    let token = token(&ES_1, &header(), &claims());
    let headers: [&[u8]; 1] = [token.as_bytes()];
    let presented = Presented {
        authorization: &headers,
        tenants: &[],
    };
    let verified = rig.verify(&token).await;
    let shown = format!(
        "{presented:?} {:?} {verified:?} {:?}",
        rig.verifier,
        closed(config)
    );
    for part in token.split('.').chain([SECRET]) {
        assert!(!shown.contains(part), "{shown}");
    }
}
