//! What is seen of a workspace, and which ones somebody has.

use helix_aggregates::access::workspace::{Body, Workspace};
use helix_aggregates::ids::WorkspaceId;
use helix_projections::agent::ERASED;
use serde_json::{Value, json};
use std::sync::Arc;

use super::caller::CallerKind;
use super::perform::{Answer, Ask};
use super::site::{Found, Site, Target, asker_of, nothing, workspace_owner};
use super::{Work, opening, views};
use crate::app::problem::Problem;
use crate::store::log::Loaded;
use crate::store::read::StreamHead;
use crate::store::{StoreError, work};

/// Workspaces a list shows.
const LISTED: i64 = 200;

impl Work {
    /// The workspaces of whoever asks; a person without one gets their own.
    pub(super) async fn list_workspaces(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        if let CallerKind::Human(person) = &ask.caller.kind {
            opening::own(&self.core, &self.workspaces, person.account, &person.name).await?;
        }
        let listed = work::workspaces(&self.core.reads, ask.caller.row_id, LISTED).await?;
        let mut workspaces = Vec::with_capacity(listed.len());
        for one in listed {
            let id = WorkspaceId::new(one.workspace);
            let name = self.name_of(id).await?;
            let role = ask.caller.pinned().is_none().then_some(one.works_as);
            workspaces.push(json!({ "workspace_id": id, "name": name, "role": role }));
        }
        let seen = json!({ "workspaces": workspaces });
        Ok(Answer::of(ask.operation, seen, false))
    }

    async fn name_of(&self, id: WorkspaceId) -> Result<String, Problem> {
        let Some(key_id) = work::key_id(&self.core.reads, id.uuid()).await? else {
            return Ok(ERASED.to_owned());
        };
        let Some(key) = self.core.key(Some(key_id)).await? else {
            return Ok(ERASED.to_owned());
        };
        let lane = crate::store::owner::Lane::of_stream(id.uuid()).ok_or_else(nothing)?;
        let stream = crate::store::log::Stream {
            id: id.uuid(),
            lane,
            owner: workspace_owner(&self.core, id.uuid()),
            key,
        };
        let head = crate::store::read::head(&self.core.pool, lane, id.uuid()).await?;
        let head = head.ok_or_else(nothing)?;
        let loaded = self.workspaces.at(&stream, &head).await?;
        let body = loaded.state.body();
        Ok(body
            .map_or(ERASED, |body| views::text(&body.name))
            .to_owned())
    }

    /// The workspace, and as whom its caller acts there.
    pub(super) async fn get_workspace(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let (site, loaded) = self.look_around(ask).await?;
        let body = open(&loaded.state)?;
        let caller = ask.caller;
        let seen = json!({
            "workspace": views::workspace(site.workspace, body),
            "caller": {
                "kind": caller.kind.as_str(),
                "name": caller.name,
                "role": site.role.map(helix_aggregates::access::workspace::command::Role::as_str),
                "scopes": caller.scopes,
                "expires_at": caller.expires_at,
                "reach": caller.reach,
            },
        });
        Ok(Answer::of(ask.operation, seen, false))
    }

    /// The workspace of a question, for somebody who may act there.
    pub(super) async fn look_around(
        &self,
        ask: &Ask<'_>,
    ) -> Result<(Site, Arc<Loaded<Workspace>>), Problem> {
        let target = self.workspace_target(ask)?;
        let Found { site, head, .. } = self.find(ask, &target, None).await?;
        let loaded = self.workspace_at(&site, head.as_ref()).await?;
        Ok((site, loaded))
    }

    /// The stream of the workspace that is asked about.
    pub(super) fn workspace_target(&self, ask: &Ask<'_>) -> Result<Target, Problem> {
        let id = asker_of(ask)?.workspace;
        Ok(Target {
            stream: (id, workspace_owner(&self.core, id)),
            project: None,
        })
    }

    pub(super) async fn workspace_at(
        &self,
        site: &Site,
        head: Option<&StreamHead>,
    ) -> Result<Arc<Loaded<Workspace>>, Problem> {
        let id = site.asker.workspace;
        let stream = site.stream((id, workspace_owner(&self.core, id)));
        let head = head.ok_or_else(nothing)?;
        Ok(self.workspaces.at(&stream, head).await?)
    }
}

/// What an open workspace has; its row says that it is open.
pub(super) fn open(workspace: &Workspace) -> Result<&Body, Problem> {
    let fault = || StoreError::Damaged("a workspace has a row and no events".to_owned()).into();
    workspace.body().ok_or_else(fault)
}

/// Members of an answer that always has them.
pub(super) fn shown(name: &str, view: Option<Value>) -> Result<Value, Problem> {
    let fault = || StoreError::Damaged(format!("there is no {name} to show")).into();
    view.map(|view| json!({ name: view })).ok_or_else(fault)
}
