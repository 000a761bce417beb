//! The table of `agent-api` 4.4: each row fails alone, with its reason.

use super::super::records::{
    ANSWER_SCHEMA, GROUNDING_SCHEMA, GROUNDING_SOURCE, PRESENTATION_SCHEMA, SINGLE_WRITER_SCHEMA,
};
use super::super::verify::{Reason, text_sha256, verify};
use super::*;

const ANSWER: &str = "The bell is rung at 08:00. [1]";

fn identity() -> Identity {
    Identity {
        artifact_ref: "terminal:evidence_digest:1".into(),
        artifact_kind: "evidence_digest".into(),
        answer_source: "scripted".into(),
    }
}

fn sound() -> FinalPayload {
    FinalPayload {
        turn_id: "turn_1".into(),
        thread_id: "session_1".into(),
        text: ANSWER.into(),
        identity: identity(),
        grounding: Some(GroundingAuthority {
            schema: GROUNDING_SCHEMA.into(),
            authority_source: GROUNDING_SOURCE.into(),
            turn_id: "turn_1".into(),
            authority_id: "authority_1".into(),
            passed: GroundingCheck::ALL.to_vec(),
            foreign: Vec::new(),
            failure_codes: Vec::new(),
            grounding: Grounding::Required {
                status: "validated".into(),
                current_turn_only: true,
                evidence_refs: vec!["evidence:1".into()],
                reentry_authority: "runtime_event_log".into(),
            },
            identity: identity(),
            text_sha256: text_sha256(ANSWER),
            supporting_refs: vec!["evidence:1".into()],
        }),
        presentation: Some(Presentation {
            schema: PRESENTATION_SCHEMA.into(),
            turn_id: "turn_1".into(),
            text: ANSWER.into(),
            identity: identity(),
            foreign: Vec::new(),
        }),
        answer: Some(AnswerAuthority {
            schema: ANSWER_SCHEMA.into(),
            thread_id: "session_1".into(),
            turn_id: "turn_1".into(),
            server_authoritative: true,
            terminal_eligible: true,
            assistant_answer: false,
            identity: identity(),
            text_sha256: text_sha256(ANSWER),
        }),
        single_writer: Some(SingleWriterResult {
            schema: SINGLE_WRITER_SCHEMA.into(),
            turn_id: "turn_1".into(),
            passed: SingleWriterCheck::ALL.to_vec(),
            projection_failure: None,
            identity: identity(),
        }),
        supporting_evidence: 1,
        conflict_marks: vec![1],
    }
}

type Fault = fn(&mut FinalPayload);

/// Every fault breaks a sound payload in one place and is answered with the reason, in one word or
/// more, of its row.
fn refuses(reason: Reason, faults: &[Fault]) {
    for (number, fault) in faults.iter().enumerate() {
        let mut payload = sound();
        fault(&mut payload);
        assert_ne!(
            payload,
            sound(),
            "fault {number} of {reason:?} changes nothing"
        );
        assert_eq!(verify(&payload), reason, "fault {number}");
    }
}

fn grounding(payload: &mut FinalPayload) -> &mut GroundingAuthority {
    payload.grounding.as_mut().unwrap()
}

fn presentation(payload: &mut FinalPayload) -> &mut Presentation {
    payload.presentation.as_mut().unwrap()
}

fn answer(payload: &mut FinalPayload) -> &mut AnswerAuthority {
    payload.answer.as_mut().unwrap()
}

fn single_writer(payload: &mut FinalPayload) -> &mut SingleWriterResult {
    payload.single_writer.as_mut().unwrap()
}

#[test]
fn a_sound_payload_is_verified() {
    assert_eq!(verify(&sound()), Reason::Verified);
    let mut ungrounded = sound();
    grounding(&mut ungrounded).grounding = Grounding::NotRequired {
        status: "not_required".into(),
        evidence_refs: Vec::new(),
    };
    assert_eq!(verify(&ungrounded), Reason::Verified);
}

#[test]
fn row_1_wants_the_grounding_authority() {
    refuses(
        Reason::GroundingMissing,
        &[
            |p| p.grounding = None,
            |p| grounding(p).schema = "other".into(),
            |p| grounding(p).authority_source = "solver".into(),
        ],
    );
}

#[test]
fn row_2_wants_this_turn() {
    refuses(
        Reason::GroundingTurnMismatch,
        &[|p| grounding(p).turn_id = "turn_0".into()],
    );
}

#[test]
fn row_3_wants_every_check_and_nothing_foreign() {
    refuses(
        Reason::GroundingIntegrity,
        &[
            |p| grounding(p).authority_id.clear(),
            |p| {
                grounding(p)
                    .passed
                    .retain(|check| *check != GroundingCheck::CompletedPath);
            },
            |p| {
                grounding(p)
                    .passed
                    .retain(|check| *check != GroundingCheck::Route);
            },
            |p| {
                grounding(p)
                    .passed
                    .retain(|check| *check != GroundingCheck::PoisonAudit);
            },
            |p| {
                grounding(p)
                    .passed
                    .retain(|check| *check != GroundingCheck::Terminal);
            },
            |p| {
                grounding(p)
                    .passed
                    .retain(|check| *check != GroundingCheck::Coverage);
            },
            |p| grounding(p).foreign.push(ForeignContent::AssistantAnswer),
            |p| grounding(p).foreign.push(ForeignContent::TerminalAssertion),
            |p| grounding(p).foreign.push(ForeignContent::ProviderPayload),
            |p| grounding(p).foreign.push(ForeignContent::RawContent),
            |p| grounding(p).failure_codes.push("any".into()),
        ],
    );
}

