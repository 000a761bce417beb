//! Passphrases: hashed with argon2id, a few at a time (`access` 3.6, 12).
//!
//! What must stay true: an address that nobody has costs the same work as one that somebody has; a
//! flood of attempts is turned away here and leaves the other doors their processors. Deliberately
//! absent: who may try how often, which is the throttle's.

use std::time::Duration;

use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Semaphore;

/// KiB, passes and lanes of one hash.
const MEMORY: u32 = 64 * 1024;
const PASSES: u32 = 3;
const LANES: u32 = 1;
/// Hashes at once, those that wait, and for how long.
const AT_ONCE: usize = 2;
const WAITING: usize = 16;
const PATIENCE: Duration = Duration::from_secs(2);

/// Shortest passphrase, in characters (`vault` 12), and longest, in bytes: hashing reads all of it.
pub const SHORTEST: usize = 10;
pub const LONGEST: usize = 1024;

/// What is verified for an address that nobody has: no passphrase fits it.
const NOBODY: &str = "$argon2id$v=19$m=65536,t=3,p=1$aGVsaXhub2JvZHloYXM$KioqKioqKioqKioqKioqKioqKioqKioqKioqKioqKio";

/// Why there is no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PassphraseError {
    #[error("too many passphrases are being checked")]
    Busy,
    #[error("the passphrase is too short or too long")]
    Length,
    #[error("the passphrase could not be hashed")]
    Hash,
}

/// What a passphrase is worth against a stored hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Wrong,
    Right,
    /// Right, under parameters that have grown since: to be hashed again.
    RightButOld,
}

/// Hashes and verifies. One a process.
#[derive(Debug)]
pub struct Passphrases {
    turns: Semaphore,
    line: Semaphore,
}

impl Default for Passphrases {
    fn default() -> Self {
        Self {
            turns: Semaphore::new(AT_ONCE),
            line: Semaphore::new(AT_ONCE + WAITING),
        }
    }
}

impl Passphrases {
    /// The PHC text to keep for a new passphrase of [`SHORTEST`] characters to [`LONGEST`] bytes.
    pub async fn hash(&self, passphrase: SecretString) -> Result<SecretString, PassphraseError> {
        let text = passphrase.expose_secret();
        if text.chars().count() < SHORTEST || text.len() > LONGEST {
            return Err(PassphraseError::Length);
        }
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(|_| PassphraseError::Hash)?;
        self.run(move || {
            let salt = SaltString::encode_b64(&salt).map_err(|_| PassphraseError::Hash)?;
            let hashed = argon2()?
                .hash_password(passphrase.expose_secret().as_bytes(), &salt)
                .map_err(|_| PassphraseError::Hash)?;
            Ok(SecretString::from(hashed.to_string()))
        })
        .await
    }

    /// Judges `given` against what is stored, or against nobody's hash.
    pub async fn verify(
        &self,
        stored: Option<SecretString>,
        given: SecretString,
    ) -> Result<Verdict, PassphraseError> {
        if given.expose_secret().len() > LONGEST {
            return Ok(Verdict::Wrong);
        }
        self.run(move || {
            let phc = stored
                .as_ref()
                .map_or(NOBODY, |stored| stored.expose_secret());
            let hash = PasswordHash::new(phc).map_err(|_| PassphraseError::Hash)?;
            let fits = argon2()?
                .verify_password(given.expose_secret().as_bytes(), &hash)
                .is_ok();
            Ok(match (fits && stored.is_some(), is_current(&hash)) {
                (false, _) => Verdict::Wrong,
                (true, true) => Verdict::Right,
                (true, false) => Verdict::RightButOld,
            })
        })
        .await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, PassphraseError> + Send + 'static,
    ) -> Result<T, PassphraseError> {
        let _place = self.line.try_acquire().map_err(|_| PassphraseError::Busy)?;
        let _turn = tokio::time::timeout(PATIENCE, self.turns.acquire())
            .await
            .map_err(|_| PassphraseError::Busy)?
            .map_err(|_| PassphraseError::Busy)?;
        tokio::task::spawn_blocking(work)
            .await
            .map_err(|_| PassphraseError::Hash)?
    }
}

fn argon2() -> Result<Argon2<'static>, PassphraseError> {
    let params = Params::new(MEMORY, PASSES, LANES, None).map_err(|_| PassphraseError::Hash)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn is_current(hash: &PasswordHash<'_>) -> bool {
    let number = |name| hash.params.get_decimal(name).unwrap_or(0);
    hash.algorithm == Algorithm::Argon2id.ident() && number("m") >= MEMORY && number("t") >= PASSES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> SecretString {
        SecretString::from(text)
    }

    #[tokio::test]
    async fn a_passphrase_fits_its_own_hash_and_no_other() {
        let desk = Passphrases::default();
        let stored = desk.hash(secret("three tall ships")).await.unwrap();
        assert!(
            stored
                .expose_secret()
                .starts_with("$argon2id$v=19$m=65536,t=3,p=1$")
        );
        let judged = |given| desk.verify(Some(stored.clone()), secret(given));
        assert_eq!(judged("three tall ships").await, Ok(Verdict::Right));
        assert_eq!(judged("three tall ship").await, Ok(Verdict::Wrong));
        assert_eq!(judged("").await, Ok(Verdict::Wrong));
    }

    #[tokio::test]
    async fn nobodys_hash_is_read_like_any_other_and_fits_nothing() {
        assert!(is_current(&PasswordHash::new(NOBODY).unwrap()));
        let desk = Passphrases::default();
        for given in ["", "three tall ships", "*"] {
            assert_eq!(desk.verify(None, secret(given)).await, Ok(Verdict::Wrong));
        }
    }

    #[tokio::test]
    async fn a_hash_of_weaker_parameters_is_right_but_old() {
        let weak = Argon2::new(
            Algorithm::Argon2id,
            Version::V0x13,
            Params::new(8 * 1024, 1, 1, None).unwrap(),
        );
        let salt = SaltString::encode_b64(&[7; 16]).unwrap();
        let stored = weak
            .hash_password(b"three tall ships", &salt)
            .unwrap()
            .to_string();
        let desk = Passphrases::default();
        let judged = desk
            .verify(Some(secret(&stored)), secret("three tall ships"))
            .await;
        assert_eq!(judged, Ok(Verdict::RightButOld));
    }

    #[tokio::test]
    async fn a_new_passphrase_has_bounds() {
        let desk = Passphrases::default();
        for text in ["nine char", &"x".repeat(LONGEST + 1)] {
            let refused = desk.hash(secret(text)).await.err();
            assert_eq!(refused, Some(PassphraseError::Length));
        }
    }

    #[tokio::test]
    async fn more_than_may_wait_are_turned_away() {
        let desk = Passphrases::default();
        let held = desk.line.acquire_many(18).await.unwrap();
        let judged = desk.verify(None, secret("three tall ships")).await;
        assert_eq!(judged, Err(PassphraseError::Busy));
        drop(held);
        let judged = desk.verify(None, secret("three tall ships")).await;
        assert_eq!(judged, Ok(Verdict::Wrong));
    }
}
