//! Briefs: listed, read, begun; and what a person does to their text at once (`access` 6.2, settled
//! questions 39, 42, 45).

use helix_aggregates::access::brief::Brief;
use helix_aggregates::access::brief::command::{BriefCommand, NewBrief, NewProposal};
use helix_aggregates::access::brief::event::BriefEvent;
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::{BriefId, ProjectId, ProposalId};
use helix_aggregates::text::Text;
use helix_projections::access::brief::BriefRow;
use serde_json::{Value, json};
use uuid::Uuid;

use super::change::{Commanding, Plan, Presence};
use super::cursor::Page;
use super::perform::{Answer, Ask};
use super::projects::{existing, named_project};
use super::site::{Found, Named, Site, Target, asker_of, nothing, project_owner};
use super::{Work, policy, views};
use crate::app::problem::{Code, Problem};
use crate::store::ledger::LedgerChange;
use crate::store::ledger::work::WorkChange;
use crate::store::log::{decode, open_row};
use crate::store::read::StreamHead;
use crate::store::{StoreError, work};

/// Briefs of one project (`access` 6.1).
pub const MOST: i64 = 500;
/// Of a first proposal that came without one.
const FIRST_SUMMARY: &str = "The first text.";

impl Work {
    pub(super) async fn list_briefs(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let asker = asker_of(ask)?;
        let named = named_project(ask)?;
        let wanted = ask.arguments.text("q").map(str::to_lowercase);
        let project_text = ask.arguments.needed("project_id")?;
        let filter = [project_text, wanted.as_deref().unwrap_or_default()];
        let page = Page::asked(&self.core, ask, asker.workspace, &filter)?;
        let target = self.project_target(asker.workspace, named);
        let Found { site, .. } = self.find(ask, &target, None).await?;
        let project = existing(named)?;
        let reads = &self.core.reads;
        let place = (project.uuid(), target.stream.1);
        // Titles are sealed, so that a search looks through all of the project's, which are few.
        let limit = if wanted.is_some() {
            MOST
        } else {
            page.one_more()
        };
        let rows = work::of_project(reads, &site.asker, Brief::KIND, place, page.before, limit);
        let (standing, rows) = rows.await?;
        let site = self.site(ask, asker, &standing).await?;
        let mut briefs = Vec::new();
        let mut places = Vec::new();
        for (stream, head) in &rows {
            let row = row_of(&site, *stream, head)?;
            let fits = |wanted: &String| row.title.to_lowercase().contains(wanted);
            if wanted.as_ref().is_none_or(fits) {
                places.push((head.created_at_ms, *stream));
                briefs.push(views::brief(&row));
            }
            if briefs.len() > page.limit {
                break;
            }
        }
        let more = briefs.len() > page.limit;
        briefs.truncate(page.limit);
        places.truncate(page.limit);
        let next_cursor = places
            .last()
            .filter(|_| more)
            .map(|place| page.after(&self.core, *place));
        let seen = json!({ "briefs": briefs, "next_cursor": next_cursor });
        Ok(Answer::of(ask.operation, seen, false))
    }

    pub(super) async fn get_brief(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let (site, target, brief) = self.brief(ask).await?;
        let row = BriefRow::of(&brief, BriefId::new(target.stream.0)).ok_or_else(nothing)?;
        let mut seen = views::brief(&row);
        let body = brief.body().ok_or_else(nothing)?;
        let asked = ask.arguments.number("version");
        let number = asked.unwrap_or_else(|| body.version());
        if number == 0 && asked.is_none() {
            seen["body"] = Value::Null;
        } else {
            let version = body.at_version(number).ok_or_else(nothing)?;
            seen["version"] = number.into();
            seen["current_version"] = body.version().into();
            seen["content_sha256"] = views::text(&version.content_sha256).into();
            seen["committed_at"] = json!(version.at);
            seen["body"] = self.text_at(&site, &target, version.text_at).await?.into();
        }
        Ok(Answer::of(ask.operation, json!({ "brief": seen }), false))
    }

    pub(super) async fn create_brief(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let asker = asker_of(ask)?;
        let named = named_project(ask)?;
        let brief = BriefId::new(self.core.ids.stream(asker.lane));
        let proposal = ProposalId::new(self.core.ids.uuid());
        let title: Text<200> = ask.arguments.bounded("title")?;
        let summary = ask.arguments.optional("summary")?;
        let first = ask.arguments.markdown("body")?.map(|body| {
            let summary = summary
                .clone()
                .map_or_else(|| Text::parse(FIRST_SUMMARY), Ok);
            summary.map(|summary| NewProposal {
                proposal,
                body,
                summary,
            })
        });
        let first = first
            .transpose()
            .map_err(|error| Problem::new(Code::Internal).because(error))?;
        let proposed = first.is_some();
        let owner = self.project_target(asker.workspace, named).stream.1;
        let plan = Plan {
            target: Target {
                stream: (brief.uuid(), owner),
                project: Some(named),
            },
            presence: Presence::New,
            command: &|site: &Site, _: &Brief| {
                Ok(BriefCommand::Create(Box::new(NewBrief {
                    workspace: site.workspace,
                    project: existing(named)?,
                    title: title.clone(),
                    author: ask.caller.author,
                    first: first.clone(),
                })))
            },
            rows: &|site: &Site, _| {
                vec![LedgerChange::Work(WorkChange::MustHoldStreams {
                    kind: Brief::KIND,
                    lane: site.asker.lane,
                    owner,
                    states: None,
                    most: MOST,
                })]
            },
            view: &|_, state: &Brief| {
                let mut seen = json!({ "brief": views::brief_of(state, brief)? });
                if proposed {
                    seen["proposal"] = views::proposal_of(state, brief, proposal)?;
                }
                Ok(seen)
            },
        };
        self.change(ask, &self.briefs, plan).await
    }

