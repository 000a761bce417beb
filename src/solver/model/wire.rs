//! The two protocols: Chat Completions and Responses.
//!
//! What must stay true: an answer is read by the strict reader and judged in full before any of it
//! is used, whatever the server was asked to adhere to; no request names a user, and none lets the
//! server keep the conversation. Deliberately absent: streaming, and reasoning. A turn has no use
//! for half an answer, and reasoning is neither read nor kept.

use std::collections::HashSet;

use serde_json::Value;

use super::talk::{AnswerFault, Call, Prompt, Reply, Said};
use crate::strict_json;

mod chat;
mod responses;

/// Calls in one answer.
const CALL_LIMIT: usize = 32;
const ID_BYTES: usize = 256;

/// Which protocol a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wire {
    #[default]
    Chat,
    Responses,
}

/// What some servers accept and others refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    pub sampling: Sampling,
    pub limit: LimitName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sampling {
    /// Temperature 0.
    Coldest,
    /// The model admits no choice.
    Fixed,
}

/// How Chat Completions names the limit of an answer's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitName {
    MaxTokens,
    MaxCompletionTokens,
}

/// What every request of a turn has in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    pub model: &'a str,
    /// Tokens of one answer.
    pub max_tokens: u32,
    pub dialect: Dialect,
}

impl Wire {
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Chat => "chat/completions",
            Self::Responses => "responses",
        }
    }

    pub(super) fn encode(self, frame: Frame<'_>, prompt: Prompt<'_>) -> Value {
        match self {
            Self::Chat => chat::encode(frame, prompt),
            Self::Responses => responses::encode(frame, prompt),
        }
    }

    pub(super) fn decode(self, body: &[u8]) -> Result<Reply, AnswerFault> {
        let document = strict_json::read(body).map_err(|_| AnswerFault::NotJson)?;
        if !document.is_object() {
            return Err(AnswerFault::WrongShape);
        }
        match self {
            Self::Chat => chat::decode(document),
            Self::Responses => responses::decode(document),
        }
    }
}

/// The rules that both protocols share.
fn reply(said: Said, tokens: Option<u64>) -> Result<Reply, AnswerFault> {
    if said.calls.len() > CALL_LIMIT {
        return Err(AnswerFault::TooManyCalls);
    }
    let named = |call: &Call| (1..=ID_BYTES).contains(&call.id.len()) && !call.name.is_empty();
    if !said.calls.iter().all(named) {
        return Err(AnswerFault::WrongShape);
    }
    let mut ids = HashSet::new();
    if !said.calls.iter().all(|call| ids.insert(call.id.as_str())) {
        return Err(AnswerFault::RepeatedCall);
    }
    if said.calls.is_empty() && said.text.trim().is_empty() {
        return Err(AnswerFault::Empty);
    }
    Ok(Reply { said, tokens })
}

/// The sum of two counts; `None` unless both are there.
fn tokens(usage: &Value, prompt: &str, answer: &str) -> Option<u64> {
    let prompt = usage.get(prompt)?.as_u64()?;
    Some(prompt.saturating_add(usage.get(answer)?.as_u64()?))
}

#[cfg(test)]
mod tests;
