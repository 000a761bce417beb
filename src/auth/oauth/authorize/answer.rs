//! The URL that carries an answer back to a client (RFC 6749 4.1.2, RFC 9207).

use std::fmt;

use super::AuthorizeError;
use crate::auth::oauth::redirect::Redirect;

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// What the client is told.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    pub outcome: Outcome<'a>,
    /// As the client sent it.
    pub state: Option<&'a str>,
    /// Byte for byte the `issuer` of the metadata.
    pub issuer: &'a str,
}

#[derive(Clone, Copy)]
pub enum Outcome<'a> {
    Code(&'a str),
    Error(AuthorizeError),
}

/// A code is a credential.
impl fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").finish_non_exhaustive()
    }
}

impl fmt::Debug for Outcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(_) => f.write_str("Code"),
            Self::Error(error) => f.debug_tuple("Error").field(error).finish(),
        }
    }
}

/// The redirect with the answer's parameters behind those it already has.
pub fn answer_url(redirect: &Redirect, answer: &Answer<'_>) -> String {
    let mut url = redirect.as_str().to_owned();
    match answer.outcome {
        Outcome::Code(code) => append(&mut url, "code", code),
        Outcome::Error(error) => {
            append(&mut url, "error", error.code().as_str());
            append(&mut url, "error_description", &error.to_string());
        }
    }
    if let Some(state) = answer.state {
        append(&mut url, "state", state);
    }
    append(&mut url, "iss", answer.issuer);
    url
}

fn append(url: &mut String, name: &str, value: &str) {
    if !url.contains('?') {
        url.push('?');
    } else if !url.ends_with(['?', '&']) {
        url.push('&');
    }
    url.push_str(name);
    url.push('=');
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            url.push(char::from(byte));
        } else {
            let digits = [byte >> 4, byte & 0xf].map(|digit| char::from(HEX[usize::from(digit)]));
            url.push('%');
            url.extend(digits);
        }
    }
}
