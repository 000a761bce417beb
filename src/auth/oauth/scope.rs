//! Scope words: three families, one for each door (`access` 5).
//!
//! The families are disjoint, so words alone can tell a door, and a token holds words of one family
//! only. Words of other doors and unknown ones are dropped rather than refused: clients ask for what
//! some document listed, and the owner decides at consent anyway.
//!
//! What stays true: a [`Scopes`] has at least one word, keeps the canonical order, and one of the
//! workspace door holds the floor `brief:read`. No word implies another.
//!
//! Deliberately absent: which operation needs which word.

mod family;
#[cfg(test)]
mod tests;

use std::fmt;

use super::error_code::ErrorCode;
use super::resource::Door;

pub use family::{Providers, sentence};

/// Every workspace operation also needs it.
pub const FLOOR: &str = "brief:read";

/// Granted, but required by nothing and offered only when asked for.
const RESERVED: &str = "review:configure";

/// Accepted and ignored: every grant is refreshed anyway (`access` 3.1).
const OFFLINE_ACCESS: &str = "offline_access";

/// Every word of a door in canonical order.
pub fn words(door: Door) -> impl Iterator<Item = &'static str> {
    family::of(door).iter().map(|entry| entry.word)
}

/// The words that metadata lists and consent pages offer unasked.
pub fn supported(door: Door) -> impl Iterator<Item = &'static str> {
    words(door).filter(|&word| word != RESERVED)
}

/// Which door a list of words tells when no resource does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    Door(Door),
    Nothing,
    Mixed,
}

/// The door that the known words of a `scope` parameter belong to.
pub fn told(scope: &str) -> Told {
    scope
        .split_ascii_whitespace()
        .filter_map(|word| {
            let known = |door: &Door| words(*door).any(|of| of == word);
            Door::ALL.into_iter().find(known)
        })
        .fold(Told::Nothing, |told, door| match told {
            Told::Nothing => Told::Door(door),
            Told::Door(other) if other == door => told,
            Told::Door(_) | Told::Mixed => Told::Mixed,
        })
}

/// Words of one door, at least one, in canonical order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scopes {
    door: Door,
    words: Vec<&'static str>,
}

/// Why a refresh may not name its scope so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the scope goes beyond what the grant holds")]
pub struct WiderScope;

impl WiderScope {
    pub const fn code(self) -> ErrorCode {
        ErrorCode::InvalidScope
    }
}

impl Scopes {
    /// The known ones among `chosen`, with the floor of the door; none when nothing is left, since an
    /// empty set cannot be granted.
    pub fn chosen<'w>(door: Door, chosen: impl IntoIterator<Item = &'w str>) -> Option<Self> {
        let chosen: Vec<&str> = chosen.into_iter().collect();
        let kept: Vec<_> = words(door).filter(|word| chosen.contains(word)).collect();
        if kept.is_empty() {
            return None;
        }
        let floor = |word: &&str| door == Door::Workspace && *word == FLOOR;
        let words = words(door)
            .filter(|word| kept.contains(word) || floor(word))
            .collect();
        Some(Self { door, words })
    }

    /// What is preselected when nothing known was asked for, and what the door's challenge names.
    pub fn default_of(door: Door) -> Self {
        let words = family::of(door)
            .iter()
            .filter(|entry| entry.unasked == family::Unasked::Preselected)
            .map(|entry| entry.word)
            .collect();
        Self { door, words }
    }

    pub fn door(&self) -> Door {
        self.door
    }

    pub fn words(&self) -> &[&'static str] {
        &self.words
    }

    pub fn contains(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    /// The scope of an access token when a refresh of this grant names `scope`: the grant's own when
    /// it names none, else a subset (`access` 3.5). Unlike at `/authorize` an unknown word is
    /// refused, since no owner decides any more.
    pub fn narrowed(&self, scope: Option<&str>) -> Result<Self, WiderScope> {
        let asked: Vec<&str> = scope
            .unwrap_or_default()
            .split_ascii_whitespace()
            .filter(|&word| word != OFFLINE_ACCESS)
            .collect();
        if asked.iter().any(|word| !self.contains(word)) {
            return Err(WiderScope);
        }
        Ok(Self::chosen(self.door, asked).unwrap_or_else(|| self.clone()))
    }
}

/// The text of a `scope` member or parameter.
impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words.join(" "))
    }
}

/// What a client asked for, of one door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requested {
    Named(Scopes),
    /// No known word of the door.
    Nothing(Door),
}

/// How a consent page lays the words out (`vault` 3.3). Nothing of `folded` is ticked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub open: Vec<&'static str>,
    pub folded: Vec<&'static str>,
    pub ticked: Scopes,
}

impl Requested {
    pub fn of(door: Door, scope: &str) -> Self {
        Scopes::chosen(door, scope.split_ascii_whitespace())
            .map_or(Self::Nothing(door), Self::Named)
    }

    pub fn door(&self) -> Door {
        match self {
            Self::Named(scopes) => scopes.door(),
            Self::Nothing(door) => *door,
        }
    }

    /// Exactly what was asked for is open and ticked; when that is nothing, all is open and the
    /// door's default ticked.
    pub fn offer(&self) -> Offer {
        match self {
            Self::Named(scopes) => Offer {
                open: scopes.words.clone(),
                folded: supported(scopes.door)
                    .filter(|word| !scopes.contains(word))
                    .collect(),
                ticked: scopes.clone(),
            },
            Self::Nothing(door) => Offer {
                open: supported(*door).collect(),
                folded: Vec::new(),
                ticked: Scopes::default_of(*door),
            },
        }
    }
}
