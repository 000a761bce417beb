//! Bounds on everything a draft says, so that a hostile one still ends in a run that can be read.

use helix_aggregates::agent::evidence::TURN_LIMIT;
use helix_aggregates::agent::run::turn::{Question, QuestionOption};
use helix_aggregates::text::{prefix, trim, utf16_len};

use super::citations;
use crate::solver::seam::{Claim, Conflict, Draft, FieldProposal, SpanIndex};

/// The first entries of an audit that are looked at (`agent-api` 4.2).
pub(super) const SPAN_LIMIT: usize = 256;
// An evidence item is recorded of each.
const _: () = assert!(SPAN_LIMIT <= TURN_LIMIT);
const CLAIM_LIMIT: usize = 128;
const SENTENCE_LIMIT: usize = 64;
const QUESTION_LIMIT: usize = 32;
const SPANS_PER_CLAIM: usize = 32;
/// `agent-api` 8.4.
const DIGEST_UNITS: usize = 100_000;
const SUMMARY_UNITS: usize = 2000;
const CLAIM_UNITS: usize = 2000;
const SENTENCE_UNITS: usize = 1000;
const FIELD_UNITS: usize = 4000;

/// A draft within bounds, and whether anything had to be changed for that.
pub(super) struct Bounded {
    pub content: Draft,
    pub altered: Altered,
}

/// What was done to a draft's texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Altered {
    /// Characters that cannot be stored became U+FFFD.
    pub replaced: bool,
    /// Texts or lists were longer than they may be.
    pub shortened: bool,
}

pub(super) fn bounded(draft: Draft) -> Bounded {
    let mut altered = Altered::default();
    let a = &mut altered;
    let content = Draft {
        spans: a.list(draft.spans, SPAN_LIMIT),
        claims: a.claims(draft.claims),
        contradicted_claims: a.claims(draft.contradicted_claims),
        fields: a.fields(draft.fields),
        conflicts: a.conflicts(draft.conflicts),
        unresolved: a.sentences(draft.unresolved),
        settled_requirements: a.list(draft.settled_requirements, SENTENCE_LIMIT),
        settled_contradictions: a.list(draft.settled_contradictions, SENTENCE_LIMIT),
        questions: a.questions(draft.questions),
        summary: a.text(&draft.summary, SUMMARY_UNITS),
        digest: a.text(&citations::digest(&draft.digest), DIGEST_UNITS),
        progress: draft.progress,
    };
    Bounded { content, altered }
}

impl Altered {
    fn list<T>(&mut self, mut items: Vec<T>, limit: usize) -> Vec<T> {
        self.shortened |= items.len() > limit;
        items.truncate(limit);
        items
    }

    fn text(&mut self, raw: &str, units: usize) -> String {
        let cut = prefix(trim(raw), units);
        self.shortened |= cut.len() < trim(raw).len();
        let text = cut.replace('\0', "\u{fffd}");
        self.replaced |= cut.contains('\0');
        text
    }

    fn spans(&mut self, spans: Vec<SpanIndex>) -> Vec<SpanIndex> {
        self.list(spans, SPANS_PER_CLAIM)
    }

    fn claims(&mut self, claims: Vec<Claim>) -> Vec<Claim> {
        let kept = self.list(claims, CLAIM_LIMIT);
        kept.into_iter()
            .map(|claim| Claim {
                text: self.text(&citations::statement(&claim.text), CLAIM_UNITS),
                spans: self.spans(claim.spans),
            })
            .collect()
    }

    fn conflicts(&mut self, conflicts: Vec<Conflict>) -> Vec<Conflict> {
        let kept = self.list(conflicts, SENTENCE_LIMIT);
        kept.into_iter()
            .map(|conflict| Conflict {
                text: self.text(&citations::statement(&conflict.text), SENTENCE_UNITS),
                spans: self.spans(conflict.spans),
            })
            .collect()
    }

    fn fields(&mut self, fields: Vec<FieldProposal>) -> Vec<FieldProposal> {
        let kept = self.list(fields, SENTENCE_LIMIT);
        kept.into_iter()
            .map(|proposal| FieldProposal {
                value: self.text(&proposal.value, FIELD_UNITS),
                spans: self.spans(proposal.spans),
                field: proposal.field,
            })
            .collect()
    }

    /// The service alone governs `required_evidence:` entries.
    fn sentences(&mut self, sentences: Vec<String>) -> Vec<String> {
        let kept = self.list(sentences, SENTENCE_LIMIT);
        kept.iter()
            .map(|sentence| self.text(sentence, SENTENCE_UNITS))
            .filter(|sentence| !sentence.is_empty() && !sentence.starts_with("required_evidence:"))
            .collect()
    }

    /// Bounds of `agent-api` 2.10; a question that cannot be asked is left out, and one with the id
    /// of an earlier one stands in its place (2.8 step 9).
    fn questions(&mut self, questions: Vec<Question>) -> Vec<Question> {
        let kept = self.list(questions, QUESTION_LIMIT);
        let mut bounded: Vec<Question> = Vec::new();
        for question in kept {
            let id_fits = utf16_len(trim(&question.question_id)) <= 240;
            let asked = self.question(question);
            if !id_fits || asked.question_id.is_empty() || asked.prompt.is_empty() {
                self.shortened = true;
                continue;
            }
            let known = bounded
                .iter_mut()
                .find(|other| other.question_id == asked.question_id);
            match known {
                Some(known) => *known = asked,
                None => bounded.push(asked),
            }
        }
        bounded
    }

    fn question(&mut self, question: Question) -> Question {
        let fields = self.list(question.required_fields, 32);
        let options = self.list(question.options, 32);
        Question {
            question_id: self.text(&question.question_id, 240),
            prompt: self.text(&question.prompt, 2000),
            required_fields: fields
                .iter()
                .map(|field| self.text(field, 120))
                .filter(|field| !field.is_empty())
                .collect(),
            options: options
                .iter()
                .map(|option| QuestionOption {
                    value: self.text(&option.value, 500),
                    label: self.text(&option.label, 500),
                })
                .filter(|option| !option.label.is_empty())
                .collect(),
        }
    }
}
