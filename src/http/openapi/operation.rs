//! What is said of one operation.

use serde_json::Value;

use super::objects::Object;
use crate::app::problem::Code;

/// One method of one path.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    pub method: &'static str,
    pub path: &'static str,
    pub id: &'static str,
    pub group: Group,
    pub access: Access,
    pub head: Head,
    pub summary: &'static str,
    /// More than the summary, or nothing.
    pub description: &'static str,
    pub parameters: &'static [Parameter],
    pub body: Option<Body>,
    pub answers: &'static [Answer],
    /// Refusals of this operation, beside those of its access.
    pub refusals: &'static [Code],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Runs,
    Mcp,
    Workers,
    Discovery,
    Health,
}

impl Group {
    pub const ALL: [Self; 5] = [
        Self::Runs,
        Self::Mcp,
        Self::Workers,
        Self::Discovery,
        Self::Health,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Runs => "Runs",
            Self::Mcp => "MCP",
            Self::Workers => "Workers",
            Self::Discovery => "Discovery and pages",
            Self::Health => "Health",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            Self::Runs => "Start, drive and read runs.",
            Self::Mcp => "The same operations as tools.",
            Self::Workers => "Solve turns from outside, where the operator has chosen that.",
            Self::Discovery => "What is served here, for clients, crawlers and people.",
            Self::Health => "Whether the process is up and may be used.",
        }
    }
}

/// Who may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody, and nothing can refuse.
    Open,
    /// Anybody, from an admitted place.
    Public,
    /// A token; what it may do is judged by message.
    Token,
    /// The token of a worker, which opens nothing else.
    Worker,
    /// A token with this scope.
    Scope(&'static str),
}

/// Whether HEAD is answered beside GET.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head {
    Served,
    Refused,
}

#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    pub name: &'static str,
    pub place: Place,
    pub need: Need,
    pub schema: fn() -> Value,
    pub description: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Path,
    Query,
    Header,
}

impl Place {
    pub fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Required,
    Optional,
}

/// The JSON that is sent.
#[derive(Debug, Clone, Copy)]
pub struct Body {
    pub object: Object,
    pub example: fn() -> Value,
}

/// A status that is no refusal.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    pub status: u16,
    pub description: &'static str,
    /// Names of `parameters::HEADERS`.
    pub headers: &'static [&'static str],
    pub content: &'static [Content],
}

/// A body by its media type.
#[derive(Debug, Clone, Copy)]
pub struct Content {
    pub media_type: &'static str,
    pub object: Object,
}
