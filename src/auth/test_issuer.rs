//! An issuer for tests: real keys, real signatures, and a loopback server that serves its key set.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING,
    ECDSA_P521_SHA512_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair,
    RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RsaKeyPair,
};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use reqwest::Url;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::jwks::MonotonicClock;

pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A private key that signs tokens and describes its public half.
pub enum SigningKey {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair, &'static str),
    Ed(Ed25519KeyPair),
}

impl SigningKey {
    pub fn rsa(size: KeySize) -> Self {
        Self::Rsa(RsaKeyPair::generate(size).unwrap())
    }

    fn ec(algorithm: &'static EcdsaSigningAlgorithm, curve: &'static str) -> Self {
        Self::Ec(EcdsaKeyPair::generate(algorithm).unwrap(), curve)
    }

    pub fn p256() -> Self {
        Self::ec(&ECDSA_P256_SHA256_FIXED_SIGNING, "P-256")
    }

    pub fn p384() -> Self {
        Self::ec(&ECDSA_P384_SHA384_FIXED_SIGNING, "P-384")
    }

    pub fn p521() -> Self {
        Self::ec(&ECDSA_P521_SHA512_FIXED_SIGNING, "P-521")
    }

    pub fn ed25519() -> Self {
        Self::Ed(Ed25519KeyPair::generate().unwrap())
    }

    pub fn sign(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(pair) => {
                let padding = match algorithm {
                    "RS384" => &RSA_PKCS1_SHA384,
                    "RS512" => &RSA_PKCS1_SHA512,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(padding, &random, message, &mut signature)
                    .unwrap();
                signature
            }
            Self::Ec(pair, _) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Ed(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }

    pub fn jwk(&self, kid: &str) -> Value {
        match self {
            Self::Rsa(pair) => {
                let public = pair.public_key();
                json!({
                    "kty": "RSA", "kid": kid, "use": "sig",
                    "n": encode(public.modulus().big_endian_without_leading_zero()),
                    "e": encode(public.exponent().big_endian_without_leading_zero()),
                })
            }
            Self::Ec(pair, curve) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                json!({"kty": "EC", "kid": kid, "crv": curve, "x": encode(x), "y": encode(y)})
            }
            Self::Ed(pair) => {
                json!({"kty": "OKP", "kid": kid, "crv": "Ed25519", "x": encode(pair.public_key())})
            }
        }
    }

    /// The public half as a PEM text.
    pub fn pem(&self) -> String {
        let Self::Ec(pair, _) = self else {
            panic!("only needed for EC keys")
        };
        let der: aws_lc_rs::encoding::PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
        let body = STANDARD.encode(der.as_ref());
        format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n")
    }
}

/// The two parts of a token that are signed.
pub fn signed_part(header: &Value, claims: &Value) -> String {
    format!(
        "{}.{}",
        encode(header.to_string()),
        encode(claims.to_string())
    )
}

pub fn token(key: &SigningKey, header: &Value, claims: &Value) -> String {
    let signed = signed_part(header, claims);
    let signature = key.sign(header["alg"].as_str().unwrap_or(""), signed.as_bytes());
    format!("{signed}.{}", encode(signature))
}

pub fn hs256_token(secret: &[u8], header: &Value, claims: &Value) -> String {
    let signed = signed_part(header, claims);
    let tag = hmac::sign(
        &hmac::Key::new(hmac::HMAC_SHA256, secret),
        signed.as_bytes(),
    );
    format!("{signed}.{}", encode(tag.as_ref()))
}

/// Keys shared by all tests of the process; an RSA key takes a while to make.
pub static RS_1: LazyLock<SigningKey> = LazyLock::new(|| SigningKey::rsa(KeySize::Rsa2048));
pub static ES_1: LazyLock<SigningKey> = LazyLock::new(SigningKey::p256);
pub static ES_384: LazyLock<SigningKey> = LazyLock::new(SigningKey::p384);
pub static ES_512: LazyLock<SigningKey> = LazyLock::new(SigningKey::p521);
pub static ED_1: LazyLock<SigningKey> = LazyLock::new(SigningKey::ed25519);

pub fn key_set(keys: &[Value]) -> Answer {
    Answer::json(&json!({ "keys": keys }))
}

/// A clock that moves only when told to.
#[derive(Clone, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    pub fn advance(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }

    pub fn monotonic(&self) -> MonotonicClock {
        let seconds = Arc::clone(&self.0);
        Arc::new(move || Duration::from_secs(seconds.load(Ordering::SeqCst)))
    }
}

/// What the server says to one request.
#[derive(Clone)]
pub enum Answer {
    /// Everything after the request, byte for byte.
    Raw(Vec<u8>),
    /// These bytes, then silence with the connection open.
    Stall(Vec<u8>),
    /// These bytes, once the test opens the gate.
    Gated(Arc<Notify>, Vec<u8>),
}

impl Answer {
    pub fn json(document: &Value) -> Self {
        Self::status("200 OK", &[], &document.to_string())
    }

    pub fn status(status: &str, headers: &[&str], body: &str) -> Self {
        let headers = headers
            .iter()
            .flat_map(|header| [header, "\r\n"])
            .collect::<String>();
        let length = body.len();
        Self::Raw(
            format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
                 connection: close\r\n{headers}\r\n{body}"
            )
            .into_bytes(),
        )
    }
}

/// A loopback HTTP server that counts requests and answers as scripted.
pub struct KeyServer {
    pub url: Url,
    shared: Arc<Script>,
    task: tokio::task::JoinHandle<()>,
}

struct Script {
    requests: AtomicUsize,
    answer: Mutex<Answer>,
}

impl KeyServer {
    pub async fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        let shared = Arc::new(Script {
            requests: AtomicUsize::new(0),
            answer: Mutex::new(answer),
        });
        let script = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&script)));
            }
        });
        Self { url, shared, task }
    }

    pub fn answer(&self, answer: Answer) {
        *self.shared.answer.lock().unwrap() = answer;
    }

    /// Holds every answer back until the returned gate is opened.
    pub fn gate(&self, answer: Answer) -> Arc<Notify> {
        let (Answer::Raw(bytes) | Answer::Stall(bytes) | Answer::Gated(_, bytes)) = answer;
        let gate = Arc::new(Notify::new());
        self.answer(Answer::Gated(Arc::clone(&gate), bytes));
        gate
    }

    /// Returns once `count` requests have arrived.
    pub async fn arrived(&self, count: usize) {
        while self.requests() < count {
            tokio::task::yield_now().await;
        }
    }

    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }
}

impl Drop for KeyServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, script: Arc<Script>) {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    script.requests.fetch_add(1, Ordering::SeqCst);
    let answer = script.answer.lock().unwrap().clone();
    match answer {
        Answer::Raw(bytes) => {
            // The client may hang up in the middle of an answer it refuses.
            drop(stream.write_all(&bytes).await);
        }
        Answer::Gated(gate, bytes) => {
            gate.notified().await;
            drop(stream.write_all(&bytes).await);
        }
        Answer::Stall(bytes) => {
            drop(stream.write_all(&bytes).await);
            std::future::pending::<()>().await;
        }
    }
}
