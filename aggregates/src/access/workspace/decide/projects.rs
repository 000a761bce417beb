//! Projects: created, and changed one version at a time.

use super::super::command::{Change, NewProject, ProjectChange};
use super::super::error::WorkspaceError;
use super::super::event::{
    CodebaseLinked, ProjectArchived, ProjectCreated, ProjectDescribed, ProjectRenamed,
    WorkspaceEvent,
};
use super::super::{Body, PROJECTS_LIMIT, Project, ProjectState};
use super::{printable, room};
use crate::sealed::Sealed;
use crate::text::Text;
use crate::time::Stamp;

pub(super) fn create(
    body: &Body,
    new: &NewProject,
    stamp: Stamp,
) -> Result<WorkspaceEvent, WorkspaceError> {
    if body.projects.contains_key(&new.project) {
        return Err(WorkspaceError::ProjectExists);
    }
    room("projects", body.projects.len(), PROJECTS_LIMIT)?;
    Ok(WorkspaceEvent::ProjectCreated(Box::new(ProjectCreated {
        at: stamp.at,
        project: new.project,
        name: printable("name", new.name.as_str())?,
        description: Sealed::Open(written(new.description.as_ref())),
        author: new.author,
    })))
}

/// A stale version is reported before anything else: the author can act on it.
pub(super) fn change(
    body: &Body,
    wanted: &ProjectChange,
    stamp: Stamp,
) -> Result<Vec<WorkspaceEvent>, WorkspaceError> {
    let project = body.projects.get(&wanted.project);
    let project = project.ok_or(WorkspaceError::NoProject)?;
    if wanted.expected_version != project.version {
        let current = project.version;
        return Err(WorkspaceError::VersionConflict { current });
    }
    match project.state {
        ProjectState::Active => {}
        ProjectState::Archived { .. } => return Err(WorkspaceError::ProjectArchived),
    }
    let event = match &wanted.change {
        Change::Rename(name) => rename(project, wanted, name, stamp)?,
        Change::Describe(description) => describe(project, wanted, description.as_ref(), stamp),
        Change::LinkCodebase(repository) => {
            if !body.linkable(wanted.project).any(|id| id == *repository) {
                return Err(WorkspaceError::RepositoryNotConnected);
            }
            (project.codebase != Some(*repository)).then(|| {
                WorkspaceEvent::CodebaseLinked(CodebaseLinked {
                    at: stamp.at,
                    project: wanted.project,
                    version: project.version + 1,
                    repository: *repository,
                    author: wanted.author,
                })
            })
        }
        Change::Archive => Some(WorkspaceEvent::ProjectArchived(ProjectArchived {
            at: stamp.at,
            project: wanted.project,
            version: project.version + 1,
            author: wanted.author,
        })),
    };
    Ok(event.into_iter().collect())
}

fn rename(
    project: &Project,
    wanted: &ProjectChange,
    name: &Text<120>,
    stamp: Stamp,
) -> Result<Option<WorkspaceEvent>, WorkspaceError> {
    let name = printable("name", name.as_str())?;
    if name == project.name {
        return Ok(None);
    }
    Ok(Some(WorkspaceEvent::ProjectRenamed(ProjectRenamed {
        at: stamp.at,
        project: wanted.project,
        version: project.version + 1,
        name,
        author: wanted.author,
    })))
}

fn describe(
    project: &Project,
    wanted: &ProjectChange,
    description: Option<&Text<2000>>,
    stamp: Stamp,
) -> Option<WorkspaceEvent> {
    let description = Sealed::Open(written(description));
    if description == project.description {
        return None;
    }
    Some(WorkspaceEvent::ProjectDescribed(ProjectDescribed {
        at: stamp.at,
        project: wanted.project,
        version: project.version + 1,
        description,
        author: wanted.author,
    }))
}

fn written(description: Option<&Text<2000>>) -> String {
    description.map_or_else(String::new, |text| text.as_str().to_owned())
}
