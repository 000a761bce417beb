//! Documents and pages that need no token.

use serde_json::json;

use super::objects::Object;
use super::operation::{Access, Answer, Content, Group, Head, Need, Operation, Parameter, Place};
use super::parameters as p;
use crate::app::problem::Code;

const CODE: Parameter = Parameter {
    name: "code",
    place: Place::Path,
    need: Need::Required,
    schema: || json!({"type": "string", "minLength": 1, "maxLength": 100}),
    description: "The `error` of an answer.",
};

const JSON: &str = "application/json";
const HTML: &str = "text/html";
const PLAIN: &str = "text/plain";

/// A document of one media type.
const fn document(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    answers: &'static [Answer],
) -> Operation {
    Operation {
        method: "GET",
        path,
        id,
        group: Group::Discovery,
        access: Access::Public,
        head: Head::Served,
        summary,
        description: "",
        parameters: &[p::REQUEST_ID],
        body: None,
        answers,
        refusals: &[],
    }
}

/// Who issues tokens for one surface.
const fn metadata(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    const ANSWERS: &[Answer] = &[Answer {
        status: 200,
        description: "The resource, its authorization server and its scopes.",
        headers: &[],
        content: &[Content {
            media_type: JSON,
            object: Object::ProtectedResource,
        }],
    }];
    Operation {
        head: Head::Refused,
        refusals: &[Code::AuthNotConfigured],
        ..document(path, id, summary, ANSWERS)
    }
}

/// Headers of every page.
const FRAMED: &[&str] = &["Content-Security-Policy", "X-Frame-Options"];

macro_rules! answers {
    ($media:expr, $object:expr $(, $header:expr)*) => {
        &[Answer {
            status: 200,
            description: "The document.",
            headers: &[$($header),*],
            content: &[Content { media_type: $media, object: $object }],
        }]
    };
}

const fn page(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    const ANSWERS: &[Answer] = answers!(
        HTML,
        Object::Text,
        "Content-Security-Policy",
        "X-Frame-Options"
    );
    document(path, id, summary, ANSWERS)
}

/// Answered by the process itself, before any rule.
const fn health(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    answers: &'static [Answer],
) -> Operation {
    Operation {
        group: Group::Health,
        access: Access::Open,
        ..document(path, id, summary, answers)
    }
}

const OWN: &[&str] = &["X-Request-Id", "Cache-Control"];

pub const OPERATIONS: &[Operation] = &[
    metadata(
        "/.well-known/oauth-protected-resource",
        "resourceMetadata",
        "Who issues tokens",
    ),
    metadata(
        "/.well-known/oauth-protected-resource/mcp",
        "resourceMetadataMcp",
        "Who issues tokens for MCP",
    ),
    metadata(
        "/.well-known/oauth-protected-resource/mcp/device-check",
        "resourceMetadataDeviceCheck",
        "Who issues tokens for device checks",
    ),
    metadata(
        "/.well-known/oauth-protected-resource/api/v1/agent-runs",
        "resourceMetadataRuns",
        "Who issues tokens for runs",
    ),
    metadata(
        "/.well-known/oauth-protected-resource/api/v1/rooms",
        "resourceMetadataRooms",
        "Who issues tokens for rooms",
    ),
    document(
        "/agent-access.json",
        "agentAccess",
        "How agents connect, for machines",
        answers!(JSON, Object::AgentAccess, "Link"),
    ),
    document(
        "/docs/architecture/helix-agent-api-v1.md",
        "guide",
        "The guide to the run API",
        answers!("text/markdown", Object::Text),
    ),
    document(
        "/openapi.json",
        "openapi",
        "This document",
        answers!(JSON, Object::OpenApi),
    ),
    document(
        "/llms.txt",
        "llms",
        "What is here, for language models",
        answers!(PLAIN, Object::Text),
    ),
    document(
        "/robots.txt",
        "robots",
        "What crawlers leave alone",
        answers!(PLAIN, Object::Text),
    ),
    document(
        "/sitemap.xml",
        "sitemap",
        "The pages worth finding",
        answers!("application/xml", Object::Text),
    ),
    page(
        "/agent-access",
        "agentAccessPage",
        "How to connect an agent",
    ),
    page("/docs", "docsPage", "Every operation, to read"),
    page("/errors", "errorsPage", "Every error code"),
    Operation {
        parameters: &[CODE, p::REQUEST_ID],
        answers: &[
            Answer {
                status: 200,
                description: "What the code means and what to do.",
                headers: FRAMED,
                content: &[Content {
                    media_type: HTML,
                    object: Object::Text,
                }],
            },
            Answer {
                status: 404,
                description: "There is no such code.",
                headers: FRAMED,
                content: &[Content {
                    media_type: HTML,
                    object: Object::Text,
                }],
            },
        ],
        ..page("/errors/{code}", "errorPage", "One error code")
    },
    page(
        "/security",
        "securityPage",
        "What is protected, and how to report a fault",
    ),
    document(
        "/.well-known/security.txt",
        "securityContact",
        "Where to report a fault",
        answers!(PLAIN, Object::Text),
    ),
    document(
        "/assets/pages.css",
        "styles",
        "The style sheet of the pages",
        answers!("text/css", Object::Text),
    ),
    document(
        "/assets/pages.js",
        "script",
        "What the pages gain where scripts run",
        answers!("text/javascript", Object::Text),
    ),
    health(
        "/healthz",
        "healthz",
        "Whether the process is up",
        &[Answer {
            status: 200,
            description: "It is.",
            headers: OWN,
            content: &[Content {
                media_type: JSON,
                object: Object::Health,
            }],
        }],
    ),
    health(
        "/readyz",
        "readyz",
        "Whether it may be used",
        &[
            Answer {
                status: 200,
                description: "It may.",
                headers: OWN,
                content: &[Content {
                    media_type: JSON,
                    object: Object::Readiness,
                }],
            },
            Answer {
                status: 503,
                description: "Not now.",
                headers: &["X-Request-Id", "Cache-Control", "Retry-After"],
                content: &[Content {
                    media_type: JSON,
                    object: Object::Readiness,
                }],
            },
        ],
    ),
];
