//! Which door a `resource` parameter means (RFC 8707; `access` 3.2).
//!
//! Clients spell a resource as they were shown it, or as the path they will call. Both lead to one
//! door, and a grant reports only that door's canonical text, because clients compare it byte for
//! byte.
//!
//! What stays true: all texts come from configuration; a resource that is none of these is refused,
//! never guessed. Deliberately absent: which door the scope words tell, see [`super::scope`].

#[cfg(test)]
mod tests;

use super::error_code::ErrorCode;

/// One of the three doors an app may be connected to.
pub use helix_aggregates::access::grant::command::Door;

/// The paths below the issuer that mean a door without being its canonical text.
const fn further_paths(door: Door) -> &'static [&'static str] {
    match door {
        Door::Agent => &["/mcp/device-check", "/api/v1/agent-runs", "/api/v1/rooms"],
        Door::Vault => &[
            "/api/context",
            "/api/propose",
            "/api/subjects",
            "/api/generate",
        ],
        Door::Workspace => &["/api/v1/workspaces"],
    }
}

/// The doors of one issuer. A door without a text is not opened by this issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resources {
    /// An absolute http or https URL without a path.
    pub issuer: String,
    /// None while an external issuer is configured (`access` 1.3).
    pub agent_audience: Option<String>,
    pub vault: Option<String>,
    pub workspace: Option<String>,
}

/// Why no door is meant, or not the right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error("the resource is not one of this server")]
    Unknown,
    #[error("the resources name different doors")]
    TwoDoors,
    #[error("this server issues no tokens for that resource")]
    NotServed,
    #[error("the resource is not the one the grant was given for")]
    OtherDoor,
}

impl TargetError {
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::Unknown | Self::TwoDoors | Self::NotServed | Self::OtherDoor => {
                ErrorCode::InvalidTarget
            }
        }
    }
}

/// What one `resource` text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    Door(Door),
    /// The bare origin, which names no door.
    Origin,
}

impl Resources {
    /// The canonical text of a door, if this issuer opens it.
    pub fn canonical(&self, door: Door) -> Option<&str> {
        let text = match door {
            Door::Agent => &self.agent_audience,
            Door::Vault => &self.vault,
            Door::Workspace => &self.workspace,
        };
        text.as_deref()
    }

    /// What `text` means. An audience that is itself the bare origin means its door.
    pub fn door_of(&self, text: &str) -> Result<Meaning, TargetError> {
        let asked = Comparable::of(text).ok_or(TargetError::Unknown)?;
        if let Some(door) = Door::ALL.into_iter().find(|&door| self.opens(door, &asked)) {
            return Ok(Meaning::Door(door));
        }
        let origin = Comparable::of(&self.issuer);
        match origin {
            Some(origin) if origin == asked => Ok(Meaning::Origin),
            Some(_) | None => Err(TargetError::Unknown),
        }
    }

    /// The one door that `texts` name; none when there is no text, or only the bare origin.
    pub fn named(&self, texts: &[String]) -> Result<Option<Door>, TargetError> {
        let mut named = None;
        for text in texts {
            match (self.door_of(text)?, named) {
                (Meaning::Door(door), Some(other)) if door != other => {
                    return Err(TargetError::TwoDoors);
                }
                (Meaning::Door(door), _) => named = Some(door),
                (Meaning::Origin, _) => {}
            }
        }
        Ok(named)
    }

    /// Whether `texts`, sent to `/token`, agree with the door of the grant.
    pub fn agree(&self, texts: &[String], granted: Door) -> Result<(), TargetError> {
        match self.named(texts)? {
            Some(door) if door != granted => Err(TargetError::OtherDoor),
            Some(_) | None => Ok(()),
        }
    }

    fn opens(&self, door: Door, asked: &Comparable) -> bool {
        let Some(canonical) = self.canonical(door) else {
            return false;
        };
        let means = |text: &str| Comparable::of(text).as_ref() == Some(asked);
        means(canonical)
            || further_paths(door)
                .iter()
                .any(|path| means(&format!("{}{path}", self.issuer.trim_end_matches('/'))))
    }
}

/// A URL's text as far as spelling may differ: scheme and host in lower case, the default port and
/// one trailing slash dropped. Query, fragment and user information stay in it and so match nothing.
#[derive(Debug, PartialEq, Eq)]
struct Comparable(String);

impl Comparable {
    fn of(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let default_port = match scheme.as_str() {
            "https" => ":443",
            "http" => ":80",
            _ => return None,
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let authority = authority.to_ascii_lowercase();
        let authority = authority.strip_suffix(default_port).unwrap_or(&authority);
        let path = path.strip_suffix('/').unwrap_or(path);
        Some(Self(format!("{scheme}://{authority}{path}")))
    }
}
