//! The scope words of a credential (`access` 5).
//!
//! What must stay true: a set of scopes is never empty, and whatever opens anything of a workspace
//! holds its floor, `brief:read`. Deliberately absent: the words of the agent and vault doors and
//! the sentences that explain a scope, which are the doors' own.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The scope that every operation of the workspace door needs besides its own.
pub const FLOOR: &str = "brief:read";
/// The words of the workspace door, in the order they are shown. The last is reserved: it can be
/// granted and opens nothing yet.
pub const WORKSPACE: [&str; 5] = [
    FLOOR,
    "brief:write",
    "review:run",
    "review:execute",
    "review:configure",
];

/// Words in one set: more than all doors together know.
pub const WORDS_LIMIT: usize = 64;
/// Length of one word.
pub const WORD_LIMIT: usize = 128;

/// One word or more, each once, in the order given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Scopes(Vec<String>);

/// Why words are no set of scopes. The words are not repeated here: anything may be among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScopesError {
    #[error("at least one scope is needed")]
    Empty,
    #[error("at most {limit} scopes can be given")]
    TooMany { limit: usize },
    #[error("a scope is a word of 1 to {limit} printable ASCII characters")]
    NoWord { limit: usize },
    #[error("a scope is not one of the workspace door")]
    NotOfWorkspace,
}

impl Scopes {
    /// A repeated word counts once, where it stood first.
    pub fn parse<I, S>(words: I) -> Result<Self, ScopesError>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<str>,
    {
        let mut kept: Vec<String> = Vec::new();
        for word in words {
            let word = word.as_ref();
            if !is_word(word) {
                return Err(ScopesError::NoWord { limit: WORD_LIMIT });
            }
            if kept.iter().any(|known| known == word) {
                continue;
            }
            if kept.len() == WORDS_LIMIT {
                return Err(ScopesError::TooMany { limit: WORDS_LIMIT });
            }
            kept.push(word.to_owned());
        }
        if kept.is_empty() {
            return Err(ScopesError::Empty);
        }
        Ok(Self(kept))
    }

    pub fn words(&self) -> &[String] {
        &self.0
    }

    pub fn contains(&self, word: &str) -> bool {
        self.0.iter().any(|known| known == word)
    }

    /// The same set with the floor of the workspace door, in the order of that door.
    pub fn of_workspace(&self) -> Result<Self, ScopesError> {
        if self
            .0
            .iter()
            .any(|word| !WORKSPACE.contains(&word.as_str()))
        {
            return Err(ScopesError::NotOfWorkspace);
        }
        let held = |word: &&str| *word == FLOOR || self.contains(word);
        Self::parse(WORKSPACE.into_iter().filter(held))
    }
}

/// A scope token of RFC 6749, 3.3.
fn is_word(word: &str) -> bool {
    (1..=WORD_LIMIT).contains(&word.len())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}

/// As OAuth writes a set: the words with a space between.
impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

impl TryFrom<Vec<String>> for Scopes {
    type Error = ScopesError;

    fn try_from(words: Vec<String>) -> Result<Self, ScopesError> {
        Self::parse(words)
    }
}

impl From<Scopes> for Vec<String> {
    fn from(scopes: Scopes) -> Self {
        scopes.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(words: &[&str]) -> Scopes {
        Scopes::parse(words).unwrap()
    }

    #[test]
    fn words_keep_their_order_and_count_once() {
        let set = scopes(&["work", "propose", "work", "identity"]);
        assert_eq!(set.words(), ["work", "propose", "identity"]);
        assert_eq!(set.to_string(), "work propose identity");
        assert!(set.contains("propose") && !set.contains("likeness"));
        let json = serde_json::to_value(&set).unwrap();
        assert_eq!(json, serde_json::json!(["work", "propose", "identity"]));
        assert_eq!(serde_json::from_value::<Scopes>(json).unwrap(), set);
    }

    #[test]
    fn an_empty_set_cannot_be_made_nor_read() {
        assert_eq!(Scopes::parse::<_, &str>([]), Err(ScopesError::Empty));
        assert!(serde_json::from_str::<Scopes>("[]").is_err());
    }

    #[test]
    fn a_word_is_bounded_and_printable() {
        let refusal = ScopesError::NoWord { limit: WORD_LIMIT };
        let long = "a".repeat(WORD_LIMIT + 1);
        for word in ["", "a b", "a\"b", "a\\b", "a\u{7f}", "ü", long.as_str()] {
            assert_eq!(Scopes::parse([word]), Err(refusal), "{word}");
        }
        assert!(Scopes::parse([&long[1..]]).is_ok());
    }

    #[test]
    fn the_number_of_words_is_bounded() {
        let words = |count: usize| (0..count).map(|n| format!("w{n}")).collect::<Vec<_>>();
        assert!(Scopes::parse(words(WORDS_LIMIT)).is_ok());
        let refusal = ScopesError::TooMany { limit: WORDS_LIMIT };
        assert_eq!(Scopes::parse(words(WORDS_LIMIT + 1)), Err(refusal));
    }

    #[test]
    fn a_workspace_set_holds_the_floor_and_the_order_of_its_door() {
        for (given, stored) in [
            (&["review:run"][..], "brief:read review:run"),
            (&["brief:read"], "brief:read"),
            (
                &["review:configure", "review:execute", "brief:write"],
                "brief:read brief:write review:execute review:configure",
            ),
        ] {
            assert_eq!(scopes(given).of_workspace().unwrap().to_string(), stored);
        }
        for word in ["work", "brief:admin", "Brief:read"] {
            let refusal = scopes(&["brief:read", word]).of_workspace();
            assert_eq!(refusal, Err(ScopesError::NotOfWorkspace));
        }
    }
}
