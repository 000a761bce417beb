//! Repositories that a person connects and opens to projects (settled question 41). No credential of one
//! is stored.

use helix_aggregates::access::workspace::Workspace;
use helix_aggregates::access::workspace::command::{NewRepository, WorkspaceCommand};
use helix_aggregates::ids::RepositoryId;
use serde_json::{Value, json};
use uuid::Uuid;

use super::change::{Plan, Presence};
use super::perform::{Answer, Ask};
use super::workspaces::open;
use super::{Work, policy, views};
use crate::app::problem::Problem;

impl Work {
    pub(super) async fn list_repositories(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        policy::human(ask.caller)?;
        let (_, loaded) = self.look_around(ask).await?;
        let repositories: Vec<Value> = open(&loaded.state)?
            .repositories
            .iter()
            .map(|(id, known)| {
                json!({
                    "repository_id": id,
                    "name": views::text(&known.name),
                    "url": views::text(&known.url),
                    "project_ids": known.projects,
                    "created_at": known.at,
                })
            })
            .collect();
        let seen = json!({ "repositories": repositories });
        Ok(Answer::of(ask.operation, seen, false))
    }

    pub(super) async fn connect_repository(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let repository = RepositoryId::new(self.core.ids.uuid());
        let new = NewRepository {
            repository,
            name: ask.arguments.bounded("name")?,
            url: ask.arguments.bounded("url")?,
            projects: ask.arguments.projects("project_ids")?.into_iter().collect(),
            by: policy::human(ask.caller)?.account(),
        };
        let plan = Plan {
            target: self.workspace_target(ask)?,
            presence: Presence::Existing,
            command: &|_, _| Ok(WorkspaceCommand::ConnectRepository(Box::new(new.clone()))),
            rows: &|_, _| Vec::new(),
            view: &|_, _: &Workspace| Ok(json!({ "repository_id": repository })),
        };
        self.change(ask, &self.workspaces, plan).await
    }

    /// Ends every link to it.
    pub(super) async fn disconnect_repository(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let by = policy::human(ask.caller)?.account();
        let repository = RepositoryId::parse(ask.arguments.needed("repository_id")?);
        let repository = repository.unwrap_or(RepositoryId::new(Uuid::nil()));
        let plan = Plan {
            target: self.workspace_target(ask)?,
            presence: Presence::Existing,
            command: &|_, _| Ok(WorkspaceCommand::DisconnectRepository { repository, by }),
            rows: &|_, _| Vec::new(),
            view: &|_, _: &Workspace| {
                Ok(json!({ "repository_id": repository, "state": "disconnected" }))
            },
        };
        self.change(ask, &self.workspaces, plan).await
    }
}
