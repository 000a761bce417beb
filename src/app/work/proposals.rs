//! Proposals: made by whoever may write, decided and committed by people (`access` 6.1, 9, settled
//! questions 39, 44).

use helix_aggregates::access::brief::command::{Act, BriefCommand, ProposalChange, Verdict};
use helix_aggregates::access::brief::{Brief, Proposal};
use helix_aggregates::ids::{BriefId, ProposalId};
use serde_json::json;
use uuid::Uuid;

use super::briefs::new_proposal;
use super::cursor::Page;
use super::perform::{Answer, Ask};
use super::site::{Site, asker_of, nothing};
use super::{Work, policy, views};
use crate::app::problem::{Code, Problem};

impl Work {
    pub(super) async fn list_proposals(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let wanted = ask.arguments.text("state");
        let one = ask.arguments.text("proposal_id");
        let asker = asker_of(ask)?;
        let filter = ["project_id", "brief_id", "proposal_id", "state"]
            .map(|name| ask.arguments.text(name).unwrap_or_default());
        let page = Page::asked(&self.core, ask, asker.workspace, &filter)?;
        let (site, target, brief) = self.brief(ask).await?;
        let body = brief.body().ok_or_else(nothing)?;
        let id = BriefId::new(target.stream.0);
        let place = |(id, proposal): &(&ProposalId, &Proposal)| (proposal.at.millis(), id.uuid());
        let one_id =
            one.map(|text| ProposalId::parse(text).unwrap_or(ProposalId::new(Uuid::nil())));
        let fits = |(id, proposal): &(&ProposalId, &Proposal)| {
            one_id.is_none_or(|one| one == **id)
                && wanted.is_none_or(|state| views::state(body, proposal) == state)
        };
        let mut rows: Vec<_> = body.proposals.iter().filter(fits).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(place(row)));
        rows.retain(|row| page.before.is_none_or(|before| place(row) < before));
        if one.is_some() && rows.is_empty() && page.before.is_none() && wanted.is_none() {
            return Err(nothing());
        }
        let more = rows.len() > page.limit;
        rows.truncate(page.limit);
        let next_cursor = rows
            .last()
            .filter(|_| more)
            .map(|row| page.after(&self.core, place(row)));
        let mut proposals = Vec::with_capacity(rows.len());
        for (proposal, known) in rows {
            let mut seen = views::proposal_of(&brief, id, *proposal)?;
            if one.is_some() {
                seen["body"] = self.text_at(&site, &target, known.text_at).await?.into();
            }
            proposals.push(seen);
        }
        let seen = json!({ "proposals": proposals, "next_cursor": next_cursor });
        Ok(Answer::of(ask.operation, seen, false))
    }

    pub(super) async fn create_proposal(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let proposal = ProposalId::new(self.core.ids.uuid());
        let new = new_proposal(ask, proposal)?;
        let author = ask.caller.author;
        let expected_version = ask.arguments.needed_number("expected_version")?;
        let command = move |_: &Site, _: &Brief| {
            Ok(BriefCommand::Propose {
                new: Box::new(new.clone()),
                author,
                expected_version,
            })
        };
        self.change_brief(ask, &command, Some(proposal)).await
    }

    pub(super) async fn withdraw_proposal(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let by = ask.caller.author;
        self.act(ask, Act::Withdraw { by }).await
    }

    pub(super) async fn decide_proposal(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let by = policy::human(ask.caller)?.account();
        let verdict = Verdict::parse(ask.arguments.needed("decision")?);
        let fault = || Problem::new(Code::Internal).because("a decision was not checked");
        let act = Act::Decide {
            verdict: verdict.ok_or_else(fault)?,
            reason: ask.arguments.optional("reason")?,
            by,
        };
        self.act(ask, act).await
    }

    pub(super) async fn commit_proposal(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let by = policy::human(ask.caller)?.account();
        self.act(ask, Act::Commit { by }).await
    }

    pub(super) async fn rebase_proposal(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let by = policy::human(ask.caller)?.account();
        let body = ask.arguments.markdown("body")?;
        let fault = || Problem::new(Code::Internal).because("a body was not checked");
        let body = body.ok_or_else(fault)?;
        self.act(ask, Act::Rebase { body, by }).await
    }

    /// One act on the proposal that a path names.
    async fn act(&self, ask: &Ask<'_>, act: Act) -> Result<Answer, Problem> {
        let expected_version = ask.arguments.needed_number("expected_version")?;
        let proposal = ProposalId::parse(ask.arguments.needed("proposal_id")?);
        let proposal = proposal.unwrap_or(ProposalId::new(Uuid::nil()));
        let command = move |_: &Site, _: &Brief| {
            Ok(BriefCommand::ChangeProposal(Box::new(ProposalChange {
                proposal,
                expected_version,
                act: act.clone(),
            })))
        };
        self.change_brief(ask, &command, Some(proposal)).await
    }
}
