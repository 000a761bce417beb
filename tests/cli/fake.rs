//! A server on a real socket that answers as a test says, one request a connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// One request as it arrived.
#[derive(Debug, Clone)]
pub struct Request {
    pub target: String,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// How many requests came before this one.
    pub number: usize,
}

impl Request {
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// What a test answers.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    kind: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    missing: usize,
}

impl Reply {
    pub fn new(status: u16, kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            kind,
            headers: Vec::new(),
            body: body.into(),
            missing: 0,
        }
    }

    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The connection is lost this many bytes before the promised end.
    pub fn lost(mut self, bytes: usize) -> Self {
        self.missing = bytes;
        self
    }
}

/// A running server; it ends with the test process.
pub struct Fake {
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Fake {
    pub fn start(answer: impl Fn(&Request) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let number = seen.lock().unwrap().len();
                let Some(request) = read(&stream, number) else {
                    continue;
                };
                seen.lock().unwrap().push(request.clone());
                write(&mut stream, &answer(&request));
            }
        });
        Self { url, requests }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream, number: usize) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let target = lines.first()?.split(' ').nth(1)?.to_owned();
    let headers: Vec<(String, String)> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut request = Request {
        target,
        headers,
        body: Vec::new(),
        number,
    };
    let length = request
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    request.body.resize(length, 0);
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

fn write(stream: &mut TcpStream, reply: &Reply) {
    let length = reply.body.len() + reply.missing;
    let mut head = format!(
        "HTTP/1.1 {} X\r\nConnection: close\r\nContent-Type: {}\r\nContent-Length: {length}\r\n",
        reply.status, reply.kind
    );
    for (name, value) in &reply.headers {
        head.extend([*name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    // A client that has gone away is part of what is tested.
    drop(
        stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(&reply.body)),
    );
}
