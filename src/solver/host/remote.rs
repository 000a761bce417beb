//! Calls that ask other people's servers. What they answer becomes documents of the turn.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use helix_aggregates::agent::evidence::item::Span;
use helix_aggregates::agent::scope::DataScope;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::arguments::Arguments;
use super::call::Answered;
use super::cards::Remote;
use super::{ToolError, ToolHost};
use crate::solver::corpora::{Corpus, Document};
use crate::solver::seam::{SolverError, SourceHandle};
use crate::solver::tools::remote::{Paper, RemoteError, Upstream};

/// Documents, and bytes of them, that one turn retains of one scope.
const SHELF: usize = 256;
const SHELF_BYTES: u64 = 64 << 20;
/// Papers that one turn can name.
const PAPERS: usize = 1000;
/// Bytes of one text in the answer to a search: an abstract is handed over whole.
const WHOLE: u64 = 40 << 10;

impl ToolHost {
    pub(super) async fn answer_from(
        &self,
        scope: &'static DataScope,
        act: Remote,
        arguments: &Arguments,
    ) -> Result<Answered, ToolError> {
        let query = arguments.text("query").unwrap_or_default();
        let limit = arguments.whole("limit").unwrap_or(8);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        match act {
            Remote::SearchWeb => self.search_web(scope, query, limit).await,
            Remote::LookUpPapers => self.look_up(scope, query, limit).await,
            Remote::FullText => {
                let source = self.full_text(scope, arguments).await?;
                let open = self.known(source).ok_or(ToolError::UnknownSource)?;
                Ok(self.text_of(&open, arguments))
            }
        }
    }

    async fn search_web(
        &self,
        scope: &'static DataScope,
        query: &str,
        limit: usize,
    ) -> Result<Answered, ToolError> {
        let remotes = self.0.snapshot.remotes();
        let found = remotes.search_web(query, limit, self.patience());
        let found = self.heard((Upstream::Search, 0), self.in_time(found).await?)?;
        let documents = found
            .into_iter()
            .map(|found| Document::retained(found.title, found.locator, found.text));
        let sources = self.shelve(scope, documents.collect()).await?;
        Ok(self.whole(&sources))
    }

    async fn look_up(
        &self,
        scope: &'static DataScope,
        query: &str,
        limit: usize,
    ) -> Result<Answered, ToolError> {
        let remotes = self.0.snapshot.remotes();
        let found = self.in_time(remotes.lookup(query, limit, self.patience()));
        let found = found.await?;
        {
            let mut ledger = self.ledger();
            for upstream in &found.reached {
                ledger.heard.insert((*upstream, 0), Ok(()));
            }
            for unreached in &found.unreached {
                let place = (unreached.upstream, 0);
                ledger.heard.insert(place, Err(unreached.error));
            }
            if ledger.papers.len() + found.papers.len() > PAPERS {
                return Err(ToolError::Exhausted);
            }
        }
        if let (true, Some(unreached)) = (found.reached.is_empty(), found.unreached.first()) {
            return Err(unreached.error.into());
        }
        let with_text: Vec<Document> = found.papers.iter().filter_map(abstract_of).collect();
        let sources = self.shelve(scope, with_text).await?;
        let mut answered = self.whole(&sources);
        let mut named = sources.iter();
        let mut papers = Vec::new();
        for paper in found.papers {
            let source = paper.abstract_text.as_ref().and_then(|_| named.next());
            papers.push(self.name_paper(paper, source.copied()));
        }
        let silent: Vec<&str> = found.unreached.iter().map(|u| u.upstream.name()).collect();
        answered.body["papers"] = papers.into();
        answered.body["unreached"] = silent.into();
        Ok(answered)
    }

    fn name_paper(&self, paper: Paper, source: Option<SourceHandle>) -> Value {
        let mut ledger = self.ledger();
        let known = ledger.papers.iter().position(|(known, _)| *known == paper);
        let number = known.unwrap_or(ledger.papers.len());
        let told = json!({
            "paper": number, "title": paper.title, "locator": paper.locator, "doi": paper.doi,
            "year": paper.year, "authors": paper.authors,
            "abstract_source": source.map(|source| source.0),
            "full_text": paper.full_text.is_some(),
        });
        if known.is_none() {
            ledger.papers.push((paper, None));
        }
        told
    }

