//! The one place where a turn's result becomes storable.
//!
//! A solver may be wrong, broken or hostile. Whatever it hands over, the stored event has bounded
//! texts, lists, bytes and depth, no NUL, and numbers that read back as they were written, so a
//! replayed state equals the one decided on. Every change leaves a note, in the event and under
//! `host_notes` in the stored result. Applying the bounds twice changes nothing more.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::turn::{Question, QuestionOption, TerminalAuthority, TerminalProduct, TurnResult};
use crate::canonical;
use crate::text::{prefix, trim, unique, utf16_len};

/// References of one bucket in one turn.
pub const REFS_LIMIT: usize = 256;
/// UTF-16 code units of a reference.
pub const REF_LENGTH: usize = 500;
/// UTF-16 code units of a summary or a question's prompt.
pub const TEXT_LENGTH: usize = 2000;
/// UTF-16 code units of a claim or a contradiction.
pub const CLAIM_LENGTH: usize = 1000;
/// UTF-16 code units of a requirement.
pub const REQUIREMENT_LENGTH: usize = 500;
/// Claims, requirements or contradictions of one turn.
pub const TURN_LIST_LIMIT: usize = 128;
/// Requirements or contradictions a run carries from turn to turn.
pub const RUN_LIST_LIMIT: usize = 256;
/// Questions outstanding at a time: as many as one request may answer.
pub const QUESTIONS_LIMIT: usize = 64;
/// Bytes of the canonical JSON of a stored result or of the output fields.
pub const JSON_BYTES: usize = 256 * 1024;
/// Levels of nesting in stored JSON; far below what the reader of the log can follow.
pub const JSON_DEPTH: usize = 32;
/// UTF-16 code units of a terminal product's text.
const PRODUCT_LENGTH: usize = 64 * 1024;
const QUESTION_PARTS: usize = 32;
const FIELD_LENGTH: usize = 120;
const QUESTION_ID_LENGTH: usize = 240;
const NOTES_KEY: &str = "host_notes";

/// What was changed before a result could be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundNote {
    /// NUL became U+FFFD.
    TextRepaired,
    TextShortened,
    ListShortened,
    /// A reference was empty, too long or held a control character.
    RefDropped,
    QuestionDropped,
    /// The product was not authorized, or its reference unusable.
    ProductDropped,
    OutputFieldsDropped,
    FailureCodeReplaced,
    /// Deeper than [`JSON_DEPTH`]: the inner part became null.
    JsonFlattened,
    /// Larger than [`JSON_BYTES`]: only the fixed short keys were kept.
    ResultReduced,
}

/// A result that may be stored, with what was changed in it.
#[derive(Debug)]
pub struct Storable {
    pub result: TurnResult,
    pub notes: Vec<BoundNote>,
}

/// Applies every bound.
pub fn storable(result: TurnResult) -> Storable {
    let mut bounder = Bounder::default();
    let mut result = bounder.result(result);
    let notes: Vec<BoundNote> = bounder.notes.into_iter().collect();
    if !notes.is_empty() {
        result
            .sanitized_result
            .insert(NOTES_KEY.to_owned(), named(&notes));
    }
    Storable { result, notes }
}

fn named(notes: &[BoundNote]) -> Value {
    serde_json::to_value(notes).unwrap_or(Value::Null)
}

/// A caller's JSON value in the form in which it reads back from the log.
pub fn storable_value(value: Value) -> Value {
    Bounder::default().json(value, JSON_DEPTH)
}

#[derive(Default)]
struct Bounder {
    notes: BTreeSet<BoundNote>,
}

impl Bounder {
    fn note(&mut self, note: BoundNote) {
        self.notes.insert(note);
    }

