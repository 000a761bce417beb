//! Requests of the probe: bounded, never redirected, as an MCP client would send them.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::report::Fault;
use crate::outbound::{FetchLimits, Fetched, GuardedFetch, Outgoing, Reach};

/// Both harnesses of the contract speak this version.
pub const PROTOCOL_VERSION: &str = "2025-06-18";
/// Largest answer, in bytes.
const MAX_ANSWER: usize = 1 << 20;

#[derive(Debug)]
pub struct Probe {
    fetch: GuardedFetch,
    token: Option<HeaderValue>,
}

impl Probe {
    pub fn new(timeout: Duration, token: Option<HeaderValue>) -> Self {
        let limits = FetchLimits {
            bytes: MAX_ANSWER,
            deadline: timeout,
        };
        Self {
            fetch: GuardedFetch::new(Reach::Anywhere, limits),
            token,
        }
    }

    pub fn has_token(&self) -> bool {
        self.token.is_some()
    }

    pub async fn get(&self, url: &Url) -> Result<Fetched, Fault> {
        let accept = HeaderValue::from_static("application/json");
        let request = Outgoing::get(url.clone()).header(ACCEPT, accept);
        Ok(self.fetch.send(request).await?)
    }

    /// One JSON-RPC message to the MCP door.
    pub async fn ask(
        &self,
        url: &Url,
        method: &str,
        params: &Value,
        who: Who,
    ) -> Result<Fetched, Fault> {
        let message = json!({
            "jsonrpc": "2.0", "id": format!("probe-{method}"), "method": method, "params": params,
        });
        let body = message.to_string().into_bytes();
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        let mut request = Outgoing::post(url.clone(), "application/json", body)
            .header(ACCEPT, accept)
            .header(
                HeaderName::from_static("mcp-protocol-version"),
                HeaderValue::from_static(PROTOCOL_VERSION),
            );
        if let (Who::Bearer, Some(token)) = (who, &self.token) {
            request = request.header(AUTHORIZATION, token.clone());
        }
        Ok(self.fetch.send(request).await?)
    }
}

/// As whom a message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Nobody,
    Bearer,
}
