//! The conversation with a model, as no wire spells it.
//!
//! Exists so that everything above the two wires knows neither. What must stay true: whatever a
//! model has said is a claim of its own, also the names and arguments of its calls; none of it is
//! shown by `Debug`, because it may repeat a document or an objective.

use std::fmt;

use serde_json::Value;

/// One entry of the conversation, oldest first.
#[derive(Clone)]
pub(super) enum Entry {
    User(String),
    Model(Said),
    /// The answers to the calls of the entry before, in their order.
    Answers(Vec<Answer>),
}

/// What a model said in one go.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub text: String,
    pub calls: Vec<Call>,
}

/// A function the model wants called.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub id: String,
    pub name: String,
    /// JSON, if the model kept to it.
    pub arguments: String,
}

#[derive(Clone)]
pub(super) struct Answer {
    pub id: String,
    pub content: String,
}

/// A function the model may call.
#[derive(Clone)]
pub(super) struct Function {
    pub name: String,
    pub description: String,
    pub parameters: Value,
}

/// Everything that one request says.
#[derive(Clone, Copy)]
pub(super) struct Prompt<'a> {
    pub system: &'a str,
    pub entries: &'a [Entry],
    pub functions: &'a [Function],
}

/// What one request brought.
pub(super) struct Reply {
    pub said: Said,
    /// Tokens of prompt and answer together, if the server counts them.
    pub tokens: Option<u64>,
}

/// Why an answer with status 200 cannot be used. None carries text of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum AnswerFault {
    #[error("it does not say that it is JSON")]
    WrongType,
    #[error("it is longer than admitted")]
    TooLong,
    #[error("it is not JSON, or doubtful JSON")]
    NotJson,
    #[error("it is not in the form of the protocol")]
    WrongShape,
    #[error("it holds no choice")]
    NoChoice,
    #[error("it holds several choices")]
    SeveralChoices,
    #[error("it calls more functions at once than admitted")]
    TooManyCalls,
    #[error("two of its calls have the same id")]
    RepeatedCall,
    #[error("it was cut off at the limit of tokens")]
    CutOff,
    #[error("it was not finished")]
    Unfinished,
    #[error("it is empty")]
    Empty,
    #[error("it was withheld by a filter")]
    Filtered,
    #[error("the model refused")]
    Refused,
}

impl fmt::Debug for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Said")
            .field("bytes", &self.text.len())
            .field("calls", &self.calls.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("said", &self.said)
            .field("tokens", &self.tokens)
            .finish()
    }
}