    fn result(&mut self, raw: TurnResult) -> TurnResult {
        let authority = raw.terminal_authority_status;
        let product = raw
            .terminal_product
            .and_then(|product| self.product(&product, authority));
        let product_lost = self.notes.contains(&BoundNote::ProductDropped);
        let mut sanitized_result = self.stored_result(raw.sanitized_result);
        if product_lost {
            sanitized_result.insert("terminal_product".to_owned(), Value::Null);
        }
        TurnResult {
            ok: raw.ok,
            status_code: raw.status_code,
            summary: self.text(&raw.summary, TEXT_LENGTH),
            observation_refs: self.refs(&raw.observation_refs),
            evidence_refs: self.refs(&raw.evidence_refs),
            receipt_refs: self.refs(&raw.receipt_refs),
            claims_supported: self.texts(&raw.claims_supported, CLAIM_LENGTH),
            claims_contradicted: self.texts(&raw.claims_contradicted, CLAIM_LENGTH),
            unresolved_requirements: self.texts(&raw.unresolved_requirements, REQUIREMENT_LENGTH),
            resolved_requirements: self.texts(&raw.resolved_requirements, REQUIREMENT_LENGTH),
            satisfied_evidence_requirements: self
                .texts(&raw.satisfied_evidence_requirements, REQUIREMENT_LENGTH),
            contradictions: self.texts(&raw.contradictions, CLAIM_LENGTH),
            resolved_contradictions: self.texts(&raw.resolved_contradictions, CLAIM_LENGTH),
            pending_questions: self.questions(raw.pending_questions),
            terminal_authority_status: authority,
            terminal_product: product,
            output_fields: self.output_fields(raw.output_fields),
            failure_code: raw.failure_code.map(|code| self.failure_code(code)),
            needs_input: raw.needs_input,
            sanitized_result,
        }
    }

    /// Repaired text of at most `limit` UTF-16 code units.
    fn text(&mut self, raw: &str, limit: usize) -> String {
        let short = prefix(raw, limit);
        if short.len() < raw.len() {
            self.note(BoundNote::TextShortened);
        }
        self.repaired(short)
    }

    fn repaired(&mut self, raw: &str) -> String {
        if raw.contains('\0') {
            self.note(BoundNote::TextRepaired);
        }
        raw.replace('\0', "\u{fffd}")
    }

    fn texts(&mut self, raw: &[String], length: usize) -> Vec<String> {
        let texts: Vec<String> = raw.iter().map(|text| self.text(text, length)).collect();
        self.at_most(TURN_LIST_LIMIT, unique(texts))
    }

    fn at_most<T>(&mut self, limit: usize, mut items: Vec<T>) -> Vec<T> {
        if items.len() > limit {
            self.note(BoundNote::ListShortened);
            items.truncate(limit);
        }
        items
    }

    /// A reference is an identifier: what is no good is left out, never mended into another one.
    fn refs(&mut self, raw: &[String]) -> Vec<String> {
        let (good, bad): (Vec<&String>, Vec<&String>) = raw.iter().partition(|r| is_ref(r));
        if !bad.is_empty() {
            self.note(BoundNote::RefDropped);
        }
        self.at_most(REFS_LIMIT, unique(good))
    }

    fn questions(&mut self, raw: Vec<Question>) -> Vec<Question> {
        let questions: Vec<Question> = raw
            .into_iter()
            .filter_map(|question| self.question(&question))
            .collect();
        self.at_most(QUESTIONS_LIMIT, questions)
    }

    fn question(&mut self, raw: &Question) -> Option<Question> {
        let question_id = trim(&raw.question_id);
        let prompt = trim(&raw.prompt);
        if question_id.is_empty()
            || utf16_len(question_id) > QUESTION_ID_LENGTH
            || question_id.chars().any(char::is_control)
            || prompt.is_empty()
        {
            self.note(BoundNote::QuestionDropped);
            return None;
        }
        let fields: Vec<String> = raw
            .required_fields
            .iter()
            .map(|field| self.text(field, FIELD_LENGTH))
            .collect();
        let options: Vec<QuestionOption> = raw
            .options
            .iter()
            .map(|option| self.option(option))
            .collect();
        Some(Question {
            question_id: question_id.to_owned(),
            prompt: self.text(prompt, TEXT_LENGTH),
            required_fields: self.at_most(QUESTION_PARTS, unique(fields)),
            options: self.at_most(QUESTION_PARTS, options),
        })
    }

