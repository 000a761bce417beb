//! Opens sealed texts inside canonical JSON without building a tree of it.
//!
//! Understands what the store itself writes: canonical JSON, whose sealed texts are objects of one
//! member. Anything else is left to the tree, so that nothing here has to be tolerant. It must name
//! the place of a text exactly as `sealing` does, or the text does not open.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::store::StoreError;
use crate::store::sealing::DataKey;

const SEALED: &[u8] = b"{\"$sealed\":\"";
const OPEN: &[u8] = b"{\"$open\":";
/// Deeper payloads are left to the tree, which has a bound of its own.
const MAX_DEPTH: usize = 32;

/// Why the scan ended early.
enum Halt {
    /// Not what the store writes.
    Unknown,
    Fault(StoreError),
}

/// Writes `payload` to `out` with every sealed text opened; `false` when it is not understood.
pub fn open_marks(
    payload: &[u8],
    key: &DataKey,
    place: &str,
    out: &mut Vec<u8>,
) -> Result<bool, StoreError> {
    let mut scan = Scan {
        bytes: payload,
        at: 0,
        copied: 0,
        path: place.to_owned(),
        key,
        out,
    };
    match scan.value(0) {
        Ok(()) if scan.at == payload.len() => {
            scan.copy(payload.len());
            Ok(true)
        }
        Ok(()) | Err(Halt::Unknown) => Ok(false),
        Err(Halt::Fault(error)) => Err(error),
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Everything before this is in `out`.
    copied: usize,
    path: String,
    key: &'a DataKey,
    out: &'a mut Vec<u8>,
}

impl Scan<'_> {
    fn value(&mut self, depth: usize) -> Result<(), Halt> {
        if depth > MAX_DEPTH {
            return Err(Halt::Unknown);
        }
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if rest.starts_with(SEALED) {
            return self.sealed();
        }
        match rest.first() {
            // An open text is never stored.
            _ if rest.starts_with(OPEN) => Err(Halt::Unknown),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(drop),
            Some(_) => self.scalar(),
            None => Err(Halt::Unknown),
        }
    }

    /// Replaces one sealed text by its mark and its plain value.
    fn sealed(&mut self) -> Result<(), Halt> {
        let begin = self.at;
        let from = begin + SEALED.len();
        let length = self.bytes[from..].iter().position(|byte| *byte == b'"');
        let until = from + length.ok_or(Halt::Unknown)?;
        if self.bytes.get(until + 1) != Some(&b'}') {
            return Err(Halt::Unknown);
        }
        let sealed = URL_SAFE_NO_PAD
            .decode(&self.bytes[from..until])
            .map_err(|_| Halt::Unknown)?;
        let plain = self.key.open(&self.path, &sealed).map_err(Halt::Fault)?;
        self.copy(begin);
        self.out.extend_from_slice(OPEN);
        self.out.extend_from_slice(&plain);
        self.out.push(b'}');
        self.at = until + 2;
        self.copied = self.at;
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<(), Halt> {
        self.at += 1;
        if self.take(b'}') {
            return Ok(());
        }
        let length = self.path.len();
        loop {
            let name = self.string()?;
            let name = self
                .bytes
                .get(name)
                .and_then(|name| std::str::from_utf8(name).ok());
            let name = name
                .filter(|name| !name.contains('\\'))
                .ok_or(Halt::Unknown)?;
            self.path.push('/');
            self.path.push_str(name);
            self.expect(b':')?;
            self.value(depth + 1)?;
            self.path.truncate(length);
            if self.take(b'}') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), Halt> {
        self.at += 1;
        if self.take(b']') {
            return Ok(());
        }
        let length = self.path.len();
        for index in 0_usize.. {
            self.path.push('/');
            self.path.push_str(&index.to_string());
            self.value(depth + 1)?;
            self.path.truncate(length);
            if self.take(b']') {
                break;
            }
            self.expect(b',')?;
        }
        Ok(())
    }

    /// Passes a string and gives the place of its raw contents.
    fn string(&mut self) -> Result<std::ops::Range<usize>, Halt> {
        self.expect(b'"')?;
        let from = self.at;
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(from..self.at - 1);
                }
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
                None => return Err(Halt::Unknown),
            }
        }
    }

    /// Passes a number or a word. Whether it is one is judged by the reader of the result.
    fn scalar(&mut self) -> Result<(), Halt> {
        let from = self.at;
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        while self.bytes.get(self.at).is_some_and(is_part) {
            self.at += 1;
        }
        if self.at == from {
            return Err(Halt::Unknown);
        }
        Ok(())
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), Halt> {
        if self.take(byte) {
            Ok(())
        } else {
            Err(Halt::Unknown)
        }
    }

    /// Copies what is not copied yet, up to `until`.
    fn copy(&mut self, until: usize) {
        self.out.extend_from_slice(&self.bytes[self.copied..until]);
        self.copied = until;
    }
}

