//! Secrets that are known as exact texts: replaced in what comes from whoever was given them.
//!
//! Exists because a server that is shown a credential may repeat it, and its words are stored and
//! served (`agent-api` 1.10, `access` K27). What must stay true: the plain text and the forms that
//! servers put into messages are found in every string and key, however JSON spells them.
//! Deliberately absent: texts too short to be a secret. A local model server takes `none` for a key,
//! and words of everybody's language would be blotted out.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use super::REPLACEMENT;
use crate::strict_json;

/// Bytes of the shortest text that is taken for a secret.
const SHORTEST: usize = 8;

/// Exact texts that must not come back.
#[derive(Debug, Clone, Default)]
pub struct KnownSecrets(Vec<SecretString>);

impl KnownSecrets {
    pub fn of<'s>(secrets: impl IntoIterator<Item = &'s SecretString>) -> Self {
        let mut forms: Vec<String> = Vec::new();
        for secret in secrets {
            let text = secret.expose_secret();
            if text.len() >= SHORTEST {
                forms.extend(forms_of(text));
            }
        }
        forms.sort_unstable();
        forms.dedup();
        // A form may begin with another one: the longer one first, so that no rest of it stays.
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        Self(forms.into_iter().map(SecretString::from).collect())
    }

    /// Replaces every one of them in the strings and keys of `value`.
    pub fn conceal(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.concealed(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.conceal(item)),
            Value::Object(members) => self.conceal_members(members),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// A JSON text without them. One that is not strict JSON stays as it is: nobody reads it.
    pub fn conceal_json<'j>(&self, json: &'j [u8]) -> Cow<'j, [u8]> {
        let text = String::from_utf8_lossy(json);
        // Without an escape a string is spelled as it reads.
        if !text.contains('\\') && !self.is_in(&text) {
            return Cow::Borrowed(json);
        }
        let Ok(mut document) = strict_json::read(json) else {
            return Cow::Borrowed(json);
        };
        let before = document.clone();
        self.conceal(&mut document);
        if document == before {
            Cow::Borrowed(json)
        } else {
            Cow::Owned(document.to_string().into_bytes())
        }
    }

    fn conceal_members(&self, members: &mut Map<String, Value>) {
        members.values_mut().for_each(|member| self.conceal(member));
        if members.keys().any(|key| self.is_in(key)) {
            *members = std::mem::take(members)
                .into_iter()
                .map(|(key, member)| (self.concealed(&key).into_owned(), member))
                .collect();
        }
    }

    fn is_in(&self, text: &str) -> bool {
        self.0
            .iter()
            .any(|form| text.contains(form.expose_secret()))
    }

    fn concealed<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        for form in &self.0 {
            if clean.contains(form.expose_secret()) {
                clean = Cow::Owned(clean.replace(form.expose_secret(), REPLACEMENT));
            }
        }
        clean
    }
}

/// A secret as it is, in base64 of either alphabet, and as a part of an address in either case.
fn forms_of(secret: &str) -> [String; 6] {
    let escaped: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let escaped = escaped.replace('+', "%20");
    [
        secret.to_owned(),
        STANDARD_NO_PAD.encode(secret),
        URL_SAFE_NO_PAD.encode(secret),
        lower_escapes(&escaped),
        // Some leave what a path may hold.
        escaped
            .replace("%2F", "/")
            .replace("%3A", ":")
            .replace("%40", "@"),
        escaped,
    ]
}

fn lower_escapes(escaped: &str) -> String {
    let mut parts = escaped.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        out.push('%');
        out.push_str(&code.to_ascii_lowercase());
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    use serde_json::json;

    use super::*;

    const KEY: &str = "sk-a/b+c:~?é-canary";

    fn known() -> KnownSecrets {
        KnownSecrets::of([&SecretString::from(KEY)])
    }

    #[test]
    fn a_secret_is_found_in_every_form_and_place() {
        let forms = [
            KEY.to_owned(),
            STANDARD.encode(KEY),
            STANDARD_NO_PAD.encode(KEY),
            URL_SAFE.encode(KEY),
            "sk-a%2Fb%2Bc%3A%7E%3F%C3%A9-canary".to_owned(),
            "sk-a%2fb%2bc%3a%7e%3f%c3%a9-canary".to_owned(),
        ];
        for form in forms {
            let mut said = json!({"a": [format!("it is {form}, yes")], form.clone(): {"b": form}});
            known().conceal(&mut said);
            let text = said.to_string();
            assert!(!text.contains(form.trim_end_matches('=')), "{text}");
            assert!(text.contains("it is [REDACTED_SECRET]"), "{text}");
        }
    }

    #[test]
    fn escapes_of_json_hide_nothing() {
        let spelled = r#"{"say": "\u0073k-a\/b+c:~?\u00e9-canary"}"#;
        let clean = known().conceal_json(spelled.as_bytes()).into_owned();
        assert_eq!(clean, br#"{"say":"[REDACTED_SECRET]"}"#);
    }

    #[test]
    fn what_holds_no_secret_stays_as_it_was_spelled() {
        for text in [r#"{ "a" : "b\n" }"#, "{", "plain"] {
            let clean = known().conceal_json(text.as_bytes());
            assert!(matches!(clean, Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn a_word_for_no_key_is_no_secret() {
        let known = KnownSecrets::of([&SecretString::from("none"), &SecretString::from("")]);
        let mut said = json!("none of them");
        known.conceal(&mut said);
        assert_eq!(said, "none of them");
    }
}
