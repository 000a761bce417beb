//! Admitted spans and the items made of them.

use std::collections::BTreeSet;

use helix_aggregates::agent::evidence::item::{EvidenceItem, ToolReceipt};

use crate::solver::corpora::{LIBRARY_SCOPE, REPOSITORY_SCOPE, THEORY_SCOPE};
use crate::solver::host::{Admitted, Refusal, ToolHost, TurnMark};
use crate::solver::seam::{Draft, SpanIndex, TurnInput};
use crate::solver::tools::remote::{SCHOLARLY_SCOPE, WEB_SCOPE};

use super::citations;

/// What a span is for, which decides its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It carries a claim or a field.
    Support,
    /// It is shown, for example as one side of a conflict.
    Observation,
}

/// What became of one span of the draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// The position of its item.
    Item(usize),
    Refused(Refusal),
    /// Nothing in the draft refers to it.
    Unused,
}

/// The evidence of one turn.
#[derive(Debug)]
pub(super) struct Evidence {
    items: Vec<EvidenceItem>,
    fates: Vec<Fate>,
    /// Receipts of the reads that the items came from.
    receipts: Vec<ToolReceipt>,
}

/// Admits every span that the draft refers to, in the order of the digest's marks.
pub(super) fn gather(input: &TurnInput, draft: &Draft, host: &ToolHost) -> Evidence {
    let mark = TurnMark::of(input);
    let supporting = supporting_spans(draft);
    let mut evidence = Evidence {
        items: Vec::new(),
        fates: vec![Fate::Unused; draft.spans.len()],
        receipts: Vec::new(),
    };
    for index in referred_spans(draft, &supporting) {
        let Some(quoted) = draft.spans.get(index) else {
            continue;
        };
        if evidence.fates[index] != Fate::Unused {
            continue;
        }
        let role = if supporting.contains(&index) {
            Role::Support
        } else {
            Role::Observation
        };
        evidence.fates[index] = match host.admit(quoted) {
            Ok(admitted) => Fate::Item(evidence.place(item(&mark, role, admitted))),
            Err(refusal) => Fate::Refused(refusal),
        };
    }
    let used: BTreeSet<&str> = evidence
        .items
        .iter()
        .map(|item| item.receipt_ref.as_str())
        .collect();
    let receipts = host.record().receipts;
    evidence.receipts = receipts
        .into_iter()
        .filter(|receipt| used.contains(receipt.receipt_ref.as_str()))
        .collect();
    evidence
}

fn supporting_spans(draft: &Draft) -> BTreeSet<SpanIndex> {
    let claims = draft
        .claims
        .iter()
        .chain(&draft.contradicted_claims)
        .flat_map(|claim| &claim.spans);
    claims
        .chain(draft.fields.iter().flat_map(|field| &field.spans))
        .copied()
        .collect()
}

fn referred_spans(draft: &Draft, supporting: &BTreeSet<SpanIndex>) -> Vec<SpanIndex> {
    let mut order: Vec<SpanIndex> = citations::marks(&draft.digest)
        .filter_map(|(_, number)| number.checked_sub(1))
        .collect();
    order.extend(supporting);
    order.extend(draft.conflicts.iter().flat_map(|conflict| &conflict.spans));
    order
}

fn item(mark: &TurnMark, role: Role, admitted: Admitted) -> EvidenceItem {
    let base = match admitted.scope {
        LIBRARY_SCOPE => "research_library",
        REPOSITORY_SCOPE => "repo_code",
        THEORY_SCOPE => "theory_context",
        WEB_SCOPE => "internet_search",
        SCHOLARLY_SCOPE => "scholarly",
        other => other,
    };
    let kind = match role {
        Role::Support => format!("{base}_evidence"),
        Role::Observation => format!("{base}_observation"),
    };
    let name = mark.name(&[
        kind.as_bytes(),
        admitted.locator.as_bytes(),
        admitted.snapshot_sha256.as_bytes(),
        &admitted.span.start.to_be_bytes(),
        &admitted.span.end.to_be_bytes(),
        admitted.quote.as_bytes(),
    ]);
    EvidenceItem {
        item_ref: format!("evidence:{kind}:{name}"),
        kind,
        scope: admitted.scope.to_owned(),
        title: admitted.title.into(),
        locator: admitted.locator.into(),
        snapshot_sha256: admitted.snapshot_sha256,
        span: admitted.span,
        quote: admitted.quote.into(),
        receipt_ref: admitted.receipt_ref,
    }
}

impl Evidence {
    /// The same span quoted twice is one item.
    fn place(&mut self, item: EvidenceItem) -> usize {
        let known = self
            .items
            .iter()
            .position(|known| known.item_ref == item.item_ref);
        known.unwrap_or_else(|| {
            self.items.push(item);
            self.items.len() - 1
        })
    }

    pub fn items(&self) -> &[EvidenceItem] {
        &self.items
    }

    pub fn receipts(&self) -> &[ToolReceipt] {
        &self.receipts
    }

    pub fn into_items(self) -> Vec<EvidenceItem> {
        self.items
    }

    /// The position of a span's item, when it was admitted.
    pub fn item_of(&self, span: SpanIndex) -> Option<usize> {
        match self.fates.get(span) {
            Some(Fate::Item(item)) => Some(*item),
            Some(Fate::Refused(_) | Fate::Unused) | None => None,
        }
    }

    /// Whether there is at least one span and each of them was admitted.
    pub fn carries(&self, spans: &[SpanIndex]) -> bool {
        !spans.is_empty() && spans.iter().all(|span| self.item_of(*span).is_some())
    }

    pub fn refused(&self) -> impl Iterator<Item = Refusal> {
        self.fates.iter().filter_map(|fate| match fate {
            Fate::Refused(refusal) => Some(*refusal),
            Fate::Item(_) | Fate::Unused => None,
        })
    }

    /// The quote of an item.
    pub fn quote(&self, item: usize) -> &str {
        self.items
            .get(item)
            .and_then(|item| item.quote.open())
            .map_or("", String::as_str)
    }
}
