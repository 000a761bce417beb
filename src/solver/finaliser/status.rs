//! Status derivation (`agent-api` 4.4, below the table) and the records it rests on.

use std::collections::BTreeSet;

use helix_aggregates::agent::run::turn::TerminalAuthority;

use super::audit::{self, Projected, ReentryAudit};
use super::citations;
use super::evidence::Evidence;
use super::records::{
    ANSWER_SCHEMA, AnswerAuthority, FinalPayload, GROUNDING_SCHEMA, GROUNDING_SOURCE, Grounding,
    GroundingAuthority, GroundingCheck, Identity, PRESENTATION_SCHEMA, Presentation,
    SINGLE_WRITER_SCHEMA, SingleWriterCheck, SingleWriterResult,
};
use super::verify::{Reason, text_sha256, verify};
use crate::solver::host::TurnMark;
use crate::solver::seam::{Draft, Progress, TurnInput};

pub(super) const ARTIFACT_KIND: &str = "evidence_digest";

/// How the turn ended, before authority is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Answered,
    NeedsInput,
    NoProgress,
}

/// The verdict over a turn.
#[derive(Debug)]
pub(super) struct Judgement {
    pub ending: Ending,
    pub status: TerminalAuthority,
    pub reason: Reason,
    pub projected: Projected,
    pub satisfied: Vec<String>,
    /// The verified text and identity; present only when authorized.
    pub terminal: Option<(Identity, String)>,
}

pub(super) fn judge(
    input: &TurnInput,
    answer_source: &str,
    draft: &Draft,
    evidence: &Evidence,
    audit: &ReentryAudit,
) -> Judgement {
    let admitted = audit.admitted(&input.turn_id, None);
    let satisfied = audit::satisfied(&admitted, &input.required_evidence);
    let ending = ending(input, draft, evidence);
    let supporting: Vec<String> = admitted
        .iter()
        .map(|artifact| artifact.artifact_ref.clone())
        .collect();
    let payload = Records {
        input,
        draft,
        evidence,
        supporting: &supporting,
    }
    .payload(answer_source);
    let verified = verify(&payload);
    let missing = input
        .required_evidence
        .iter()
        .any(|family| !satisfied.contains(family));
    let (status, reason) = match ending {
        Ending::NeedsInput => (
            TerminalAuthority::PendingHelixTerminalAuthority,
            Reason::UserInputRequired,
        ),
        Ending::NoProgress => (TerminalAuthority::Blocked, Reason::FailureOrPending),
        Ending::Answered if missing => (TerminalAuthority::Blocked, Reason::EvidenceMissing),
        Ending::Answered if verified == Reason::Verified => {
            (TerminalAuthority::Authorized, Reason::Verified)
        }
        Ending::Answered => (TerminalAuthority::Blocked, verified),
    };
    let refs: BTreeSet<&str> = supporting.iter().map(String::as_str).collect();
    let narrowed = (verified == Reason::Verified).then_some(&refs);
    let projected = audit::project(&audit.admitted(&input.turn_id, narrowed));
    let terminal = (status == TerminalAuthority::Authorized)
        .then(|| (payload.identity.clone(), payload.text.clone()));
    Judgement {
        ending,
        status,
        reason,
        projected,
        satisfied,
        terminal,
    }
}

fn ending(input: &TurnInput, draft: &Draft, evidence: &Evidence) -> Ending {
    if !draft.questions.is_empty() || input.open_questions().next().is_some() {
        Ending::NeedsInput
    } else if draft.progress == Progress::None || evidence.items().is_empty() {
        Ending::NoProgress
    } else {
        Ending::Answered
    }
}

/// Makes the records of one turn, each from what it vouches for.
struct Records<'a> {
    input: &'a TurnInput,
    draft: &'a Draft,
    evidence: &'a Evidence,
    supporting: &'a [String],
}

