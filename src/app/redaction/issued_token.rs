//! Tokens this server issues itself (access 1.1): `hx_<kind>_`, 43 digits, 6 digits of checksum.
//!
//! A scanner must not cry at every long word, so the checksum is verified: a text of that form with
//! a wrong one was never issued and stays as it is.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::REPLACEMENT;

const CHECKSUM_DIGITS: usize = 6;

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
