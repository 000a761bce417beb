//! What a person can let an app work in: their workspaces, each with its projects (`access` 3.4).

use helix_aggregates::ids::{ProjectId, WorkspaceId};

use super::{Work, views};
use crate::app::access::sign_in::Person;
use crate::app::problem::Problem;
use crate::store::work;

/// Workspaces that a page offers.
const OFFERED: i64 = 50;

#[derive(Debug, Clone)]
pub struct WorkspaceChoice {
    pub workspace: WorkspaceId,
    pub name: String,
    pub projects: Vec<(ProjectId, String)>,
}

impl Work {
    /// The workspaces of somebody who is signed in; whoever has none gets their own.
    pub async fn choices(&self, person: &Person) -> Result<Vec<WorkspaceChoice>, Problem> {
        self.own(person.account, &person.name).await?;
        let session = person.session.uuid();
        let mut choices = Vec::new();
        for one in work::workspaces(&self.core.reads, session, OFFERED).await? {
            let workspace = WorkspaceId::new(one.workspace);
            let stream = self.home(workspace).await?;
            let loaded = self.workspaces.load(&stream).await?;
            let Some(body) = loaded.state.body() else {
                continue;
            };
            let projects = body.projects.iter();
            choices.push(WorkspaceChoice {
                workspace,
                name: views::text(&body.name).to_owned(),
                projects: projects
                    .map(|(id, project)| (*id, views::text(&project.name).to_owned()))
                    .collect(),
            });
        }
        Ok(choices)
    }
}
