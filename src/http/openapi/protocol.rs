//! The MCP door (`agent-api` 10, `access` 11).

use serde_json::json;

use super::objects::Object;
use super::operation::{
    Access, Answer, Body, Content, Group, Head, Need, Operation, Parameter, Place,
};
use super::parameters as p;
use crate::app::problem::Code;

const VERSION: Parameter = Parameter {
    name: "MCP-Protocol-Version",
    place: Place::Header,
    need: Need::Optional,
    schema: || json!({"type": "string", "enum": crate::mcp::versions()}),
    description: "The version that the handshake ended with. The stateless version names itself here, and asks for \
        the headers Mcp-Method and Mcp-Name and for _meta in each message.",
};

const RPC_ERROR: &[Content] = &[Content {
    media_type: "application/json",
    object: Object::JsonRpcError,
}];

const fn fault(status: u16, description: &'static str) -> Answer {
    Answer {
        status,
        description,
        headers: &[],
        content: RPC_ERROR,
    }
}

pub const OPERATIONS: &[Operation] = &[
    Operation {
        method: "POST",
        path: "/mcp",
        id: "mcp",
        group: Group::Mcp,
        access: Access::Token,
        head: Head::Refused,
        summary: "Send a message",
        description: "One JSON-RPC message, or a batch of up to 20. No session is issued, and answers are always plain \
            JSON. Refused calls of tools are results with isError; their structuredContent is the error envelope.",
        parameters: &[VERSION, p::REQUEST_ID],
        body: Some(Body {
            object: Object::JsonRpcRequest,
            example: || json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        }),
        answers: &[
            Answer {
                status: 200,
                description: "The answer, or an array of them for a batch.",
                headers: &[],
                content: &[Content {
                    media_type: "application/json",
                    object: Object::JsonRpcResponse,
                }],
            },
            Answer {
                status: 202,
                description: "Taken; a notification has no answer.",
                headers: &[],
                content: &[],
            },
            fault(404, "No such method, in the stateless version."),
            fault(406, "Accept rules out application/json."),
        ],
        refusals: &[Code::InvalidRequest],
    },
    Operation {
        method: "OPTIONS",
        path: "/mcp",
        id: "mcpPreflight",
        group: Group::Mcp,
        access: Access::Public,
        head: Head::Refused,
        summary: "Ask what a page may send",
        description: "",
        parameters: &[p::REQUEST_ID],
        body: None,
        answers: &[Answer {
            status: 204,
            description: "What a page of an admitted origin may send.",
            headers: &[
                "Access-Control-Allow-Methods",
                "Access-Control-Allow-Headers",
                "Access-Control-Max-Age",
            ],
            content: &[],
        }],
        refusals: &[],
    },
];
