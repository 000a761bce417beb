//! The result record (`agent-api` 5.2) with the keys of 5.3 in `latest_result`.

use helix_aggregates::agent::run::turn::{TerminalAuthority, TerminalProduct, TurnResult};
use helix_aggregates::text::{prefix, unique};
use serde_json::{Map, Value};

use super::audit::ReentryAudit;
use super::bounds::{Altered, Bounded};
use super::evidence::Evidence;
use super::fields;
use super::status::{Ending, Judgement};
use crate::solver::host::Refusal;
use crate::solver::seam::{Claim, Draft, Progress, TurnInput};

const SUMMARY_UNITS: usize = 2000;
const REPLACED: &str = " Characters that cannot be stored were replaced by U+FFFD.";
const SHORTENED: &str = " Parts of the answer were longer than allowed and were cut.";

pub(super) fn compose(
    input: &TurnInput,
    answer_source: &str,
    draft: Bounded,
    evidence: &Evidence,
    audit: &ReentryAudit,
    judged: Judgement,
) -> TurnResult {
    let Bounded { content, altered } = draft;
    let product = judged
        .terminal
        .as_ref()
        .map(|(identity, text)| TerminalProduct {
            authority_ref: identity.artifact_ref.clone(),
            artifact_kind: identity.artifact_kind.clone(),
            text: text.clone(),
            supporting_evidence_refs: evidence
                .items()
                .iter()
                .map(|item| item.item_ref.clone())
                .collect(),
        });
    let output_fields = product
        .as_ref()
        .map(|product| fields::output_fields(input, &content, evidence, product))
        .unwrap_or_default();
    let sanitized_result = sanitized(answer_source, &judged, product.as_ref(), audit, &content);
    let settles = !evidence.items().is_empty();
    let settled = |places: &[usize], of: &[String]| {
        let named = places.iter().filter_map(|place| of.get(*place));
        unique(named.filter(|text| settles && !text.starts_with("required_evidence:")))
    };
    TurnResult {
        ok: judged.ending.is_ok(),
        status_code: judged.ending.status_code(),
        summary: summary(told(&content, evidence), altered),
        claims_supported: carried(&content.claims, evidence),
        claims_contradicted: carried(&content.contradicted_claims, evidence),
        resolved_requirements: settled(
            &content.settled_requirements,
            &input.previous_unresolved_requirements,
        ),
        resolved_contradictions: settled(
            &content.settled_contradictions,
            &input.previous_contradictions,
        ),
        unresolved_requirements: unique(&content.unresolved),
        satisfied_evidence_requirements: judged.satisfied,
        contradictions: unique(content.conflicts.iter().map(|conflict| &conflict.text)),
        pending_questions: content.questions,
        terminal_authority_status: judged.status,
        terminal_product: product,
        output_fields,
        failure_code: judged.ending.failure_code().map(str::to_owned),
        needs_input: judged.ending == Ending::NeedsInput,
        observation_refs: judged.projected.observation,
        evidence_refs: judged.projected.evidence,
        receipt_refs: judged.projected.receipt,
        sanitized_result,
    }
}

impl Ending {
    fn is_ok(self) -> bool {
        self != Self::NoProgress
    }

    /// Below 500, so that the run stays resumable.
    fn status_code(self) -> u16 {
        match self {
            Self::Answered | Self::NeedsInput => 200,
            Self::NoProgress => 422,
        }
    }

    fn failure_code(self) -> Option<&'static str> {
        (self == Self::NoProgress).then_some("no_progress")
    }

    fn final_status(self) -> &'static str {
        match self {
            Self::Answered => "completed",
            Self::NeedsInput => "pending_input",
            Self::NoProgress => "failed",
        }
    }

    fn response_type(self) -> &'static str {
        match self {
            Self::Answered => "final_answer",
            Self::NeedsInput => "request_user_input",
            Self::NoProgress => "typed_failure",
        }
    }
}

/// The draft's summary, unless nothing of what it sums up was admitted.
fn told<'a>(content: &'a Draft, evidence: &Evidence) -> &'a str {
    if content.progress == Progress::None || !evidence.items().is_empty() {
        &content.summary
    } else if evidence
        .refused()
        .any(|refusal| refusal == Refusal::SourceChanged)
    {
        "The documents changed while they were read. Continue the run to read them again."
    } else {
        "None of the quoted passages was found in its source."
    }
}

fn summary(text: &str, altered: Altered) -> String {
    let mut note = String::new();
    if altered.replaced {
        note.push_str(REPLACED);
    }
    if altered.shortened {
        note.push_str(SHORTENED);
    }
    let told = if text.is_empty() {
        "The turn ended without a summary."
    } else {
        text
    };
    format!("{}{note}", prefix(told, SUMMARY_UNITS - note.len()))
}

fn carried(claims: &[Claim], evidence: &Evidence) -> Vec<String> {
    unique(
        claims
            .iter()
            .filter(|claim| evidence.carries(&claim.spans))
            .map(|claim| &claim.text),
    )
}

fn sanitized(
    answer_source: &str,
    judged: &Judgement,
    product: Option<&TerminalProduct>,
    audit: &ReentryAudit,
    draft: &Draft,
) -> Map<String, Value> {
    let texts = |refs: &[String]| Value::Array(refs.iter().cloned().map(Value::String).collect());
    let optional = |text: Option<&str>| text.map_or(Value::Null, Value::from);
    let completed = audit.ok && draft.progress == Progress::Made;
    let entries: [(&str, Value); 17] = [
        ("status", judged.ending.status_code().into()),
        ("ok", judged.ending.is_ok().into()),
        ("final_status", judged.ending.final_status().into()),
        ("response_type", judged.ending.response_type().into()),
        (
            "terminal_artifact_kind",
            optional(product.map(|p| p.artifact_kind.as_str())),
        ),
        ("final_answer_source", answer_source.into()),
        ("terminal_authority_status", wire(judged.status).into()),
        ("terminal_authority_reason", judged.reason.code().into()),
        (
            "terminal_authority_ref",
            optional(product.map(|p| p.authority_ref.as_str())),
        ),
        (
            "terminal_product",
            product.map_or(Value::Null, product_value),
        ),
        ("failure_code", optional(judged.ending.failure_code())),
        ("solver_path_completed", completed.into()),
        ("observation_refs", texts(&judged.projected.observation)),
        ("evidence_refs", texts(&judged.projected.evidence)),
        ("receipt_refs", texts(&judged.projected.receipt)),
        ("raw_provider_payload_included", false.into()),
        ("chain_of_thought_included", false.into()),
    ];
    entries
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

fn product_value(product: &TerminalProduct) -> Value {
    serde_json::json!({
        "authority_ref": product.authority_ref,
        "artifact_kind": product.artifact_kind,
        "text": product.text,
        "supporting_evidence_refs": product.supporting_evidence_refs,
    })
}

fn wire(status: TerminalAuthority) -> &'static str {
    match status {
        TerminalAuthority::NotEvaluated => "not_evaluated",
        TerminalAuthority::PendingHelixTerminalAuthority => "pending_helix_terminal_authority",
        TerminalAuthority::Authorized => "authorized",
        TerminalAuthority::Blocked => "blocked",
        TerminalAuthority::NotTerminalAuthority => "not_terminal_authority",
    }
}
