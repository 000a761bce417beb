//! Given events, when a command, then events or a refusal.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::command::{NewToken, TokenCommand};
use super::error::TokenError;
use super::event::TokenRevocation;
use super::{Minted, Token};
use crate::access::author::Maker;
use crate::access::reach::{Reach, ReachError};
use crate::access::scopes::{Scopes, ScopesError};
use crate::decider::Decider;
use crate::ids::{AccountId, TokenId, WorkspaceId};
use crate::text::Text;
use crate::time::{Stamp, Timestamp};

const DAY: i64 = 24 * 60 * 60;

fn at(seconds: i64) -> Stamp {
    Stamp {
        at: Timestamp::from_millis(1_796_040_000_000 + seconds * 1000),
    }
}

fn new() -> NewToken {
    NewToken {
        workspace: WorkspaceId::new(Uuid::from_u128(8)),
        name: Text::parse("canary harness").unwrap(),
        last_four: Text::parse("rGb8").unwrap(),
        fingerprint: Text::parse("0123456789abcdef").unwrap(),
        scopes: Scopes::parse(["review:execute"]).unwrap(),
        reach: Reach::All,
        maker: Maker::Account(AccountId::new(Uuid::from_u128(7))),
        expires_at: at(30 * DAY).at,
        replaces: None,
    }
}

fn mint() -> TokenCommand {
    TokenCommand::Mint(Box::new(new()))
}

fn retire(seconds: i64) -> TokenCommand {
    TokenCommand::Retire {
        until: at(seconds).at,
    }
}

fn revoke() -> TokenCommand {
    TokenCommand::Revoke {
        cause: TokenRevocation::Owner,
    }
}

fn after(commands: &[TokenCommand]) -> Token {
    let mut token = Token::default();
    for (second, command) in (0..).zip(commands) {
        for event in token.decide(command, at(second)).unwrap() {
            token.evolve(&event);
        }
    }
    token
}

fn refused(token: &Token, command: &TokenCommand) -> TokenError {
    token.decide(command, at(9)).unwrap_err()
}

fn refused_mint(new: NewToken) -> TokenError {
    refused(&Token::default(), &TokenCommand::Mint(Box::new(new)))
}

#[test]
fn a_token_is_minted_once_with_the_floor_of_its_door() {
    let replaces = Some(TokenId::new(Uuid::from_u128(6)));
    let minting = TokenCommand::Mint(Box::new(NewToken { replaces, ..new() }));
    let token = after(&[minting]);
    let Token::Live(minted) = &token else {
        panic!("{token:?}")
    };
    let given = new();
    assert_eq!(minted.name.open().unwrap(), "canary harness");
    assert_eq!(minted.scopes.words(), ["brief:read", "review:execute"]);
    let Minted {
        workspace,
        last_four,
        fingerprint,
        reach,
        maker,
        ..
    } = &**minted;
    assert_eq!(
        (*workspace, *maker, reach),
        (given.workspace, given.maker, &Reach::All)
    );
    assert_eq!(
        (last_four.as_str(), fingerprint.as_str()),
        ("rGb8", "0123456789abcdef")
    );
    assert_eq!((minted.at, minted.expires_at), (at(0).at, at(30 * DAY).at));
    assert_eq!((minted.replaces, minted.exposed_at), (replaces, None));
    for token in [
        after(&[mint()]),
        after(&[mint(), TokenCommand::Pause]),
        after(&[mint(), revoke()]),
    ] {
        assert_eq!(refused(&token, &mint()), TokenError::AlreadyMinted);
    }
}

#[test]
fn a_token_lives_from_one_day_to_a_year() {
    let (earliest, latest) = (at(9 + DAY).at, at(9 + 365 * DAY).at);
    for expires_at in [
        at(8).at,
        Timestamp::from_millis(earliest.millis() - 1),
        Timestamp::from_millis(latest.millis() + 1),
    ] {
        let refusal = refused_mint(NewToken {
            expires_at,
            ..new()
        });
        assert_eq!(refusal, TokenError::Expiry { earliest, latest });
    }
    for expires_at in [earliest, latest] {
        let minting = TokenCommand::Mint(Box::new(NewToken {
            expires_at,
            ..new()
        }));
        assert!(Token::default().decide(&minting, at(9)).is_ok());
    }
}

#[test]
fn a_token_of_other_words_an_empty_reach_or_a_forged_name_is_refused() {
    let scopes = Scopes::parse(["brief:read", "work"]).unwrap();
    assert_eq!(
        refused_mint(NewToken { scopes, ..new() }),
        TokenError::Scopes(ScopesError::NotOfWorkspace)
    );
    let reach = Reach::Listed(BTreeSet::new());
    assert_eq!(
        refused_mint(NewToken { reach, ..new() }),
        TokenError::Reach(ReachError::Empty)
    );
    let name = Text::parse("har\u{1f}ness").unwrap();
    assert_eq!(
        refused_mint(NewToken { name, ..new() }),
        TokenError::Control
    );
}

