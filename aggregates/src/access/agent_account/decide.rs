//! The arms of a binding.

use super::command::{AgentAccountCommand, NewBinding};
use super::error::AgentAccountError;
use super::event::{AgentAccountEvent, AgentAccountLinked, AgentAccountRevoked};
use super::{AgentAccount, Binding};
use crate::sealed::Sealed;
use crate::text::{Text, without_controls};
use crate::time::Stamp;

pub(super) fn decide(
    binding: &AgentAccount,
    command: &AgentAccountCommand,
    stamp: Stamp,
) -> Result<Vec<AgentAccountEvent>, AgentAccountError> {
    match (binding, command) {
        (AgentAccount::Absent, AgentAccountCommand::Link(new)) => link(new, stamp),
        (AgentAccount::Active(known), AgentAccountCommand::Link(new)) => {
            same_identity(known, new)?;
            Err(if known.account == new.account {
                AgentAccountError::AlreadyLinked
            } else {
                AgentAccountError::LinkedElsewhere
            })
        }
        // A revoked identity is free: its next link may be to any account.
        (AgentAccount::Revoked { binding, .. }, AgentAccountCommand::Link(new)) => {
            same_identity(binding, new)?;
            link(new, stamp)
        }
        (AgentAccount::Absent, AgentAccountCommand::Revoke { .. }) => {
            Err(AgentAccountError::NotFound)
        }
        (AgentAccount::Active(_), AgentAccountCommand::Revoke { reason }) => {
            Ok(vec![AgentAccountEvent::Revoked(AgentAccountRevoked {
                at: stamp.at,
                reason: Sealed::Open(reason.as_str().to_owned()),
            })])
        }
        (AgentAccount::Revoked { .. }, AgentAccountCommand::Revoke { .. }) => {
            Err(AgentAccountError::AlreadyRevoked)
        }
    }
}

fn link(new: &NewBinding, stamp: Stamp) -> Result<Vec<AgentAccountEvent>, AgentAccountError> {
    Ok(vec![AgentAccountEvent::Linked(Box::new(
        AgentAccountLinked {
            at: stamp.at,
            account: new.account,
            issuer: printable("issuer", &new.issuer)?,
            tenant: Sealed::Open(printable("tenant", &new.tenant)?),
            provider: printable("provider", &new.provider)?,
            subject: Sealed::Open(printable("subject", &new.subject)?),
        },
    ))])
}

/// Text that can no longer be read cannot be compared and is taken for the same.
fn same_identity(known: &Binding, new: &NewBinding) -> Result<(), AgentAccountError> {
    let same = |known: &Sealed<String>, new: &str| known.open().is_none_or(|text| text == new);
    if known.issuer == new.issuer.as_str()
        && known.provider == new.provider.as_str()
        && same(&known.tenant, new.tenant.as_str())
        && same(&known.subject, new.subject.as_str())
    {
        Ok(())
    } else {
        Err(AgentAccountError::OtherIdentity)
    }
}

fn printable<const MAX: usize>(
    field: &'static str,
    text: &Text<MAX>,
) -> Result<String, AgentAccountError> {
    without_controls(text.as_str())
        .map(str::to_owned)
        .map_err(|_| AgentAccountError::Control { field })
}
