//! The operations of external workers (settled questions 86 to 90).

use serde_json::json;

use super::objects::Object;
use super::operation::{Access, Answer, Body, Content, Group, Head, Operation};
use super::parameters as p;
use crate::app::problem::Code;

const fn answer(description: &'static str, content: &'static [Content]) -> Answer {
    Answer {
        status: 200,
        description,
        headers: &[],
        content,
    }
}

const fn json_of(object: Object) -> Content {
    Content {
        media_type: "application/json",
        object,
    }
}

const fn operation(path: &'static str, id: &'static str, body: Body) -> Operation {
    Operation {
        method: "POST",
        path,
        id,
        group: Group::Workers,
        access: Access::Worker,
        head: Head::Refused,
        summary: "",
        description: "",
        parameters: &[p::REQUEST_ID],
        body: Some(body),
        answers: &[],
        refusals: &[Code::AttemptFenced],
    }
}

pub const OPERATIONS: &[Operation] = &[
    Operation {
        summary: "Claim a turn",
        description: "Waits for a turn that needs a worker. The lease is 30 s; each heartbeat renews it.",
        answers: &[
            answer(
                "A turn, with all that is needed for it.",
                &[json_of(Object::WorkerTurn)],
            ),
            Answer {
                status: 204,
                description: "No turn came within the wait.",
                headers: &[],
                content: &[],
            },
        ],
        refusals: &[],
        ..operation(
            "/api/v1/agent-workers/claim",
            "claimTurn",
            Body {
                object: Object::WorkerClaim,
                example: || json!({"worker": "harbour-1", "wait_ms": 25_000}),
            },
        )
    },
    Operation {
        summary: "Keep a turn",
        description: "Renews the lease and tells whether the turn is still wanted. Beat every 500 ms to 10 s; an earlier beat, as after an answer that was lost, is taken like any other and counts against the token's limit.",
        answers: &[answer("The lease.", &[json_of(Object::WorkerLease)])],
        ..operation(
            "/api/v1/agent-workers/heartbeat",
            "beat",
            Body {
                object: Object::WorkerHeartbeat,
                example: || json!({"turn_token": "the_turns_token"}),
            },
        )
    },
    Operation {
        summary: "Call a tool",
        description: "Reads through the server's tool host, which checks the scope and keeps a receipt.",
        answers: &[answer(
            "What was found.",
            &[json_of(Object::WorkerCallAnswer)],
        )],
        refusals: &[Code::AttemptFenced, Code::AccountPolicyBlocked],
        ..operation(
            "/api/v1/agent-workers/tool",
            "callTool",
            Body {
                object: Object::WorkerCall,
                example: || {
                    json!({"turn_token": "the_turns_token", "capability": "research-library.read_document",
                        "arguments": {"query": "ferry", "source": null, "start": null, "end": null}})
                },
            },
        )
    },
    Operation {
        summary: "Hand a product in",
        description: "The server reads every quoted passage again before anything of the product counts. The same \
            product gets the same receipt.",
        answers: &[answer("The receipt.", &[json_of(Object::WorkerReceipt)])],
        ..operation(
            "/api/v1/agent-workers/complete",
            "completeTurn",
            Body {
                object: Object::WorkerProduct,
                example: || {
                    json!({"turn_token": "the_turns_token", "product": {
                        "quoted_spans": [{"source": 1, "start": 0, "end": 10, "quote": "The ferry."}],
                        "claims": [{"text": "There is a ferry.", "spans": [0]}],
                    }})
                },
            },
        )
    },
];
