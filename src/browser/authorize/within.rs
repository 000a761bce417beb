//! Which workspace, and which of its projects, an app may touch (`access` 3.4): nothing is preselected.

use std::collections::BTreeSet;

use helix_aggregates::access::reach::Reach;

use super::Form;
use crate::app::access::grants::Within;
use crate::app::work::choices::WorkspaceChoice;

/// A workspace on the page.
pub(super) struct Offered {
    pub id: String,
    pub name: String,
    pub chosen: bool,
    pub projects: Vec<OfferedProject>,
}

pub(super) struct OfferedProject {
    pub id: String,
    pub name: String,
    pub ticked: bool,
}

/// The choices as the page shows them; what was chosen stays so when it is shown again.
pub(super) fn offered(choices: &[WorkspaceChoice], form: Option<&Form>) -> Vec<Offered> {
    let only = choices.len() == 1;
    let sent =
        |name: &str, id: &str| form.is_some_and(|form| form.all(name).any(|value| value == id));
    let workspace = |choice: &WorkspaceChoice| {
        let id = choice.workspace.to_string();
        Offered {
            chosen: only || sent("workspace_id", &id),
            name: choice.name.clone(),
            projects: choice
                .projects
                .iter()
                .map(|(project, name)| OfferedProject {
                    ticked: sent("projects", &project.to_string()),
                    id: project.to_string(),
                    name: name.clone(),
                })
                .collect(),
            id,
        }
    };
    choices.iter().map(workspace).collect()
}

/// What the form says, or what is wrong with it.
pub(super) fn chosen(choices: &[WorkspaceChoice], form: &Form) -> Result<Within, &'static str> {
    let named = form.text("workspace_id");
    let choice = choices
        .iter()
        .find(|choice| named == Some(choice.workspace.to_string().as_str()));
    let choice = choice.ok_or("Choose the workspace that the app may work in.")?;
    let reach = match form.text("reach") {
        Some("all") => Reach::All,
        Some("listed") => listed(choice, form)?,
        _ => return Err("Choose whether the app may touch all projects or those you tick."),
    };
    Ok(Within::Workspace {
        workspace: choice.workspace,
        reach,
    })
}

fn listed(choice: &WorkspaceChoice, form: &Form) -> Result<Reach, &'static str> {
    let ticked: BTreeSet<&str> = form.all("projects").collect();
    let projects: BTreeSet<_> = choice
        .projects
        .iter()
        .map(|(project, _)| *project)
        .filter(|project| ticked.contains(project.to_string().as_str()))
        .collect();
    if projects.len() != ticked.len() {
        return Err("Tick only projects of the workspace that you chose.");
    }
    let reach = Reach::Listed(projects);
    match reach.check() {
        Ok(()) => Ok(reach),
        Err(_) => Err("Tick at least one project, or let the app touch all of them."),
    }
}
