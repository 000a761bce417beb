//! Signatures of Standard Webhooks, version 1: HMAC-SHA256 over `id.timestamp.body`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use secrecy::SecretString;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::store::StoreError;

const PREFIX: &str = "whsec_";
const BYTES: usize = 32;

/// What both sides of an endpoint know. Never shown but by [`Self::text`].
pub struct SigningSecret(Zeroizing<Vec<u8>>);

impl SigningSecret {
    pub fn fresh() -> Result<Self, StoreError> {
        let mut bytes = Zeroizing::new(vec![0; BYTES]);
        getrandom::fill(&mut bytes).map_err(|_| StoreError::Damaged("no randomness".to_owned()))?;
        Ok(Self(bytes))
    }

    /// The secret of its base64 form.
    pub(super) fn decode(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text).ok()?;
        (bytes.len() == BYTES).then(|| Self(Zeroizing::new(bytes)))
    }

    pub(super) fn encode(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(&*self.0))
    }

    /// `whsec_` and base64, as receivers take it.
    pub fn text(&self) -> SecretString {
        SecretString::from(format!("{PREFIX}{}", *self.encode()))
    }

    /// Tells secrets apart and gives nothing away: a secret is 256 random bits.
    pub fn fingerprint(&self) -> String {
        hex::encode(&Sha256::digest(&*self.0)[..8])
    }

    /// `v1,` and the signature of one message at one time.
    pub fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> Result<String, StoreError> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0)
            .map_err(|_| StoreError::Damaged("a signing secret has no length".to_owned()))?;
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        Ok(format!(
            "v1,{}",
            STANDARD.encode(mac.finalize().into_bytes())
        ))
    }
}

impl std::fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningSecret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    #[test]
    fn a_signature_is_that_of_the_published_algorithm() {
        // Computed by another implementation of HMAC-SHA256 (Python's `hmac`).
        let secret = SigningSecret(Zeroizing::new((0..32).collect()));
        assert_eq!(
            secret.text().expose_secret(),
            "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        );
        let signed = secret.sign("msg_1", 1_796_040_000, b"{\"test\": 2432232314}");
        assert_eq!(
            signed.unwrap(),
            "v1,ul0Ih+O1IhRTYtMfozEXKa28PY5gryrU0SUTNqVj6Ww="
        );
    }

    #[test]
    fn a_secret_reads_back_and_debug_shows_nothing_of_it() {
        let secret = SigningSecret::fresh().unwrap();
        let again = SigningSecret::decode(&secret.encode()).unwrap();
        assert_eq!(again.fingerprint(), secret.fingerprint());
        assert_ne!(
            SigningSecret::fresh().unwrap().fingerprint(),
            secret.fingerprint()
        );
        assert_eq!(format!("{secret:?}"), "SigningSecret");
        assert!(SigningSecret::decode("AAAA").is_none());
    }
}
