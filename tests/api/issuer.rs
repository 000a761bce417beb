//! An issuer with real keys and a key set on a socket.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The keys `es-1`, `rs-1`, `ed-1` and `384`, and one that is published nowhere.
pub struct Issuer {
    es: EcdsaKeyPair,
    es_384: EcdsaKeyPair,
    rs: RsaKeyPair,
    ed: Ed25519KeyPair,
    attacker: EcdsaKeyPair,
    asked: Arc<AtomicUsize>,
    pub url: String,
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn ec_jwk(key: &EcdsaKeyPair, kid: &str, curve: &str) -> Value {
    let point = &key.public_key().as_ref()[1..];
    let (x, y) = point.split_at(point.len() / 2);
    json!({"kty": "EC", "kid": kid, "crv": curve, "x": encode(x), "y": encode(y)})
}

impl Issuer {
    pub async fn start() -> Self {
        let p256 = || EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let issuer = Self {
            es: p256(),
            es_384: EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).expect("a key"),
            rs: RsaKeyPair::generate(KeySize::Rsa2048).expect("a key"),
            ed: Ed25519KeyPair::generate().expect("a key"),
            attacker: p256(),
            asked: Arc::default(),
            url: format!("http://{address}/keys"),
        };
        tokio::spawn(publish(
            listener,
            issuer.key_set(),
            Arc::clone(&issuer.asked),
        ));
        issuer
    }

    fn key_set(&self) -> String {
        let rs = self.rs.public_key();
        let keys = json!({"keys": [
            ec_jwk(&self.es, "es-1", "P-256"),
            ec_jwk(&self.es_384, "384", "P-384"),
            {
                "kty": "RSA", "kid": "rs-1",
                "n": encode(rs.modulus().big_endian_without_leading_zero()),
                "e": encode(rs.exponent().big_endian_without_leading_zero()),
            },
            {"kty": "OKP", "kid": "ed-1", "crv": "Ed25519", "x": encode(self.ed.public_key())},
        ]});
        keys.to_string()
    }

    /// How often the key set was asked for.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// The public key that a forger would offer in a header.
    pub fn attacker_jwk(&self) -> Value {
        ec_jwk(&self.attacker, "attacker", "P-256")
    }

    /// A token of these parts; `with` replaces the key that the algorithm names.
    pub fn token(&self, header: &Value, claims: &Value, with: Option<&str>) -> String {
        let signed = format!(
            "{}.{}",
            encode(header.to_string()),
            encode(claims.to_string())
        );
        let (random, message) = (SystemRandom::new(), signed.as_bytes());
        let ec = |key: &EcdsaKeyPair| {
            key.sign(&random, message)
                .expect("signed")
                .as_ref()
                .to_vec()
        };
        let signature = match (with, header["alg"].as_str().unwrap_or("")) {
            (Some("attacker key"), _) => ec(&self.attacker),
            (Some("zeros"), _) => vec![0; 64],
            (Some(""), _) => Vec::new(),
            (form, "HS256") => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, &self.public_half(form));
                hmac::sign(&key, message).as_ref().to_vec()
            }
            (_, "RS256") => {
                let mut signature = vec![0; self.rs.public_modulus_len()];
                self.rs
                    .sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .expect("signed");
                signature
            }
            (_, "EdDSA") => self.ed.sign(message).as_ref().to_vec(),
            (_, "ES384") => ec(&self.es_384),
            _ => ec(&self.es),
        };
        format!("{signed}.{}", encode(signature))
    }

    /// The public half of `es-1` in a form that a forger may take for the secret.
    fn public_half(&self, form: Option<&str>) -> Vec<u8> {
        let der: PublicKeyX509Der<'_> = self.es.public_key().as_der().expect("DER");
        match form {
            Some("DER") => der.as_ref().to_vec(),
            Some("JWK") => ec_jwk(&self.es, "es-1", "P-256").to_string().into_bytes(),
            _ => self.pem().into_bytes(),
        }
    }

    /// The same as text.
    fn pem(&self) -> String {
        let der: PublicKeyX509Der<'_> = self.es.public_key().as_der().expect("DER");
        let body = STANDARD.encode(der.as_ref());
        format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n")
    }
}

async fn publish(listener: TcpListener, keys: String, asked: Arc<AtomicUsize>) {
    while let Ok((stream, _)) = listener.accept().await {
        asked.fetch_add(1, Ordering::SeqCst);
        answer(stream, &keys).await;
    }
}

async fn answer(mut stream: TcpStream, keys: &str) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let length = keys.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    drop(stream.write_all(format!("{head}{keys}").as_bytes()).await);
}
