//! Driving a review: a step is claimed, findings are submitted, the step is finished or given back
//! (`access` 6.2).

use std::time::Duration;

use helix_aggregates::access::review::Review;
use helix_aggregates::access::review::command::{Act, ClaimStep, Finality};
use helix_aggregates::ids::{ClaimId, FindingId, OperationId, StepId};
use serde_json::{Value, json};
use uuid::Uuid;

use super::super::Work;
use super::super::perform::{Answer, Ask};
use super::super::site::nothing;
use super::views;
use crate::app::problem::Problem;

/// Of a claim that asks for no other.
const LEASE_SECONDS: u64 = 300;

impl Work {
    pub(in crate::app::work) async fn claim_step(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let step = ask.arguments.text("step_id").map(StepId::parse).transpose();
        let lease = ask.arguments.number("lease_seconds");
        let act = Act::Claim(ClaimStep {
            claim: ClaimId::new(self.core.ids.uuid()),
            operation: OperationId::new(self.core.ids.uuid()),
            step: step.map_err(|_| nothing())?,
            lease: Duration::from_secs(lease.unwrap_or(LEASE_SECONDS)),
            by: ask.caller.author,
            credential: ask.caller.row_id,
        });
        let shown = |mut seen: Value, state: &Review| {
            seen["claim"] = views::claim_of(state)?;
            Ok(seen)
        };
        self.change_review(ask, act, &shown).await
    }

    pub(in crate::app::work) async fn submit_step(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let findings = ask
            .arguments
            .findings("findings", || FindingId::new(self.core.ids.uuid()))?;
        let ids: Vec<FindingId> = findings.iter().map(|finding| finding.id).collect();
        let act = Act::Submit {
            claim: claim_of(ask)?,
            by: ask.caller.author,
            findings,
            finality: if ask.arguments.flag("final")? {
                Finality::Final
            } else {
                Finality::More
            },
        };
        let shown = |mut seen: Value, _: &Review| {
            seen["finding_ids"] = json!(ids);
            Ok(seen)
        };
        self.change_review(ask, act, &shown).await
    }

    pub(in crate::app::work) async fn release_step(
        &self,
        ask: &Ask<'_>,
    ) -> Result<Answer, Problem> {
        let act = Act::Release {
            claim: claim_of(ask)?,
            by: ask.caller.author,
        };
        self.change_review(ask, act, &|seen, _| Ok(seen)).await
    }
}

/// What is no claim is one that nobody holds.
fn claim_of(ask: &Ask<'_>) -> Result<ClaimId, Problem> {
    let claim = ClaimId::parse(ask.arguments.needed("claim_id")?);
    Ok(claim.unwrap_or(ClaimId::new(Uuid::nil())))
}
