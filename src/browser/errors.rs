//! `/errors` and `/errors/{code}`: what each public code means and what to do about it.
//!
//! `type` of a problem+json answer is the address of one of these pages, so every code has one; a test
//! holds the table against that of `app::problem`.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;

use super::{Frame, html};
use crate::app::problem::{Code, Problem, Row};
use crate::http::door::Doors;
use crate::http::openapi::RATE_LIMITED;

/// What is said of a code beyond its rows.
#[derive(Debug)]
struct Guide {
    code: &'static str,
    meaning: &'static str,
    remedy: &'static str,
    /// Members of `details`, when there are any.
    details: &'static [(&'static str, &'static str)],
}

static GUIDES: [Guide; 37] = [
    Guide {
        code: "invalid_request",
        meaning: "The request cannot be read or breaks a bound. Nothing was done, and a key that came with it can be \
            used again.",
        remedy: "Mend what the message or details.issues name. Unknown members, numbers sent as text, duplicate keys \
            and text that looks like a credential are refused too.",
        details: &[
            ("issues", "each fault with its code, path and message"),
            (
                "unknown_question_ids",
                "answers to questions that are not open",
            ),
            (
                "failure_code",
                "protected_sensitive_content_rejected: something looked like a credential",
            ),
        ],
    },
    Guide {
        code: "unauthorized",
        meaning: "There is no bearer token, or it is not valid here: expired, of another issuer or audience, or \
            badly signed.",
        remedy: "Get a token from the authorization server that WWW-Authenticate leads to, and send it as \
            Authorization: Bearer, once.",
        details: &[],
    },
    Guide {
        code: "session_required",
        meaning: "This address serves pages of this server, and nobody is signed in.",
        remedy: "Sign in at /sign-in, then open the page again.",
        details: &[],
    },
    Guide {
        code: "human_action_required",
        meaning: "Only a person may do this, whatever scopes or reach the credential has.",
        remedy: "Have the owner do it in a browser. Neither another login nor another scope helps.",
        details: &[],
    },
    Guide {
        code: "role_required",
        meaning: "The person's role in the workspace does not allow this, or the thing was made by another caller.",
        remedy: "Ask an owner or admin of the workspace, or whoever made it.",
        details: &[],
    },
    Guide {
        code: "reauthentication_required",
        meaning: "This needs a passphrase that was entered within the last ten minutes.",
        remedy: "Sign in again, then repeat it.",
        details: &[],
    },
    Guide {
        code: "PROJECT_ACCESS_DENIED",
        meaning: "The credential reaches some projects of the workspace, and this is none of them. Whether there is \
            such a project is not said.",
        remedy: "Use a project of project_list, or have a person give out a credential that reaches further. Another \
            login does not help.",
        details: &[],
    },
    Guide {
        code: "credential_in_content",
        meaning: "The content holds the text of a credential of this server. Nothing was stored.",
        remedy: "Revoke that credential, since it has left its place, and send the content without it.",
        details: &[],
    },
    Guide {
        code: "limit_reached",
        meaning: "There are as many as there can be.",
        remedy: "Take one away first: withdraw a proposal, revoke a token.",
        details: &[],
    },
    Guide {
        code: "proposal_closed",
        meaning: "The proposal was committed, rejected or withdrawn.",
        remedy: "Read the brief, and propose anew.",
        details: &[],
    },
    Guide {
        code: "step_unavailable",
        meaning: "No step of the review can be claimed now: all are done and it waits at its gate, or somebody holds \
            one. A review has one live claim at a time.",
        remedy: "Read the review; claim again when the lease it shows has ended, or after a person's decision.",
        details: &[],
    },
    Guide {
        code: "claim_lost",
        meaning: "The claim was given back, its lease ran out, its credential was revoked, or it is another caller's.",
        remedy: "Read the review and claim a step anew. What was submitted before is kept; this was not.",
        details: &[],
    },
    Guide {
        code: "review_closed",
        meaning: "The review is completed, cancelled or failed, and takes no more work.",
        remedy: "Read it, or start another review.",
        details: &[],
    },
    Guide {
        code: "project_archived",
        meaning: "The project is archived: it can be read and nothing else.",
        remedy: "Work in another project.",
        details: &[],
    },
    Guide {
        code: "repository_not_connected",
        meaning: "There is no such repository, or it was not opened to that project: the two look the same on purpose.",
        remedy: "Choose one of the project's linkable_repositories, or have a person connect it.",
        details: &[],
    },
    Guide {
        code: "not_implemented",
        meaning: "The route is reserved for people, and nothing is behind it yet.",
        remedy: "Wait for a later version.",
        details: &[],
    },
    Guide {
        code: "cross_origin_forbidden",
        meaning: "A form came from somewhere else than a page of this server, or was opened in another session. \
            Nothing was done.",
        remedy: "Open the page again and send its form from there.",
        details: &[],
    },
    Guide {
        code: "tenant_required",
        meaning: "The token is valid and names no tenant, so nobody can own what it would make.",
        remedy: "Ask for a token with a tenant claim; the authorization server decides about it.",
        details: &[],
    },
    Guide {
        code: "tenant_mismatch",
        meaning: "A tenant header says another tenant than the token.",
        remedy: "Leave the header out, or use the token of that tenant.",
        details: &[],
    },
    Guide {
        code: "account_not_linked",
        meaning: "The token is valid, and its identity has no active account on this server.",
        remedy: "Ask the operator to link it, or to link it again.",
        details: &[],
    },
    Guide {
        code: "insufficient_scope",
        meaning: "The token lacks a scope of the operation or of a data scope that was asked for.",
        remedy: "Ask for a token with all scopes that the answer names, not only the missing one.",
        details: &[
            ("required_scope", "the scope that is missing"),
            ("required_oauth_scopes", "the scopes to ask for"),
            ("required_scopes", "the same, at the workspace door"),
            ("denied_scopes", "the data scopes that were not admitted"),
        ],
    },
    Guide {
        code: "account_policy_blocked",
        meaning: "The operator has not switched a data scope on, or the account may not use all that is behind it.",
        remedy: "Leave the scope out, or ask the operator. Another token does not help.",
        details: &[
            ("denied_scopes", "data scopes that are not switched on"),
            ("denied_capabilities", "what the account may not use"),
        ],
    },
    Guide {
        code: "host_not_allowed",
        meaning: "The request names a host that is not this server's. That is how pages of strangers are kept out.",
        remedy: "Use the public address. Behind a proxy, pass Host on, or have the operator admit the name.",
        details: &[],
    },
    Guide {
        code: "origin_not_allowed",
        meaning: "A page of an origin that is not admitted has sent the request.",
        remedy: "Call from the server's own pages or from no page at all, or have the operator admit the origin.",
        details: &[],
    },
    Guide {
        code: "https_required",
        meaning: "The request came over plain http to a server in production.",
        remedy: "Use https. Behind a proxy that ends TLS, have the operator trust that proxy.",
        details: &[],
    },
    Guide {
        code: "not_found",
        meaning: "There is no such thing or path, or it is not yours: the two look the same on purpose.",
        remedy: "Check the id, and that the credential is of the identity or workspace that it belongs to.",
        details: &[],
    },
    Guide {
        code: "version_conflict",
        meaning: "The run or other thing has moved on since the version that the request expects.",
        remedy: "Read it, decide again, and send the request with its present version. The key can be used \
            again.",
        details: &[
            ("current_version", "the version now"),
            ("base_version", "the version that a proposal was made for"),
        ],
    },
    Guide {
        code: "run_busy",
        meaning: "A turn of this run is executing.",
        remedy: "Wait for its end: follow the events, or inspect. A cancel would pass.",
        details: &[("current_version", "the run's version now")],
    },
    Guide {
        code: "run_not_resumable",
        meaning: "The run is completed, failed or cancelled; nothing follows.",
        remedy: "Read what it has left, and start another run.",
        details: &[],
    },
    Guide {
        code: "idempotency_conflict",
        meaning: "The key was used within the last 24 hours with a different request.",
        remedy: "Use a new key for each new request. To repeat the old one, send exactly what was sent.",
        details: &[],
    },
    Guide {
        code: "idempotency_in_progress",
        meaning: "The same request under the same key is still being done.",
        remedy: "Send it again a little later; it gets the answer of the first.",
        details: &[
            ("lease_expires_at", "when the server gives the first one up"),
            ("run_id", "the run it is about"),
        ],
    },
    Guide {
        code: "outcome_unknown",
        meaning: "The server lost the turn before its end, or the turn lost the run to another one. What it had \
            recorded by then is kept.",
        remedy: "Inspect the run and go on from what it shows, with a new key.",
        details: &[
            ("run_id", "the run to inspect"),
            ("claimed_version", "the version at which the turn began"),
        ],
    },
    Guide {
        code: "attempt_fenced",
        meaning: "A worker has spoken of a turn that is no longer its own: its lease has run out, the turn has \
            ended, or another attempt has begun.",
        remedy: "Drop the turn and claim another. Beat more often than the lease lasts.",
        details: &[],
    },
    Guide {
        code: "scope_policy_not_configured",
        meaning: "The operator has switched on a data scope that this server does not know, or more than one run may \
            hold.",
        remedy: "Tell the operator; helix doctor reports it. Until then ask for other scopes.",
        details: &[("missing_scope_policies", "the scopes without a policy")],
    },
    Guide {
        code: "auth_not_configured",
        meaning: "The server cannot check tokens: no issuer is set, or its keys cannot be fetched.",
        remedy: "Tell the operator; helix doctor says what is missing.",
        details: &[],
    },
    Guide {
        code: "internal_error",
        meaning: "With status 500, a fault of the server. With 503, it is busy, starting or stopping, and has done \
            nothing.",
        remedy: "Send the same request again, with the same key, after Retry-After if it is there. If a 500 stays, \
            give the operator the request id.",
        details: &[],
    },
    Guide {
        code: "rate_limited",
        meaning: "Too many requests in this minute from one address or of one principal. Nothing was done.",
        remedy: "Wait for the seconds of Retry-After. The X-RateLimit headers tell beforehand what is left.",
        details: &[("retryAfterMs", "in the body itself: milliseconds to wait")],
    },
];

