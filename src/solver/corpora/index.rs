//! The search index of one corpus, in memory only.
//!
//! Exists so that a turn reads a handful of passages instead of everything. What must stay true:
//! the order of hits depends on the documents and the query alone. That is why the index has one
//! segment, written in document order: several segments would be searched in an order drawn at
//! random.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use tantivy::collector::TopDocs;
use tantivy::directory::RamDirectory;
use tantivy::indexer::SingleSegmentIndexWriter;
use tantivy::query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, IndexReader, TantivyDocument, Term};

use super::document::Document;
use super::words;

/// Passages grow to about this many bytes before the next one starts.
const PASSAGE_BYTES: usize = 1200;
const WRITER_BYTES: usize = 64 << 20;

/// A term of a query; heavier terms count for more.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedTerm {
    pub stem: String,
    pub weight: f32,
}

/// A passage that holds at least one term of the query.
#[derive(Debug, Clone, PartialEq)]
pub struct PassageHit {
    /// The document's place in its corpus.
    pub document: usize,
    pub range: Range<usize>,
    pub score: f32,
}

#[derive(Debug, Clone)]
struct Passage {
    document: usize,
    range: Range<usize>,
}

/// An index over the passages of one corpus.
pub struct PassageIndex {
    passages: Vec<Passage>,
    field: Option<Field>,
    reader: Option<IndexReader>,
}

impl fmt::Debug for PassageIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PassageIndex")
            .field("passages", &self.passages.len())
            .finish_non_exhaustive()
    }
}

impl PassageIndex {
    /// An index without passages: what remains when building fails.
    pub fn empty() -> Self {
        Self {
            passages: Vec::new(),
            field: None,
            reader: None,
        }
    }

    pub fn build(documents: &[Arc<Document>]) -> tantivy::Result<Self> {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("whitespace")
            .set_index_option(IndexRecordOption::WithFreqs);
        let options = TextOptions::default().set_indexing_options(indexing);
        let field = schema.add_text_field("stems", options);
        let mut writer: SingleSegmentIndexWriter = Index::builder()
            .schema(schema.build())
            .single_segment_index_writer(RamDirectory::create(), WRITER_BYTES)?;
        let mut passages = Vec::new();
        for (ordinal, document) in documents.iter().enumerate() {
            for range in passage_ranges(document) {
                let mut row = TantivyDocument::default();
                row.add_text(field, passage_stems(document, &range));
                writer.add_document(row)?;
                passages.push(Passage {
                    document: ordinal,
                    range,
                });
            }
        }
        let reader = writer.finalize()?.reader()?;
        Ok(Self {
            passages,
            field: Some(field),
            reader: Some(reader),
        })
    }

    /// The best passages, best first; ties keep the order of the documents.
    pub fn search(&self, terms: &[WeightedTerm], limit: usize) -> tantivy::Result<Vec<PassageHit>> {
        let (Some(field), Some(reader)) = (self.field, &self.reader) else {
            return Ok(Vec::new());
        };
        if terms.is_empty() || limit == 0 || self.passages.is_empty() {
            return Ok(Vec::new());
        }
        let clauses = terms
            .iter()
            .map(|term| {
                let text = Term::from_field_text(field, &term.stem);
                let exact = Box::new(TermQuery::new(text, IndexRecordOption::WithFreqs));
                let boosted: Box<dyn Query> = Box::new(BoostQuery::new(exact, term.weight));
                (Occur::Should, boosted)
            })
            .collect::<Vec<_>>();
        let searcher = reader.searcher();
        let top = TopDocs::with_limit(limit).order_by_score();
        let found = searcher.search(&BooleanQuery::new(clauses), &top)?;
        let mut hits: Vec<(usize, f32)> = found
            .into_iter()
            .map(|(score, address)| (address.doc_id as usize, score))
            .collect();
        hits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Ok(hits
            .into_iter()
            .filter_map(|(number, score)| {
                let passage = self.passages.get(number)?;
                Some(PassageHit {
                    document: passage.document,
                    range: passage.range.clone(),
                    score,
                })
            })
            .collect())
    }

    /// In how many passages a stem occurs.
    pub fn passages_with(&self, stem: &str) -> u64 {
        let (Some(field), Some(reader)) = (self.field, &self.reader) else {
            return 0;
        };
        reader
            .searcher()
            .doc_freq(&Term::from_field_text(field, stem))
            .unwrap_or(0)
    }

    pub fn passages(&self) -> usize {
        self.passages.len()
    }
}

fn passage_ranges(document: &Document) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut heading = None;
    for block in &document.blocks {
        match ranges.last_mut() {
            Some(open)
                if heading == block.heading && block.range.end - open.start <= PASSAGE_BYTES =>
            {
                open.end = block.range.end;
            }
            _ => ranges.push(block.range.clone()),
        }
        heading.clone_from(&block.heading);
    }
    ranges
}

/// The title and heading stand in every passage, so that a passage is found by what it is about.
fn passage_stems(document: &Document, range: &Range<usize>) -> String {
    let mut stems = words::stems(&document.title);
    if let Some(block) = document
        .blocks
        .iter()
        .find(|block| block.range.start >= range.start)
    {
        stems.extend(words::stems(document.heading(block)));
    }
    stems.extend(words::stems(
        document.text.get(range.clone()).unwrap_or_default(),
    ));
    stems.join(" ")
}
