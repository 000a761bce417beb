//! Reviews listed and read (`access` 6.2).

use std::collections::{BTreeSet, HashMap};

use helix_aggregates::access::review::command::DeadClaim;
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
use crate::store::owner::OwnerKey;
use crate::store::read::StreamHead;
use crate::store::{StoreError, work};

/// Rows read at once while a list looks for those that fit, and rows looked at before it answers with
/// what it has and a cursor to go on from.
const CHUNK: i64 = 200;
const LOOKED: usize = 1_000;

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
        let is_filtered = ["brief_id", "state"].map(|name| ask.arguments.text(name).is_some());
        let chunk = if is_filtered.contains(&true) {
            CHUNK
        } else {
            page.one_more()
        };
        let mut found: Vec<Row> = Vec::new();
        let (mut before, mut looked) = (page.before, 0);
        let ended = loop {
            let (reads, kind) = (&self.core.reads, Review::KIND);
            let rows = work::of_project(reads, &site.asker, kind, place, before, chunk);
            let (standing, rows) = rows.await?;
            self.site(ask, asker, &standing).await?;
            looked += rows.len();
            before = rows
                .last()
                .map(|(stream, head)| (head.created_at_ms, *stream))
                .or(before);
            let is_last = rows.len() < usize::try_from(chunk).unwrap_or(usize::MAX);
            found.extend(self.fitting(ask, (&site, target.stream.1), &rows).await?);
            if found.len() > page.limit || is_last {
                break is_last;
            }
            if looked >= LOOKED {
                break false;
            }
        };
        let next = if found.len() > page.limit {
            found.truncate(page.limit);
            found.last().map(|row| row.place)
        } else {
            before.filter(|_| !ended)
        };
        let reviews: Vec<Value> = found.into_iter().map(|row| row.seen).collect();
        let next_cursor = next.map(|place| page.after(&self.core, place));
        let seen = json!({ "reviews": reviews, "next_cursor": next_cursor });
        Ok(Answer::of(ask.operation, seen, false))
    }

    /// Those of some rows that are asked for, as a list shows them.
    async fn fitting(
        &self,
        ask: &Ask<'_>,
        (site, owner): (&Site, OwnerKey),
        heads: &[(Uuid, StreamHead)],
    ) -> Result<Vec<Row>, Problem> {
        let now = site.stamp.at;
        let mut rows = Vec::with_capacity(heads.len());
        for (stream, head) in heads {
            rows.push((*stream, head, row_of(site, *stream, head)?));
        }
        let claims = rows.iter().filter_map(|(_, _, row)| row.at(now).claim);
        let held: Vec<Uuid> = claims.map(|claim| claim.credential).collect();
        let dead = if held.is_empty() {
            Vec::new()
        } else {
            work::dead(&self.core.reads, &site.asker, &held).await?
        };
        let mut found = Vec::new();
        for (stream, head, mut row) in rows {
            let claim = row.at(now).claim;
            if let Some(claim) = claim.filter(|claim| dead.contains(&claim.credential)) {
                let loaded = self.reviews.at(&site.stream((stream, owner)), head).await?;
                let lost = DeadClaim {
                    claim: claim.claim_id,
                    credential: claim.credential,
                };
                let settled = loaded.state.settled(Some(lost), site.stamp);
                row = views::row_of(&settled, row.review_id)?;
            }
            let shown = row.at(now);
            let (brief, state) = (ask.arguments.text("brief_id"), ask.arguments.text("state"));
            if brief.is_none_or(|brief| brief == row.brief_id.to_string())
                && state.is_none_or(|state| state == shown.state)
            {
                found.push(Row {
                    place: (head.created_at_ms, stream),
                    seen: views::review(&row, shown),
                });
            }
        }
        Ok(found)
    }

    pub(in crate::app::work) async fn get_review(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let asker = asker_of(ask)?;
        let filter = ["project_id", "review_id", "after_finding"]
            .map(|name| ask.arguments.text(name).unwrap_or_default());
        let page = Page::asked(&self.core, ask, asker.workspace, &filter)?;
        let (site, target, mut review) = self.review(ask).await?;
        if let Some(dead) = self.dead_claim(ask, &site, &review).await? {
            review = review.settled(Some(dead), site.stamp);
        }
        let row = views::row_of(&review, ReviewId::new(target.stream.0))?;
        let body = review.body().ok_or_else(nothing)?;
        let all = &body.findings;
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
            "constraints": views::constraints(body),
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

/// A review of a list, and where it stands in it.
struct Row {
    place: (i64, Uuid),
    seen: Value,
}

fn row_of(site: &Site, stream: Uuid, head: &StreamHead) -> Result<ReviewRow, Problem> {
    let body = open_row(Some(&site.key), stream, head)?;
    let row = body.and_then(|body| serde_json::from_slice(&body).ok());
    let fault = || StoreError::Damaged("a stored row is not a review".to_owned()).into();
    row.ok_or_else(fault)
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
