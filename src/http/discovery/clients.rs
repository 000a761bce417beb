//! How each client is connected (`access` 10): the one place where the snippets stand.
//!
//! The page shows them, a test executes what can be executed, and a README that repeats one is held
//! against them. What must stay true: no snippet holds a credential, only the name of the variable that
//! does; `tried` says on which version a snippet was really used.

/// Stands for the MCP address in a snippet, byte for byte the resource that tokens are for.
pub const URL: &str = "{url}";

/// One client and its two ways in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    pub name: &'static str,
    /// The version it was tried on.
    pub tried: Tried,
    /// Where the snippets go.
    pub note: &'static str,
    /// Signing in through the authorization server.
    pub oauth: Option<&'static str>,
    /// With a token in the variable `HELIX_TOKEN`.
    pub token: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    Untried,
    On(&'static str),
}

impl Client {
    /// The way by sign-in, for the MCP address `url`.
    pub fn oauth_for(&self, url: &str) -> Option<String> {
        self.oauth.map(|snippet| snippet.replace(URL, url))
    }

    /// The way by token, for the MCP address `url`.
    pub fn token_for(&self, url: &str) -> Option<String> {
        self.token.map(|snippet| snippet.replace(URL, url))
    }
}

impl Tried {
    pub fn text(self) -> &'static str {
        match self {
            Self::Untried => "untried",
            Self::On(version) => version,
        }
    }
}

pub const CLIENTS: [Client; 5] = [
    Client {
        name: "Claude Code",
        tried: Tried::Untried,
        note: "Type the command, then /mcp in a session to sign in. With a token: the project's .mcp.json.",
        oauth: Some("claude mcp add --transport http helix {url}"),
        token: Some(
            r#"{"mcpServers":{"helix":{"type":"http","url":"{url}","headers":{"Authorization":"Bearer ${HELIX_TOKEN}"}}}}"#,
        ),
    },
    Client {
        name: "Codex",
        tried: Tried::Untried,
        note: "Type the commands.",
        oauth: Some("codex mcp add helix --url {url}\ncodex mcp login helix"),
        token: Some("codex mcp add helix --url {url} --bearer-token-env-var HELIX_TOKEN"),
    },
    Client {
        name: "Gemini CLI",
        tried: Tried::Untried,
        note: "The file settings.json; then /mcp auth helix in a session to sign in.",
        oauth: Some(r#"{"mcpServers":{"helix":{"httpUrl":"{url}"}}}"#),
        token: Some(
            r#"{"mcpServers":{"helix":{"httpUrl":"{url}","headers":{"Authorization":"Bearer $HELIX_TOKEN"}}}}"#,
        ),
    },
    Client {
        name: "ChatGPT",
        tried: Tried::Untried,
        note: "In developer mode, add a connector with this address. The server must be reachable from outside.",
        oauth: Some("{url}"),
        token: None,
    },
    Client {
        name: "curl",
        tried: Tried::On("7.88"),
        note: "Lists the tools. The token goes through standard input, where no other user sees it.",
        oauth: None,
        token: Some(
            r#"printf 'header = "Authorization: Bearer %s"' "$HELIX_TOKEN" | curl -sK - {url} -H 'Content-Type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'"#,
        ),
    },
];
