//! Tokens this server issues itself (access 1.1): `hx_<kind>_`, 43 digits, 6 digits of checksum.
//!
//! A scanner must not cry at every long word, so the checksum is verified: a text of that form with
//! a wrong one was never issued and stays as it is.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::REPLACEMENT;
use crate::store::StoreError;

const CHECKSUM_DIGITS: usize = 6;
const DIGITS: usize = 43;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

static FORM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u:\b)hx_[a-z]{2}_[0-9A-Za-z]{49}(?-u:\b)")
        .unwrap_or_else(|error| unreachable!("the pattern is a constant: {error}"))
});

pub(super) fn any(text: &str) -> bool {
    FORM.find_iter(text).any(|found| is_issued(found.as_str()))
}

pub(super) fn replace(text: Cow<'_, str>) -> Cow<'_, str> {
    if !any(&text) {
        return text;
    }
    let changed = FORM.replace_all(&text, |found: &Captures<'_>| {
        let token = &found[0];
        if is_issued(token) {
            REPLACEMENT.to_owned()
        } else {
            token.to_owned()
        }
    });
    Cow::Owned(changed.into_owned())
}

/// The hashes of the credentials of `kind` in a text.
pub fn found(text: &str, kind: &str) -> Vec<[u8; 32]> {
    let found = FORM.find_iter(text).map(|found| found.as_str());
    found
        .filter(|token| is_spelled(token, kind))
        .map(hash)
        .collect()
}

/// A credential on the one occasion that its text is known.
#[derive(Debug)]
pub struct Minted {
    pub text: SecretString,
    /// What is kept of it.
    pub hash: [u8; 32],
}

/// A fresh credential of `kind`, two lower-case letters.
pub fn mint(kind: &str) -> Result<Minted, StoreError> {
    let mut random = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *random).map_err(|_| StoreError::Damaged("no randomness".to_owned()))?;
    let text = Zeroizing::new(spell(kind, &random));
    Ok(Minted {
        hash: hash(&text),
        text: SecretString::from(text.as_str()),
    })
}

/// What a list shows of a credential: its last characters, all of them of the checksum.
pub fn last_four(text: &SecretString) -> String {
    let text = text.expose_secret();
    text[text.len() - 4..].to_owned()
}

/// SHA-256 of the whole text (`access` 1.1): look-up is by it, so no secret is ever compared.
pub fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// The text of a token of `kind`, two lower-case letters, around 32 random bytes.
pub fn spell(kind: &str, random: &[u8; 32]) -> String {
    let mut token = format!("hx_{kind}_");
    token.extend(base62_of(random));
    let checksum = crc32(token.as_bytes());
    let mut wide = [0; 32];
    wide[28..].copy_from_slice(&checksum.to_be_bytes());
    let digits = base62_of(&wide);
    token.extend(&digits[DIGITS - CHECKSUM_DIGITS..]);
    token
}

/// Whether the whole of `text` is a token of `kind` with a good checksum. Says nothing of whether
/// it was ever issued here.
pub fn is_spelled(text: &str, kind: &str) -> bool {
    let rest = text
        .strip_prefix("hx_")
        .and_then(|rest| rest.strip_prefix(kind));
    rest.and_then(|rest| rest.strip_prefix('_'))
        .is_some_and(|digits| {
            digits.len() == DIGITS + CHECKSUM_DIGITS
                && digits.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
        && is_issued(text)
}

/// A big-endian number in base62, left-padded.
fn base62_of(bytes: &[u8; 32]) -> [char; DIGITS] {
    let mut number = *bytes;
    let mut digits = ['0'; DIGITS];
    for digit in digits.iter_mut().rev() {
        let mut rest = 0_u32;
        for byte in &mut number {
            let value = rest * 256 + u32::from(*byte);
            *byte = u8::try_from(value / 62).unwrap_or(u8::MAX);
            rest = value % 62;
        }
        *digit = char::from(ALPHABET[rest as usize]);
    }
    digits
}

fn is_issued(token: &str) -> bool {
    let (body, checksum) = token.split_at(token.len() - CHECKSUM_DIGITS);
    base62(checksum) == Some(u64::from(crc32(body.as_bytes())))
}

/// The value of base62 digits, alphabet `0-9A-Za-z`.
fn base62(digits: &str) -> Option<u64> {
    digits.bytes().try_fold(0_u64, |value, byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'A'..=b'Z' => byte - b'A' + 10,
            b'a'..=b'z' => byte - b'a' + 36,
            _ => return None,
        };
        Some(value * 62 + u64::from(digit))
    })
}

/// CRC-32 (IEEE), bit by bit: it runs only over text that already has the form of a token.
fn crc32(bytes: &[u8]) -> u32 {
    let register = bytes.iter().fold(u32::MAX, |register, byte| {
        (0..8).fold(register ^ u32::from(*byte), |register, _| {
            (register >> 1) ^ (0xEDB8_8320 & (register & 1).wrapping_neg())
        })
    });
    !register
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector of access 1.1.
    const ISSUED: &str = "hx_nt_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf45rGb8";

    #[test]
    fn an_issued_token_is_replaced_and_its_neighbourhood_kept() {
        let text = format!("use {ISSUED}, please");
        assert!(any(&text));
        assert_eq!(
            replace(Cow::Borrowed(&text)),
            "use [REDACTED_SECRET], please"
        );
    }

    #[test]
    fn a_token_is_spelled_as_the_contract_shows_it() {
        let mut bytes = [0; 32];
        for (byte, number) in bytes.iter_mut().zip(0..) {
            *byte = number;
        }
        assert_eq!(spell("nt", &bytes), ISSUED);
        assert!(is_spelled(ISSUED, "nt"));
        for text in [
            "",
            "hx_nt_",
            &ISSUED.replace("rGb8", "rGb9"),
            &format!("{ISSUED}0"),
        ] {
            assert!(!is_spelled(text, "nt"), "{text}");
        }
        assert!(!is_spelled(ISSUED, "wk"));
        assert!(is_spelled(&spell("wk", &[0xff; 32]), "wk"));
    }

    #[test]
    fn a_text_with_a_wrong_checksum_or_a_longer_word_is_no_token() {
        let wrong = ISSUED.replace("rGb8", "rGb9");
        for text in [
            wrong,
            format!("{ISSUED}x"),
            format!("x{ISSUED}"),
            ISSUED.to_uppercase(),
        ] {
            assert!(!any(&text), "{text}");
            assert_eq!(replace(Cow::Borrowed(&text)), text);
        }
    }
}