    /// An option without a label shows its value, or a dash when it has neither.
    fn option(&mut self, raw: &QuestionOption) -> QuestionOption {
        let value = self.text(trim(&raw.value), REF_LENGTH);
        let label = self.text(trim(&raw.label), REF_LENGTH);
        let label = match (label.is_empty(), value.is_empty()) {
            (false, _) => label,
            (true, false) => value.clone(),
            (true, true) => "-".to_owned(),
        };
        QuestionOption { value, label }
    }

    /// A product exists only with authority (`agent-api` 4.5).
    fn product(
        &mut self,
        raw: &TerminalProduct,
        authority: TerminalAuthority,
    ) -> Option<TerminalProduct> {
        if authority != TerminalAuthority::Authorized || !is_ref(&raw.authority_ref) {
            self.note(BoundNote::ProductDropped);
            return None;
        }
        Some(TerminalProduct {
            authority_ref: trim(&raw.authority_ref).to_owned(),
            artifact_kind: self.text(&raw.artifact_kind, FIELD_LENGTH),
            text: self.text(&raw.text, PRODUCT_LENGTH),
            supporting_evidence_refs: self.refs(&raw.supporting_evidence_refs),
        })
    }

    /// A failure code stands in clear, so it must be a code.
    fn failure_code(&mut self, raw: String) -> String {
        let is_code = (1..=FIELD_LENGTH).contains(&raw.len())
            && raw
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b));
        if is_code {
            return raw;
        }
        self.note(BoundNote::FailureCodeReplaced);
        "unspecified_failure".to_owned()
    }

    fn output_fields(&mut self, raw: Map<String, Value>) -> Map<String, Value> {
        let fields = self.object(raw, JSON_DEPTH);
        if canonical::to_vec(&Value::Object(fields.clone())).len() <= JSON_BYTES {
            return fields;
        }
        self.note(BoundNote::OutputFieldsDropped);
        Map::new()
    }

    fn stored_result(&mut self, raw: Map<String, Value>) -> Map<String, Value> {
        let mut object = self.object(raw, JSON_DEPTH);
        if canonical::to_vec(&Value::Object(object.clone())).len() <= JSON_BYTES {
            return object;
        }
        self.note(BoundNote::ResultReduced);
        object.retain(|key, value| key.len() <= FIELD_LENGTH && is_short(value));
        object.into_iter().take(TURN_LIST_LIMIT).collect()
    }

    fn object(&mut self, raw: Map<String, Value>, depth: usize) -> Map<String, Value> {
        raw.into_iter()
            .map(|(key, value)| {
                (
                    self.repaired(&key),
                    self.json(value, depth.saturating_sub(1)),
                )
            })
            .collect()
    }

    /// The value as it reads back from canonical JSON, with at most `depth` levels below it.
    fn json(&mut self, raw: Value, depth: usize) -> Value {
        match raw {
            Value::Array(_) | Value::Object(_) if depth == 0 => {
                self.note(BoundNote::JsonFlattened);
                Value::Null
            }
            Value::Array(items) => items
                .into_iter()
                .map(|item| self.json(item, depth - 1))
                .collect(),
            Value::Object(members) => Value::Object(self.object(members, depth)),
            Value::String(text) => Value::String(self.repaired(&text)),
            Value::Number(_) => {
                serde_json::from_slice(&canonical::to_vec(&raw)).unwrap_or(Value::Null)
            }
            Value::Null | Value::Bool(_) => raw,
        }
    }
}

fn is_ref(raw: &str) -> bool {
    let text = trim(raw);
    !text.is_empty() && utf16_len(text) <= REF_LENGTH && !text.chars().any(char::is_control)
}

fn is_short(value: &Value) -> bool {
    match value {
        Value::String(text) => utf16_len(text) <= REF_LENGTH,
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::Array(_) | Value::Object(_) => false,
    }
}
