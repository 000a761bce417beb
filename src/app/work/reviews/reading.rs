//! Reviews listed and read (`access` 6.2).

use std::collections::{BTreeSet, HashMap};

use helix_aggregates::access::review::event::ReviewEvent;
use helix_aggregates::access::review::{Place, Review};
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::{FindingId, ReviewId};
use helix_projections::access::review::ReviewRow;
use serde_json::{Value, json};
use uuid::Uuid;

use super::super::Work;
use super::super::cursor::Page;
use super::super::perform::{Answer, Ask};
use super::super::projects::{existing, named_project};
use super::super::site::{Found, Site, Target, asker_of, nothing};
use super::views;
use crate::app::problem::{Code, Problem};
use crate::store::log::{decode, open_row};
use crate::store::read::StreamHead;
use crate::store::{StoreError, work};

/// Rows read at once while a list looks for those that fit.
const CHUNK: usize = 200;

impl Work {
    pub(in crate::app::work) async fn list_reviews(
        &self,
        ask: &Ask<'_>,
    ) -> Result<Answer, Problem> {
        let asker = asker_of(ask)?;
        let named = named_project(ask)?;
        let filter = ["project_id", "brief_id", "state"]
            .map(|name| ask.arguments.text(name).unwrap_or_default());
        let page = Page::asked(&self.core, ask, asker.workspace, &filter)?;
        let target = self.reviews_target(ask, Uuid::nil())?;
        let Found { site, .. } = self.find(ask, &target, None).await?;
        let place = (existing(named)?.uuid(), target.stream.1);
        let mut before = page.before;
        let mut found: Vec<((i64, Uuid), Value)> = Vec::new();
        loop {
            let (reads, kind) = (&self.core.reads, Review::KIND);
            let limit = i64::try_from(CHUNK).unwrap_or(i64::MAX);
            let rows = work::of_project(reads, &site.asker, kind, place, before, limit).await?;
            for (stream, head) in &rows {
                before = Some((head.created_at_ms, *stream));
                if let Some(seen) = fitting(ask, &site, *stream, head)? {
                    found.push(((head.created_at_ms, *stream), seen));
                }
            }
            if rows.len() < CHUNK || found.len() > page.limit {
                break;
            }
        }
        let more = found.len() > page.limit;
        found.truncate(page.limit);
        let last = found.last().filter(|_| more);
        let next_cursor = last.map(|(place, _)| page.after(&self.core, *place));
        let reviews: Vec<Value> = found.into_iter().map(|(_, seen)| seen).collect();
        let seen = json!({ "reviews": reviews, "next_cursor": next_cursor });
        Ok(Answer::of(ask.operation, seen, false))
    }

    pub(in crate::app::work) async fn get_review(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let asker = asker_of(ask)?;
        let filter = ["project_id", "review_id", "after_finding"]
            .map(|name| ask.arguments.text(name).unwrap_or_default());
        let page = Page::asked(&self.core, ask, asker.workspace, &filter)?;
        let (site, target, mut review) = self.review(ask).await?;
        if let Some(dead) = self.dead_claim(&site, &review).await? {
            review = review.settled(Some(dead), site.stamp);
        }
        let row = views::row_of(&review, ReviewId::new(target.stream.0))?;
        let all = &review.body().ok_or_else(nothing)?.findings;
        let first = first_of(ask, &page, all)?;
        let rest = all.get(first..).unwrap_or_default();
        let places = rest.get(..page.limit).unwrap_or(rest);
        let findings = self.findings(&site, &target, places).await?;
        let shown = row.at(site.stamp.at);
        let next = first + places.len();
        let last = places.last().filter(|_| next < all.len());
        let seen = json!({
            "review": views::review(&row, shown),
            "steps": views::steps(shown),
            "findings": findings,
            "run": views::run(&row, shown),
            "next_cursor": last.map(|last| page.after(&self.core, (index(next), last.id.uuid()))),
        });
        Ok(Answer::of(ask.operation, seen, false))
    }

    /// Findings in the order of their submission, read from the events that hold them.
    async fn findings(
        &self,
        site: &Site,
        target: &Target,
        places: &[Place],
    ) -> Result<Vec<Value>, Problem> {
        let seqs: BTreeSet<u64> = places.iter().map(|place| place.text_at).collect();
        let seqs: Vec<u64> = seqs.into_iter().collect();
        let events = work::events(&self.core.reads, &site.asker, target.stream, &seqs).await?;
        // The credential or the membership went between the two looks.
        if events.len() < seqs.len() {
            return Err(Problem::new(Code::Unauthorized));
        }
        let mut found: HashMap<FindingId, Value> = HashMap::new();
        for event in &events {
            let event: ReviewEvent = decode(target.stream.0, Some(&site.key), event)?;
            let ReviewEvent::FindingsSubmitted(submitted) = event else {
                let fault = "an event of a review holds no findings".to_owned();
                return Err(StoreError::Damaged(fault).into());
            };
            let by = (submitted.claim, submitted.step);
            found.extend(submitted.findings.iter().map(|finding| {
                let seen = views::finding(finding, by, submitted.at);
                (finding.finding, seen)
            }));
        }
        let seen = places.iter().filter_map(|place| found.remove(&place.id));
        Ok(seen.collect())
    }
}

/// What a list shows of a row, if it is one of those that are asked for.
fn fitting(
    ask: &Ask<'_>,
    site: &Site,
    stream: Uuid,
    head: &StreamHead,
) -> Result<Option<Value>, Problem> {
    let body = open_row(Some(&site.key), stream, head)?;
    let row = body.and_then(|body| serde_json::from_slice::<ReviewRow>(&body).ok());
    let row = row.ok_or_else(|| StoreError::Damaged("a stored row is not a review".to_owned()))?;
    let shown = row.at(site.stamp.at);
    let (brief, state) = (ask.arguments.text("brief_id"), ask.arguments.text("state"));
    let fits = brief.is_none_or(|brief| brief == row.brief_id.to_string())
        && state.is_none_or(|state| state == shown.state);
    Ok(fits.then(|| views::review(&row, shown)))
}

/// Where a page of findings begins: its cursor says, or else `after_finding`.
fn first_of(ask: &Ask<'_>, page: &Page, all: &[Place]) -> Result<usize, Problem> {
    if let Some((next, _)) = page.before {
        return Ok(usize::try_from(next).unwrap_or(usize::MAX).min(all.len()));
    }
    let Some(after) = ask.arguments.text("after_finding") else {
        return Ok(0);
    };
    let found = all.iter().position(|place| place.id.to_string() == after);
    found.map(|index| index + 1).ok_or_else(nothing)
}

fn index(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}
