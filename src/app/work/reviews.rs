//! Reviews: started over one version of a brief, cancelled, and decided by people at their gate
//! (`access` 6.1, 6.2, 9).
//!
//! What must stay true: a claim whose credential has died is lost before anything is judged or shown.
//! Deliberately absent: the text of the brief, which whoever drives a review reads as a brief.

mod driving;
mod outline;
mod reading;
mod views;

use std::time::Duration;

use helix_aggregates::access::brief;
use helix_aggregates::access::review::command::{
    Act, DeadClaim, Decide, NewReview, NewStep, ReviewAct, ReviewCommand, Verdict,
};
use helix_aggregates::access::review::{Review, ReviewState};
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::{BriefId, OperationId, OwnerTuple, ProjectId, ReviewId, StepId};
use helix_aggregates::text::{Text, prefix};
use serde_json::{Value, json};
use uuid::Uuid;

use super::Work;
use super::change::{Plan, Presence};
use super::perform::{Answer, Ask};
use super::projects::{existing, named_project};
use super::site::{Found, Site, Target, asker_of, nothing, reviews_owner};
use super::views::text;
use crate::app::problem::{Code, Problem};
use crate::app::work::policy;
use crate::store::ledger::LedgerChange;
use crate::store::ledger::work::WorkChange;
use crate::store::work;

/// Reviews of one project that are not closed.
const MOST: i64 = 500;
/// Their states.
const NOT_CLOSED: &[&str] = &[
    ReviewState::Open.as_str(),
    ReviewState::Claimed.as_str(),
    ReviewState::AwaitingGate.as_str(),
];
/// UTF-16 code units of the brief's text that the objective of the run takes in (`access` 6.1).
const QUOTED: usize = 18_000;
/// A review ends after a day unless somebody says otherwise.
const LIFE_SECONDS: u64 = 86_400;

impl Work {
    pub(super) async fn start_review(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let asker = asker_of(ask)?;
        let named = named_project(ask)?;
        let review = ReviewId::new(self.core.ids.stream(asker.lane));
        let new = self.new_review(ask).await?;
        let target = self.reviews_target(ask, review.uuid())?;
        let owner = target.stream.1;
        let plan = Plan {
            target,
            presence: Presence::New,
            command: &|site: &Site, _: &Review| {
                Ok(ReviewCommand::Start(Box::new(NewReview {
                    workspace: site.workspace,
                    project: existing(named)?,
                    ..new.clone()
                })))
            },
            rows: &|site: &Site, _| {
                vec![LedgerChange::Work(WorkChange::MustHoldStreams {
                    kind: Review::KIND,
                    lane: site.asker.lane,
                    owner,
                    states: Some(NOT_CLOSED),
                    most: MOST,
                })]
            },
            view: &|site: &Site, state: &Review| {
                Ok(json!({ "review": views::review_of(state, review, site.stamp)? }))
            },
        };
        self.change(ask, &self.reviews, plan).await
    }

    /// What the named version of the brief asks to be reviewed.
    async fn new_review(&self, ask: &Ask<'_>) -> Result<NewReview, Problem> {
        let (site, target, brief) = self.brief(ask).await?;
        let body = brief.body().ok_or_else(nothing)?;
        let brief_version = ask.arguments.needed_number("brief_version")?;
        let version = body.at_version(brief_version).ok_or_else(nothing)?;
        let written = self.text_at(&site, &target, version.text_at).await?;
        let title = text(&body.title).to_owned();
        let steps = outline::steps(&written, &title).into_iter();
        let steps = steps.map(|title| NewStep {
            id: StepId::new(self.core.ids.uuid()),
            title,
        });
        let life = ask.arguments.number("expires_in_seconds");
        let workspace = site.workspace.to_string();
        Ok(NewReview {
            workspace: site.workspace,
            project: body.project,
            brief: BriefId::new(target.stream.0),
            brief_version,
            objective: objective(&title, brief_version, version, &written)?,
            title,
            author: ask.caller.author,
            owner: OwnerTuple {
                tenant: workspace.clone(),
                issuer: self.base.clone(),
                subject: format!("workspace:{workspace}"),
                profile: workspace,
            },
            constraints: ask.arguments.texts("constraints"),
            expires_in: Duration::from_secs(life.unwrap_or(LIFE_SECONDS)),
            steps: steps.collect(),
        })
    }

