//! One change of one stream of a workspace, and the key that makes it safe to repeat (`access` 6.2,
//! `agent-api` 1.6).
//!
//! What must stay true: a key is answered before version and state are looked at, and after everything
//! that says whether the caller may know of the thing; event, rows, view and receipt are one commit, so a
//! change is never of unknown outcome.

use helix_aggregates::decider::Decider;
use helix_aggregates::ids::ProjectId;
use helix_projections::inline::Inline;
use serde_json::{Map, Value};

use super::Work;
use super::audit::{Went, entry, made};
use super::perform::{Answer, Ask};
use super::site::{Found, Site, Target, asker_of, nothing};
use crate::app::idempotency::KeyedRequest;
use crate::app::problem::{Code, Problem};
use crate::app::work::operations::Who;
use crate::store::append::Append;
use crate::store::ledger::LedgerChange;
use crate::store::ledger::work::{MustWork, WorkChange};
use crate::store::log::{ExecuteError, Loaded, Log};
use crate::store::receipt::{FoundReceipt, ReceiptKey, ReceiptWrite};
use crate::store::sealing::DataKey;
use crate::store::{Core, StoreError};

/// How often a command is judged again when another writer was faster. Whoever waits for a turn at the
/// record may find each time that the one before has moved the same stream.
const ATTEMPTS: usize = 24;
pub(super) type Commanding<'p, D> =
    dyn Fn(&Site, &D) -> Result<<D as Decider>::Command, Problem> + Sync + 'p;
pub(super) type Rows<'p, D> =
    dyn Fn(&Site, &[<D as Decider>::Event]) -> Vec<LedgerChange> + Sync + 'p;
pub(super) type Viewing<'p, D> = dyn Fn(&Site, &D) -> Result<Value, Problem> + Sync + 'p;

/// What a change does.
pub(super) struct Plan<'p, D: Decider> {
    pub target: Target,
    pub presence: Presence,
    /// The command, once it is known that the caller may ask for it.
    pub command: &'p Commanding<'p, D>,
    /// The rows that share the commit.
    pub rows: &'p Rows<'p, D>,
    /// The answer, from the state just appended.
    pub view: &'p Viewing<'p, D>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// The stream begins with this change.
    New,
    /// What does not exist cannot be changed.
    Existing,
}

impl Work {
    /// Does what `plan` says, once.
    pub(super) async fn change<D: Inline>(
        &self,
        ask: &Ask<'_>,
        log: &Log<D>,
        plan: Plan<'_, D>,
    ) -> Result<Answer, Problem>
    where
        D::Error: Into<Problem>,
    {
        let keyed = self.keyed(ask)?;
        for _ in 0..ATTEMPTS {
            let receipt = keyed.as_ref().map(|keyed| &keyed.key);
            let found = self.find(ask, &plan.target, receipt).await?;
            if plan.presence == Presence::Existing && found.head.is_none() {
                return Err(nothing());
            }
            if let Some(keyed) = &keyed
                && let Some(answer) = replay(keyed, &self.core, found.receipt.clone()).await?
            {
                return Ok(answer);
            }
            if !found.active {
                return Err(Problem::new(Code::ProjectArchived));
            }
            match self.attempt(ask, log, &plan, &found, keyed.as_ref()).await {
                Err(Refused::Again) => {}
                Err(Refused::Problem(problem)) => return Err(problem),
                Ok(answer) => return Ok(answer),
            }
        }
        Err(StoreError::HeadMoved.into())
    }

    async fn attempt<D: Inline>(
        &self,
        ask: &Ask<'_>,
        log: &Log<D>,
        plan: &Plan<'_, D>,
        found: &Found,
        keyed: Option<&KeyedRequest>,
    ) -> Result<Answer, Refused>
    where
        D::Error: Into<Problem>,
    {
        let site = &found.site;
        let stream = site.stream(plan.target.stream);
        let loaded = match &found.head {
            Some(head) => log.at(&stream, head).await?,
            None => std::sync::Arc::new(Loaded::default()),
        };
        let command = (plan.command)(site, &loaded.state)?;
        let meta = ask.caller.meta();
        let prepared = log
            .prepare(&stream, &loaded, &command, site.stamp, &meta)
            .map_err(|error| match error {
                ExecuteError::Refused(refusal) => Refused::Problem(refusal.into()),
                ExecuteError::Store(error) => error.into(),
            })?;
        let seen = (plan.view)(site, &prepared.next.state)?;
        let mut answer = Answer::of(ask.operation, seen, keyed.is_some());
        let receipt = keyed
            .map(|keyed| receipt(keyed, &site.key, &answer))
            .transpose()?;
        let changed = !prepared.events.is_empty();
        if !changed && receipt.is_none() {
            return Ok(answer);
        }
        let mut ledger = vec![LedgerChange::Work(WorkChange::MustWork(must_work(
            ask,
            site,
            plan.target,
        )))];
        ledger.extend((plan.rows)(site, &prepared.events));
        let streams = changed.then_some(prepared.append).into_iter().collect();
        let append = Append {
            receipt,
            ledger,
            priority: ask.operation.demand.priority(),
            ..Append::of(stream.lane, streams)
        };
        let (home, entry) = (
            self.home_of(site),
            entry(ask, Went::Well, &made(&answer.body))?,
        );
        let recorded = self.records.append(&home, append, entry, site.stamp, &meta);
        recorded.await?;
        answer.is_recorded = true;
        if changed {
            log.remember(&stream, prepared.next);
        }
        Ok(answer)
    }

