//! The solver of `--solver openai`: a language model searches, reads and says what it found.
//!
//! Exists so that a model may do what only a model can, and be believed nothing. What must stay
//! true: it reads through the tool host alone and sees admitted capabilities alone; a quote is
//! looked for, byte by byte, in what was handed over in this turn, and one that is not there never
//! becomes a span; the digest is composed here, a line a claim that kept a quote. Texts of sources,
//! callers and earlier turns are handed to it as data. Whatever the server does ends in a typed
//! outcome that leaves the run resumable.
//!
//! Deliberately absent: keeping anything between turns, reasoning texts, and trust in a server's
//! promise to keep to a schema.

use std::fmt;

use reqwest::Url;
use secrecy::SecretString;

use super::host::ToolHost;
use super::seam::{Solver, Solving, TurnInput};
use client::ModelClient;
use turn::Turn;

mod check;
mod client;
mod draft;
mod functions;
mod product;
mod prompt;
mod talk;
mod turn;
mod wire;

pub use check::{Health, check};
pub use wire::Wire;

/// The model, where it is served, and what one turn may spend on it.
#[derive(Clone)]
pub struct ModelSettings {
    /// The address that the paths of the protocol follow.
    pub base_url: Url,
    pub model: String,
    /// Fit for a header.
    pub api_key: SecretString,
    pub wire: Wire,
    /// Tokens of one answer.
    pub max_tokens: u32,
    /// Tokens of one turn, prompts and answers together.
    pub turn_tokens: u64,
}

impl ModelSettings {
    fn endpoint(&self, path: &str) -> Option<Url> {
        client::below(&self.base_url, path)
    }
}

/// Neither address nor key: an address may hold a key too.
impl fmt::Debug for ModelSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelSettings")
            .field("model", &self.model)
            .field("wire", &self.wire)
            .field("max_tokens", &self.max_tokens)
            .field("turn_tokens", &self.turn_tokens)
            .finish_non_exhaustive()
    }
}

/// A model behind a server of either protocol.
#[derive(Debug)]
pub struct Model(ModelClient);

impl Model {
    pub fn new(settings: ModelSettings) -> Self {
        Self(ModelClient::new(settings))
    }
}

impl Solver for Model {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn solve<'a>(&'a self, input: &'a TurnInput, host: &'a ToolHost) -> Solving<'a> {
        Box::pin(Turn::new(&self.0, input, host).run())
    }
}

#[cfg(test)]
mod tests;
