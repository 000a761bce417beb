//! Repositories: connected for some projects, and disconnected from all.

use super::super::command::NewRepository;
use super::super::error::WorkspaceError;
use super::super::event::{RepositoryConnected, RepositoryDisconnected, WorkspaceEvent};
use super::super::{Body, REPOSITORIES_LIMIT};
use super::{printable, room};
use crate::ids::{AccountId, RepositoryId};
use crate::time::Stamp;

pub(super) fn connect(
    body: &Body,
    new: &NewRepository,
    stamp: Stamp,
) -> Result<WorkspaceEvent, WorkspaceError> {
    if body.repositories.contains_key(&new.repository) {
        return Err(WorkspaceError::RepositoryExists);
    }
    room("repositories", body.repositories.len(), REPOSITORIES_LIMIT)?;
    if new
        .projects
        .iter()
        .any(|project| !body.projects.contains_key(project))
    {
        return Err(WorkspaceError::NoProject);
    }
    if carries_credential(new.url.as_str()) {
        return Err(WorkspaceError::CredentialInUrl);
    }
    let connected = RepositoryConnected {
        at: stamp.at,
        repository: new.repository,
        name: printable("name", new.name.as_str())?,
        url: printable("url", new.url.as_str())?,
        projects: new.projects.iter().copied().collect(),
        by: new.by,
    };
    Ok(WorkspaceEvent::RepositoryConnected(Box::new(connected)))
}

/// Whether the part before the host could open something: any user of a web address, and a
/// password anywhere. `git@host` and `ssh://git@host` name a public user.
fn carries_credential(url: &str) -> bool {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
    let Some((user, _)) = authority.rsplit_once('@') else {
        return false;
    };
    let scheme = scheme.to_ascii_lowercase();
    user.contains(':') || scheme == "http" || scheme == "https"
}

pub(super) fn disconnect(
    body: &Body,
    repository: RepositoryId,
    by: AccountId,
    stamp: Stamp,
) -> Result<WorkspaceEvent, WorkspaceError> {
    if !body.repositories.contains_key(&repository) {
        return Err(WorkspaceError::NoRepository);
    }
    let unlinked = body
        .projects
        .iter()
        .filter(|(_, project)| project.codebase == Some(repository))
        .map(|(id, _)| *id);
    Ok(WorkspaceEvent::RepositoryDisconnected(
        RepositoryDisconnected {
            at: stamp.at,
            repository,
            unlinked: unlinked.collect(),
            by,
        },
    ))
}
