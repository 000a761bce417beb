//! Which refusals an operation can answer: its own, and those of the way to it.

use std::collections::BTreeMap;

use super::operation::{Access, Group, Operation};
use crate::app::problem::{Code, Row};

const PLACE: [Code; 7] = [
    Code::HeadTimeout,
    Code::HeadTooLarge,
    Code::HostNotAllowed,
    Code::OriginNotAllowed,
    Code::HttpsRequired,
    Code::Internal,
    Code::Unavailable,
];
const CALLER: [Code; 7] = [
    Code::InvalidRequest,
    Code::EncodingNotSupported,
    Code::Unauthorized,
    Code::TenantRequired,
    Code::TenantMismatch,
    Code::AccountNotLinked,
    Code::AuthNotConfigured,
];
const WORKER: [Code; 3] = [
    Code::InvalidRequest,
    Code::EncodingNotSupported,
    Code::Unauthorized,
];
const BODY: [Code; 2] = [Code::BodyTooLarge, Code::BodyTimeout];

/// One status with the rows that share it.
#[derive(Debug)]
pub struct Refusal {
    pub status: u16,
    pub rows: Vec<Row>,
    pub shape: Shape,
}

/// What the body of a refusal can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Error,
    /// The error, or a word from a server that has not finished starting.
    ErrorOrNotReady,
    /// On MCP, faults of a message are JSON-RPC's.
    ErrorOrJsonRpc,
    RateLimited,
}

/// The refusals of an operation in order of status. An open operation has none.
pub fn refusals(operation: &Operation) -> Vec<Refusal> {
    if operation.access == Access::Open {
        return Vec::new();
    }
    let mut codes = PLACE.to_vec();
    match operation.access {
        Access::Open | Access::Public => {}
        Access::Worker => codes.extend(WORKER),
        Access::Token => codes.extend(CALLER),
        Access::Scope(_) => {
            codes.extend(CALLER);
            codes.push(Code::InsufficientScope);
        }
    }
    if operation.body.is_some() {
        codes.extend(BODY);
    }
    codes.extend(operation.refusals);
    let mut by_status: BTreeMap<u16, Vec<Row>> = BTreeMap::new();
    for row in codes.into_iter().map(Code::row) {
        let rows = by_status.entry(row.status).or_default();
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let limited = (429, vec![RATE_LIMITED]);
    let all = by_status.into_iter().chain([limited]);
    let mut refusals: Vec<Refusal> = all
        .map(|(status, rows)| Refusal {
            status,
            rows,
            shape: shape(operation.group, status),
        })
        .collect();
    refusals.sort_by_key(|refusal| refusal.status);
    refusals
}

/// Not a row of the table: its body has a form of its own (`agent-api` 1.8).
pub const RATE_LIMITED: Row = Row {
    code: "rate_limited",
    status: 429,
    retryable: true,
    message: "Too many requests; retry after the time given.",
};

fn shape(group: Group, status: u16) -> Shape {
    match (group, status) {
        (_, 429) => Shape::RateLimited,
        (Group::Mcp, 400 | 415 | 500) => Shape::ErrorOrJsonRpc,
        (_, 503) => Shape::ErrorOrNotReady,
        _ => Shape::Error,
    }
}
