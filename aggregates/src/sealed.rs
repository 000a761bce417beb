//! Personal text inside events.
//!
//! A value wrapped in [`Sealed`] is marked in the serialised event as `{"$open": value}`. The
//! store's codec replaces each mark by `{"$sealed": "<ciphertext>"}` before anything is hashed or
//! written, and puts the mark back on load when it holds the key. A reader without the key, or one
//! after the key was dropped, sees [`Sealed::Closed`]: structure stays readable, text does not.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The JSON key that marks a value to be encrypted by the store's codec.
pub const OPEN_MARK: &str = "$open";
/// The JSON key under which the codec leaves the ciphertext.
pub const SEALED_MARK: &str = "$sealed";

/// A value that reaches durable storage only encrypted.
#[derive(Clone, PartialEq, Eq)]
pub enum Sealed<T> {
    Open(T),
    /// Unreadable here: the ciphertext is kept so that the event can be written back unchanged.
    Closed(String),
}

impl<T> Sealed<T> {
    /// The value, if this reader may see it.
    pub fn open(&self) -> Option<&T> {
        match self {
            Self::Open(value) => Some(value),
            Self::Closed(_) => None,
        }
    }

    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }
}

impl<T: Default> Default for Sealed<T> {
    fn default() -> Self {
        Self::Open(T::default())
    }
}

impl<T> From<T> for Sealed<T> {
    fn from(value: T) -> Self {
        Self::Open(value)
    }
}

/// Never shows the value: `Debug` output ends in logs.
impl<T> fmt::Debug for Sealed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open(_) => "Sealed(open)",
            Self::Closed(_) => "Sealed(closed)",
        })
    }
}

impl<T: Serialize> Serialize for Sealed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            Self::Open(value) => map.serialize_entry(OPEN_MARK, value)?,
            Self::Closed(ciphertext) => map.serialize_entry(SEALED_MARK, ciphertext)?,
        }
        map.end()
    }
}

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for Sealed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let Value::Object(mut object) = Value::deserialize(deserializer)? else {
            return Err(Error::custom("a sealed value is an object with one mark"));
        };
        if let Some(value) = object.remove(OPEN_MARK) {
            return serde_json::from_value(value)
                .map(Self::Open)
                .map_err(Error::custom);
        }
        match object.remove(SEALED_MARK) {
            Some(Value::String(ciphertext)) => Ok(Self::Closed(ciphertext)),
            _ => Err(Error::custom("a sealed value carries neither mark")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_never_shows_the_value() {
        let sealed = Sealed::from("canary".to_owned());
        assert!(!format!("{sealed:?}").contains("canary"));
    }

    #[test]
    fn both_forms_survive_a_round_trip() {
        for sealed in [
            Sealed::Open("text".to_owned()),
            Sealed::Closed("c2VhbA".to_owned()),
        ] {
            let json = serde_json::to_string(&sealed).unwrap();
            assert_eq!(
                serde_json::from_str::<Sealed<String>>(&json).unwrap(),
                sealed
            );
        }
    }
}
