//! Proof Key for Code Exchange (RFC 7636): S256 or nothing (`access` 3.4, 3.5).
//!
//! What stays true: a challenge is text that an S256 digest could have; a malformed verifier meets no
//! challenge, so it is answered like a wrong one. Deliberately absent: `plain`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

/// The one method.
pub const METHOD: &str = "S256";

const CHALLENGE_CHARACTERS: usize = 43;

/// A `code_challenge` of 43 base64url characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge(String);

impl Challenge {
    pub fn parse(text: &str) -> Option<Self> {
        let base64url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (text.len() == CHALLENGE_CHARACTERS && text.bytes().all(base64url))
            .then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `verifier` is well-formed and its digest is this challenge. The challenge is public,
    /// so the comparison has nothing to hide.
    pub fn is_met_by(&self, verifier: &Verifier) -> bool {
        let text = verifier.0.expose_secret();
        is_verifier(text) && URL_SAFE_NO_PAD.encode(Sha256::digest(text)) == self.0
    }
}

/// A `code_verifier` as presented.
#[derive(Debug, Clone)]
pub struct Verifier(SecretString);

impl Verifier {
    pub fn presented(text: String) -> Self {
        Self(text.into())
    }
}

/// 43 to 128 of the unreserved characters (RFC 7636 4.1).
fn is_verifier(text: &str) -> bool {
    (43..=128).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    fn verifier(text: &str) -> Verifier {
        Verifier::presented(text.to_owned())
    }

    fn challenge_of(text: &str) -> Challenge {
        Challenge::parse(&URL_SAFE_NO_PAD.encode(Sha256::digest(text))).unwrap()
    }

    #[test]
    fn the_published_pair_fits_and_a_changed_last_character_does_not() {
        let challenge = Challenge::parse(CHALLENGE).unwrap();
        assert!(challenge.is_met_by(&verifier(VERIFIER)));
        let changed = format!("{}l", &VERIFIER[..42]);
        assert!(!challenge.is_met_by(&verifier(&changed)));
        // What `plain` would have accepted.
        assert!(!challenge.is_met_by(&verifier(CHALLENGE)));
    }

    #[test]
    fn a_challenge_is_43_base64url_characters() {
        for text in [CHALLENGE, &"-_".repeat(22)[..43]] {
            assert!(Challenge::parse(text).is_some(), "{text}");
        }
        for text in [
            String::new(),
            CHALLENGE[..42].to_owned(),
            format!("{CHALLENGE}A"),
            format!("{CHALLENGE}="),
            format!("{}=", &CHALLENGE[..42]),
            format!("{}+", &CHALLENGE[..42]),
            format!("{}/", &CHALLENGE[..42]),
            format!("{} ", &CHALLENGE[..42]),
            format!("{}é", &CHALLENGE[..41]),
        ] {
            assert_eq!(Challenge::parse(&text), None, "{text}");
        }
    }

    #[test]
    fn a_malformed_verifier_meets_not_even_its_own_digest() {
        for text in [
            String::new(),
            "a".repeat(42),
            "a".repeat(129),
            format!("{} ", "a".repeat(42)),
            format!("{}+", "a".repeat(42)),
            format!("{}é", "a".repeat(42)),
        ] {
            assert!(!challenge_of(&text).is_met_by(&verifier(&text)), "{text}");
        }
        for text in ["a".repeat(43), "~".repeat(128)] {
            assert!(challenge_of(&text).is_met_by(&verifier(&text)), "{text}");
        }
    }

    #[test]
    fn debug_shows_no_verifier() {
        assert!(!format!("{:?}", verifier(VERIFIER)).contains(VERIFIER));
    }

    proptest! {
        #[test]
        fn a_verifier_meets_its_own_challenge_and_no_other(
            one in "[A-Za-z0-9._~-]{43,128}",
            other in "[A-Za-z0-9._~-]{43,128}",
        ) {
            prop_assert!(challenge_of(&one).is_met_by(&verifier(&one)));
            prop_assert_eq!(challenge_of(&one).is_met_by(&verifier(&other)), one == other);
        }
    }
}
