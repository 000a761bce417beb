//! Terminal verification (`agent-api` 4.4): an ordered table; the first failure names the reason.
//!
//! Reads records and answers; it never creates or repairs authority.

use sha2::{Digest, Sha256};

use super::citations;
use super::records::{
    ANSWER_SCHEMA, FinalPayload, GROUNDING_SCHEMA, GROUNDING_SOURCE, Grounding, GroundingAuthority,
    GroundingCheck, PRESENTATION_SCHEMA, SINGLE_WRITER_SCHEMA, SingleWriterCheck,
};

/// The longest terminal text (`agent-api` 8.4).
const TEXT_LIMIT: usize = 100_000;

/// Why terminal authority is what it is; the texts are wire values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Verified,
    GroundingMissing,
    GroundingTurnMismatch,
    GroundingIntegrity,
    GroundingStatus,
    PresentationInvalid,
    IdentityMismatch,
    TextHashMismatch,
    AnswerAuthorityBlocked,
    SingleWriterBlocked,
    TextTooLong,
    CitationUnknown,
    TextUncited,
    ConflictHidden,
    UserInputRequired,
    FailureOrPending,
    EvidenceMissing,
}

impl Reason {
    pub fn code(self) -> &'static str {
        match self {
            Self::Verified => "canonical_terminal_authority_verified",
            Self::GroundingMissing => "canonical_grounding_authority_missing",
            Self::GroundingTurnMismatch => "canonical_grounding_turn_mismatch",
            Self::GroundingIntegrity => "canonical_grounding_integrity_blocked",
            Self::GroundingStatus => "canonical_grounding_status_blocked",
            Self::PresentationInvalid => "canonical_terminal_presentation_invalid",
            Self::IdentityMismatch => "canonical_terminal_identity_mismatch",
            Self::TextHashMismatch => "canonical_terminal_text_hash_mismatch",
            Self::AnswerAuthorityBlocked => "terminal_authority_record_blocked",
            Self::SingleWriterBlocked => "single_writer_integrity_blocked",
            Self::TextTooLong => "terminal_text_too_long",
            Self::CitationUnknown => "terminal_citation_unknown",
            Self::TextUncited => "terminal_text_uncited",
            Self::ConflictHidden => "terminal_conflict_hidden",
            Self::UserInputRequired => "user_input_required",
            Self::FailureOrPending => "failure_or_pending_projection",
            Self::EvidenceMissing => "required_current_turn_evidence_missing",
        }
    }
}

type Step = fn(&FinalPayload) -> Result<(), Reason>;

const STEPS: [Step; 10] = [
    grounding_present,
    grounding_of_this_turn,
    grounding_integrity,
    grounding_status,
    presentation_valid,
    identities_agree,
    text_hashes_agree,
    answer_authority,
    single_writer,
    enforcement,
];

/// Runs the table.
pub fn verify(payload: &FinalPayload) -> Reason {
    let failure = STEPS.iter().find_map(|step| step(payload).err());
    failure.unwrap_or(Reason::Verified)
}

fn require(holds: bool, reason: Reason) -> Result<(), Reason> {
    if holds { Ok(()) } else { Err(reason) }
}

fn grounding(payload: &FinalPayload) -> Result<&GroundingAuthority, Reason> {
    payload.grounding.as_ref().ok_or(Reason::GroundingMissing)
}

fn grounding_present(payload: &FinalPayload) -> Result<(), Reason> {
    let record = grounding(payload)?;
    let holds = record.schema == GROUNDING_SCHEMA && record.authority_source == GROUNDING_SOURCE;
    require(holds, Reason::GroundingMissing)
}

fn grounding_of_this_turn(payload: &FinalPayload) -> Result<(), Reason> {
    require(
        grounding(payload)?.turn_id == payload.turn_id,
        Reason::GroundingTurnMismatch,
    )
}

fn grounding_integrity(payload: &FinalPayload) -> Result<(), Reason> {
    let record = grounding(payload)?;
    let complete = GroundingCheck::ALL
        .iter()
        .all(|check| record.passed.contains(check));
    let clean = record.foreign.is_empty() && record.failure_codes.is_empty();
    require(
        complete && clean && !record.authority_id.is_empty(),
        Reason::GroundingIntegrity,
    )
}

