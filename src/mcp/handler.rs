//! What rmcp asks of a server: who it is, which tools it has, and to call one.

use std::borrow::Cow;
use std::sync::atomic::Ordering;

use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock,
    DiscoverResult, ErrorCode, Implementation, InitializeRequestParams, InitializeResult,
    ListToolsResult, MetaObject, PaginatedRequestParams, ProtocolVersion, ServerCapabilities,
    ServerConfig, Tool as ListedTool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use super::bridge::{Asking, Turn};
use super::{Face, catalog, envelope, tools, work};
use crate::app::problem::{Code, Problem};
use crate::app::redaction;
use crate::http::respond;
use crate::http::work::envelope as envelope_of_work;

const VERSION: &str = "1.0.0";
/// How long clients may keep what they were told of this server: it changes with a release.
const FRESH_MS: u64 = 300_000;
/// Stateless: what a call needs comes with its request.
#[derive(Debug, Clone, Copy)]
pub struct DoorTools(pub Face);

impl rmcp::ServerHandler for DoorTools {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools();
        let capabilities = if self.0.tells_of_changes() {
            capabilities.enable_tool_list_changed().build()
        } else {
            capabilities.build()
        };
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new(self.0.name(), VERSION);
        info.instructions = Some(self.0.instructions().to_owned());
        info
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let version = envelope::negotiated(request.protocol_version.as_str());
        let mut info = self.get_info();
        info.protocol_version = serde_json::from_value(json!(version))
            .map_err(|_| ErrorData::internal_error("no version", None))?;
        Ok(info)
    }

    async fn discover(
        &self,
        _context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let mut info = self.get_info();
        // In this era whoever promises to tell of changes must let clients listen for them.
        info.capabilities = ServerCapabilities::builder().enable_tools().build();
        let versions = self.supported_protocol_versions().into_owned();
        let mut found = DiscoverResult::from_server_info(versions, info);
        found.ttl_ms = FRESH_MS;
        found.cache_scope = CacheScope::Public;
        Ok(found)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut listed = ListToolsResult::with_all_items(self.0.known().to_vec());
        // The same for everybody, whatever their scopes (`access` 11).
        listed.ttl_ms = Some(FRESH_MS);
        listed.cache_scope = Some(CacheScope::Public);
        Ok(listed)
    }

    fn get_tool(&self, name: &str) -> Option<ListedTool> {
        let mut known = self.0.known().iter();
        known.find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let parts = context.extensions.get::<http::request::Parts>();
        let Some(turn) = parts.and_then(|parts| parts.extensions.get::<Turn>()) else {
            return Err(ErrorData::internal_error("the request has no caller", None));
        };
        let unknown = || {
            let message = "There is no such tool.";
            ErrorData::new(ErrorCode::INVALID_PARAMS, message, None)
        };
        let arguments = request.arguments.unwrap_or_default();
        let called = match &turn.asking {
            Asking::Agent(caller) => {
                let tool = catalog::named(&request.name).ok_or_else(unknown)?;
                let arguments = Value::Object(arguments);
                tools::call(&turn.door.runs, caller, tool, &arguments).await
            }
            Asking::Workspace(caller) => {
                let tool = work::named(&request.name).ok_or_else(unknown)?;
                work::call(&turn.door, caller, tool, arguments).await
            }
        };
        let result = match called {
            Ok(value) => carrying(CallToolResult::success(Vec::new()), value),
            Err(problem) => failed(turn, &problem),
        };
        Ok(result.into())
    }
}

/// A failure as a result: the run error envelope, and the challenge where a scope is missing.
fn failed(turn: &Turn, problem: &Problem) -> CallToolResult {
    if matches!(problem.code, Code::CredentialEnded | Code::Unauthorized) {
        turn.ended.store(true, Ordering::Release);
    }
    let face = turn.asking.face();
    let value = match face {
        Face::Agent => respond::envelope(problem, None),
        Face::Workspace => envelope_of_work(problem, &turn.request_id),
    };
    let mut result = carrying(CallToolResult::error(Vec::new()), value);
    if problem.code == Code::InsufficientScope
        && let Some(challenge) = respond::challenge(problem, face.surface(), &turn.door.base)
    {
        let mut meta = MetaObject::default();
        meta.insert("mcp/www_authenticate".to_owned(), json!([challenge]));
        result.meta = Some(meta);
    }
    let row = problem.code.row();
    if let Some(cause) = problem.cause.as_ref().filter(|_| row.status >= 500) {
        tracing::error!(
            request.id = turn.logged_id,
            code = row.code,
            cause,
            "a tool failed"
        );
    }
    result
}

/// The value as structure and as text, redacted as every answer is.
fn carrying(mut result: CallToolResult, mut value: Value) -> CallToolResult {
    redaction::redact(&mut value);
    result.content = vec![ContentBlock::text(value.to_string())];
    result.structured_content = Some(value);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_a_face_is_known_to_rmcp() {
        for face in Face::ALL {
            let names = face.known().iter().map(|tool| tool.name.as_ref());
            let listed = face.listed().iter();
            assert!(names.eq(listed.map(|tool| tool["name"].as_str().unwrap())));
        }
    }
}
