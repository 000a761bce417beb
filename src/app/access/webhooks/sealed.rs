//! The sealed part of an endpoint: its address and its secrets.

use helix_aggregates::time::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::signing::SigningSecret;
use super::target::Target;
use crate::store::StoreError;
use crate::store::sealing::DataKey;

/// An endpoint's address and secrets, readable.
#[derive(Debug)]
pub struct Open {
    pub target: Target,
    pub secret: SigningSecret,
    /// Replaced ones, the latest first.
    pub previous: Vec<Previous>,
}

/// A replaced secret that still signs.
#[derive(Debug)]
pub struct Previous {
    pub secret: SigningSecret,
    pub until: Timestamp,
}

/// As it is spelled before it is sealed.
#[derive(Serialize, Deserialize, ZeroizeOnDrop)]
struct Body {
    url: String,
    secret: String,
    /// The one that was replaced last.
    previous: Option<BodyPrevious>,
    /// Those before it; bodies of the time when there was one at most have none.
    #[serde(default)]
    earlier: Vec<BodyPrevious>,
}

#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct BodyPrevious {
    secret: String,
    #[zeroize(skip)]
    until: Timestamp,
}

impl Open {
    pub fn seal(
        &self,
        key: &DataKey,
        webhook: Uuid,
        generation: u32,
    ) -> Result<Vec<u8>, StoreError> {
        let mut previous = self.previous.iter().map(|previous| BodyPrevious {
            secret: previous.secret.encode().to_string(),
            until: previous.until,
        });
        let body = Body {
            url: self.target.as_str().to_owned(),
            secret: self.secret.encode().to_string(),
            previous: previous.next(),
            earlier: previous.collect(),
        };
        let plain = serde_json::to_vec(&body).map(Zeroizing::new);
        let plain = plain.map_err(|_| damaged())?;
        key.seal(&place(webhook, generation), &plain)
    }

    pub fn unseal(
        key: &DataKey,
        webhook: Uuid,
        generation: u32,
        sealed: &[u8],
    ) -> Result<Self, StoreError> {
        let plain = Zeroizing::new(key.open(&place(webhook, generation), sealed)?);
        // The error would quote the value.
        let body: Body = serde_json::from_slice(&plain).map_err(|_| damaged())?;
        let secret = |text: &str| SigningSecret::decode(text).ok_or_else(damaged);
        let previous = body.previous.iter().chain(&body.earlier).map(|previous| {
            Ok(Previous {
                secret: secret(&previous.secret)?,
                until: previous.until,
            })
        });
        Ok(Self {
            target: Target::parse(&body.url).map_err(|_| damaged())?,
            secret: secret(&body.secret)?,
            previous: previous.collect::<Result<_, StoreError>>()?,
        })
    }

    /// The signatures of one message at one time: the newest secret's, and that of each replaced one
    /// while it still counts.
    pub fn signatures(&self, id: &str, now: Timestamp, body: &[u8]) -> Result<String, StoreError> {
        let seconds = now.millis() / 1_000;
        let mut signatures = vec![self.secret.sign(id, seconds, body)?];
        for previous in self.previous.iter().filter(|one| now < one.until) {
            signatures.push(previous.secret.sign(id, seconds, body)?);
        }
        Ok(signatures.join(" "))
    }
}

fn place(webhook: Uuid, generation: u32) -> String {
    format!("{webhook}/webhook/{generation}")
}

fn damaged() -> StoreError {
    StoreError::Damaged("a webhook's sealed part is not one".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(previous: Vec<Previous>) -> Open {
        Open {
            target: Target::parse("https://hooks.example.org/in?token=canary").unwrap(),
            secret: SigningSecret::fresh().unwrap(),
            previous,
        }
    }

    #[test]
    fn the_sealed_part_opens_only_in_its_generation() {
        let key = DataKey::new(Uuid::from_u128(1), &Zeroizing::new([7; 32]));
        let (id, until) = (Uuid::from_u128(2), Timestamp::from_millis(9_000));
        let replaced = |until| Previous {
            secret: SigningSecret::fresh().unwrap(),
            until,
        };
        let earlier = Timestamp::from_millis(8_000);
        let made = open(vec![replaced(until), replaced(earlier)]);
        let sealed = made.seal(&key, id, 3).unwrap();
        let again = Open::unseal(&key, id, 3, &sealed).unwrap();
        assert_eq!(again.target, made.target);
        assert_eq!(again.secret.fingerprint(), made.secret.fingerprint());
        let untils: Vec<Timestamp> = again.previous.iter().map(|one| one.until).collect();
        assert_eq!(untils, [until, earlier]);
        assert!(Open::unseal(&key, id, 4, &sealed).is_err());
        assert!(Open::unseal(&key, Uuid::from_u128(3), 3, &sealed).is_err());
        assert!(!format!("{made:?}").contains("canary"));
    }

    #[test]
    fn a_body_of_one_replaced_secret_at_most_is_read() {
        let key = DataKey::new(Uuid::from_u128(1), &Zeroizing::new([7; 32]));
        let id = Uuid::from_u128(2);
        let secret = || SigningSecret::fresh().unwrap().encode().to_string();
        for (previous, count) in [
            (serde_json::Value::Null, 0),
            (
                serde_json::json!({"secret": secret(), "until": "2026-12-01T00:00:00.000Z"}),
                1,
            ),
        ] {
            let body = serde_json::json!({"url": "https://hooks.example.org/in",
                "secret": secret(), "previous": previous});
            let sealed = key
                .seal(&place(id, 1), body.to_string().as_bytes())
                .unwrap();
            assert_eq!(
                Open::unseal(&key, id, 1, &sealed).unwrap().previous.len(),
                count
            );
        }
    }

    #[test]
    fn a_replaced_secret_signs_until_its_time() {
        let until = Timestamp::from_millis(9_000);
        let secret = SigningSecret::fresh().unwrap();
        let rotated = open(vec![Previous { secret, until }]);
        let signatures = |ms| {
            let now = Timestamp::from_millis(ms);
            rotated.signatures("msg_1", now, b"{}").unwrap()
        };
        assert_eq!(signatures(8_999).split(' ').count(), 2);
        assert_eq!(signatures(9_000).split(' ').count(), 1);
        assert!(signatures(8_999).starts_with("v1,"));
    }
}
