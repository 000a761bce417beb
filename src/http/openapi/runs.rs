//! The operations of the run door (`agent-api` 2, 3, 4).

use serde_json::json;

use super::objects::Object;
use super::operation::{Access, Answer, Body, Content, Group, Head, Operation, Parameter};
use super::parameters as p;
use crate::app::caller::{SCOPE_READ, SCOPE_WRITE};
use crate::app::problem::Code;

const RUN_HEADERS: &[&str] = &["ETag"];
const KEYED_HEADERS: &[&str] = &["ETag", "Idempotency-Replayed"];
const STARTED_HEADERS: &[&str] = &["ETag", "Idempotency-Replayed", "Location"];
const RUN: &[Content] = &[json_of(Object::Run)];

const fn json_of(object: Object) -> Content {
    Content {
        media_type: "application/json",
        object,
    }
}

const fn ok(description: &'static str, content: &'static [Content]) -> Answer {
    Answer {
        status: 200,
        description,
        headers: &[],
        content,
    }
}

/// A read without refusals of its own.
const fn read(path: &'static str, id: &'static str, parameters: &'static [Parameter]) -> Operation {
    Operation {
        method: "GET",
        path,
        id,
        group: Group::Runs,
        access: Access::Scope(SCOPE_READ),
        head: Head::Refused,
        summary: "",
        description: "",
        parameters,
        body: None,
        answers: &[],
        refusals: &[Code::NotFound],
    }
}

const fn write(path: &'static str, id: &'static str, body: Body) -> Operation {
    Operation {
        method: "POST",
        access: Access::Scope(SCOPE_WRITE),
        body: Some(body),
        ..read(path, id, &[p::RUN, p::KEY, p::REQUEST_ID])
    }
}

