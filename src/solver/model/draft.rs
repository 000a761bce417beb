//! From a product to a draft: what lost its quotes goes, and what is left is written down here.
//!
//! What must stay true: a span exists only where the quoted bytes stand in what was handed over; a
//! claim without one is left out, and the run says that something was; the model's words cannot
//! forge a mark or a line of the digest. Deliberately absent: whether a claim follows from its
//! quotes. A reader has both.

use std::fmt;

use helix_aggregates::agent::run::turn::{Question, QuestionOption};

use super::product::{Asked, Field, Product, Quote, Statement};
use crate::solver::corpus_extract::without_value;
use crate::solver::finaliser::{OWN_FIELDS, one_line, stands_in, statement};
use crate::solver::host::{Provider, Refusal, ToolHost, is_too_short};
use crate::solver::seam::{
    Claim, Conflict, Draft, FieldProposal, Progress, QuotedSpan, SourceHandle, SpanIndex, TurnInput,
};
use crate::solver::tools::limitation;

/// A requirement of the run for as long as a turn leaves something out.
pub(super) const LEFT_OUT: &str =
    "Statements were left out because their quotes are not in the sources that were read.";

/// A part of a product that is not admitted. For the model alone: positions, none of its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    Quote(usize, Refusal),
    ShortQuote(usize),
    /// A statement of the list without a text or a quote that holds.
    Unsupported(&'static str, usize),
    OneSided(usize),
    UnknownField(usize),
    /// A field's value that stands in none of its quotes.
    Value(usize),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quote(at, refusal) => write!(f, "quotes[{at}]: {refusal}"),
            Self::ShortQuote(at) => write!(f, "quotes[{at}]: the quote is too short"),
            Self::Unsupported(list, at) => write!(f, "{list}[{at}]: no quote of it holds"),
            Self::OneSided(at) => write!(f, "conflicts[{at}]: two quotes that hold are needed"),
            Self::UnknownField(at) => write!(f, "fields[{at}]: no such output field is wanted"),
            Self::Value(at) => {
                write!(
                    f,
                    "fields[{at}]: the value stands in none of its quotes word for word"
                )
            }
        }
    }
}

/// A product after its judgement.
#[derive(Debug)]
pub(super) struct Judged {
    pub draft: Draft,
    pub faults: Vec<Fault>,
}

/// What of a product holds. Blocking: every quote is looked for.
pub(super) fn judge(product: Product, input: &TurnInput, host: &ToolHost) -> Judged {
    let mut judge = Judge {
        input,
        host,
        draft: Draft::default(),
        places: Vec::new(),
        faults: Vec::new(),
    };
    for (at, quote) in product.quotes.into_iter().enumerate() {
        judge.quote(at, quote);
    }
    judge.draft.claims = judge.claims("claims", product.claims);
    judge.draft.contradicted_claims =
        judge.claims("contradicted_claims", product.contradicted_claims);
    judge.conflicts(product.conflicts);
    judge.fields(product.fields);
    judge.draft.questions = product.questions.into_iter().map(question).collect();
    judge.draft.settled_requirements = product.settled_requirements;
    judge.draft.settled_contradictions = product.settled_contradictions;
    judge.finish(&product.unresolved)
}

/// What can be said without asking a model: why nothing can be read.
pub(super) fn unreadable(input: &TurnInput, host: &ToolHost) -> Draft {
    let mut draft = Draft {
        summary: "Nothing can be read in this run.".to_owned(),
        unresolved: limitations(host),
        ..Draft::default()
    };
    if input.database_scope.is_empty() {
        let none = "The run admits no data scope, so nothing can be read.";
        draft.unresolved.push(none.to_owned());
    } else if draft.unresolved.is_empty() {
        let none = "The run admits no capability that this server can answer.";
        draft.unresolved.push(none.to_owned());
    }
    draft
}

fn limitations(host: &ToolHost) -> Vec<String> {
    let scopes = host.scopes().into_iter();
    let absent = scopes.filter(|admitted| admitted.provider == Provider::Absent);
    absent
        .map(|admitted| limitation(admitted.scope.id))
        .collect()
}

struct Judge<'a> {
    input: &'a TurnInput,
    host: &'a ToolHost,
    draft: Draft,
    /// For each quote of the product its span, if it has one.
    places: Vec<Option<SpanIndex>>,
    faults: Vec<Fault>,
}