    fn keyed(&self, ask: &Ask<'_>) -> Result<Option<KeyedRequest>, Problem> {
        let Some(key) = &ask.key else {
            return Ok(None);
        };
        let asker = asker_of(ask)?;
        let line = ask.caller.line();
        let parts: [&[u8]; 2] = [asker.workspace.as_bytes(), line.as_bytes()];
        let named = |name: &str| ask.arguments.text(name).map(str::to_owned);
        // As on the agent doors: what the path names is part of the operation.
        let path: Vec<String> = [
            "project_id",
            "brief_id",
            "proposal_id",
            "review_id",
            "claim_id",
        ]
        .into_iter()
        .filter(|name| ask.operation.path.contains(&format!("{{{name}}}")))
        .filter_map(named)
        .collect();
        Ok(Some(KeyedRequest {
            key: ReceiptKey {
                owner: self.core.keyring.owner("work-caller", &parts),
                operation: [&[ask.operation.name.to_owned()], path.as_slice()]
                    .concat()
                    .join(":"),
                key_hash: key.hash(),
            },
            request_mac: self
                .core
                .keyring
                .mac("work-request", &[&ask.arguments.spelled()]),
        }))
    }
}

/// What the commit checks once more, and holds.
pub(super) fn must_work(ask: &Ask<'_>, site: &Site, target: Target) -> MustWork {
    let roles = match ask.operation.who {
        Who::Roles(roles) => {
            let words = roles.iter().map(|role| role.as_str().to_owned());
            Some(words.collect())
        }
        Who::Anybody | Who::Agent | Who::Human | Who::Unbuilt => None,
    };
    let project = target.project.and_then(|named| named.0);
    MustWork {
        row_id: site.asker.row_id,
        workspace: site.asker.workspace,
        project: project.map(ProjectId::uuid),
        roles,
    }
}

/// Why an attempt changed nothing.
enum Refused {
    /// Another writer was faster: look again.
    Again,
    Problem(Problem),
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        match error {
            // Where the credential, the membership or the role went, the next look says which.
            StoreError::HeadMoved | StoreError::ReceiptTaken | StoreError::Revoked => Self::Again,
            StoreError::Full => Self::Problem(Problem::new(Code::LimitReached)),
            StoreError::PassphraseChanged
            | StoreError::Spent
            | StoreError::Duplicate(_)
            | StoreError::KeyRetired
            | StoreError::Overloaded
            | StoreError::Unavailable(_)
            | StoreError::TimedOut
            | StoreError::Damaged(_)
            | StoreError::KeyMissing(_) => Self::Problem(error.into()),
        }
    }
}

/// The answer to an earlier identical request.
async fn replay(
    keyed: &KeyedRequest,
    core: &Core,
    found: Option<FoundReceipt>,
) -> Result<Option<Answer>, Problem> {
    let Some(stored) = keyed.stored(core, found).await? else {
        return Ok(None);
    };
    let members: Map<String, Value> = serde_json::from_slice(&stored.body)
        .map_err(|_| StoreError::Damaged("a stored answer is not an object".to_owned()))?;
    Ok(Some(Answer::replayed(stored.status, members)))
}

fn receipt(
    keyed: &KeyedRequest,
    key: &DataKey,
    answer: &Answer,
) -> Result<ReceiptWrite, StoreError> {
    let body =
        serde_json::to_vec(&answer.body).map_err(|error| StoreError::Damaged(error.to_string()))?;
    let outcome = keyed.completed(key, answer.status, &body, None)?;
    Ok(keyed.write(keyed.key.operation.clone(), outcome))
}