impl Records<'_> {
    fn payload(&self, answer_source: &str) -> FinalPayload {
        let text = self.text();
        let identity = Identity {
            artifact_ref: self.authority_ref(&text),
            artifact_kind: ARTIFACT_KIND.to_owned(),
            answer_source: answer_source.to_owned(),
        };
        FinalPayload {
            turn_id: self.input.turn_id.clone(),
            thread_id: self.input.session_id.clone(),
            grounding: Some(self.grounding(&text, &identity)),
            presentation: Some(Presentation {
                schema: PRESENTATION_SCHEMA.to_owned(),
                turn_id: self.input.turn_id.clone(),
                text: text.clone(),
                identity: identity.clone(),
                foreign: Vec::new(),
            }),
            answer: Some(AnswerAuthority {
                schema: ANSWER_SCHEMA.to_owned(),
                thread_id: self.input.session_id.clone(),
                turn_id: self.input.turn_id.clone(),
                server_authoritative: true,
                terminal_eligible: !text.is_empty(),
                assistant_answer: false,
                identity: identity.clone(),
                text_sha256: text_sha256(&text),
            }),
            single_writer: Some(SingleWriterResult {
                schema: SINGLE_WRITER_SCHEMA.to_owned(),
                turn_id: self.input.turn_id.clone(),
                passed: self.single_writer_checks(&text),
                projection_failure: None,
                identity: identity.clone(),
            }),
            supporting_evidence: self.evidence.items().len(),
            conflict_marks: self.conflict_marks(),
            text,
            identity,
        }
    }

    /// The digest with its marks renumbered to the order of the supporting refs.
    fn text(&self) -> String {
        citations::renumbered(&self.draft.digest, |number| {
            let item = self.evidence.item_of(number.checked_sub(1)?)?;
            Some(item + 1)
        })
    }

    fn authority_ref(&self, text: &str) -> String {
        let mut parts = vec![text.as_bytes()];
        parts.extend(self.supporting.iter().map(String::as_bytes));
        format!(
            "terminal:{ARTIFACT_KIND}:{}",
            TurnMark::of(self.input).name(&parts)
        )
    }

    fn grounding(&self, text: &str, identity: &Identity) -> GroundingAuthority {
        let evidence_refs: Vec<String> = self
            .evidence
            .items()
            .iter()
            .map(|item| item.item_ref.clone())
            .collect();
        let required = !self.input.required_evidence.is_empty() || !evidence_refs.is_empty();
        let grounding = if required {
            let status = if evidence_refs.is_empty() {
                "missing"
            } else {
                "validated"
            };
            Grounding::Required {
                status: status.to_owned(),
                current_turn_only: self.is_of_this_turn(&evidence_refs),
                evidence_refs,
                reentry_authority: "runtime_event_log".to_owned(),
            }
        } else {
            Grounding::NotRequired {
                status: "not_required".to_owned(),
                evidence_refs,
            }
        };
        GroundingAuthority {
            schema: GROUNDING_SCHEMA.to_owned(),
            authority_source: GROUNDING_SOURCE.to_owned(),
            turn_id: self.input.turn_id.clone(),
            authority_id: identity.artifact_ref.clone(),
            passed: self.grounding_checks(text),
            foreign: Vec::new(),
            failure_codes: Vec::new(),
            grounding,
            identity: identity.clone(),
            text_sha256: text_sha256(text),
            supporting_refs: self.supporting.to_vec(),
        }
    }

    fn is_of_this_turn(&self, refs: &[String]) -> bool {
        let before = &self.input.previous_evidence_refs;
        let observed = &self.input.previous_observation_refs;
        refs.iter()
            .all(|item| !before.contains(item) && !observed.contains(item))
    }

    /// A digest that tells of no statement of its draft vouches for nothing, whatever it quotes.
    fn states_something(&self) -> bool {
        let draft = self.draft;
        let claims = draft.claims.iter().chain(&draft.contradicted_claims);
        let claims = claims.map(|claim| &claim.spans);
        let conflicts = draft.conflicts.iter().map(|conflict| &conflict.spans);
        let fields = draft.fields.iter().map(|field| &field.spans);
        let mut stated = claims.chain(conflicts).chain(fields);
        stated.any(|spans| self.evidence.carries(spans))
    }

    fn grounding_checks(&self, text: &str) -> Vec<GroundingCheck> {
        let claims = self
            .draft
            .claims
            .iter()
            .chain(&self.draft.contradicted_claims);
        let covered = claims
            .into_iter()
            .all(|claim| self.evidence.carries(&claim.spans))
            && self.states_something();
        let routed = self.evidence.items().iter().all(|item| {
            self.evidence
                .receipts()
                .iter()
                .any(|receipt| receipt.receipt_ref == item.receipt_ref)
        });
        let found = [
            (
                GroundingCheck::CompletedPath,
                self.draft.progress == Progress::Made,
            ),
            (GroundingCheck::Route, routed),
            (
                GroundingCheck::PoisonAudit,
                self.evidence.refused().next().is_none(),
            ),
            (GroundingCheck::Terminal, !text.is_empty()),
            (GroundingCheck::Coverage, covered),
        ];
        found
            .into_iter()
            .filter(|(_, holds)| *holds)
            .map(|(check, _)| check)
            .collect()
    }

    fn single_writer_checks(&self, text: &str) -> Vec<SingleWriterCheck> {
        let items = self.evidence.items();
        let resolved =
            citations::marks(text).all(|(_, number)| (1..=items.len()).contains(&number));
        let cited = citations::marks(&self.draft.digest).all(|(_, number)| {
            number
                .checked_sub(1)
                .and_then(|span| self.evidence.item_of(span))
                .is_some()
        });
        let admitted = items
            .iter()
            .all(|item| self.supporting.contains(&item.item_ref));
        let found = [
            (SingleWriterCheck::WrittenOnce, true),
            (SingleWriterCheck::MarksResolved, resolved && cited),
            (SingleWriterCheck::SupportAdmitted, admitted),
        ];
        found
            .into_iter()
            .filter(|(_, holds)| *holds)
            .map(|(check, _)| check)
            .collect()
    }

    /// A span that was not admitted has the mark 0, which no text shows.
    fn conflict_marks(&self) -> Vec<usize> {
        let spans = self
            .draft
            .conflicts
            .iter()
            .flat_map(|conflict| &conflict.spans);
        spans
            .map(|span| self.evidence.item_of(*span).map_or(0, |item| item + 1))
            .collect()
    }
}