    pub(super) async fn cancel_review(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let act = Act::Cancel {
            by: ask.caller.author,
            reason: ask.arguments.optional("reason")?,
        };
        self.change_review(ask, act, &|seen, _| Ok(seen)).await
    }

    /// A person approves what agents have done, or sends them back to it.
    pub(super) async fn decide_review(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let human = policy::human(ask.caller)?;
        let verdict = Verdict::parse(ask.arguments.needed("decision")?);
        let fault = || Problem::new(Code::Internal).because("a decision was not checked");
        let act = Act::Decide(Decide {
            verdict: verdict.ok_or_else(fault)?,
            reason: ask.arguments.optional("reason")?,
            by: human.account(),
            operation: OperationId::new(self.core.ids.uuid()),
            credential: ask.caller.row_id,
        });
        self.change_review(ask, act, &|seen, _| Ok(seen)).await
    }

    /// One act on the review that a path names. `view` may add to the answer, which shows the review.
    async fn change_review(
        &self,
        ask: &Ask<'_>,
        act: Act,
        view: &(dyn Fn(Value, &Review) -> Result<Value, Problem> + Sync),
    ) -> Result<Answer, Problem> {
        let expected_version = ask.arguments.needed_number("expected_version")?;
        let (site, target, review) = self.review(ask).await?;
        let dead_claim = self.dead_claim(ask, &site, &review).await?;
        let id = ReviewId::new(target.stream.0);
        let plan = Plan {
            target,
            presence: Presence::Existing,
            command: &|_: &Site, _: &Review| {
                Ok(ReviewCommand::Act(Box::new(ReviewAct {
                    expected_version,
                    dead_claim,
                    act: act.clone(),
                })))
            },
            rows: &|_, _| Vec::new(),
            view: &|site: &Site, state: &Review| {
                let seen = json!({ "review": views::review_of(state, id, site.stamp)? });
                view(seen, state)
            },
        };
        self.change(ask, &self.reviews, plan).await
    }

    /// The review that a path names, as its log has it.
    async fn review(&self, ask: &Ask<'_>) -> Result<(Site, Target, Review), Problem> {
        let review = ReviewId::parse(ask.arguments.needed("review_id")?);
        let review = review.map_or_else(|_| Uuid::nil(), ReviewId::uuid);
        let target = self.reviews_target(ask, review)?;
        let Found { site, head, .. } = self.find(ask, &target, None).await?;
        let head = head.ok_or_else(nothing)?;
        let stream = site.stream(target.stream);
        let loaded = self.reviews.at(&stream, &head).await?;
        Ok((site, target, loaded.state.clone()))
    }

    fn reviews_target(&self, ask: &Ask<'_>, review: Uuid) -> Result<Target, Problem> {
        let asker = asker_of(ask)?;
        let named = named_project(ask)?;
        let project = named.0.map_or_else(Uuid::nil, ProjectId::uuid);
        Ok(Target {
            stream: (review, reviews_owner(&self.core, asker.workspace, project)),
            project: Some(named),
        })
    }

    /// The live claim, if the credential behind it may no longer act in the workspace. Whoever asks
    /// with that very credential was judged by it already.
    async fn dead_claim(
        &self,
        ask: &Ask<'_>,
        site: &Site,
        review: &Review,
    ) -> Result<Option<DeadClaim>, Problem> {
        let claim = review.body().and_then(|body| body.claim);
        let Some(claim) = claim.filter(|claim| claim.credential != site.asker.row_id) else {
            return Ok(None);
        };
        let dead = work::dead(self.reads(ask), &site.asker, &[claim.credential]).await?;
        Ok((!dead.is_empty()).then(|| claim.of_credential()))
    }
}

/// What the run is about (`access` 6.1).
fn objective(
    title: &str,
    number: u64,
    version: &brief::Version,
    written: &str,
) -> Result<Text<20_000>, Problem> {
    let hash = text(&version.content_sha256);
    let quoted = prefix(written, QUOTED);
    let text = format!("Review of \"{title}\", version {number}, sha256 {hash}\n\n{quoted}");
    Text::parse(&text).map_err(|error| Problem::new(Code::Internal).because(error))
}
