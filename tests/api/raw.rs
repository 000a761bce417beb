//! Requests no client library would send, byte for byte over a socket.

use helix::testing::TestApp;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What came back, as far as it could be read.
#[derive(Debug)]
pub struct RawAnswer {
    pub status: u16,
    /// Names in lower case.
    pub head: String,
    pub body: String,
}

impl RawAnswer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines();
        let mut fields = lines.filter_map(|line| line.split_once(": "));
        fields
            .find(|(field, _)| *field == name)
            .map(|(_, value)| value)
    }
}

pub async fn connect(app: &TestApp) -> TcpStream {
    connect_to(&app.url("")).await
}

pub async fn connect_to(url: &str) -> TcpStream {
    let address = url.strip_prefix("http://").expect("plain HTTP");
    TcpStream::connect(address).await.expect("a listener")
}

/// Sends `head` (lines without their ends) and `body`, and reads one answer.
pub async fn send(app: &TestApp, head: &[&str], body: &[u8]) -> RawAnswer {
    let mut stream = connect(app).await;
    let head = format!("{}\r\nconnection: close\r\n\r\n", head.join("\r\n"));
    stream.write_all(head.as_bytes()).await.expect("sent");
    // The server may answer and close before it has read everything.
    drop(stream.write_all(body).await);
    answer(&mut stream).await
}

/// Reads one answer up to its declared length or the end of the connection.
pub async fn answer(stream: &mut (impl AsyncRead + Unpin)) -> RawAnswer {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .and_then(|length| length.parse::<usize>().ok());
            if length.is_some_and(|length| body.len() >= length) {
                return parsed(&head, body);
            }
        }
        match stream.read_buf(&mut bytes).await {
            Ok(read) if read > 0 => {}
            _ => {
                let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
                return parsed(&head.to_ascii_lowercase(), body);
            }
        }
    }
}

/// Sends these bytes on a connection of its own and reads every answer, until the server closes.
pub async fn exchange(app: &TestApp, bytes: impl AsRef<[u8]>) -> Vec<RawAnswer> {
    let mut stream = connect(app).await;
    stream.write_all(bytes.as_ref()).await.expect("sent");
    to_end(&mut stream).await
}

/// Reads every answer, until the server closes.
pub async fn to_end(stream: &mut (impl AsyncRead + Unpin)) -> Vec<RawAnswer> {
    let mut text = String::new();
    stream
        .read_to_string(&mut text)
        .await
        .expect("an orderly end");
    let mut answers = Vec::new();
    let mut rest = text.as_str();
    while let Some((head, after)) = rest.split_once("\r\n\r\n") {
        let head = head.to_ascii_lowercase();
        let length = parsed(&head, "").header("content-length").map(str::parse);
        let (body, after) = after.split_at(length.expect("a length").expect("a number"));
        answers.push(parsed(&head, body));
        rest = after;
    }
    assert_eq!(rest, "", "after the last answer");
    answers
}

fn parsed(head: &str, body: &str) -> RawAnswer {
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    RawAnswer {
        status: status.unwrap_or(0),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}