fn required(
    change: impl Fn(&mut String, &mut bool, &mut Vec<String>, &mut String),
    payload: &mut FinalPayload,
) {
    if let Grounding::Required {
        status,
        current_turn_only,
        evidence_refs,
        reentry_authority,
    } = &mut grounding(payload).grounding
    {
        change(status, current_turn_only, evidence_refs, reentry_authority);
    }
}

#[test]
fn row_4_wants_validated_evidence_of_this_turn_or_none_at_all() {
    refuses(
        Reason::GroundingStatus,
        &[
            |p| required(|status, _, _, _| *status = "missing".into(), p),
            |p| required(|_, current, _, _| *current = false, p),
            |p| required(|_, _, refs, _| refs.clear(), p),
            |p| required(|_, _, _, authority| *authority = "solver".into(), p),
            |p| {
                grounding(p).grounding = Grounding::NotRequired {
                    status: "validated".into(),
                    evidence_refs: Vec::new(),
                };
            },
            |p| {
                grounding(p).grounding = Grounding::NotRequired {
                    status: "not_required".into(),
                    evidence_refs: vec!["evidence:1".into()],
                };
            },
        ],
    );
}

#[test]
fn row_5_wants_a_presentation() {
    refuses(
        Reason::PresentationInvalid,
        &[
            |p| p.presentation = None,
            |p| presentation(p).schema = "other".into(),
            |p| presentation(p).turn_id = "turn_0".into(),
            |p| presentation(p).text = " \n".into(),
            |p| presentation(p).identity.artifact_kind.clear(),
            |p| {
                presentation(p)
                    .foreign
                    .push(ForeignContent::ProviderPayload);
            },
        ],
    );
}

#[test]
fn row_6_wants_one_identity() {
    refuses(
        Reason::IdentityMismatch,
        &[
            |p| p.identity.artifact_ref = "terminal:other".into(),
            |p| grounding(p).identity.artifact_kind = "other".into(),
            |p| presentation(p).identity.answer_source = "other".into(),
            |p| answer(p).identity.artifact_ref = "terminal:other".into(),
            |p| single_writer(p).identity.artifact_ref = "terminal:other".into(),
        ],
    );
}

#[test]
fn row_7_wants_the_hash_of_the_text() {
    refuses(
        Reason::TextHashMismatch,
        &[
            |p| p.text = "The bell is rung at 09:00. [1]".into(),
            |p| presentation(p).text = "The bell is rung at 09:00. [1]".into(),
            |p| grounding(p).text_sha256 = text_sha256(""),
            |p| answer(p).text_sha256 = text_sha256(""),
        ],
    );
}

#[test]
fn row_8_wants_the_answer_authority() {
    refuses(
        Reason::AnswerAuthorityBlocked,
        &[
            |p| p.answer = None,
            |p| answer(p).schema = "other".into(),
            |p| answer(p).thread_id = "session_2".into(),
            |p| answer(p).turn_id = "turn_0".into(),
            |p| answer(p).server_authoritative = false,
            |p| answer(p).terminal_eligible = false,
            |p| answer(p).assistant_answer = true,
        ],
    );
}

#[test]
fn row_9_wants_a_single_writer() {
    refuses(
        Reason::SingleWriterBlocked,
        &[
            |p| p.single_writer = None,
            |p| single_writer(p).schema = "other".into(),
            |p| single_writer(p).turn_id = "turn_0".into(),
            |p| {
                single_writer(p)
                    .passed
                    .retain(|check| *check != SingleWriterCheck::WrittenOnce);
            },
            |p| {
                single_writer(p)
                    .passed
                    .retain(|check| *check != SingleWriterCheck::MarksResolved);
            },
            |p| {
                single_writer(p)
                    .passed
                    .retain(|check| *check != SingleWriterCheck::SupportAdmitted);
            },
            |p| single_writer(p).projection_failure = Some("any".into()),
        ],
    );
}

/// A payload whose text and hashes are changed together.
fn retold(payload: &mut FinalPayload, text: &str) {
    payload.text = text.into();
    presentation(payload).text = text.into();
    grounding(payload).text_sha256 = text_sha256(text);
    answer(payload).text_sha256 = text_sha256(text);
}

#[test]
fn row_10_names_the_first_thing_that_blocks() {
    refuses(
        Reason::CitationUnknown,
        &[
            |p| retold(p, "The bell. [1] [2]"),
            |p| p.supporting_evidence = 0,
        ],
    );
    refuses(
        Reason::TextUncited,
        &[|p| retold(p, "The bell. [1]\nThe gate.")],
    );
    refuses(
        Reason::ConflictHidden,
        &[|p| p.conflict_marks.push(2), |p| p.conflict_marks.push(0)],
    );
    refuses(
        Reason::TextTooLong,
        &[|p| retold(p, &format!("{} [1]", "b".repeat(100_000)))],
    );
}

#[test]
fn the_earlier_row_is_reported() {
    let mut payload = sound();
    payload.single_writer = None;
    payload.answer = None;
    grounding(&mut payload).turn_id = "turn_0".into();
    assert_eq!(verify(&payload), Reason::GroundingTurnMismatch);
}
