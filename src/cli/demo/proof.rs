//! An evidence ref, read back and held against the file it names.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::Demo;
use super::job::path;
use super::ticks::{Done, text, wrong};
use crate::cli::failure::Failure;

pub async fn read_back(demo: &Demo<'_>, run: &str, item_ref: &str) -> Result<Done<()>, Failure> {
    let item = demo
        .client
        .get(&path(run, &["evidence", item_ref]), &[])
        .await?
        .body;
    let locator = text(&item["source"], "locator")?;
    let quote = text(&item, "quote")?;
    let file = demo.home.library().join(locator);
    let bytes = std::fs::read(&file).map_err(|error| {
        wrong(format!(
            "the cited document {locator} cannot be read: {error}"
        ))
    })?;
    if text(&item["source"], "snapshot_sha256")? != digest(&bytes) {
        return Err(wrong(format!(
            "{locator} is not the document that was read"
        )));
    }
    if quote.is_empty() || text(&item, "quote_sha256")? != digest(quote.as_bytes()) {
        return Err(wrong(
            "the quote does not have the digest it is said to have",
        ));
    }
    if !stands_at(&item["span"], quote, &bytes) {
        return Err(wrong(format!(
            "the quote does not stand in {locator} where it is said to"
        )));
    }
    let words = quote.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(Done::new(())
        .id(item_ref)
        .status("matches")
        .detail(format!("{locator}: “{words}”")))
}

/// Plain text is quoted by its own bytes.
fn stands_at(span: &Value, quote: &str, bytes: &[u8]) -> bool {
    let at = |end: &str| span[end].as_u64().and_then(|at| usize::try_from(at).ok());
    let (Some(start), Some(end)) = (at("start"), at("end")) else {
        return false;
    };
    bytes.get(start..end) == Some(quote.as_bytes())
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
