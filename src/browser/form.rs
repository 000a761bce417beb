//! The fields of a form.

use std::fmt;

use secrecy::SecretString;

use crate::app::problem::Problem;

/// Fields of one form.
const MOST: usize = 1_000;

/// Decoded fields in the order they came. Some are passphrases, so `Debug` shows names alone.
pub struct Form {
    fields: Vec<(String, String)>,
}

impl Form {
    /// Reads `application/x-www-form-urlencoded`.
    pub fn decode(body: &[u8]) -> Result<Self, Problem> {
        let fields: Vec<(String, String)> = form_urlencoded::parse(body)
            .take(MOST + 1)
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        if fields.len() > MOST {
            return Err(Problem::invalid("The form has too many fields."));
        }
        Ok(Self { fields })
    }

    /// A field that stands exactly once.
    pub fn text(&self, name: &str) -> Option<&str> {
        let mut values = self.all(name);
        values.next().filter(|_| values.next().is_none())
    }

    /// The same, or nothing.
    pub fn text_or_empty(&self, name: &str) -> &str {
        self.text(name).unwrap_or("")
    }

    pub fn secret(&self, name: &str) -> SecretString {
        SecretString::from(self.text_or_empty(name))
    }

    /// Every value of a field that may stand more than once.
    pub fn all<'f>(&'f self, name: &str) -> impl Iterator<Item = &'f str> {
        self.fields
            .iter()
            .filter(move |(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.fields.iter().map(|(name, _)| name))
            .finish()
    }
}

/// A text as the value of a query parameter.
pub fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_stands_twice_is_no_text() {
        let form = Form::decode(b"a=1&b=2&b=3&c=x+y%2Bz&a%00=4").unwrap();
        assert_eq!(form.text("a"), Some("1"));
        assert_eq!(form.text("b"), None);
        assert_eq!(form.all("b").collect::<Vec<_>>(), ["2", "3"]);
        assert_eq!(form.text_or_empty("c"), "x y+z");
        assert_eq!(form.text_or_empty("d"), "");
    }

    #[test]
    fn values_stay_out_of_debug() {
        let form = Form::decode(b"passphrase=three+tall+ships").unwrap();
        assert_eq!(format!("{form:?}"), "[\"passphrase\"]");
    }

    #[test]
    fn fields_are_bounded() {
        assert!(Form::decode("a=1&".repeat(MOST).as_bytes()).is_ok());
        assert!(Form::decode("a=1&".repeat(MOST + 1).as_bytes()).is_err());
    }
}
