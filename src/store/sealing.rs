//! Encryption of personal text before it is hashed or written (ADR 0004).
//!
//! XChaCha20-Poly1305 with a random nonce. The associated data names the place of the text, so a
//! ciphertext moved to another event, field or stream does not open.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use helix_aggregates::sealed::{OPEN_MARK, SEALED_MARK};
use serde_json::Value;
use uuid::Uuid;
use zeroize::Zeroizing;

use super::StoreError;

const NONCE: usize = 24;

/// An unwrapped data key. Zeroed when dropped, never shown.
pub struct DataKey {
    id: Uuid,
    cipher: XChaCha20Poly1305,
}

impl std::fmt::Debug for DataKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DataKey({})", self.id)
    }
}

impl DataKey {
    pub fn new(id: Uuid, key: &Zeroizing<[u8; 32]>) -> Self {
        Self {
            id,
            cipher: XChaCha20Poly1305::new((&**key).into()),
        }
    }

    pub fn id(&self) -> Uuid {
        self.id
    }

    /// Encrypts `plain` for one place; the result starts with its nonce.
    pub fn seal(&self, place: &str, plain: &[u8]) -> Result<Vec<u8>, StoreError> {
        seal_with(&self.cipher, &self.aad(place), plain)
    }

    /// Opens what [`Self::seal`] made for the same place.
    pub fn open(&self, place: &str, sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        open_with(&self.cipher, &self.aad(place), sealed)
    }

    fn aad(&self, place: &str) -> Vec<u8> {
        let mut aad = self.id.as_bytes().to_vec();
        aad.extend_from_slice(place.as_bytes());
        aad
    }
}

pub(super) fn seal_with(
    cipher: &XChaCha20Poly1305,
    aad: &[u8],
    plain: &[u8],
) -> Result<Vec<u8>, StoreError> {
    let mut nonce = [0; NONCE];
    getrandom::fill(&mut nonce).map_err(|_| StoreError::Damaged("no randomness".to_owned()))?;
    let sealed = cipher
        .encrypt(XNonce::from_slice(&nonce), Payload { msg: plain, aad })
        .map_err(|_| StoreError::Damaged("text could not be sealed".to_owned()))?;
    Ok([&nonce[..], &sealed].concat())
}

pub(super) fn open_with(
    cipher: &XChaCha20Poly1305,
    aad: &[u8],
    sealed: &[u8],
) -> Result<Vec<u8>, StoreError> {
    let damaged = || StoreError::Damaged("sealed text does not open".to_owned());
    let (nonce, text) = sealed.split_at_checked(NONCE).ok_or_else(damaged)?;
    cipher
        .decrypt(XNonce::from_slice(nonce), Payload { msg: text, aad })
        .map_err(|_| damaged())
}

/// Replaces every open mark of an event by its ciphertext.
pub fn seal_marks(
    value: &mut Value,
    key: &DataKey,
    stream: Uuid,
    seq: u64,
) -> Result<(), StoreError> {
    walk(value, &mut place(stream, seq), &mut |mark, path| {
        let Mark::Open(plain) = mark else {
            return Ok(None);
        };
        let bytes =
            serde_json::to_vec(plain).map_err(|error| StoreError::Damaged(error.to_string()))?;
        let sealed = URL_SAFE_NO_PAD.encode(key.seal(path, &bytes)?);
        Ok(Some(marked(SEALED_MARK, Value::String(sealed))))
    })
}

/// Puts the plain text back where `key` opens it; without a key the ciphertext stays.
pub fn open_marks(
    value: &mut Value,
    key: Option<&DataKey>,
    stream: Uuid,
    seq: u64,
) -> Result<(), StoreError> {
    let Some(key) = key else { return Ok(()) };
    walk(value, &mut place(stream, seq), &mut |mark, path| {
        let Mark::Sealed(text) = mark else {
            return Ok(None);
        };
        let sealed = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|_| StoreError::Damaged("sealed text is not base64url".to_owned()))?;
        let plain = serde_json::from_slice(&key.open(path, &sealed)?)
            .map_err(|error| StoreError::Damaged(error.to_string()))?;
        Ok(Some(marked(OPEN_MARK, plain)))
    })
}

/// Where an event's texts are; the path within its payload follows.
pub(super) fn place(stream: Uuid, seq: u64) -> String {
    format!("{stream}/{seq}")
}

fn marked(mark: &str, value: Value) -> Value {
    Value::Object(std::iter::once((mark.to_owned(), value)).collect())
}

enum Mark<'a> {
    Open(&'a Value),
    Sealed(&'a str),
}

fn mark_of(value: &Value) -> Option<Mark<'_>> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    if let Some(plain) = object.get(OPEN_MARK) {
        return Some(Mark::Open(plain));
    }
    object.get(SEALED_MARK)?.as_str().map(Mark::Sealed)
}

/// Visits every mark with its path; what is inside a mark is never entered.
fn walk(
    value: &mut Value,
    path: &mut String,
    visit: &mut impl FnMut(Mark<'_>, &str) -> Result<Option<Value>, StoreError>,
) -> Result<(), StoreError> {
    if let Some(mark) = mark_of(value) {
        if let Some(changed) = visit(mark, path)? {
            *value = changed;
        }
        return Ok(());
    }
    let length = path.len();
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                path.push('/');
                path.push_str(&index.to_string());
                walk(item, path, visit)?;
                path.truncate(length);
            }
        }
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                path.push('/');
                path.push_str(name);
                walk(member, path, visit)?;
                path.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn key(byte: u8) -> DataKey {
        DataKey::new(
            Uuid::from_u128(u128::from(byte)),
            &Zeroizing::new([byte; 32]),
        )
    }

    fn event() -> Value {
        json!({"public": {"version": 1, "reason": {"$open": "canary"}},
               "state": {"list": [{"$open": ["canary", {"$open": "x"}]}, 2]}})
    }

    #[test]
    fn sealed_text_opens_only_with_its_key_in_its_place() {
        let stream = Uuid::from_u128(7);
        let mut sealed = event();
        seal_marks(&mut sealed, &key(1), stream, 3).unwrap();
        assert!(!sealed.to_string().contains("canary"));

        let mut opened = sealed.clone();
        open_marks(&mut opened, Some(&key(1)), stream, 3).unwrap();
        assert_eq!(opened, event());

        assert!(open_marks(&mut sealed.clone(), Some(&key(2)), stream, 3).is_err());
        assert!(open_marks(&mut sealed.clone(), Some(&key(1)), stream, 4).is_err());
        assert!(open_marks(&mut sealed.clone(), Some(&key(1)), Uuid::from_u128(8), 3).is_err());
        let mut closed = sealed.clone();
        open_marks(&mut closed, None, stream, 3).unwrap();
        assert_eq!(closed, sealed);
    }

    #[test]
    fn a_ciphertext_moved_to_another_field_does_not_open() {
        let stream = Uuid::from_u128(7);
        let mut value = json!({"a": {"$open": "one"}, "b": {"$open": "two"}});
        seal_marks(&mut value, &key(1), stream, 1).unwrap();
        let (a, b) = (value["a"].clone(), value["b"].clone());
        let mut swapped = json!({"a": b, "b": a});
        assert!(open_marks(&mut swapped, Some(&key(1)), stream, 1).is_err());
    }
}
