//! The outer form: the header value, the three parts of the token, the JOSE header.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::{BearerError, MAX_TOKEN_BYTES};
use crate::auth::jwks::is_key_id;
use crate::strict_json;

/// Members that let a token choose its own key or demand extensions (access 4.2).
const REFUSED_MEMBERS: [&str; 4] = ["crit", "jku", "x5u", "jwk"];

/// A token taken apart; nothing is verified yet.
pub(super) struct Compact<'a> {
    pub header: JoseHeader,
    pub signed: &'a str,
    pub payload: Vec<u8>,
    pub signature: &'a str,
}

/// The members of the JOSE header that matter.
pub(super) struct JoseHeader {
    pub algorithm: String,
    pub kid: Option<String>,
    pub token_type: Option<String>,
}

const SCHEME: &[u8] = b"Bearer ";

/// The token of the only `Authorization` value: `Bearer` in any case, one space, visible ASCII
/// without a space (access 1.2, which replaces agent-api 11.2 here).
pub(super) fn bearer<'a>(values: &[&'a [u8]]) -> Result<&'a str, BearerError> {
    let value = match values {
        [] => return Err(BearerError::Unauthorized),
        [value] => *value,
        _ => return Err(BearerError::TwoAuthorizationHeaders),
    };
    value
        .split_at_checked(SCHEME.len())
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case(SCHEME))
        .map(|(_, token)| token)
        .filter(|token| (1..=MAX_TOKEN_BYTES).contains(&token.len()))
        .filter(|token| token.iter().all(u8::is_ascii_graphic))
        .and_then(|token| std::str::from_utf8(token).ok())
        .ok_or(BearerError::Unauthorized)
}

impl<'a> Compact<'a> {
    pub(super) fn parse(token: &'a str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        // A fourth part would leave a dot in the payload, which base64url has not.
        let (header, payload) = signed.split_once('.')?;
        Some(Self {
            header: JoseHeader::read(&URL_SAFE_NO_PAD.decode(header).ok()?)?,
            signed,
            payload: URL_SAFE_NO_PAD.decode(payload).ok()?,
            signature,
        })
    }
}

impl JoseHeader {
    fn read(bytes: &[u8]) -> Option<Self> {
        let document = strict_json::read(bytes).ok()?;
        let members = document.as_object()?;
        if REFUSED_MEMBERS
            .iter()
            .any(|name| members.contains_key(*name))
        {
            return None;
        }
        let kid = optional_text(members, "kid").ok()?;
        if kid.as_deref().is_some_and(|kid| !is_key_id(kid)) {
            return None;
        }
        Some(Self {
            algorithm: members.get("alg")?.as_str()?.to_owned(),
            kid,
            token_type: optional_text(members, "typ").ok()?,
        })
    }
}

/// The text of a member, if there is one; it must be a text.
fn optional_text(members: &Map<String, Value>, name: &str) -> Result<Option<String>, BearerError> {
    match members.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(BearerError::Unauthorized),
    }
}
