//! A receiver on a loopback socket, and the check of a signature by the published algorithm.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use helix::testing::Hook;
use secrecy::ExposeSecret;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// How one request is answered.
#[derive(Debug, Clone)]
pub enum Reply {
    Status(u16),
    /// With one more header line.
    With(u16, String),
    /// More than any client should read.
    Endless,
    /// Only once the gate is open.
    Held(watch::Receiver<bool>),
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Got {
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub text: String,
}

pub struct Receiver {
    pub url: String,
    port: u16,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    got: Mutex<Vec<Got>>,
    count: watch::Sender<usize>,
}

impl Receiver {
    /// Accepts everything unless told otherwise.
    pub async fn start() -> Self {
        Self::at(0).await
    }

    async fn at(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let serving = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(answer(stream, Arc::clone(&serving)));
            }
        });
        Self {
            url: format!("http://127.0.0.1:{port}/in?token=kestrel"),
            port,
            shared,
            task,
        }
    }

    /// Goes away; nothing listens at its address any more.
    pub async fn stop(self) -> u16 {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
        self.port
    }

    /// Comes back at the address it had.
    pub async fn back(port: u16) -> Self {
        Self::at(port).await
    }

    /// The next requests are answered so, in order.
    pub fn reply(&self, replies: impl IntoIterator<Item = Reply>) {
        self.shared.replies.lock().unwrap().extend(replies);
    }

    /// The next `times` requests fail.
    pub fn fail(&self, times: usize) {
        self.reply(std::iter::repeat_n(Reply::Status(500), times));
    }

    /// What has come, in order.
    pub fn got(&self) -> Vec<Got> {
        self.shared.got.lock().unwrap().clone()
    }

    /// The kinds of what has come, in order.
    pub fn kinds(&self) -> Vec<String> {
        let kind = |got: &Got| got.body()["type"].as_str().unwrap().to_owned();
        self.got().iter().map(kind).collect()
    }

    /// Waits for so many requests.
    pub async fn received(&self, count: usize) {
        let mut seen = self.shared.count.subscribe();
        seen.wait_for(|seen| *seen >= count).await.unwrap();
    }
}

async fn answer(mut stream: TcpStream, shared: Arc<Shared>) {
    let Some(got) = read(&mut stream).await else {
        return;
    };
    shared.got.lock().unwrap().push(got);
    shared.count.send_modify(|count| *count += 1);
    let reply = shared.replies.lock().unwrap().pop_front();
    let head = match reply.unwrap_or(Reply::Status(204)) {
        Reply::Status(status) => format!("HTTP/1.1 {status} Said\r\ncontent-length: 0\r\n\r\n"),
        Reply::With(status, header) => {
            format!("HTTP/1.1 {status} Said\r\ncontent-length: 0\r\n{header}\r\n\r\n")
        }
        Reply::Endless => {
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n";
            let chunk = vec![b'x'; 1 << 16];
            let mut sent = stream.write_all(head.as_bytes()).await;
            while sent.is_ok() {
                sent = stream.write_all(&chunk).await;
            }
            return;
        }
        Reply::Held(mut gate) => {
            gate.wait_for(|open| *open).await.unwrap();
            "HTTP/1.1 204 Said\r\n\r\n".to_owned()
        }
    };
    // A client that has its answer may be gone.
    let _gone = stream.write_all(head.as_bytes()).await;
}

async fn read(stream: &mut TcpStream) -> Option<Got> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let mut lines = head.lines();
            let path = lines.next()?.split(' ').nth(1)?.to_owned();
            let header = |line: &str| {
                let (name, value) = line.split_once(": ").unwrap();
                (name.to_ascii_lowercase(), value.to_owned())
            };
            let headers: BTreeMap<String, String> = lines.map(header).collect();
            let length: usize = headers["content-length"].parse().unwrap();
            let mut body = bytes[end + 4..].to_vec();
            while body.len() < length {
                let mut part = [0; 4_096];
                let read = stream.read(&mut part).await.unwrap();
                body.extend_from_slice(&part[..read]);
            }
            let text = String::from_utf8(body).unwrap();
            return Some(Got {
                path,
                headers,
                text,
            });
        }
        let mut part = [0; 4_096];
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&part[..read]),
        }
    }
}

impl Got {
    pub fn body(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    pub fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    pub fn timestamp(&self) -> i64 {
        self.headers["webhook-timestamp"].parse().unwrap()
    }

    /// Whether one of the signatures is that of the secret.
    pub fn is_signed_by(&self, hook: &Hook) -> bool {
        let wanted = format!("v1,{}", self.signature(hook.secret.expose_secret()));
        let mut signatures = self.headers["webhook-signature"].split(' ');
        signatures.any(|signature| signature == wanted)
    }

    pub fn signatures(&self) -> usize {
        self.headers["webhook-signature"].split(' ').count()
    }

    /// HMAC-SHA256 (RFC 2104) over `id.timestamp.body`, base64, by the secret after its prefix.
    fn signature(&self, secret: &str) -> String {
        let key = STANDARD
            .decode(secret.strip_prefix("whsec_").unwrap())
            .unwrap();
        assert!(key.len() >= 24 && key.len() <= 64);
        let signed = format!("{}.{}.{}", self.id(), self.timestamp(), self.text);
        let padded = |pad: u8| {
            let mut block = [pad; 64];
            for (byte, key) in block.iter_mut().zip(&key) {
                *byte ^= key;
            }
            block.to_vec()
        };
        let inner = Sha256::digest([padded(0x36), signed.into_bytes()].concat());
        STANDARD.encode(Sha256::digest([padded(0x5c), inner.to_vec()].concat()))
    }
}
