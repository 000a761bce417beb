//! Projects: created by whoever may write, seen within reach (`access` 6.2, 7).

use helix_aggregates::access::workspace::Workspace;
use helix_aggregates::access::workspace::command::{
    Change, NewProject, ProjectChange, WorkspaceCommand,
};
use helix_aggregates::ids::{ProjectId, RepositoryId};
use serde_json::json;
use uuid::Uuid;

use super::change::{Plan, Presence};
use super::cursor::Page;
use super::perform::{Answer, Ask};
use super::site::{Named, Site, Target, asker_of, workspace_owner};
use super::workspaces::{open, shown};
use super::{Work, views};
use crate::app::problem::Problem;
use crate::store::ledger::LedgerChange;
use crate::store::ledger::work::WorkChange;
use crate::store::{read, work};

impl Work {
    pub(super) async fn list_projects(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let asker = asker_of(ask)?;
        let page = Page::asked(&self.core, ask, asker.workspace, &[])?;
        let (standing, mut rows) =
            work::projects(&self.core.reads, &asker, page.before, page.one_more()).await?;
        let site = self.site(ask, asker, &standing).await?;
        let more = rows.len() > page.limit;
        rows.truncate(page.limit);
        let next_cursor = rows
            .last()
            .filter(|_| more)
            .map(|place| page.after(&self.core, *place));
        // Read after the rows: what they name is in it.
        let head = read::head(&self.core.pool, asker.lane, asker.workspace).await?;
        let loaded = self.workspace_at(&site, head.as_ref()).await?;
        let body = open(&loaded.state)?;
        let projects: Vec<_> = rows
            .iter()
            .filter_map(|(_, id)| views::project(ProjectId::new(*id), body))
            .collect();
        let seen = json!({ "projects": projects, "next_cursor": next_cursor });
        Ok(Answer::of(ask.operation, seen, false))
    }

    pub(super) async fn create_project(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let project = ProjectId::new(self.core.ids.uuid());
        let new = NewProject {
            project,
            name: ask.arguments.bounded("name")?,
            description: ask.arguments.optional("description")?,
            author: ask.caller.author,
        };
        // Nothing an agent does widens its reach.
        let in_reach = ask.caller.reach.covers(project);
        let plan = Plan {
            target: self.workspace_target(ask)?,
            presence: Presence::Existing,
            command: &|_, _| Ok(WorkspaceCommand::CreateProject(Box::new(new.clone()))),
            rows: &|site: &Site, _| {
                vec![LedgerChange::Work(WorkChange::AddProject {
                    project: project.uuid(),
                    workspace: site.asker.workspace,
                    at_ms: site.stamp.at.millis(),
                })]
            },
            view: &|_, workspace: &Workspace| {
                let mut seen = shown("project", views::project(project, open(workspace)?))?;
                seen["in_reach"] = in_reach.into();
                Ok(seen)
            },
        };
        self.change(ask, &self.workspaces, plan).await
    }

    /// Activates a repository that a person connected and opened to the project.
    pub(super) async fn link_codebase(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let named = named_project(ask)?;
        let expected_version = ask.arguments.needed_number("expected_version")?;
        // A text that is no id is a repository that is unknown.
        let repository = RepositoryId::parse(ask.arguments.needed("repository_id")?);
        let repository = repository.unwrap_or(RepositoryId::new(Uuid::nil()));
        let id = asker_of(ask)?.workspace;
        let plan = Plan {
            target: Target {
                stream: (id, workspace_owner(&self.core, id)),
                project: Some(named),
            },
            presence: Presence::Existing,
            command: &|_, _| {
                Ok(WorkspaceCommand::ChangeProject(Box::new(ProjectChange {
                    project: existing(named)?,
                    expected_version,
                    author: ask.caller.author,
                    change: Change::LinkCodebase(repository),
                })))
            },
            rows: &|_, _| Vec::new(),
            view: &|_, workspace: &Workspace| {
                let project = existing(named)?;
                shown("project", views::project(project, open(workspace)?))
            },
        };
        self.change(ask, &self.workspaces, plan).await
    }
}

/// The project that a path or an argument names.
pub(super) fn named_project(ask: &Ask<'_>) -> Result<Named, Problem> {
    let text = ask.arguments.needed("project_id")?;
    Ok(Named(ProjectId::parse(text).ok()))
}

/// A project that was looked up and found.
pub(super) fn existing(named: Named) -> Result<ProjectId, Problem> {
    named.0.ok_or_else(super::site::nothing)
}
