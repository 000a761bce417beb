//! One look at a workspace for one question: who asks as what, and what is there.

use std::sync::Arc;

use helix_aggregates::access::workspace::command::Role;
use helix_aggregates::ids::{ProjectId, WorkspaceId};
use helix_aggregates::time::{Stamp, Timestamp};
use uuid::Uuid;

use super::operations::Haste;
use super::perform::Ask;
use super::{Work, policy};
use crate::app::problem::{Code, Problem};
use crate::store::log::Stream;
use crate::store::owner::{Lane, OwnerKey};
use crate::store::read::StreamHead;
use crate::store::read_pool::ReadPool;
use crate::store::receipt::{FoundReceipt, ReceiptKey};
use crate::store::sealing::DataKey;
use crate::store::work::{self, Asker, Standing};
use crate::store::{Core, StoreError};

/// Which stream is asked about, and in which project.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub stream: (Uuid, OwnerKey),
    pub project: Option<Named>,
}

/// The project that a path names; nothing could be called by some names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named(pub Option<ProjectId>);

/// A workspace that the caller may act in.
#[derive(Debug)]
pub(super) struct Site {
    pub workspace: WorkspaceId,
    pub asker: Asker,
    pub key: Arc<DataKey>,
    pub stamp: Stamp,
    /// Of a person.
    pub role: Option<Role>,
}

/// What a look found at a site.
#[derive(Debug)]
pub(super) struct Found {
    pub site: Site,
    pub head: Option<StreamHead>,
    pub receipt: Option<FoundReceipt>,
    /// The project that was named takes changes.
    pub active: bool,
}

impl Site {
    pub fn stream(&self, (id, owner): (Uuid, OwnerKey)) -> Stream {
        Stream {
            id,
            lane: self.asker.lane,
            owner,
            key: Arc::clone(&self.key),
        }
    }
}

impl Site {
    /// The place of somebody who belongs to it, whatever they may do there.
    pub fn of_member(asker: Asker, key: Arc<DataKey>, standing: &Standing) -> Self {
        Self {
            workspace: WorkspaceId::new(asker.workspace),
            asker,
            key,
            stamp: Stamp {
                at: Timestamp::from_millis(standing.now_ms),
            },
            role: None,
        }
    }
}

impl Work {
    /// The connections that a question reads over: withdrawals have their own.
    pub(super) fn reads(&self, ask: &Ask<'_>) -> &ReadPool {
        match ask.operation.demand {
            Haste::Ordinary => &self.core.reads,
            Haste::Withdrawal => &self.core.withdrawals,
        }
    }

    /// Judges once more who asks, after what was read in statements that do not: whoever may still act
    /// then might act while they were read.
    pub(super) async fn still(&self, ask: &Ask<'_>, site: &Site) -> Result<(), Problem> {
        let standing = work::standing(self.reads(ask), &site.asker).await?;
        self.site(ask, site.asker, &standing).await.map(drop)
    }

    /// Looks, and judges what `access` 4.1 judges before the state of the object: the credential, the
    /// membership, the role, the reach, the project.
    pub(super) async fn find(
        &self,
        ask: &Ask<'_>,
        target: &Target,
        receipt: Option<&ReceiptKey>,
    ) -> Result<Found, Problem> {
        let asker = asker_of(ask)?;
        let look = work::Look {
            project: target
                .project
                .and_then(|named| named.0)
                .map(ProjectId::uuid),
            stream: target.stream,
            receipt,
        };
        let looked = work::look(self.reads(ask), &asker, &look).await?;
        let site = self.site(ask, asker, &looked.standing).await?;
        if let Some(named) = target.project {
            policy::reach(ask.caller, named.0)?;
            if looked.project_state.is_none() {
                return Err(nothing());
            }
        }
        Ok(Found {
            site,
            head: looked.head,
            receipt: looked.receipt,
            active: looked.project_state.is_none_or(|state| state == "active"),
        })
    }

    /// The place behind a standing, if the caller may act there.
    pub(super) async fn site(
        &self,
        ask: &Ask<'_>,
        asker: Asker,
        standing: &Standing,
    ) -> Result<Site, Problem> {
        if !standing.lives {
            return Err(Problem::new(Code::Unauthorized));
        }
        let role = match (&standing.works_as, ask.caller.pinned()) {
            (Some(_), Some(_)) => None,
            // Whoever stood behind the credential is no member any more.
            (None, Some(_)) => return Err(Problem::new(Code::Unauthorized)),
            (None, None) => return Err(nothing()),
            (Some(word), None) => {
                let role = Role::parse(word);
                Some(role.ok_or_else(|| StoreError::Damaged("a member has no role".to_owned()))?)
            }
        };
        policy::role(ask.operation, role)?;
        let key = self.core.key(standing.key_id).await?;
        Ok(Site {
            workspace: WorkspaceId::new(asker.workspace),
            asker,
            // Without its key a workspace is erased, whatever its rows still say.
            key: key.ok_or_else(nothing)?,
            stamp: Stamp {
                at: Timestamp::from_millis(standing.now_ms),
            },
            role,
        })
    }
}

/// The workspace a question is about, as far as its own text says.
pub(super) fn asker_of(ask: &Ask<'_>) -> Result<Asker, Problem> {
    let named = match ask.workspace {
        Some(text) => WorkspaceId::parse(text).map_err(|_| nothing())?,
        None => ask.caller.pinned().ok_or_else(nothing)?,
    };
    // An agent is pinned: any other workspace is none.
    if ask.caller.pinned().is_some_and(|pinned| pinned != named) {
        return Err(nothing());
    }
    Ok(Asker {
        row_id: ask.caller.row_id,
        workspace: named.uuid(),
        lane: Lane::of_stream(named.uuid()).ok_or_else(nothing)?,
    })
}

pub(super) fn nothing() -> Problem {
    Problem::new(Code::NothingThere)
}

/// The owner under which the streams of a workspace stand, but for its briefs.
pub(super) fn workspace_owner(core: &Core, workspace: Uuid) -> OwnerKey {
    core.keyring.owner("workspace", &[workspace.as_bytes()])
}

/// The owner under which the briefs of a project stand, in the lane of the workspace: what happens in
/// one workspace can share a commit.
pub(super) fn project_owner(core: &Core, workspace: Uuid, project: Uuid) -> OwnerKey {
    let parts: [&[u8]; 2] = [workspace.as_bytes(), project.as_bytes()];
    core.keyring.owner("workspace-project", &parts)
}

/// The owner under which the reviews of a project stand, in the same lane. It is another than that of its
/// briefs, so that the id of one is never found as the other.
pub(super) fn reviews_owner(core: &Core, workspace: Uuid, project: Uuid) -> OwnerKey {
    let parts: [&[u8]; 2] = [workspace.as_bytes(), project.as_bytes()];
    core.keyring.owner("workspace-reviews", &parts)
}
