//! What a head says of the bytes that follow it, once its lines are known to be lines.
//!
//! Every rule here is at least as strict as actix-http's: whatever passes is read by it the same
//! way, so that it never refuses a head, and never finds another end of a body.

use actix_web::http::{Method, Uri};

use super::fault::Fault;
use super::surplus;

/// How far a request reaches, and whether another may follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub body: Body,
    pub then: Then,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    None,
    /// So many bytes, at least one.
    Counted(u64),
    Chunked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    Another,
    /// The connection ends with this request; what still comes is no request.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V10,
    V11,
}

/// What the fields say that framing needs.
#[derive(Debug, Default)]
struct Fields<'h> {
    hosts: usize,
    lengths: Vec<&'h [u8]>,
    codings: Vec<&'h [u8]>,
    connections: Vec<&'h [u8]>,
    /// Such as actix-http reads too.
    read_below: usize,
}

/// Reads a whole head, its empty line included, that passed [`super::lines::Lines`].
pub fn read(head: &[u8]) -> Result<Extent, Fault> {
    let mut lines = head.split(|byte| *byte == b'\n').map(without_cr);
    let request = lines.next().unwrap_or_default();
    let (method, version) = request_line(request)?;
    let mut fields = Fields::default();
    for line in lines.filter(|line| !line.is_empty()) {
        fields.note(line)?;
    }
    if fields.read_below > surplus::STAYING {
        return Err(Fault::TooManyFields);
    }
    if fields.hosts > 1 || (fields.hosts == 0 && version == Version::V11) {
        return Err(Fault::Host);
    }
    let body = fields.body(version)?;
    if version == Version::V10 && method == b"POST" && fields.lengths.is_empty() {
        return Err(Fault::Length);
    }
    Ok(Extent {
        body,
        then: fields.then(version),
    })
}

fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Method and version of a request line whose target is one that this server can be asked for.
fn request_line(line: &[u8]) -> Result<(&[u8], Version), Fault> {
    let text = std::str::from_utf8(line).map_err(|_| Fault::RequestLine)?;
    let mut parts = text.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(Fault::RequestLine);
    };
    let version = match version {
        "HTTP/1.1" => Version::V11,
        "HTTP/1.0" => Version::V10,
        _ => return Err(Fault::RequestLine),
    };
    match Method::from_bytes(method.as_bytes()) {
        Ok(Method::CONNECT) => return Err(Fault::Protocol),
        Ok(_) => {}
        Err(_) => return Err(Fault::RequestLine),
    }
    let known =
        target.starts_with('/') || is_absolute(target) || (target == "*" && method == "OPTIONS");
    if !known || target.contains('#') || Uri::try_from(target).is_err() {
        return Err(Fault::RequestLine);
    }
    Ok((method.as_bytes(), version))
}

fn is_absolute(target: &str) -> bool {
    target.split_once("://").is_some_and(|(scheme, _)| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    })
}

impl<'h> Fields<'h> {
    fn note(&mut self, line: &'h [u8]) -> Result<(), Fault> {
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.ok_or(Fault::FieldLine)?);
        let value = value[1..].trim_ascii();
        self.read_below += usize::from(surplus::is_read_below(name));
        if name.eq_ignore_ascii_case(b"host") {
            self.hosts += 1;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            self.lengths.push(value);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.codings.push(value);
        } else if name.eq_ignore_ascii_case(b"connection") {
            self.connections.push(value);
        } else if name.eq_ignore_ascii_case(b"upgrade") && holds(value, b"websocket") {
            // To actix-http everything after such a head is the request's body.
            return Err(Fault::Protocol);
        } else if name.eq_ignore_ascii_case(surplus::NAME.as_bytes()) {
            return Err(Fault::FieldLine);
        }
        Ok(())
    }

    fn body(&self, version: Version) -> Result<Body, Fault> {
        match (&self.lengths[..], &self.codings[..]) {
            ([], []) => Ok(Body::None),
            ([length], []) => Ok(match decimal(length)? {
                0 => Body::None,
                length => Body::Counted(length),
            }),
            ([], [coding])
                if version == Version::V11 && coding.eq_ignore_ascii_case(b"chunked") =>
            {
                Ok(Body::Chunked)
            }
            (_, []) => Err(Fault::Length),
            _ => Err(Fault::Coding),
        }
    }

    fn then(&self, version: Version) -> Then {
        // A value that is not ASCII says nothing to actix-http, and it is it that closes.
        let said = |word: &[u8]| {
            let mut values = self.connections.iter().filter(|value| value.is_ascii());
            values.any(|value| holds(value, word))
        };
        if said(b"close") || (version == Version::V10 && !said(b"keep-alive")) {
            Then::Nothing
        } else {
            Then::Another
        }
    }
}

/// Whether a comma-separated list holds a word.
fn holds(list: &[u8], word: &[u8]) -> bool {
    list.split(|byte| *byte == b',')
        .any(|item| item.trim_ascii().eq_ignore_ascii_case(word))
}

fn decimal(text: &[u8]) -> Result<u64, Fault> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return Err(Fault::Length);
    }
    let text = std::str::from_utf8(text).map_err(|_| Fault::Length)?;
    text.parse().map_err(|_| Fault::Length)
}
