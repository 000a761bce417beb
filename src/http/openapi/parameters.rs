//! Parameters and headers that several operations share.

use helix_aggregates::agent::run::status::Lifecycle;
use serde_json::{Value, json};

use super::operation::{Need, Parameter, Place};
use crate::app::agent::contract::{LARGEST, RUN_ID, number};
use crate::app::agent::reads::MAX_WAIT_MS;

pub const RUN: Parameter = Parameter {
    name: "run_id",
    place: Place::Path,
    need: Need::Required,
    schema: || json!({"type": "string", "pattern": RUN_ID}),
    description: "The id that the start returned.",
};

pub const REF: Parameter = Parameter {
    name: "ref",
    place: Place::Path,
    need: Need::Required,
    schema: || json!({"type": "string", "minLength": 1, "maxLength": 500}),
    description: "A ref of the run's evidence, percent-encoded.",
};

pub const KEY: Parameter = Parameter {
    name: "Idempotency-Key",
    place: Place::Header,
    need: Need::Required,
    schema: || {
        json!({"type": "string", "minLength": 8, "maxLength": 200, "pattern": "^[!#-~][ -~]*[!#-~]$",
            "example": "ferry-plan-0001"})
    },
    description: "Names this request: sent again with the same content it gets the same answer and does nothing \
        more. 8 to 200 printable characters; the form in quotation marks names the same key.",
};

pub const REQUEST_ID: Parameter = Parameter {
    name: "X-Request-Id",
    place: Place::Header,
    need: Need::Optional,
    schema: || json!({"type": "string"}),
    description: "Your id of this request. Printable, at most 160 characters of it, and no credential: then it \
        comes back, else the server makes one.",
};

pub const LAST_EVENT: Parameter = Parameter {
    name: "Last-Event-ID",
    place: Place::Header,
    need: Need::Optional,
    schema: || json!({"type": "string"}),
    description: "The last event that a broken stream has sent; the new one goes on after it. Only for streams.",
};

pub const AFTER_SEQ: Parameter = Parameter {
    name: "after_seq",
    place: Place::Query,
    need: Need::Optional,
    schema: || with_default(number(0, LARGEST), 0),
    description: "Events after this number.",
};

pub const EVENTS_LIMIT: Parameter = Parameter {
    name: "limit",
    place: Place::Query,
    need: Need::Optional,
    schema: || with_default(number(1, 200), 100),
    description: "Events on a page.",
};

pub const WAIT: Parameter = Parameter {
    name: "wait_ms",
    place: Place::Query,
    need: Need::Optional,
    schema: || with_default(number(0, MAX_WAIT_MS), 0),
    description: "How long to wait for the first event.",
};

pub const STATUS: Parameter = Parameter {
    name: "status",
    place: Place::Query,
    need: Need::Optional,
    schema: || json!({"type": "string", "enum": Lifecycle::ALL.map(Lifecycle::as_str)}),
    description: "Only runs with this lifecycle status.",
};

pub const CURSOR: Parameter = Parameter {
    name: "cursor",
    place: Place::Query,
    need: Need::Optional,
    schema: || json!({"type": "string"}),
    description: "The next_cursor of the page before, with the same status.",
};

pub const RUNS_LIMIT: Parameter = Parameter {
    name: "limit",
    place: Place::Query,
    need: Need::Optional,
    schema: || with_default(number(1, 100), 20),
    description: "Runs on a page.",
};

fn with_default(mut schema: Value, default: u64) -> Value {
    schema["default"] = Value::from(default);
    schema
}

/// Every header an answer may have, with what it says.
pub const HEADERS: [(&str, &str); 20] = [
    (
        "X-Request-Id",
        "The id of this request, in the server's log too.",
    ),
    (
        "Cache-Control",
        "no-store, unless the document is the same for everybody.",
    ),
    (
        "ETag",
        "The run's version as a weak tag; conditional requests are not evaluated.",
    ),
    ("Location", "Where the run is."),
    (
        "Idempotency-Replayed",
        "true if this answer was given before.",
    ),
    (
        "X-RateLimit-Limit",
        "Requests a minute; absent where nothing is limited.",
    ),
    ("X-RateLimit-Remaining", "Requests left in this minute."),
    (
        "X-RateLimit-Reset",
        "End of this minute in milliseconds since 1970.",
    ),
    ("RateLimit", "The same as a draft standard has it."),
    ("RateLimit-Policy", "The limit as a draft standard has it."),
    ("Retry-After", "Seconds to wait."),
    (
        "WWW-Authenticate",
        "What is missing, and the document that says who issues tokens.",
    ),
    ("Content-Disposition", "A name for the file."),
    ("Link", "The document's own address."),
    ("Allow", "The methods of this address."),
    (
        "Content-Security-Policy",
        "Nothing is loaded from elsewhere and nothing inline.",
    ),
    ("X-Frame-Options", "No page is shown inside another."),
    ("Access-Control-Allow-Methods", "What a page may send."),
    ("Access-Control-Allow-Headers", "The headers it may send."),
    ("Access-Control-Max-Age", "Seconds this stays true."),
];

/// Headers of every answer that went through the pipeline.
pub const ALWAYS: [&str; 7] = [
    "X-Request-Id",
    "Cache-Control",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "RateLimit",
    "RateLimit-Policy",
];
