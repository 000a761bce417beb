//! Answers in the formats of the servers that the tools ask, with the members that are not read.

use std::fmt::Write;

use serde_json::{Map, Value, json};

/// One result of a web search: title, address, snippet.
pub type Result<'a> = (&'a str, &'a str, &'a str);

/// `SearXNG`, `format=json`.
pub fn searxng(results: &[Result]) -> Value {
    let results: Vec<Value> = results
        .iter()
        .enumerate()
        .map(|(place, (title, url, content))| {
            json!({
                "url": url, "title": title, "content": content, "engine": "duckduckgo",
                "parsed_url": ["https", "a.example", "/", "", "", ""], "template": "default.html",
                "engines": ["duckduckgo"], "positions": [place + 1], "score": 0.5,
                "category": "general", "publishedDate": null, "thumbnail": "",
            })
        })
        .collect();
    json!({
        "query": "q", "number_of_results": results.len(), "results": results, "answers": [],
        "corrections": [], "infoboxes": [], "suggestions": [], "unresponsive_engines": [["bing", "timeout"]],
    })
}

/// A paper as all three indexes can tell it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Paper<'a> {
    pub title: &'a str,
    /// Without a prefix; empty for none.
    pub doi: &'a str,
    pub year: u16,
    /// Empty for none.
    pub text: &'a str,
    /// Empty for none.
    pub pdf: &'a str,
}

fn or_null(text: &str) -> Value {
    if text.is_empty() {
        Value::Null
    } else {
        text.into()
    }
}

/// `OpenAlex`, `/works?search=`.
pub fn openalex(papers: &[Paper]) -> Value {
    let results: Vec<Value> = papers
        .iter()
        .enumerate()
        .map(|(place, paper)| {
            let mut index: Map<String, Value> = Map::new();
            for (at, word) in paper.text.split(' ').enumerate() {
                let places = index.entry(word).or_insert_with(|| json!([]));
                places.as_array_mut().unwrap().push(at.into());
            }
            let doi = if paper.doi.is_empty() {
                Value::Null
            } else {
                format!("https://doi.org/{}", paper.doi).into()
            };
            let abstracted = if paper.text.is_empty() { Value::Null } else { index.into() };
            json!({
                "id": format!("https://openalex.org/W10{place}"), "doi": doi,
                "display_name": paper.title, "publication_year": paper.year,
                "abstract_inverted_index": abstracted,
                "open_access": {
                    "is_oa": !paper.pdf.is_empty(), "oa_status": "green", "oa_url": null,
                    "any_repository_has_fulltext": false,
                },
                "best_oa_location": {"is_oa": true, "landing_page_url": null, "pdf_url": or_null(paper.pdf)},
                "authorships": [{
                    "author_position": "first",
                    "author": {"id": "https://openalex.org/A1", "display_name": "Ada Strand", "orcid": null},
                }],
            })
        })
        .collect();
    json!({
        "meta": {"count": results.len(), "db_response_time_ms": 12, "page": 1, "per_page": 10},
        "results": results, "group_by": [],
    })
}

/// Crossref, `/works?query=`.
pub fn crossref(papers: &[Paper]) -> Value {
    let items: Vec<Value> = papers
        .iter()
        .map(|paper| {
            let mut item = json!({
                "DOI": paper.doi.to_uppercase(), "URL": format!("http://dx.doi.org/{}", paper.doi),
                "title": [paper.title], "issued": {"date-parts": [[paper.year, 4]]},
                "author": [{"given": "Ada", "family": "Strand", "sequence": "first", "affiliation": []}],
                "link": [{
                    "URL": paper.pdf, "content-type": "application/pdf", "content-version": "vor",
                    "intended-application": "similarity-checking",
                }],
            });
            if !paper.text.is_empty() {
                item["abstract"] =
                    format!("<jats:title>Abstract</jats:title><jats:p>{}</jats:p>", paper.text).into();
            }
            item
        })
        .collect();
    json!({
        "status": "ok", "message-type": "work-list", "message-version": "1.0.0",
        "message": {"facets": {}, "total-results": items.len(), "items": items, "items-per-page": 10,
            "query": {"start-index": 0, "search-terms": "q"}},
    })
}

/// arXiv, `/api/query`: a feed of papers numbered from `2401.00001`.
pub fn arxiv(papers: &[Paper]) -> String {
    let mut feed = String::from(
        r#"<?xml version='1.0' encoding='UTF-8'?>
<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom" xmlns="http://www.w3.org/2005/Atom">
  <id>https://arxiv.org/api/x</id>
  <title>arXiv Query: search_query=all:tide</title>
  <updated>2026-11-30T00:00:00Z</updated>
  <link href="https://arxiv.org/api/query?search_query=all:tide" type="application/atom+xml"/>
"#,
    );
    for (place, paper) in papers.iter().enumerate() {
        let number = format!("2401.{:05}v1", place + 1);
        let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
        let doi = if paper.doi.is_empty() {
            String::new()
        } else {
            format!("<arxiv:doi>{}</arxiv:doi>", paper.doi)
        };
        let (title, text) = (escaped(paper.title), escaped(paper.text));
        write!(
            feed,
            r#"  <entry>
    <id>http://arxiv.org/abs/{number}</id>
    <title>{title}</title>
    <updated>{year}-04-02T10:00:00Z</updated>
    <link href="https://arxiv.org/abs/{number}" rel="alternate" type="text/html"/>
    <link href="https://arxiv.org/pdf/{number}" rel="related" type="application/pdf" title="pdf"/>
    <summary>  {text}
    </summary>
    <category term="physics.ao-ph" scheme="http://arxiv.org/schemas/atom"/>
    <published>{year}-04-01T10:00:00Z</published>
    <arxiv:comment>12 pages</arxiv:comment>
    <arxiv:primary_category term="physics.ao-ph"/>
    <author><name>Ada Strand</name></author>{doi}
  </entry>
"#,
            year = paper.year,
        )
        .unwrap();
    }
    feed + "</feed>\n"
}