/// Every code that has a page.
pub fn codes() -> impl Iterator<Item = &'static str> {
    GUIDES.iter().map(|guide| guide.code)
}

/// The rows of a code, by status.
fn rows(code: &str) -> Vec<Row> {
    let all = Code::ALL.into_iter().map(Code::row).chain([RATE_LIMITED]);
    let mut rows: Vec<Row> = all.filter(|row| row.code == code).collect();
    rows.sort_by_key(|row| row.status);
    rows
}

#[derive(Template)]
#[template(path = "browser/errors.html", config = ".askama.toml")]
struct Index<'a> {
    frame: Frame<'a>,
    entries: Vec<Entry>,
}

/// A code with the statuses it comes with.
struct Entry {
    guide: &'static Guide,
    statuses: String,
    retryable: bool,
}

impl Entry {
    fn of(guide: &'static Guide) -> Self {
        let rows = rows(guide.code);
        let mut statuses: Vec<String> = rows.iter().map(|row| row.status.to_string()).collect();
        statuses.dedup();
        Self {
            guide,
            statuses: statuses.join(", "),
            retryable: rows.iter().any(|row| row.retryable),
        }
    }
}

pub fn index(door: &Doors, _: &HttpRequest) -> Result<HttpResponse, Problem> {
    let page = Index {
        frame: Frame::of(&door.base, "/errors"),
        entries: GUIDES.iter().map(Entry::of).collect(),
    };
    html(StatusCode::OK, &page)
}

