//! How a client presents itself at `/token` and `/introspect` (RFC 6749 2.3; `vault` 3.4).
//!
//! Three ways, never two at once: a header and a secret in the body, or a header and another client
//! in the body, are refused with 400, as RFC 6749 5.2 says of more than one mechanism. The same
//! `client_id` in the body beside the header is no second way, since it proves nothing; libraries
//! send it.
//!
//! What stays true: a header that is there is judged, never passed over in favour of the body.
//! Deliberately absent: whether the client exists, and whether the way is the one it registered.

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;

use super::parameters::Parameters;
use super::registration::AuthMethod;
use super::token_error::{ClientVia, TokenError};

const CLIENT_ID: &str = "client_id";
const CLIENT_SECRET: &str = "client_secret";

/// What a client presents.
#[derive(Debug, Clone)]
pub struct ClientCredentials {
    pub client_id: String,
    pub proof: Proof,
}

#[derive(Debug, Clone)]
pub enum Proof {
    None,
    Basic(SecretString),
    Post(SecretString),
}

impl ClientCredentials {
    /// Reads the credentials from the body's parameters and every value of `Authorization`.
    pub fn read(parameters: &mut Parameters, headers: &[&[u8]]) -> Result<Self, TokenError> {
        let id = parameters.take(CLIENT_ID);
        let secret = parameters.take(CLIENT_SECRET);
        let header = match headers {
            [] => return Self::of_body(id, secret),
            [header] => *header,
            [_, _, ..] => return Err(TokenError::TwoAuthorizationHeaders),
        };
        let (client_id, basic) = basic(header).ok_or(TokenError::Client(ClientVia::Header))?;
        if secret.is_some() || id.is_some_and(|id| id != client_id) {
            return Err(TokenError::TwoAuthentications);
        }
        let proof = Proof::Basic(basic.into());
        Ok(Self { client_id, proof })
    }

    fn of_body(id: Option<String>, secret: Option<String>) -> Result<Self, TokenError> {
        let client_id = id.ok_or(TokenError::Client(ClientVia::Body))?;
        let proof = secret.map_or(Proof::None, |secret| Proof::Post(secret.into()));
        Ok(Self { client_id, proof })
    }

    pub fn method(&self) -> AuthMethod {
        match self.proof {
            Proof::None => AuthMethod::None,
            Proof::Basic(_) => AuthMethod::SecretBasic,
            Proof::Post(_) => AuthMethod::SecretPost,
        }
    }

    /// The refusal when these credentials turn out to be nobody's.
    pub fn refusal(&self) -> TokenError {
        TokenError::Client(match self.proof {
            Proof::Basic(_) => ClientVia::Header,
            Proof::None | Proof::Post(_) => ClientVia::Body,
        })
    }
}

/// Id and secret of `Basic base64(id ":" secret)`, each form-encoded (RFC 6749 2.3.1).
fn basic(header: &[u8]) -> Option<(String, String)> {
    let (scheme, encoded) = std::str::from_utf8(header).ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    let (id, secret) = pair.split_once(':')?;
    let id = form_decoded(id)?;
    (!id.is_empty()).then_some((id, form_decoded(secret)?))
}

/// Decodes `+` and percent escapes; none when an escape is broken or the bytes are no text.
fn form_decoded(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut decoded = spaced(pieces.next()?);
    for piece in pieces {
        let (hex, plain) = piece.split_at_checked(2)?;
        if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        decoded.push(u8::from_str_radix(hex, 16).ok()?);
        decoded.extend(spaced(plain));
    }
    String::from_utf8(decoded).ok()
}

fn spaced(text: &str) -> Vec<u8> {
    text.replace('+', " ").into_bytes()
}
