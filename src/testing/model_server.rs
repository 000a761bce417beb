//! A model server on a loopback socket: it says what a test has scripted, in whichever protocol it
//! is asked, and remembers what it was asked.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the server does with one request.
#[derive(Debug, Clone)]
pub enum Speech {
    /// Calls of functions, by name, with the text of their arguments.
    Calls(Vec<(String, String)>),
    Text(String),
    /// A body of the test's own, with status and media type.
    Body {
        status: u16,
        media_type: &'static str,
        body: Vec<u8>,
    },
    /// An error of this status, with a `Retry-After`.
    Wait {
        status: u16,
        seconds: u64,
    },
    /// So many bytes of an answer, then the end of the connection.
    Cut(usize),
    /// No answer for as long as the client waits.
    Silence,
}

impl Speech {
    pub fn call(name: &str, arguments: &Value) -> Self {
        Self::Calls(vec![(name.to_owned(), arguments.to_string())])
    }

    pub fn submit(product: &Value) -> Self {
        Self::call("submit", product)
    }

    /// A JSON body with status 200.
    pub fn json(body: &Value) -> Self {
        Self::Body {
            status: 200,
            media_type: "application/json",
            body: body.to_string().into_bytes(),
        }
    }

    pub fn status(status: u16) -> Self {
        Self::Body {
            status,
            media_type: "application/json",
            body: br#"{"error":{"message":"no","type":"error"}}"#.to_vec(),
        }
    }
}

/// One request as it arrived.
#[derive(Debug, Clone)]
pub struct Asked {
    pub path: String,
    /// Lower-cased names, as sent.
    pub head: String,
    pub body: Value,
    pub text: String,
}

#[derive(Debug, Default)]
struct Shared {
    script: Mutex<VecDeque<Speech>>,
    asked: Mutex<Vec<Asked>>,
    requests: watch::Sender<usize>,
    hung_up: watch::Sender<usize>,
}

/// The server; it ends with the runtime of its test.
#[derive(Debug, Clone)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl ModelServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            shared: Arc::default(),
        };
        let shared = Arc::clone(&server.shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        server
    }

    /// What `HELIX_MODEL_BASE_URL` has to be.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What the next requests meet, in order. A request beyond the script gets status 418.
    pub fn says(&self, script: impl IntoIterator<Item = Speech>) -> &Self {
        self.shared.script.lock().unwrap().extend(script);
        self
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }

    /// Waits until so many requests have arrived.
    pub async fn was_asked(&self, requests: usize) {
        let mut seen = self.shared.requests.subscribe();
        // The sender lives as long as the server.
        let _closed = seen.wait_for(|count| *count >= requests).await;
    }

    /// Waits until so many clients have given up on a silence.
    pub async fn was_left(&self, clients: usize) {
        let mut seen = self.shared.hung_up.subscribe();
        let _closed = seen.wait_for(|count| *count >= clients).await;
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    let Some(asked) = read(&mut stream).await else {
        return;
    };
    let path = asked.path.clone();
    let spoken = shared.script.lock().unwrap().pop_front();
    let number = {
        let mut all = shared.asked.lock().unwrap();
        all.push(asked);
        all.len()
    };
    shared.requests.send_replace(number);
    let answer = match spoken.unwrap_or_else(|| Speech::status(418)) {
        Speech::Silence => {
            let mut rest = [0; 64];
            while matches!(stream.read(&mut rest).await, Ok(1..)) {}
            shared.hung_up.send_modify(|count| *count += 1);
            return;
        }
        Speech::Cut(bytes) => {
            let mut whole = spelled(200, "application/json", "", &[b' '; 4096]);
            whole.truncate(bytes);
            whole
        }
        Speech::Wait { status, seconds } => {
            let header = format!("retry-after: {seconds}\r\n");
            spelled(status, "application/json", &header, b"{}")
        }
        Speech::Body {
            status,
            media_type,
            body,
        } => spelled(status, media_type, "", &body),
        Speech::Text(text) => json_answer(&said(&path, number, &text, &[])),
        Speech::Calls(calls) => json_answer(&said(&path, number, "", &calls)),
    };
    // A client may have gone by now, which is its right.
    if stream.write_all(&answer).await.is_ok() {
        stream.shutdown().await.ok();
    }
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0);
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let text = String::from_utf8_lossy(&bytes[end..]).into_owned();
    Some(Asked {
        path: head.split(' ').nth(1)?.to_owned(),
        head,
        body: serde_json::from_str(&text).unwrap_or(Value::Null),
        text,
    })
}

fn json_answer(body: &Value) -> Vec<u8> {
    spelled(200, "application/json", "", body.to_string().as_bytes())
}

fn spelled(status: u16, media_type: &str, header: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status} Said\r\ncontent-type: {media_type}\r\ncontent-length: {}\r\n\
         {header}connection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// The answer in the protocol of the path.
fn said(path: &str, number: usize, text: &str, calls: &[(String, String)]) -> Value {
    let id = |place: usize| format!("call_{number}_{place}");
    let numbered = calls.iter().enumerate();
    if path.ends_with("/responses") {
        let calls = numbered.map(|(place, (name, arguments))| {
            json!({
                "type": "function_call", "id": format!("fc_{number}_{place}"), "status": "completed",
                "call_id": id(place), "name": name, "arguments": arguments,
            })
        });
        let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": []});
        let message = (!text.is_empty()).then(|| {
            json!({
                "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            })
        });
        let output: Vec<Value> = [reasoning]
            .into_iter()
            .chain(message)
            .chain(calls)
            .collect();
        return json!({
            "id": format!("resp_{number}"), "object": "response", "created_at": 1_700_000_000,
            "status": "completed", "error": null, "incomplete_details": null, "output": output,
            "usage": {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120},
        });
    }
    let reason = if calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    let calls: Vec<Value> = numbered
        .map(|(place, (name, arguments))| {
            json!({
                "id": id(place), "type": "function",
                "function": {"name": name, "arguments": arguments},
            })
        })
        .collect();
    let mut message = json!({"role": "assistant", "content": null, "refusal": null});
    if !text.is_empty() {
        message["content"] = text.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({
        "id": format!("chatcmpl-{number}"), "object": "chat.completion", "created": 1_700_000_000,
        "model": "test", "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    })
}