#[derive(Template)]
#[template(path = "browser/error.html", config = ".askama.toml")]
struct Page<'a> {
    frame: Frame<'a>,
    entry: Entry,
    rows: Vec<Row>,
}

#[derive(Template)]
#[template(path = "browser/no_error.html", config = ".askama.toml")]
struct Unknown<'a> {
    frame: Frame<'a>,
}

pub fn page(door: &Doors, request: &HttpRequest) -> Result<HttpResponse, Problem> {
    let code = request.match_info().get("code").unwrap_or_default();
    let Some(guide) = GUIDES.iter().find(|guide| guide.code == code) else {
        let frame = Frame::of(&door.base, "/errors");
        return html(StatusCode::NOT_FOUND, &Unknown { frame });
    };
    let page = Page {
        frame: Frame::of(&door.base, &format!("/errors/{code}")),
        entry: Entry::of(guide),
        rows: rows(code),
    };
    html(StatusCode::OK, &page)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_public_code_has_a_page_and_every_page_a_code() {
        let rows = Code::ALL.iter().map(|code| code.row().code);
        let public: BTreeSet<&str> = rows.chain(["rate_limited"]).collect();
        let explained: BTreeSet<&str> = codes().collect();
        assert_eq!(explained, public);
        assert_eq!(codes().count(), public.len(), "no code twice");
    }
}