    /// The source of a paper's full text, fetched once a turn.
    async fn full_text(
        &self,
        scope: &'static DataScope,
        arguments: &Arguments,
    ) -> Result<SourceHandle, ToolError> {
        let number = arguments.whole("paper").unwrap_or(u64::MAX);
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let known = self.ledger().papers.get(number).cloned();
        let (paper, fetched) = known.ok_or(ToolError::UnknownSource)?;
        if let Some(source) = fetched {
            return Ok(source);
        }
        let remotes = self.0.snapshot.remotes();
        let document = self
            .in_time(remotes.full_text(&paper, self.patience()))
            .await?;
        let document = match document {
            // The abstract has spoken for it: one text that is gone for good must not be missed for
            // as long as the run lasts.
            Err(error) if paper.abstract_text.is_some() => return Err(error.into()),
            document => self.heard((Upstream::FullText, number), document)?,
        };
        let named = self.shelve(scope, vec![document]).await?;
        let source = *named.first().ok_or(ToolError::Failed)?;
        if let Some(paper) = self.ledger().papers.get_mut(number) {
            paper.1 = Some(source);
        }
        Ok(source)
    }

    /// Whether every server of a scope answered when it was last asked.
    pub fn is_reached(&self, scope_id: &str) -> bool {
        let ledger = self.ledger();
        let unreached = ledger.unreached();
        unreached
            .iter()
            .all(|failure| failure.upstream.scope() != scope_id)
    }

    /// Notes whether a server answered.
    fn heard<T>(
        &self,
        place: (Upstream, usize),
        heard: Result<T, RemoteError>,
    ) -> Result<T, ToolError> {
        let outcome = heard.as_ref().map(|_| ()).map_err(|error| *error);
        self.ledger().heard.insert(place, outcome);
        heard.map_err(ToolError::from)
    }

    /// Keeps documents for the rest of the turn and names them, in their order.
    async fn shelve(
        &self,
        scope: &'static DataScope,
        documents: Vec<Document>,
    ) -> Result<Vec<SourceHandle>, ToolError> {
        let _one_at_a_time = self.0.shelving.lock().await;
        let before = self.ledger().shelves.get(scope.id).cloned();
        let mut all = before
            .map(|corpus| corpus.documents().to_vec())
            .unwrap_or_default();
        let mut places = Vec::new();
        for document in documents {
            let same = |known: &Arc<Document>| {
                known.locator == document.locator && known.source_sha256 == document.source_sha256
            };
            let place = all.iter().position(same).unwrap_or(all.len());
            if place == all.len() {
                all.push(Arc::new(document));
            }
            places.push(place);
        }
        let bytes: u64 = all.iter().map(|document| document.stamp.bytes).sum();
        if all.len() > SHELF || bytes > SHELF_BYTES {
            return Err(ToolError::Exhausted);
        }
        let corpus = tokio::task::spawn_blocking(move || Corpus::retained(scope, all))
            .await
            .map_err(|_| ToolError::Failed)?;
        let corpus = Arc::new(corpus.map_err(|_| ToolError::Failed)?);
        let mut ledger = self.ledger();
        let named = places
            .into_iter()
            .filter_map(|place| {
                let document = corpus.documents().get(place)?;
                Some(ledger.name(scope.id, place, document))
            })
            .collect();
        ledger.shelves.insert(scope.id, corpus);
        Ok(named)
    }

    /// Hands sources over from their beginning.
    fn whole(&self, sources: &[SourceHandle]) -> Answered {
        let all = Span {
            start: 0,
            end: u64::MAX,
        };
        let hits: Vec<_> = sources.iter().map(|source| (*source, all)).collect();
        self.passages(&hits, WHOLE)
    }

    fn patience(&self) -> Duration {
        let left = self.0.allowance.deadline;
        let left = left.saturating_duration_since(Instant::now());
        self.0.snapshot.remotes().patience(left)
    }

    /// Waits for work of other servers no longer than the turn goes on.
    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, ToolError> {
        let mut abort = self.0.abort.clone();
        tokio::select! {
            biased;
            reason = abort.wait() => Err(SolverError::Aborted(reason).into()),
            () = tokio::time::sleep_until(self.0.allowance.deadline) => {
                Err(SolverError::DeadlinePassed.into())
            }
            done = work => Ok(done),
        }
    }
}

fn abstract_of(paper: &Paper) -> Option<Document> {
    let text = paper.abstract_text.clone()?;
    Some(Document::retained(
        paper.title.clone(),
        paper.locator.clone(),
        text,
    ))
}

#[cfg(test)]
mod tests;
