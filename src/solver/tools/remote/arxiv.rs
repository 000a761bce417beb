//! arXiv: papers by query, in Atom.
//!
//! The reader knows the entities of XML itself and no others: a document that declares any is
//! refused before one could be used.

use std::time::Duration;

use quick_xml::Reader;
use quick_xml::events::{BytesRef, Event};
use reqwest::Url;

use super::fetch::{Request, off_thread};
use super::papers::{ABSTRACT, AUTHORS, Answer, Paper, Raw};
use super::{RemoteError, Remotes, Upstream, clean, endpoint};
use crate::solver::corpora::words;

const BYTES: usize = 4 << 20;
/// Elements open at a time.
const DEPTH: usize = 32;
/// Bytes of the text of one element.
const TEXT: usize = 64 << 10;
/// Words of one query.
const WORDS: usize = 12;

impl Remotes {
    pub(super) async fn arxiv(&self, query: &str, limit: usize, patience: Duration) -> Answer {
        let base = self.config.arxiv.as_ref()?;
        let (terms, most) = (terms(query), limit.to_string());
        if terms.is_empty() {
            return Some(Ok(Vec::new()));
        }
        let asked = [
            ("search_query", terms.as_str()),
            ("start", "0"),
            ("max_results", &most),
        ];
        let request = Request {
            upstream: Upstream::Arxiv,
            url: endpoint(base, "/api/query", &asked),
            accept: "application/atom+xml",
            bytes: BYTES,
            patience,
        };
        Some(match self.fetcher.get(request).await {
            Ok(page) if !page.media_type.ends_with("xml") => Err(RemoteError::WrongType),
            Ok(page) => {
                let base = base.clone();
                off_thread(move || entries(&page.body, &base, limit)).await
            }
            Err(error) => Err(error),
        })
    }
}

/// Any of the words may occur; the server ranks by how many do.
fn terms(query: &str) -> String {
    let kept = words::words(query).filter(|word| !words::is_stop(word.text));
    let terms: Vec<String> = kept
        .take(WORDS)
        .map(|word| format!("all:{}", word.text))
        .collect();
    terms.join(" OR ")
}

/// What is read of the entry that is open.
#[derive(Default)]
struct Entry {
    raw: Raw,
    id: String,
}

fn entries(body: &[u8], base: &Url, limit: usize) -> Result<Vec<Paper>, RemoteError> {
    let text = std::str::from_utf8(body).map_err(|_| RemoteError::Malformed)?;
    let mut reader = Reader::from_str(text);
    let mut open: Vec<String> = Vec::new();
    let mut said = String::new();
    let mut entry: Option<Entry> = None;
    let mut papers = Vec::new();
    loop {
        match reader.read_event().map_err(|_| RemoteError::Malformed)? {
            Event::Start(start) => {
                let name = start.local_name().into_inner().to_owned();
                if open.len() == DEPTH {
                    return Err(RemoteError::Malformed);
                }
                if name == "entry" && open.len() == 1 {
                    entry = Some(Entry::default());
                }
                said.clear();
                open.push(name);
            }
            Event::End(_) => {
                let name = open.pop().ok_or(RemoteError::Malformed)?;
                if let Some(known) = &mut entry {
                    known.take(&name, open.last().map(String::as_str), &said);
                }
                if name == "entry" && open.len() == 1 && papers.len() < limit {
                    papers.extend(entry.take().and_then(|entry| entry.paper(base)));
                }
                said.clear();
            }
            Event::Text(part) => push(&mut said, &part.xml10_content()),
            Event::CData(part) => push(&mut said, &part.xml10_content()),
            Event::GeneralRef(named) => push(&mut said, &character(&named)?.to_string()),
            Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof if open.is_empty() => return Ok(papers),
            Event::DocType(_) | Event::Eof => return Err(RemoteError::Malformed),
        }
    }
}

fn push(said: &mut String, part: &str) {
    if said.len() + part.len() <= TEXT {
        said.push_str(part);
    }
}

fn character(named: &BytesRef) -> Result<char, RemoteError> {
    let numbered = named
        .resolve_char_ref()
        .map_err(|_| RemoteError::Malformed)?;
    let named = || match named.as_ref() {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    };
    numbered.or_else(named).ok_or(RemoteError::Malformed)
}

impl Entry {
    fn take(&mut self, name: &str, within: Option<&str>, said: &str) {
        match (within, name) {
            (Some("entry"), "id") => said.trim().clone_into(&mut self.id),
            (Some("entry"), "title") => self.raw.title = Some(said.to_owned()),
            (Some("entry"), "summary") => {
                // One paragraph, whose lines are broken anywhere.
                let joined = said.split_whitespace().collect::<Vec<_>>().join(" ");
                self.raw.abstract_text = Some(clean::prose(&joined, ABSTRACT));
            }
            (Some("entry"), "published") => {
                self.raw.year = said.trim().get(..4).and_then(|year| year.parse().ok());
            }
            (Some("entry"), "doi") => self.raw.doi = Some(said.to_owned()),
            (Some("author"), "name") if self.raw.authors.len() < AUTHORS => {
                self.raw.authors.push(said.to_owned());
            }
            _ => {}
        }
    }

    /// The text is fetched from the server that was asked, whatever address the entry names. An
    /// entry that is no paper, such as a report of an error, is none.
    fn paper(mut self, base: &Url) -> Option<Paper> {
        let (_, number) = self.id.rsplit_once("/abs/")?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"./-".contains(&byte);
        let sound = number.len() <= 64 && number.bytes().all(plain) && !number.contains("..");
        self.raw.full_text =
            sound.then(|| endpoint(base, &format!("/pdf/{number}"), &[]).to_string());
        self.raw.address = Some(self.id);
        self.raw.cleaned()
    }
}