impl Judge<'_> {
    fn quote(&mut self, at: usize, quote: Quote) {
        let place = self.located(at, quote);
        let place = place.map_err(|fault| self.faults.push(fault)).ok();
        self.places.push(place);
    }

    fn located(&mut self, at: usize, quote: Quote) -> Result<SpanIndex, Fault> {
        if is_too_short(&quote.quote) {
            return Err(Fault::ShortQuote(at));
        }
        let source = SourceHandle(quote.source);
        let span = self.host.locate(source, &quote.quote);
        let span = span.map_err(|refusal| Fault::Quote(at, refusal))?;
        let quoted = QuotedSpan {
            source,
            span,
            quote: quote.quote,
            why: String::new(),
        };
        let known = self.draft.spans.iter().position(|known| *known == quoted);
        Ok(known.unwrap_or_else(|| {
            self.draft.spans.push(quoted);
            self.draft.spans.len() - 1
        }))
    }

    /// The spans that are left of a statement's quotes.
    fn spans(&self, quotes: &[usize]) -> Vec<SpanIndex> {
        let mut spans = Vec::new();
        for span in quotes.iter().filter_map(|at| *self.places.get(*at)?) {
            if !spans.contains(&span) {
                spans.push(span);
            }
        }
        spans
    }

    fn claims(&mut self, list: &'static str, statements: Vec<Statement>) -> Vec<Claim> {
        let mut claims = Vec::new();
        for (at, said) in statements.into_iter().enumerate() {
            let spans = self.spans(&said.quotes);
            let text = statement(&said.text);
            if text.is_empty() || spans.is_empty() {
                self.faults.push(Fault::Unsupported(list, at));
            } else {
                claims.push(Claim { text, spans });
            }
        }
        claims
    }

    fn conflicts(&mut self, statements: Vec<Statement>) {
        for (at, said) in statements.into_iter().enumerate() {
            let spans = self.spans(&said.quotes);
            let text = statement(&said.text);
            if text.is_empty() || spans.len() < 2 {
                self.faults.push(Fault::OneSided(at));
            } else {
                self.draft.conflicts.push(Conflict { text, spans });
            }
        }
    }

    fn fields(&mut self, fields: Vec<Field>) {
        for (at, field) in fields.into_iter().enumerate() {
            let own = OWN_FIELDS.contains(&field.name.as_str());
            if own || !self.input.required_output_fields.contains(&field.name) {
                self.faults.push(Fault::UnknownField(at));
                continue;
            }
            let spans = self.spans(&field.quotes);
            let quotes = spans.iter().filter_map(|span| self.draft.spans.get(*span));
            let mut quotes = quotes.map(|span| span.quote.as_str());
            if quotes.any(|quote| stands_in(&field.value, quote)) {
                self.draft.fields.push(FieldProposal {
                    field: field.name,
                    value: field.value,
                    spans,
                });
            } else {
                self.faults.push(Fault::Value(at));
            }
        }
    }

    fn finish(mut self, unresolved: &[String]) -> Judged {
        let said = unresolved.iter().map(|sentence| one_line(sentence));
        self.draft.unresolved = said.filter(|sentence| !sentence.is_empty()).collect();
        self.draft.unresolved.extend(limitations(self.host));
        let quoted = !(self.draft.claims.is_empty()
            && self.draft.contradicted_claims.is_empty()
            && self.draft.conflicts.is_empty());
        if quoted {
            self.draft.progress = Progress::Made;
            self.name_missing_fields();
        }
        if !self.faults.is_empty() {
            self.draft.unresolved.push(LEFT_OUT.to_owned());
        }
        self.settle_own();
        self.draft.digest = digest(&self.draft);
        self.draft.summary = summary(&self.draft);
        Judged {
            draft: self.draft,
            faults: self.faults,
        }
    }

    fn name_missing_fields(&mut self) {
        let wanted = self.input.required_output_fields.iter();
        for field in wanted.filter(|field| !OWN_FIELDS.contains(&field.as_str())) {
            if !self.draft.fields.iter().any(|known| known.field == *field) {
                self.draft.unresolved.push(without_value(field));
            }
        }
    }

    /// Requirements that this solver worded itself are settled by not being worded again.
    fn settle_own(&mut self) {
        let wanted = self.input.required_output_fields.iter();
        let mut own: Vec<String> = wanted.map(|field| without_value(field)).collect();
        own.push(LEFT_OUT.to_owned());
        let before = self.input.previous_unresolved_requirements.iter();
        for (place, requirement) in before.enumerate() {
            let again = self.draft.unresolved.contains(requirement);
            if own.contains(requirement) && !again {
                self.draft.settled_requirements.push(place);
            }
        }
    }
}

/// A line a statement, each with the marks of its spans; contradictions first.
fn digest(draft: &Draft) -> String {
    let conflicts = draft.conflicts.iter().map(|conflict| {
        let text = statement(&conflict.text);
        format!("Sources disagree: {text} {}", marks(&conflict.spans))
    });
    let contradicted = draft.contradicted_claims.iter().map(|claim| {
        let text = statement(&claim.text);
        format!("Contradicted: {text} {}", marks(&claim.spans))
    });
    let claims = draft
        .claims
        .iter()
        .map(|claim| format!("{} {}", statement(&claim.text), marks(&claim.spans)));
    let lines: Vec<String> = conflicts.chain(contradicted).chain(claims).collect();
    lines.join("\n")
}

fn marks(spans: &[SpanIndex]) -> String {
    let marks: Vec<String> = spans.iter().map(|span| format!("[{}]", span + 1)).collect();
    marks.concat()
}

fn summary(draft: &Draft) -> String {
    if draft.progress == Progress::Made {
        draft.tally()
    } else if draft.questions.is_empty() {
        "No statement could be quoted from the sources that were read.".to_owned()
    } else {
        "The caller has to decide something before the objective can be settled.".to_owned()
    }
}

fn question(asked: Asked) -> Question {
    Question {
        question_id: one_line(&asked.question_id),
        prompt: one_line(&asked.prompt),
        required_fields: Vec::new(),
        options: asked
            .options
            .into_iter()
            .map(|option| QuestionOption {
                value: option.value,
                label: one_line(&option.label),
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests;
