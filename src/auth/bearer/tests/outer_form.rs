//! Header value, parts, JOSE header and signature.

use super::*;

#[tokio::test]
async fn the_header_cannot_choose_keys_or_demand_extensions() {
    let rig = Rig::start().await;
    for (name, value) in [
        ("crit", json!([])),
        ("crit", json!(["exp"])),
        ("jku", json!(null)),
        ("x5u", json!("https://evil.example/keys")),
        ("jwk", ES_1.jwk("es-1")),
        ("kid", json!(null)),
        ("kid", json!("")),
        ("kid", json!(7)),
        ("kid", json!("k".repeat(257))),
        ("kid", json!("../../keys/es-1")),
        ("kid", json!("es-1' or '1'='1")),
        ("alg", json!("es256")),
        ("alg", json!("NONE")),
        ("alg", json!(null)),
        ("typ", json!("id+jwt")),
        ("typ", json!(7)),
    ] {
        assert_eq!(
            rig.header(|header| header[name] = value.clone()).await,
            REFUSED,
            "{name} {value}"
        );
    }
    assert!(rig.server.requests() <= 1);
    for token_type in ["JWT", "jwt", "at+jwt"] {
        assert!(
            rig.header(|header| header["typ"] = json!(token_type))
                .await
                .is_ok()
        );
    }
}

#[tokio::test]
async fn an_algorithm_is_admitted_before_its_key_is_looked_for() {
    let es_384 = token(&ES_384, &json!({"alg": "ES384", "kid": "384"}), &claims());
    let narrow = Rig::start().await;
    assert_eq!(narrow.verify(&es_384).await, REFUSED);
    assert_eq!(narrow.server.requests(), 0);
    let wide = Rig::with(|config| config.algorithms = Algorithm::admitted("ES384")).await;
    assert!(wide.verify(&es_384).await.is_ok());
    assert_eq!(wide.header(|_| {}).await, REFUSED);
}

#[tokio::test]
async fn only_access_tokens_pass_where_that_is_required() {
    let rig = Rig::with(|config| config.require_at_jwt = true).await;
    assert_eq!(rig.header(|_| {}).await, REFUSED);
    assert_eq!(
        rig.header(|header| header["typ"] = json!("JWT")).await,
        REFUSED
    );
    assert!(
        rig.header(|header| header["typ"] = json!("at+jwt"))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_token_has_three_parts_and_at_most_eight_kib() {
    let rig = Rig::start().await;
    let good = token(&ES_1, &header(), &claims());
    for bad in [
        format!("{good}."),
        format!("{good}=="),
        format!(".{good}"),
        good.replace('.', ""),
        good.rsplit_once('.').unwrap().0.to_owned(),
        format!("{good},Bearer"),
    ] {
        assert_eq!(rig.verify(&bad).await, REFUSED, "{bad}");
    }
    let padded = |length: usize| {
        let mut claims = claims();
        claims["pad"] = json!("p".repeat(length));
        token(&ES_1, &header(), &claims)
    };
    assert!(rig.verify(&padded(5_500)).await.is_ok());
    assert!(padded(6_100).len() > MAX_TOKEN_BYTES);
    assert_eq!(rig.verify(&padded(6_100)).await, REFUSED);
}

#[tokio::test]
async fn forged_ecdsa_signatures_are_refused() {
    let rig = Rig::start().await;
    let good = token(&ES_1, &header(), &claims());
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let raw = base64::Engine::decode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, signature);
    let raw = raw.unwrap();
    let der = [
        &[0x30, 0x44, 0x02, 0x20],
        &raw[..32],
        &[0x02, 0x20],
        &raw[32..],
    ]
    .concat();
    for forged in [
        Vec::new(),
        vec![0; 64],
        [&[0; 32], &raw[32..]].concat(),
        [&raw[..32], &[0; 32]].concat(),
        [raw.as_slice(), &[0]].concat(),
        der,
    ] {
        assert_eq!(
            rig.verify(&format!("{signed}.{}", encode(forged))).await,
            REFUSED
        );
    }
    assert!(rig.verify(&good).await.is_ok());
}

#[tokio::test]
async fn two_authorization_headers_are_told_apart_from_none() {
    let rig = Rig::start().await;
    let value = format!("Bearer {}", token(&ES_1, &header(), &claims()));
    let both: [&[u8]; 2] = [value.as_bytes(), value.as_bytes()];
    let outcome = rig
        .verifier
        .verify(
            Presented {
                authorization: &both,
                tenants: &[],
            },
            NOW,
        )
        .await;
    assert_eq!(outcome, Err(BearerError::TwoAuthorizationHeaders));
    assert_eq!(
        rig.verifier.verify(Presented::default(), NOW).await,
        REFUSED
    );
    let joined = format!("{value}, {value}");
    let joined: [&[u8]; 1] = [joined.as_bytes()];
    let outcome = rig
        .verifier
        .verify(
            Presented {
                authorization: &joined,
                tenants: &[],
            },
            NOW,
        )
        .await;
    assert_eq!(outcome, REFUSED);
}
