//! The arms of a worker's token.

use super::WorkerToken;
use super::command::{NewWorkerToken, WorkerTokenCommand};
use super::error::WorkerTokenError;
use super::event::{WorkerTokenEvent, WorkerTokenIssued, WorkerTokenRevoked};
use crate::sealed::Sealed;
use crate::text::without_controls;
use crate::time::Stamp;

pub(super) fn decide(
    token: &WorkerToken,
    command: &WorkerTokenCommand,
    stamp: Stamp,
) -> Result<Vec<WorkerTokenEvent>, WorkerTokenError> {
    match (token, command) {
        (WorkerToken::Absent, WorkerTokenCommand::Issue(new)) => issue(new, stamp),
        (WorkerToken::Live(_) | WorkerToken::Revoked { .. }, WorkerTokenCommand::Issue(_)) => {
            Err(WorkerTokenError::AlreadyIssued)
        }
        (WorkerToken::Absent, WorkerTokenCommand::Revoke) => Err(WorkerTokenError::NotFound),
        (WorkerToken::Live(_), WorkerTokenCommand::Revoke) => {
            let revoked = WorkerTokenRevoked { at: stamp.at };
            Ok(vec![WorkerTokenEvent::Revoked(revoked)])
        }
        (WorkerToken::Revoked { .. }, WorkerTokenCommand::Revoke) => {
            Err(WorkerTokenError::AlreadyRevoked)
        }
    }
}

fn issue(new: &NewWorkerToken, stamp: Stamp) -> Result<Vec<WorkerTokenEvent>, WorkerTokenError> {
    let name = without_controls(new.name.as_str()).map_err(|_| WorkerTokenError::Control)?;
    Ok(vec![WorkerTokenEvent::Issued(WorkerTokenIssued {
        at: stamp.at,
        name: Sealed::Open(name.to_owned()),
        fingerprint: new.fingerprint.as_str().to_owned(),
    })])
}
