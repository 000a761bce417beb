//! Why a language model gave a turn nothing to work with.
//!
//! Exists beside the other failures because all of these share one meaning: the run lost a step and
//! nothing else, so it stays resumable (settled question 16 says the same of absent workers). What
//! must stay true: code and summary are constants, so no text of a provider can reach a run.

/// What was wrong with the model, its server or what it said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelFailure {
    /// Its server cannot be reached, or says that it is unwell.
    Unavailable,
    /// Its server wants fewer requests than this one makes.
    RateLimited,
    RefusedCredentials,
    /// Its server does not accept this kind of request, or does not know the model.
    RejectedRequest,
    /// An answer that is cut off, too long, or not in the form of the protocol.
    UnusableAnswer,
    /// A refusal to answer, of the model or of its server's filter.
    Declined,
    /// A product that was malformed and stayed so when asked for again.
    UnusableProduct,
    /// Rounds or tokens ran out before there was a product.
    AllowanceSpent,
}

impl ModelFailure {
    pub const ALL: [Self; 8] = [
        Self::Unavailable,
        Self::RateLimited,
        Self::RefusedCredentials,
        Self::RejectedRequest,
        Self::UnusableAnswer,
        Self::Declined,
        Self::UnusableProduct,
        Self::AllowanceSpent,
    ];

    /// The wire value of `failure_code`.
    pub fn code(self) -> &'static str {
        match self {
            Self::Unavailable => "model_unavailable",
            Self::RateLimited => "model_rate_limited",
            Self::RefusedCredentials => "model_refused_credentials",
            Self::RejectedRequest => "model_rejected_request",
            Self::UnusableAnswer => "model_answer_unusable",
            Self::Declined => "model_declined",
            Self::UnusableProduct => "model_product_unusable",
            Self::AllowanceSpent => "model_allowance_spent",
        }
    }

    pub(super) fn summary(self) -> &'static str {
        match self {
            Self::Unavailable => "The model server could not be reached. Continue the run later.",
            Self::RateLimited => "The model server is busy. Continue the run later.",
            Self::RefusedCredentials => {
                "The model server refused this server's credentials. Its operator has to act."
            }
            Self::RejectedRequest => {
                "The model server rejected the request. This server's operator has to act."
            }
            Self::UnusableAnswer => "The model server's answer could not be used.",
            Self::Declined => "The model declined to answer.",
            Self::UnusableProduct => "The model did not hand in a result that could be used.",
            Self::AllowanceSpent => {
                "The turn's allowance was spent before the model handed in a result."
            }
        }
    }
}