    /// A person writes and commits in one act.
    pub(super) async fn edit_brief(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let human = policy::human(ask.caller)?;
        let by = human.account();
        let proposal = ProposalId::new(self.core.ids.uuid());
        let new = new_proposal(ask, proposal)?;
        let expected_version = ask.arguments.needed_number("expected_version")?;
        let command = move |_: &Site, _: &Brief| {
            Ok(BriefCommand::Edit {
                new: Box::new(new.clone()),
                by,
                expected_version,
            })
        };
        self.change_brief(ask, &command, None).await
    }

    /// A new version that says what an earlier one said.
    pub(super) async fn revert_brief(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let human = policy::human(ask.caller)?;
        let by = human.account();
        let to_version = ask.arguments.needed_number("to_version")?;
        let reason = ask.arguments.optional("reason")?;
        let expected_version = ask.arguments.needed_number("expected_version")?;
        let command = move |_: &Site, _: &Brief| {
            Ok(BriefCommand::Revert {
                to_version,
                reason: reason.clone(),
                by,
                expected_version,
            })
        };
        self.change_brief(ask, &command, None).await
    }

    /// Changes the brief that a path names; the answer shows it, with one of its proposals or without.
    pub(super) async fn change_brief(
        &self,
        ask: &Ask<'_>,
        command: &Commanding<'_, Brief>,
        shown: Option<ProposalId>,
    ) -> Result<Answer, Problem> {
        let target = self.brief_target(ask)?;
        let brief = BriefId::new(target.stream.0);
        let plan = Plan {
            target,
            presence: Presence::Existing,
            command,
            rows: &|_, _| Vec::new(),
            view: &|_, state: &Brief| match shown {
                None => Ok(json!({ "brief": views::brief_of(state, brief)? })),
                Some(proposal) => {
                    Ok(json!({ "proposal": views::proposal_of(state, brief, proposal)? }))
                }
            },
        };
        self.change(ask, &self.briefs, plan).await
    }

    /// The brief that a path names, as its reader may see it.
    pub(super) async fn brief(&self, ask: &Ask<'_>) -> Result<(Site, Target, Brief), Problem> {
        let target = self.brief_target(ask)?;
        let Found { site, head, .. } = self.find(ask, &target, None).await?;
        let head = head.ok_or_else(nothing)?;
        let stream = site.stream(target.stream);
        let loaded = self.briefs.at(&stream, &head).await?;
        Ok((site, target, loaded.state.clone()))
    }

    /// The stream of a brief, which must belong to the project that is named with it.
    pub(super) fn brief_target(&self, ask: &Ask<'_>) -> Result<Target, Problem> {
        let asker = asker_of(ask)?;
        let named = named_project(ask)?;
        let brief = BriefId::parse(ask.arguments.needed("brief_id")?);
        let brief = brief.map_or_else(|_| Uuid::nil(), BriefId::uuid);
        let target = self.project_target(asker.workspace, named);
        Ok(Target {
            stream: (brief, target.stream.1),
            ..target
        })
    }

    /// A project alone: no stream of its briefs.
    pub(super) fn project_target(&self, workspace: Uuid, named: Named) -> Target {
        let project = named.0.map_or_else(Uuid::nil, ProjectId::uuid);
        Target {
            stream: (Uuid::nil(), project_owner(&self.core, workspace, project)),
            project: Some(named),
        }
    }

    /// The text that one event of a brief holds.
    pub(super) async fn text_at(
        &self,
        site: &Site,
        target: &Target,
        seq: u64,
    ) -> Result<String, Problem> {
        let events = work::events(&self.core.reads, &site.asker, target.stream, &[seq]).await?;
        // The credential or the membership went between the two looks.
        let event = events
            .first()
            .ok_or_else(|| Problem::new(Code::Unauthorized))?;
        let event: BriefEvent = decode(target.stream.0, Some(&site.key), event)?;
        let fault = || StoreError::Damaged("an event of a brief holds no text".to_owned());
        let text = event.text().ok_or_else(fault)?;
        Ok(views::text(text).to_owned())
    }
}

/// The text that a caller proposes.
pub(super) fn new_proposal(ask: &Ask<'_>, proposal: ProposalId) -> Result<NewProposal, Problem> {
    let body = ask.arguments.markdown("body")?;
    let fault = || Problem::new(Code::Internal).because("a body was not checked");
    Ok(NewProposal {
        proposal,
        body: body.ok_or_else(fault)?,
        summary: ask.arguments.bounded("summary")?,
    })
}

fn row_of(site: &Site, stream: Uuid, head: &StreamHead) -> Result<BriefRow, Problem> {
    let body = open_row(Some(&site.key), stream, head)?;
    let row = body.and_then(|body| serde_json::from_slice(&body).ok());
    let fault = || StoreError::Damaged("a stored row is not a brief".to_owned()).into();
    row.ok_or_else(fault)
}
