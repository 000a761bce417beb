//! A server of somebody else, on a socket: answers as it is told, and remembers what it was asked.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub mod formats;

/// What is answered to one request.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub content_type: &'static str,
    pub location: Option<String>,
    pub body: Vec<u8>,
    pub manner: Manner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Prompt,
    /// The request is taken and never answered.
    Silent,
    /// The body is promised to be longer than anybody reads, and never stops.
    Endless,
    /// The connection is closed in the middle of the body.
    Broken,
}

impl Reply {
    pub fn of(content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            content_type,
            location: None,
            body: body.into(),
            manner: Manner::Prompt,
        }
    }

    pub fn json(body: &serde_json::Value) -> Self {
        Self::of("application/json", body.to_string())
    }

    pub fn atom(body: impl Into<Vec<u8>>) -> Self {
        Self::of("application/atom+xml; charset=utf-8", body)
    }

    pub fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::of("text/plain", "no")
        }
    }

    pub fn redirect(location: impl Into<String>) -> Self {
        Self {
            status: 302,
            location: Some(location.into()),
            ..Self::of("text/plain", "")
        }
    }

    #[must_use]
    pub fn in_manner(mut self, manner: Manner) -> Self {
        self.manner = manner;
        self
    }
}

type Answers = dyn Fn(&str) -> Reply + Send + Sync;

/// A running server; it ends with the test's runtime.
#[derive(Clone)]
pub struct Upstream {
    /// `http://127.0.0.1:<port>`.
    pub base: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

impl Upstream {
    /// Answers each path with its query, as it stands in the request line.
    pub async fn start(answers: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let upstream = Self {
            base: format!("http://{}", listener.local_addr().unwrap()),
            heads: Arc::default(),
        };
        let (answers, heads) = (Arc::new(answers), Arc::clone(&upstream.heads));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let answers: Arc<Answers> = Arc::clone(&answers) as Arc<Answers>;
                tokio::spawn(serve(stream, answers, Arc::clone(&heads)));
            }
        });
        upstream
    }

    /// The heads of all requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.heads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The paths with their queries of all requests so far.
    pub fn asked(&self) -> Vec<String> {
        let heads = self.heads();
        let path = |head: &String| head.split(' ').nth(1).unwrap_or_default().to_owned();
        heads.iter().map(path).collect()
    }
}

async fn serve(mut stream: TcpStream, answers: Arc<Answers>, heads: Arc<Mutex<Vec<String>>>) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let head = String::from_utf8_lossy(&request).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    heads
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(head);
    let reply = answers(&path);
    if reply.manner == Manner::Silent {
        // Until the client hangs up.
        drop(stream.read_buf(&mut request).await);
        return;
    }
    // A client that has read enough closes the connection; that is no fault of the test.
    drop(write(&mut stream, &reply).await);
}

async fn write(stream: &mut TcpStream, reply: &Reply) -> std::io::Result<()> {
    let location = reply.location.as_ref();
    let location = location.map_or_else(String::new, |to| format!("location: {to}\r\n"));
    let length = match reply.manner {
        Manner::Endless => 1 << 40,
        Manner::Broken => reply.body.len() + 1000,
        Manner::Prompt | Manner::Silent => reply.body.len(),
    };
    let head = format!(
        "HTTP/1.1 {} X\r\ncontent-type: {}\r\ncontent-length: {length}\r\n{location}connection: close\r\n\r\n",
        reply.status, reply.content_type,
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&reply.body).await?;
    if reply.manner == Manner::Endless {
        let more = vec![b' '; 64 << 10];
        loop {
            stream.write_all(&more).await?;
        }
    }
    stream.shutdown().await
}
