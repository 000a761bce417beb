//! The arms of a grant.

use std::time::Duration;

use super::Grant;
use super::command::{Boundary, GrantCommand, NewGrant};
use super::error::GrantError;
use super::event::{
    GrantEnded, GrantEnding, GrantEvent, GrantGiven, GrantPaused, GrantResumed, StoredBoundary,
};
use crate::sealed::Sealed;
use crate::text::{Text, unique, without_controls};
use crate::time::Stamp;

/// The longest life a consent page offers (`access` 3.4).
pub(super) const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);
pub(super) const LABELS_LIMIT: usize = 100;

pub(super) fn decide(
    grant: &Grant,
    command: &GrantCommand,
    stamp: Stamp,
) -> Result<Vec<GrantEvent>, GrantError> {
    match (grant, command) {
        (Grant::Absent, GrantCommand::Give(new)) => give(new, stamp),
        (Grant::Live(_) | Grant::Paused { .. } | Grant::Ended { .. }, GrantCommand::Give(_)) => {
            Err(GrantError::AlreadyGiven)
        }
        (Grant::Absent, GrantCommand::Pause | GrantCommand::Resume | GrantCommand::End { .. }) => {
            Err(GrantError::NotFound)
        }
        (Grant::Live(_), GrantCommand::Pause) => {
            Ok(vec![GrantEvent::Paused(GrantPaused { at: stamp.at })])
        }
        (Grant::Paused { .. }, GrantCommand::Resume) => {
            Ok(vec![GrantEvent::Resumed(GrantResumed { at: stamp.at })])
        }
        // What is so already need not happen again.
        (Grant::Paused { .. }, GrantCommand::Pause)
        | (Grant::Live(_), GrantCommand::Resume)
        | (Grant::Ended { .. }, GrantCommand::End { .. }) => Ok(Vec::new()),
        (Grant::Live(_) | Grant::Paused { .. }, GrantCommand::End { cause }) => {
            Ok(ended(*cause, stamp))
        }
        (Grant::Ended { cause, .. }, GrantCommand::Pause | GrantCommand::Resume) => {
            Err(GrantError::Ended { cause: *cause })
        }
    }
}

fn ended(cause: GrantEnding, stamp: Stamp) -> Vec<GrantEvent> {
    vec![GrantEvent::Ended(GrantEnded {
        at: stamp.at,
        cause,
    })]
}

fn give(new: &NewGrant, stamp: Stamp) -> Result<Vec<GrantEvent>, GrantError> {
    let latest = stamp.at.plus(LONGEST);
    if new.expires_at <= stamp.at || new.expires_at > latest {
        return Err(GrantError::Expiry { latest });
    }
    let (boundary, scopes) = match &new.boundary {
        Boundary::Agent => (StoredBoundary::Agent, new.scopes.clone()),
        Boundary::Vault { vault, labels } => {
            let labels = Sealed::Open(checked_labels(labels)?);
            let vault = *vault;
            (StoredBoundary::Vault { vault, labels }, new.scopes.clone())
        }
        Boundary::Workspace { workspace, reach } => {
            reach.check()?;
            let (workspace, reach) = (*workspace, reach.clone());
            let scopes = new.scopes.of_workspace()?;
            (StoredBoundary::Workspace { workspace, reach }, scopes)
        }
    };
    Ok(vec![GrantEvent::Given(Box::new(GrantGiven {
        at: stamp.at,
        account: new.account,
        client_id: printable("client_id", new.client_id.as_str())?,
        app: printable("app", new.app.as_str())?,
        redirect: printable("redirect", new.redirect.as_str())?,
        boundary,
        scopes,
        expires_at: new.expires_at,
    }))])
}

fn checked_labels(labels: &[Text<32>]) -> Result<Vec<String>, GrantError> {
    let labels = unique(labels.iter().map(Text::as_str));
    if labels.len() > LABELS_LIMIT {
        return Err(GrantError::TooManyLabels {
            limit: LABELS_LIMIT,
        });
    }
    for label in &labels {
        without_controls(label).map_err(|_| GrantError::Control { field: "labels" })?;
    }
    Ok(labels)
}

fn printable(field: &'static str, text: &str) -> Result<Sealed<String>, GrantError> {
    without_controls(text)
        .map(|text| Sealed::Open(text.to_owned()))
        .map_err(|_| GrantError::Control { field })
}
