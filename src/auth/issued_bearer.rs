//! A bearer that this server issued: form and checksum, then a hash.
//!
//! What must stay true: each door takes its own kind alone, and a text with a bad checksum never
//! reaches the database (`access` 1.1). Deliberately absent: whether it was issued; the ledger knows.

use crate::app::redaction::issued_token::{self, hash};

/// Why no credential was presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IssuedBearerError {
    #[error("more than one Authorization header")]
    TwoAuthorizationHeaders,
    #[error("no credential of this door")]
    Unauthorized,
}

/// The hash of the one token of `kind` in the `Authorization` headers of a request.
pub fn presented(kind: &str, authorization: &[&[u8]]) -> Result<[u8; 32], IssuedBearerError> {
    let header = match authorization {
        [] => return Err(IssuedBearerError::Unauthorized),
        [header] => std::str::from_utf8(header).map_err(|_| IssuedBearerError::Unauthorized)?,
        [_, _, ..] => return Err(IssuedBearerError::TwoAuthorizationHeaders),
    };
    let (scheme, token) = header
        .split_once(' ')
        .ok_or(IssuedBearerError::Unauthorized)?;
    if scheme.eq_ignore_ascii_case("bearer") && issued_token::is_spelled(token, kind) {
        Ok(hash(token))
    } else {
        Err(IssuedBearerError::Unauthorized)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_well_formed_token_of_the_kind_is_taken() {
        let token = issued_token::spell("wk", &[7; 32]);
        let read = |headers: &[String]| {
            let headers: Vec<&[u8]> = headers.iter().map(String::as_bytes).collect();
            presented("wk", &headers)
        };
        assert_eq!(read(&[format!("Bearer {token}")]), Ok(hash(&token)));
        assert_eq!(read(&[format!("bEARER {token}")]), Ok(hash(&token)));
        let other = issued_token::spell("nt", &[7; 32]);
        for header in [
            String::new(),
            token.clone(),
            format!("Bearer  {token}"),
            format!("Bearer {token} "),
            format!("Bearer {token},{token}"),
            format!("Basic {token}"),
            format!("Bearer {other}"),
            format!("Bearer {}x", &token[..token.len() - 1]),
        ] {
            assert_eq!(
                read(std::slice::from_ref(&header)),
                Err(IssuedBearerError::Unauthorized),
                "{header}"
            );
        }
        assert_eq!(read(&[]), Err(IssuedBearerError::Unauthorized));
        let twice = format!("Bearer {token}");
        assert_eq!(
            read(&[twice.clone(), twice]),
            Err(IssuedBearerError::TwoAuthorizationHeaders)
        );
    }
}
