//! The records that terminal verification looks at (`agent-api` 4.4).
//!
//! Their booleans are sets of named checks: what must be true is a list that has to be complete,
//! what must be false a list that has to be empty.

pub const GROUNDING_SCHEMA: &str = "helix.terminal_grounding_authority.v1";
pub const GROUNDING_SOURCE: &str = "canonical_terminal_boundary";
pub const PRESENTATION_SCHEMA: &str = "helix.terminal_presentation.v1";
pub const ANSWER_SCHEMA: &str = "helix.turn_terminal_authority.v1";
pub const SINGLE_WRITER_SCHEMA: &str = "helix.terminal_authority_single_writer_result.v1";

/// Which artifact is the terminal one, as each record names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub artifact_ref: String,
    pub artifact_kind: String,
    pub answer_source: String,
}

/// What the grounding authority has found true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroundingCheck {
    /// The solver ended by itself and made progress.
    CompletedPath,
    /// Every artifact came through an answered call of an admitted capability.
    Route,
    /// Nothing that the text cites was refused by the host.
    PoisonAudit,
    /// There is a text to present.
    Terminal,
    /// Every claim has admitted spans.
    Coverage,
}

impl GroundingCheck {
    pub const ALL: [Self; 5] = [
        Self::CompletedPath,
        Self::Route,
        Self::PoisonAudit,
        Self::Terminal,
        Self::Coverage,
    ];
}

/// What a terminal answer must not be made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignContent {
    AssistantAnswer,
    TerminalAssertion,
    ProviderPayload,
    RawContent,
}

/// Whether the answer has to rest on evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grounding {
    Required {
        status: String,
        /// Evidence of this turn only, none carried over.
        current_turn_only: bool,
        evidence_refs: Vec<String>,
        reentry_authority: String,
    },
    NotRequired {
        status: String,
        evidence_refs: Vec<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroundingAuthority {
    pub schema: String,
    pub authority_source: String,
    pub turn_id: String,
    pub authority_id: String,
    pub passed: Vec<GroundingCheck>,
    pub foreign: Vec<ForeignContent>,
    pub failure_codes: Vec<String>,
    pub grounding: Grounding,
    pub identity: Identity,
    pub text_sha256: String,
    pub supporting_refs: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presentation {
    pub schema: String,
    pub turn_id: String,
    pub text: String,
    pub identity: Identity,
    pub foreign: Vec<ForeignContent>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerAuthority {
    pub schema: String,
    /// The stable session of the run.
    pub thread_id: String,
    pub turn_id: String,
    pub server_authoritative: bool,
    pub terminal_eligible: bool,
    pub assistant_answer: bool,
    pub identity: Identity,
    pub text_sha256: String,
}

/// What the one writer of a terminal answer vouches for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SingleWriterCheck {
    /// The text was written once, by the finaliser.
    WrittenOnce,
    /// Every mark in it leads to a supporting ref.
    MarksResolved,
    /// Each supporting ref is an admitted artifact.
    SupportAdmitted,
}

impl SingleWriterCheck {
    pub const ALL: [Self; 3] = [
        Self::WrittenOnce,
        Self::MarksResolved,
        Self::SupportAdmitted,
    ];
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleWriterResult {
    pub schema: String,
    pub turn_id: String,
    pub passed: Vec<SingleWriterCheck>,
    pub projection_failure: Option<String>,
    pub identity: Identity,
}

/// The turn's final payload: everything that is verified before a product exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinalPayload {
    pub turn_id: String,
    pub thread_id: String,
    pub text: String,
    pub identity: Identity,
    pub grounding: Option<GroundingAuthority>,
    pub presentation: Option<Presentation>,
    pub answer: Option<AnswerAuthority>,
    pub single_writer: Option<SingleWriterResult>,
    /// How many refs the text's marks may name.
    pub supporting_evidence: usize,
    /// Marks of the spans of each conflict: the text has to show them all.
    pub conflict_marks: Vec<usize>,
}