fn grounding_status(payload: &FinalPayload) -> Result<(), Reason> {
    let holds = match &grounding(payload)?.grounding {
        Grounding::Required {
            status,
            current_turn_only,
            evidence_refs,
            reentry_authority,
        } => {
            status == "validated"
                && *current_turn_only
                && !evidence_refs.is_empty()
                && ["runtime_event_log", "route_self_terminal"]
                    .contains(&reentry_authority.as_str())
        }
        Grounding::NotRequired {
            status,
            evidence_refs,
        } => status == "not_required" && evidence_refs.is_empty(),
    };
    require(holds, Reason::GroundingStatus)
}

fn presentation_valid(payload: &FinalPayload) -> Result<(), Reason> {
    let holds = payload.presentation.as_ref().is_some_and(|record| {
        record.schema == PRESENTATION_SCHEMA
            && record.turn_id == payload.turn_id
            && !record.text.trim().is_empty()
            && !record.identity.artifact_kind.is_empty()
            && record.foreign.is_empty()
    });
    require(holds, Reason::PresentationInvalid)
}

/// A record that is absent here is reported by its own step.
fn identities_agree(payload: &FinalPayload) -> Result<(), Reason> {
    let named = [
        payload.grounding.as_ref().map(|record| &record.identity),
        payload.presentation.as_ref().map(|record| &record.identity),
        payload.answer.as_ref().map(|record| &record.identity),
        payload
            .single_writer
            .as_ref()
            .map(|record| &record.identity),
    ];
    let agree = named
        .into_iter()
        .flatten()
        .all(|identity| *identity == payload.identity);
    require(
        agree && !payload.identity.artifact_ref.is_empty(),
        Reason::IdentityMismatch,
    )
}

fn text_hashes_agree(payload: &FinalPayload) -> Result<(), Reason> {
    let hash = text_sha256(&payload.text);
    let presented = payload
        .presentation
        .as_ref()
        .is_none_or(|record| record.text == payload.text);
    let declared = [
        payload.grounding.as_ref().map(|record| &record.text_sha256),
        payload.answer.as_ref().map(|record| &record.text_sha256),
    ];
    let equal = declared
        .into_iter()
        .flatten()
        .all(|declared| *declared == hash);
    require(presented && equal, Reason::TextHashMismatch)
}

fn answer_authority(payload: &FinalPayload) -> Result<(), Reason> {
    let holds = payload.answer.as_ref().is_some_and(|record| {
        record.schema == ANSWER_SCHEMA
            && record.thread_id == payload.thread_id
            && record.turn_id == payload.turn_id
            && record.server_authoritative
            && record.terminal_eligible
            && !record.assistant_answer
    });
    require(holds, Reason::AnswerAuthorityBlocked)
}

fn single_writer(payload: &FinalPayload) -> Result<(), Reason> {
    let holds = payload.single_writer.as_ref().is_some_and(|record| {
        record.schema == SINGLE_WRITER_SCHEMA
            && record.turn_id == payload.turn_id
            && SingleWriterCheck::ALL
                .iter()
                .all(|check| record.passed.contains(check))
            && record.projection_failure.is_none()
    });
    require(holds, Reason::SingleWriterBlocked)
}

/// The text itself: bounded, every line cited, every mark resolved, no conflict left out.
fn enforcement(payload: &FinalPayload) -> Result<(), Reason> {
    require(
        payload.text.chars().count() <= TEXT_LIMIT,
        Reason::TextTooLong,
    )?;
    let known = |number: usize| (1..=payload.supporting_evidence).contains(&number);
    require(
        citations::marks(&payload.text).all(|(_, number)| known(number)),
        Reason::CitationUnknown,
    )?;
    let grounded = matches!(grounding(payload)?.grounding, Grounding::Required { .. });
    let mut lines = payload.text.lines().filter(|line| !line.trim().is_empty());
    let cited = lines.all(|line| citations::marks(line).next().is_some());
    require(cited || !grounded, Reason::TextUncited)?;
    let shows = |mark: &usize| citations::marks(&payload.text).any(|(_, number)| number == *mark);
    require(
        payload.conflict_marks.iter().all(shows),
        Reason::ConflictHidden,
    )
}

pub(super) fn text_sha256(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}
