//! The digest: quoted sentences, each with its mark, contradictions first.

use std::collections::BTreeSet;

use super::contradictions::Contradiction;
use super::rank::{Ranked, Scored};
use super::sentences;
use crate::solver::seam::{Claim, Conflict, Draft, QuotedSpan, SpanIndex};

/// Fills the draft with spans, claims, conflicts, digest and summary.
pub(super) fn write(ranked: &Ranked, conflicts: &[Contradiction], draft: &mut Draft) {
    let mut writer = Writer {
        draft,
        lines: Vec::new(),
        contested: BTreeSet::new(),
    };
    for contradiction in conflicts {
        writer.conflict(ranked.relevant(), contradiction);
    }
    for scored in ranked.selected() {
        writer.claim(scored);
    }
    let lines = writer.lines.join("\n");
    draft.digest = lines;
    draft.summary = draft.tally();
}

struct Writer<'a> {
    draft: &'a mut Draft,
    lines: Vec<String>,
    contested: BTreeSet<SpanIndex>,
}

impl Writer<'_> {
    fn conflict(&mut self, relevant: &[Scored], contradiction: &Contradiction) {
        let sides = [contradiction.first, contradiction.second];
        let mut shown = Vec::new();
        let mut spans = Vec::new();
        for scored in sides.iter().filter_map(|place| relevant.get(*place)) {
            let span = self.span(scored, "one side of a contradiction");
            if self.contested.insert(span) {
                let text = scored.sentence.display.clone();
                self.draft.contradicted_claims.push(Claim {
                    text,
                    spans: vec![span],
                });
            }
            let title = sentences::display(&scored.sentence.title);
            shown.push(format!(
                "{} [{}] ({title})",
                scored.sentence.display,
                span + 1
            ));
            spans.push(span);
        }
        self.lines
            .push(format!("Sources disagree: {}", shown.join(" / ")));
        self.draft.conflicts.push(Conflict {
            text: contradiction.text.clone(),
            spans,
        });
    }

    fn claim(&mut self, scored: &Scored) {
        let span = self.span(scored, "covers the objective");
        if self.contested.contains(&span) {
            return;
        }
        let text = scored.sentence.display.clone();
        self.lines.push(format!("{text} [{}]", span + 1));
        self.draft.claims.push(Claim {
            text,
            spans: vec![span],
        });
    }

    /// The position of a sentence's span, which is added when it is new.
    fn span(&mut self, scored: &Scored, why: &str) -> SpanIndex {
        let sentence = scored.sentence;
        let known = self
            .draft
            .spans
            .iter()
            .position(|span| span.source == sentence.source && span.span == sentence.span);
        known.unwrap_or_else(|| {
            self.draft.spans.push(QuotedSpan {
                source: sentence.source,
                span: sentence.span,
                quote: sentence.quote.clone(),
                why: why.to_owned(),
            });
            self.draft.spans.len() - 1
        })
    }
}
