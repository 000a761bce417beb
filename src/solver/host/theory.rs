//! Reflection: the claims that a text touches or that are named, and what they are to each other.

use serde_json::{Value, json};

use super::arguments::{Arguments, BadArguments};
use super::call::Answered;
use super::cards::{Among, Listing};
use super::local::PASSAGE;
use super::{Span, ToolError, ToolHost};
use crate::solver::corpora::{Corpus, words};
use crate::solver::seam::SourceHandle;
use crate::solver::tools::theory::{Registry, RelationKind};

/// Relations in one answer.
const RELATIONS: usize = 500;

impl ToolHost {
    pub(super) fn reflect(
        &self,
        corpus: &Corpus,
        arguments: &Arguments,
    ) -> Result<Answered, ToolError> {
        let registry = self.0.snapshot.theory().ok_or(ToolError::NoProvider)?;
        let mut unknown = 0;
        let places = match (arguments.text("text"), arguments.texts("claims").next()) {
            (Some(_), Some(_)) => return Err(BadArguments::Exclusive("text", "claims").into()),
            (None, None) => return Err(BadArguments::Misfit("text").into()),
            (Some(text), None) => self.touched(corpus, registry, text, arguments)?,
            (None, Some(_)) => {
                let found: Vec<_> = arguments
                    .texts("claims")
                    .map(|id| registry.place(id))
                    .collect();
                unknown = found.iter().filter(|place| place.is_none()).count();
                found.into_iter().flatten().collect()
            }
        };
        Ok(self.told(corpus, registry, &places, unknown))
    }

    /// The places of the claims whose statements match a text, best first.
    fn touched(
        &self,
        corpus: &Corpus,
        registry: &Registry,
        text: &str,
        arguments: &Arguments,
    ) -> Result<Vec<usize>, ToolError> {
        let limit = arguments.whole("limit").unwrap_or(8);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let stems = words::stems(text);
        let hits = self.hits(corpus, &stems, Among::All, Listing::Documents, limit)?;
        let named = hits.iter().filter_map(|(source, _)| self.card(*source));
        Ok(named
            .filter_map(|card| registry.place(&card.title))
            .collect())
    }

    fn told(
        &self,
        corpus: &Corpus,
        registry: &Registry,
        places: &[usize],
        unknown: usize,
    ) -> Answered {
        let sources: Vec<SourceHandle> = places
            .iter()
            .filter_map(|place| {
                let document = corpus.documents().get(*place)?;
                Some(self.ledger().name(corpus.scope().id, *place, document))
            })
            .collect();
        let all = Span {
            start: 0,
            end: u64::MAX,
        };
        let hits: Vec<_> = sources.iter().map(|source| (*source, all)).collect();
        let mut answered = self.passages(&hits, 8 * PASSAGE);
        let claims: Vec<Value> = places
            .iter()
            .zip(&sources)
            .filter_map(|(place, source)| {
                let claim = registry.claim(*place)?;
                Some(json!({
                    "id": claim.id, "source": source.0, "status": claim.status,
                    "sources": claim.sources,
                }))
            })
            .collect();
        let among = |id: &str| {
            registry
                .place(id)
                .is_some_and(|place| places.contains(&place))
        };
        let relations = registry.relations().iter();
        let touching: Vec<_> = relations
            .filter(|relation| among(&relation.from) || among(&relation.to))
            .take(RELATIONS)
            .collect();
        let contradictions: Vec<_> = touching
            .iter()
            .filter(|relation| relation.kind == RelationKind::Contradicts)
            .filter(|relation| among(&relation.from) && among(&relation.to))
            .map(|relation| json!([relation.from, relation.to]))
            .collect();
        answered.body["claims"] = claims.into();
        answered.body["relations"] = json!(touching);
        answered.body["contradictions"] = contradictions.into();
        answered.body["unknown"] = unknown.into();
        answered
    }
}

#[cfg(test)]
mod tests;