#[cfg(test)]
mod tests {
    use helix_aggregates::canonical;
    use serde_json::{Value, json};
    use uuid::Uuid;
    use zeroize::Zeroizing;

    use super::*;
    use crate::store::sealing;

    const STREAM: Uuid = Uuid::from_u128(7);

    fn key(byte: u8) -> DataKey {
        DataKey::new(Uuid::from_u128(1), &Zeroizing::new([byte; 32]))
    }

    fn sealed(mut value: Value) -> Vec<u8> {
        sealing::seal_marks(&mut value, &key(1), STREAM, 3).unwrap();
        canonical::to_vec(&value)
    }

    fn spliced(payload: &[u8], key: &DataKey) -> Result<Option<Value>, StoreError> {
        let mut out = Vec::new();
        let known = open_marks(payload, key, &sealing::place(STREAM, 3), &mut out)?;
        Ok(known.then(|| serde_json::from_slice(&out).unwrap()))
    }

    #[test]
    fn what_is_opened_in_place_equals_what_the_tree_opens() {
        for value in [
            json!({"public": {"reason": {"$open": "a \"quoted\" \\ text\n"}, "version": 1}, "state": {}}),
            json!({"list": [{"$open": ["x", {"$open": 1}]}, 2, [], [{"a": {"$open": null}}]], "z": {"$open": {}}}),
            json!({"$open": "all of it"}),
            json!({"n": -1.5e-7, "t": true, "u": null, "e": "", "nested": {"a": {"b": {"c": {"$open": "ü"}}}}}),
            json!({"looks": "{\"$sealed\":\"not\"}", "and": {"$open": "{\"$sealed\":\"neither\"}"}}),
        ] {
            let payload = sealed(value.clone());
            let mut tree: Value = serde_json::from_slice(&payload).unwrap();
            sealing::open_marks(&mut tree, Some(&key(1)), STREAM, 3).unwrap();
            assert_eq!(tree, value);
            assert_eq!(spliced(&payload, &key(1)).unwrap(), Some(tree), "{value}");
        }
    }

    #[test]
    fn a_text_of_another_key_or_place_is_a_fault_and_never_left_closed() {
        let payload = sealed(json!({"a": {"$open": "one"}, "b": {"$open": "two"}}));
        assert!(spliced(&payload, &key(2)).is_err());
        let mut swapped: Value = serde_json::from_slice(&payload).unwrap();
        let (a, b) = (swapped["a"].clone(), swapped["b"].clone());
        (swapped["a"], swapped["b"]) = (b, a);
        assert!(spliced(&canonical::to_vec(&swapped), &key(1)).is_err());
    }

    #[test]
    fn what_the_store_does_not_write_is_left_to_the_tree() {
        let deep = "[".repeat(MAX_DEPTH + 2) + &"]".repeat(MAX_DEPTH + 2);
        for payload in [
            r#"{"a": 1}"#,
            r#"{"a":1} "#,
            r#"{"a\u0062":1}"#,
            r#"{"a":{"$open":"x"}}"#,
            r#"{"a":{"$sealed":"!"}}"#,
            r#"{"a":{"$sealed":"eA","more":1}}"#,
            r#"{"a":"#,
            r#"{"a":"x"#,
            r#"{"a":"x\"#,
            "",
            &deep,
        ] {
            assert!(
                spliced(payload.as_bytes(), &key(1)).unwrap().is_none(),
                "{payload}"
            );
        }
    }
}