pub const OPERATIONS: &[Operation] = &[
    Operation {
        summary: "Start a run",
        description: "Makes a run that waits for its first continue. Nothing is executed yet. Whether the data scopes \
            are admitted is decided before the key is used up.",
        parameters: &[p::KEY, p::REQUEST_ID],
        answers: &[Answer {
            status: 201,
            description: "The run, as it was when it was started.",
            headers: STARTED_HEADERS,
            content: RUN,
        }],
        refusals: &[
            Code::AccountPolicyBlocked,
            Code::IdempotencyConflict,
            Code::IdempotencyInProgress,
            Code::OutcomeUnknown,
            Code::ScopePolicyNotConfigured,
        ],
        ..write("/api/v1/agent-runs", "startRun", START)
    },
    Operation {
        summary: "List runs",
        description: "The caller's own runs, newest first.",
        answers: &[ok("A page of runs.", &[json_of(Object::RunList)])],
        refusals: &[],
        ..read(
            "/api/v1/agent-runs",
            "listRuns",
            &[p::STATUS, p::CURSOR, p::RUNS_LIMIT, p::REQUEST_ID],
        )
    },
    Operation {
        summary: "Inspect a run",
        description: "The run as it is now.",
        answers: &[Answer {
            headers: RUN_HEADERS,
            ..ok("The run.", RUN)
        }],
        ..read(
            "/api/v1/agent-runs/{run_id}",
            "inspectRun",
            &[p::RUN, p::REQUEST_ID],
        )
    },
    Operation {
        summary: "Continue a run",
        description: "Takes one turn: with an instruction, with answers to pending questions, or both. Answered when \
            the turn has ended. A run that has expired or spent its steps is answered too, as it ended.",
        answers: &[Answer {
            headers: KEYED_HEADERS,
            ..ok("The run after the turn.", RUN)
        }],
        refusals: &[
            Code::AccountPolicyBlocked,
            Code::NotFound,
            Code::VersionConflict,
            Code::RunBusy,
            Code::RunNotResumable,
            Code::IdempotencyConflict,
            Code::IdempotencyInProgress,
            Code::OutcomeUnknown,
            Code::ScopePolicyNotConfigured,
        ],
        ..write(
            "/api/v1/agent-runs/{run_id}/continue",
            "continueRun",
            CONTINUE,
        )
    },
    Operation {
        summary: "Cancel a run",
        description: "Ends a run for good, also while a turn is executing.",
        answers: &[Answer {
            headers: KEYED_HEADERS,
            ..ok("The run, cancelled.", RUN)
        }],
        refusals: &[
            Code::NotFound,
            Code::VersionConflict,
            Code::RunNotResumable,
            Code::IdempotencyConflict,
            Code::IdempotencyInProgress,
            Code::OutcomeUnknown,
        ],
        ..write("/api/v1/agent-runs/{run_id}/cancel", "cancelRun", CANCEL)
    },
    Operation {
        summary: "Read events",
        description: "A page of events in order; with wait_ms it waits for the first one. With Accept: \
            text/event-stream the events come as they happen, each with its number as the id, a comment every 15 s \
            when nothing does, and the message `closed` at the end.",
        answers: &[
            ok(
                "A page of events, or a stream.",
                &[
                    json_of(Object::EventsPage),
                    Content {
                        media_type: "text/event-stream",
                        object: Object::Text,
                    },
                ],
            ),
            Answer {
                status: 204,
                description: "A stream was asked for, and the run has ended without further events.",
                headers: &[],
                content: &[],
            },
        ],
        ..read(
            "/api/v1/agent-runs/{run_id}/events",
            "listEvents",
            &[
                p::RUN,
                p::AFTER_SEQ,
                p::EVENTS_LIMIT,
                p::WAIT,
                p::LAST_EVENT,
                p::REQUEST_ID,
            ],
        )
    },
    Operation {
        summary: "Read the evidence bundle",
        description: "The refs of all turns, and what they support: the same object as the run's `evidence`.",
        answers: &[ok("The bundle.", &[json_of(Object::EvidenceBundle)])],
        ..read(
            "/api/v1/agent-runs/{run_id}/evidence",
            "fetchEvidence",
            &[p::RUN, p::REQUEST_ID],
        )
    },
    Operation {
        summary: "Read one ref back",
        description: "The quoted passage, where it stands, and the hashes that prove it. Whether its data scope is \
            admitted is judged again.",
        answers: &[ok("The passage.", &[json_of(Object::EvidenceItem)])],
        refusals: &[
            Code::NoSuchRef,
            Code::AccountPolicyBlocked,
            Code::ScopePolicyNotConfigured,
        ],
        ..read(
            "/api/v1/agent-runs/{run_id}/evidence/{ref}",
            "readEvidence",
            &[p::RUN, p::REF, p::REQUEST_ID],
        )
    },
    Operation {
        summary: "Download the log",
        description: "The events as they are stored, a JSON object a line, each linked to the one before it by a hash. \
            `helix verify` checks the file without the server.",
        answers: &[Answer {
            headers: &["Content-Disposition"],
            ..ok(
                "The log.",
                &[Content {
                    media_type: "application/x-ndjson",
                    object: Object::Text,
                }],
            )
        }],
        ..read(
            "/api/v1/agent-runs/{run_id}/log",
            "downloadLog",
            &[p::RUN, p::REQUEST_ID],
        )
    },
];

const START: Body = Body {
    object: Object::StartRequest,
    example: || {
        json!({
            "objective": "When does the last ferry to Skarholm leave?",
            "constraints": ["Quote the timetable."],
            "database_scope": ["research_library"],
            "completion_contract": {"min_evidence_refs": 1},
            "budget": {"max_steps": 4, "expires_in_seconds": 3_600},
        })
    },
};

const CONTINUE: Body = Body {
    object: Object::ContinueRequest,
    example: || json!({"expected_version": 1, "instruction": "Answer from the timetable."}),
};

const CANCEL: Body = Body {
    object: Object::CancelRequest,
    example: || json!({"expected_version": 1, "reason": "No longer needed."}),
};
