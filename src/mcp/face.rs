//! The faces of the server over MCP, and what tells them apart (`access` 10, 11).

use rmcp::model::Tool as ListedTool;
use serde_json::Value;
use std::sync::LazyLock;

use super::{catalog, work};
use crate::http::surface::Surface;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    Agent,
    Workspace,
}

impl Face {
    pub const ALL: [Self; 2] = [Self::Agent, Self::Workspace];

    pub fn path(self) -> &'static str {
        match self {
            Self::Agent => super::PATH,
            Self::Workspace => work::PATH,
        }
    }

    pub fn surface(self) -> Surface {
        match self {
            Self::Agent => Surface::Mcp,
            Self::Workspace => Surface::WorkspaceMcp,
        }
    }

    /// Clients of the contract require exactly these names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "casimirbot-helix-agent",
            Self::Workspace => "helix-workspace",
        }
    }

    pub fn instructions(self) -> &'static str {
        match self {
            Self::Agent => catalog::INSTRUCTIONS,
            Self::Workspace => work::INSTRUCTIONS,
        }
    }

    /// Whether a handshake says that the list of tools may change.
    pub fn tells_of_changes(self) -> bool {
        self == Self::Agent
    }

    /// The code of a message that is JSON and no message.
    pub fn envelope_fault(self) -> i32 {
        match self {
            Self::Agent => -32700,
            Self::Workspace => -32600,
        }
    }

    /// As `tools/list` shows them.
    pub fn listed(self) -> &'static [Value] {
        match self {
            Self::Agent => catalog::listed(),
            Self::Workspace => work::listed(),
        }
    }

    /// The same, as far as rmcp's type knows it; the bridge puts the rest back.
    pub fn known(self) -> &'static [ListedTool] {
        static AGENT: LazyLock<Vec<ListedTool>> = LazyLock::new(|| known(Face::Agent));
        static WORKSPACE: LazyLock<Vec<ListedTool>> = LazyLock::new(|| known(Face::Workspace));
        match self {
            Self::Agent => &AGENT,
            Self::Workspace => &WORKSPACE,
        }
    }
}

fn known(face: Face) -> Vec<ListedTool> {
    let known = |tool: &Value| serde_json::from_value(tool.clone()).ok();
    face.listed().iter().filter_map(known).collect()
}
