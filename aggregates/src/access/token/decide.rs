//! The arms of a named token.

use std::time::Duration;

use super::command::{NewToken, TokenCommand};
use super::error::TokenError;
use super::event::{
    TokenEvent, TokenExposed, TokenMinted, TokenPaused, TokenResumed, TokenRetired,
    TokenRevocation, TokenRevoked,
};
use super::{Minted, Token};
use crate::sealed::Sealed;
use crate::text::without_controls;
use crate::time::{Stamp, Timestamp};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest life (`access` 8).
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

pub(super) fn decide(
    token: &Token,
    command: &TokenCommand,
    stamp: Stamp,
) -> Result<Vec<TokenEvent>, TokenError> {
    match (token, command) {
        (Token::Absent, TokenCommand::Mint(new)) => mint(new, stamp),
        (Token::Live(_) | Token::Paused { .. } | Token::Revoked { .. }, TokenCommand::Mint(_)) => {
            Err(TokenError::AlreadyMinted)
        }
        (
            Token::Absent,
            TokenCommand::Retire { .. }
            | TokenCommand::Pause
            | TokenCommand::Resume
            | TokenCommand::Expose
            | TokenCommand::Revoke { .. },
        ) => Err(TokenError::NotFound),
        (Token::Live(minted) | Token::Paused { minted, .. }, TokenCommand::Retire { until }) => {
            retire(minted, *until, stamp)
        }
        (Token::Live(_), TokenCommand::Pause) => {
            Ok(vec![TokenEvent::Paused(TokenPaused { at: stamp.at })])
        }
        (Token::Paused { .. }, TokenCommand::Resume) => {
            Ok(vec![TokenEvent::Resumed(TokenResumed { at: stamp.at })])
        }
        (Token::Live(minted) | Token::Paused { minted, .. }, TokenCommand::Expose) => {
            Ok(expose(minted, stamp))
        }
        (Token::Live(_) | Token::Paused { .. }, TokenCommand::Revoke { cause }) => {
            Ok(revoked(*cause, stamp))
        }
        // What is so already need not happen again, and a dead token endangers nobody.
        (Token::Paused { .. }, TokenCommand::Pause)
        | (Token::Live(_), TokenCommand::Resume)
        | (Token::Revoked { .. }, TokenCommand::Revoke { .. } | TokenCommand::Expose) => {
            Ok(Vec::new())
        }
        (
            Token::Revoked { cause, .. },
            TokenCommand::Retire { .. } | TokenCommand::Pause | TokenCommand::Resume,
        ) => Err(TokenError::Revoked { cause: *cause }),
    }
}

fn mint(new: &NewToken, stamp: Stamp) -> Result<Vec<TokenEvent>, TokenError> {
    let (earliest, latest) = (stamp.at.plus(DAY), stamp.at.plus(LONGEST));
    if !(earliest..=latest).contains(&new.expires_at) {
        return Err(TokenError::Expiry { earliest, latest });
    }
    new.reach.check()?;
    let name = without_controls(new.name.as_str()).map_err(|_| TokenError::Control)?;
    Ok(vec![TokenEvent::Minted(Box::new(TokenMinted {
        at: stamp.at,
        workspace: new.workspace,
        name: Sealed::Open(name.to_owned()),
        last_four: new.last_four.as_str().to_owned(),
        fingerprint: new.fingerprint.as_str().to_owned(),
        scopes: new.scopes.of_workspace()?,
        reach: new.reach.clone(),
        maker: new.maker,
        expires_at: new.expires_at,
        replaces: new.replaces,
    }))])
}

fn retire(minted: &Minted, until: Timestamp, stamp: Stamp) -> Result<Vec<TokenEvent>, TokenError> {
    let (earliest, latest) = (stamp.at, stamp.at.plus(DAY));
    if !(earliest..=latest).contains(&until) {
        return Err(TokenError::Grace { earliest, latest });
    }
    match minted.retired_until {
        Some(known) if known == until => Ok(Vec::new()),
        Some(known) if known < until => Err(TokenError::AlreadyRetired { until: known }),
        Some(_) | None => Ok(vec![TokenEvent::Retired(TokenRetired {
            at: stamp.at,
            until,
        })]),
    }
}

fn expose(minted: &Minted, stamp: Stamp) -> Vec<TokenEvent> {
    if minted.exposed_at.is_some() {
        return Vec::new();
    }
    vec![TokenEvent::Exposed(TokenExposed { at: stamp.at })]
}

fn revoked(cause: TokenRevocation, stamp: Stamp) -> Vec<TokenEvent> {
    vec![TokenEvent::Revoked(TokenRevoked {
        at: stamp.at,
        cause,
    })]
}
