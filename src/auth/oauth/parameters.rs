//! The parameters of `/authorize`, `/token` and `/revoke`, decoded, each at most once.
//!
//! Readers that take the first or the last of two equal parameters can be played against each other,
//! so a repeated one is refused, known or not. `resource` alone may be repeated (RFC 8707). A
//! parameter without a value counts as absent (RFC 6749 3.1).
//!
//! Deliberately absent: decoding, which belongs to the doors, and any meaning of a name.

use std::collections::btree_map::{BTreeMap, Entry};
use std::fmt;

/// Longest value, in bytes once decoded (`access` 3.4).
pub const MAX_VALUE_BYTES: usize = 4096;

const RESOURCE: &str = "resource";

/// Why parameters were refused as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParameterFault {
    #[error("a parameter is given more than once")]
    Repeated,
    #[error("a parameter is longer than {MAX_VALUE_BYTES} bytes")]
    TooLong,
}

/// What a request says. Codes, tokens and verifiers are among the values, so `Debug` shows none.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    values: BTreeMap<String, String>,
    resources: Vec<String>,
}

impl Parameters {
    /// Reads decoded pairs in the order they were sent.
    pub fn read(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, ParameterFault> {
        let mut read = Self::default();
        for (name, value) in pairs {
            if value.len() > MAX_VALUE_BYTES {
                return Err(ParameterFault::TooLong);
            }
            if name == RESOURCE {
                read.resources.push(value);
                continue;
            }
            match read.values.entry(name) {
                Entry::Occupied(_) => return Err(ParameterFault::Repeated),
                Entry::Vacant(place) => {
                    place.insert(value);
                }
            }
        }
        read.values.retain(|_, value| !value.is_empty());
        read.resources.retain(|value| !value.is_empty());
        Ok(read)
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    pub fn take(&mut self, name: &str) -> Option<String> {
        self.values.remove(name)
    }

    /// Every value of `resource`.
    pub fn resources(&self) -> &[String] {
        &self.resources
    }
}

impl fmt::Debug for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parameters").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Parameters, ParameterFault> {
        let owned = pairs
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()));
        Parameters::read(owned)
    }

    #[test]
    fn a_repeated_parameter_is_refused_known_or_not_with_or_without_a_value() {
        for pairs in [
            [("scope", "work"), ("scope", "propose")],
            [("scope", "work"), ("scope", "work")],
            [("state", ""), ("state", "")],
            [("of_nobody", "1"), ("of_nobody", "2")],
        ] {
            assert_eq!(read(&pairs), Err(ParameterFault::Repeated), "{pairs:?}");
        }
        let other_case = read(&[("scope", "work"), ("Scope", "propose")]).unwrap();
        assert_eq!(other_case.get("scope"), Some("work"));
    }

    #[test]
    fn resource_may_be_repeated() {
        let read = read(&[("resource", "a"), ("state", "s"), ("resource", "b")]).unwrap();
        assert_eq!(read.resources(), ["a", "b"]);
        assert_eq!(read.get("resource"), None);
    }

    #[test]
    fn a_parameter_without_a_value_is_absent() {
        let read = read(&[("state", ""), ("resource", ""), ("scope", " ")]).unwrap();
        assert_eq!(read.get("state"), None);
        assert!(read.resources().is_empty());
        assert_eq!(read.get("scope"), Some(" "));
    }

    #[test]
    fn a_value_ends_at_4096_bytes() {
        for name in ["state", "resource", "of_nobody"] {
            assert!(read(&[(name, &"x".repeat(4096))]).is_ok());
            let long = read(&[(name, &"x".repeat(4097))]);
            assert_eq!(long, Err(ParameterFault::TooLong), "{name}");
            let wide = read(&[(name, &"é".repeat(2049))]);
            assert_eq!(wide, Err(ParameterFault::TooLong), "{name}");
        }
    }

    #[test]
    fn debug_shows_no_value() {
        let read = read(&[("code", "hx_ac_marked"), ("resource", "marked")]).unwrap();
        assert!(!format!("{read:?}").contains("marked"));
    }
}
