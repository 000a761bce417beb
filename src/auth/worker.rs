//! The bearer of an external worker: form and checksum, then a hash.
//!
//! What must stay true: only this credential opens the worker routes, and a text with a bad checksum
//! never reaches the database (`access` 1.1). Deliberately absent: whether it was issued; the
//! ledger knows.

use crate::app::access::worker_tokens::{KIND, hash};
use crate::app::redaction::issued_token;

/// Why no worker token was presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WorkerBearerError {
    #[error("more than one Authorization header")]
    TwoAuthorizationHeaders,
    #[error("no worker token")]
    Unauthorized,
}

/// The hash of the one token in the `Authorization` headers of a request.
pub fn presented(authorization: &[&[u8]]) -> Result<[u8; 32], WorkerBearerError> {
    let header = match authorization {
        [] => return Err(WorkerBearerError::Unauthorized),
        [header] => std::str::from_utf8(header).map_err(|_| WorkerBearerError::Unauthorized)?,
        [_, _, ..] => return Err(WorkerBearerError::TwoAuthorizationHeaders),
    };
    let (scheme, token) = header
        .split_once(' ')
        .ok_or(WorkerBearerError::Unauthorized)?;
    if scheme.eq_ignore_ascii_case("bearer") && issued_token::is_spelled(token, KIND) {
        Ok(hash(token))
    } else {
        Err(WorkerBearerError::Unauthorized)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_well_formed_worker_token_is_taken() {
        let token = issued_token::spell(KIND, &[7; 32]);
        let read = |headers: &[String]| {
            let headers: Vec<&[u8]> = headers.iter().map(String::as_bytes).collect();
            presented(&headers)
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
                Err(WorkerBearerError::Unauthorized),
                "{header}"
            );
        }
        assert_eq!(read(&[]), Err(WorkerBearerError::Unauthorized));
        let twice = format!("Bearer {token}");
        assert_eq!(
            read(&[twice.clone(), twice]),
            Err(WorkerBearerError::TwoAuthorizationHeaders)
        );
    }
}