#[test]
fn a_token_that_does_not_exist_takes_only_its_minting() {
    for command in [
        retire(20),
        TokenCommand::Pause,
        TokenCommand::Resume,
        TokenCommand::Expose,
        revoke(),
    ] {
        assert_eq!(refused(&Token::default(), &command), TokenError::NotFound);
    }
}

#[test]
fn a_replaced_token_dies_when_its_grace_ends() {
    let token = after(&[mint(), retire(1 + DAY)]);
    assert_eq!(token.minted().unwrap().dies_at(), at(1 + DAY).at);
    let paused = after(&[mint(), TokenCommand::Pause, retire(100)]);
    assert!(matches!(&paused, Token::Paused { minted, .. } if minted.dies_at() == at(100).at));
    assert_eq!(
        after(&[mint()]).minted().unwrap().dies_at(),
        at(30 * DAY).at
    );
}

#[test]
fn a_grace_is_at_most_a_day_and_moves_no_expiry() {
    let token = after(&[mint()]);
    let (earliest, latest) = (at(9).at, at(9 + DAY).at);
    for seconds in [8, 10 + DAY] {
        let refusal = refused(&token, &retire(seconds));
        assert_eq!(refusal, TokenError::Grace { earliest, latest });
    }
    assert!(token.decide(&retire(9), at(9)).is_ok());
    let late = at(30 * DAY - 5);
    let mut token = token;
    for event in token.decide(&retire(30 * DAY + 60), late).unwrap() {
        token.evolve(&event);
    }
    assert_eq!(token.minted().unwrap().dies_at(), at(30 * DAY).at);
}

#[test]
fn a_grace_can_be_cut_short_and_never_made_longer() {
    let token = after(&[mint(), retire(100)]);
    assert_eq!(token.decide(&retire(100), at(9)), Ok(Vec::new()));
    let until = at(100).at;
    assert_eq!(
        refused(&token, &retire(101)),
        TokenError::AlreadyRetired { until }
    );
    let shorter = after(&[mint(), retire(100), retire(50)]);
    assert_eq!(shorter.minted().unwrap().dies_at(), at(50).at);
}

#[test]
fn a_paused_token_is_resumed_as_it_was() {
    let live = after(&[mint()]);
    let paused = after(&[mint(), TokenCommand::Pause]);
    assert!(matches!(&paused, Token::Paused { at: when, .. } if *when == at(1).at));
    assert_eq!(paused.decide(&TokenCommand::Pause, at(9)), Ok(Vec::new()));
    assert_eq!(live.decide(&TokenCommand::Resume, at(9)), Ok(Vec::new()));
    assert_eq!(
        after(&[mint(), TokenCommand::Pause, TokenCommand::Resume]),
        live
    );
}

#[test]
fn an_exposed_token_is_flagged_once_and_goes_on() {
    let token = after(&[mint(), TokenCommand::Expose]);
    assert!(matches!(&token, Token::Live(minted) if minted.exposed_at == Some(at(1).at)));
    assert_eq!(token.decide(&TokenCommand::Expose, at(9)), Ok(Vec::new()));
    let paused = after(&[mint(), TokenCommand::Pause, TokenCommand::Expose]);
    assert!(matches!(&paused, Token::Paused { minted, .. } if minted.exposed_at.is_some()));
    let revoked = after(&[mint(), revoke()]);
    assert_eq!(revoked.decide(&TokenCommand::Expose, at(9)), Ok(Vec::new()));
}

#[test]
fn a_revoked_token_stays_revoked_with_its_first_cause() {
    for before in [vec![mint()], vec![mint(), TokenCommand::Pause]] {
        let token = after(&[before, vec![revoke()]].concat());
        let cause = TokenRevocation::Owner;
        assert!(matches!(&token, Token::Revoked { cause: why, .. } if *why == cause));
        let again = TokenCommand::Revoke {
            cause: TokenRevocation::Rotated,
        };
        assert_eq!(token.decide(&again, at(9)), Ok(Vec::new()));
        for command in [retire(20), TokenCommand::Pause, TokenCommand::Resume] {
            assert_eq!(refused(&token, &command), TokenError::Revoked { cause });
        }
    }
}

#[test]
fn every_cause_reads_back_from_its_word_and_from_json() {
    for cause in TokenRevocation::ALL {
        let token = after(&[mint(), TokenCommand::Revoke { cause }]);
        assert!(matches!(token, Token::Revoked { cause: why, .. } if why == cause));
        assert_eq!(TokenRevocation::parse(cause.as_str()), Some(cause));
        assert_eq!(serde_json::to_value(cause).unwrap(), cause.as_str());
    }
    assert_eq!(TokenRevocation::parse("bored"), None);
}

#[test]
fn no_output_for_people_shows_the_name() {
    let events = Token::default().decide(&mint(), at(0)).unwrap();
    let token = after(&[mint()]);
    assert!(!format!("{token:?}{events:?}{:?}", mint()).contains("canary"));
}
