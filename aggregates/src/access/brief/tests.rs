//! Given events, when a command, then events or a refusal.

mod proposals;
mod versions;

use uuid::Uuid;

use super::command::{Act, BriefCommand, NewBrief, NewProposal, ProposalChange, Verdict};
use super::error::BriefError;
use super::event::BriefEvent;
use super::markdown::Markdown;
use super::{Body, Brief, Proposal};
use crate::access::author::Author;
use crate::decider::Decider;
use crate::ids::{AccountId, ProjectId, ProposalId, TokenId, WorkspaceId};
use crate::text::Text;
use crate::time::{Stamp, Timestamp};

fn at(seconds: i64) -> Stamp {
    Stamp {
        at: Timestamp::from_millis(1_796_040_000_000 + seconds * 1000),
    }
}

fn ada() -> AccountId {
    AccountId::new(Uuid::from_u128(1))
}

fn token(number: u128) -> Author {
    Author::Token(TokenId::new(Uuid::from_u128(number)))
}

fn id(number: u128) -> ProposalId {
    ProposalId::new(Uuid::from_u128(number))
}

/// The text that the `number`th proposal brings along.
fn words(number: u128) -> String {
    format!("# canary {number}\n")
}

fn new(number: u128) -> NewProposal {
    NewProposal {
        proposal: id(number),
        body: Markdown::parse(&words(number)).unwrap(),
        summary: Text::parse("canary summary").unwrap(),
    }
}

fn created(title: &str, first: Option<NewProposal>) -> BriefCommand {
    BriefCommand::Create(Box::new(NewBrief {
        workspace: WorkspaceId::new(Uuid::from_u128(8)),
        project: ProjectId::new(Uuid::from_u128(9)),
        title: Text::parse(title).unwrap(),
        author: token(1),
        first,
    }))
}

fn create() -> BriefCommand {
    created("canary tides", None)
}

fn propose(number: u128, expected_version: u64) -> BriefCommand {
    BriefCommand::Propose {
        new: Box::new(new(number)),
        author: token(1),
        expected_version,
    }
}

fn edit(number: u128, expected_version: u64) -> BriefCommand {
    BriefCommand::Edit {
        new: Box::new(new(number)),
        by: ada(),
        expected_version,
    }
}

fn revert(to_version: u64, expected_version: u64) -> BriefCommand {
    BriefCommand::Revert {
        to_version,
        reason: Some(Text::parse("canary reason").unwrap()),
        by: ada(),
        expected_version,
    }
}

fn act(number: u128, expected_version: u64, act: Act) -> BriefCommand {
    BriefCommand::ChangeProposal(Box::new(ProposalChange {
        proposal: id(number),
        expected_version,
        act,
    }))
}

fn withdraw(number: u128, expected_version: u64) -> BriefCommand {
    act(number, expected_version, Act::Withdraw { by: token(1) })
}

fn decide(verdict: Verdict, number: u128, expected_version: u64) -> BriefCommand {
    let decision = Act::Decide {
        verdict,
        reason: Some(Text::parse("canary reason").unwrap()),
        by: ada(),
    };
    act(number, expected_version, decision)
}

fn approve(number: u128, expected_version: u64) -> BriefCommand {
    decide(Verdict::Approve, number, expected_version)
}

fn reject(number: u128, expected_version: u64) -> BriefCommand {
    decide(Verdict::Reject, number, expected_version)
}

fn commit(number: u128, expected_version: u64) -> BriefCommand {
    act(number, expected_version, Act::Commit { by: ada() })
}

fn rebase(number: u128, expected_version: u64) -> BriefCommand {
    let body = Markdown::parse("# canary rebased\n").unwrap();
    act(number, expected_version, Act::Rebase { body, by: ada() })
}

/// One command of every kind but the creation, each at the version it would meet.
fn all_but_creation() -> Vec<BriefCommand> {
    vec![
        propose(7, 0),
        edit(7, 0),
        revert(1, 0),
        withdraw(7, 1),
        approve(7, 1),
        reject(7, 1),
        commit(7, 1),
        rebase(7, 1),
    ]
}

/// The first command at second 0, each later one a second on; the events, and what they make.
fn history(commands: &[BriefCommand]) -> (Brief, Vec<BriefEvent>) {
    let (mut brief, mut log) = (Brief::default(), Vec::new());
    for (second, command) in (0..).zip(commands) {
        for event in brief.decide(command, at(second)).unwrap() {
            brief.evolve(&event);
            log.push(event);
        }
    }
    (brief, log)
}

/// A brief after further commands.
fn after(commands: &[BriefCommand]) -> Brief {
    history(&[&[create()], commands].concat()).0
}

fn body(brief: &Brief) -> &Body {
    brief.body().unwrap()
}

fn proposal(brief: &Brief, number: u128) -> &Proposal {
    &body(brief).proposals[&id(number)]
}

fn refused(brief: &Brief, command: &BriefCommand) -> BriefError {
    brief.decide(command, at(900)).unwrap_err()
}

#[test]
fn a_brief_begins_without_text_and_is_created_once() {
    let brief = after(&[]);
    let body = body(&brief);
    assert_eq!(body.title.open().unwrap(), "canary tides");
    assert_eq!((body.author, body.version()), (token(1), 0));
    assert_eq!(body.workspace, WorkspaceId::new(Uuid::from_u128(8)));
    assert_eq!(body.project, ProjectId::new(Uuid::from_u128(9)));
    assert_eq!((body.created_at, body.updated_at), (at(0).at, at(0).at));
    assert!(body.proposals.is_empty());
    assert_eq!(refused(&brief, &create()), BriefError::AlreadyExists);
    assert_eq!(
        refused(&Brief::default(), &created("ti\tdes", None)),
        BriefError::Control { field: "title" }
    );
}

#[test]
fn a_text_that_comes_with_a_brief_is_only_proposed() {
    let (brief, _) = history(&[created("canary tides", Some(new(1)))]);
    assert_eq!(body(&brief).version(), 0);
    let first = proposal(&brief, 1);
    assert_eq!((first.base_version, first.version), (0, 1));
    assert_eq!((first.author, first.state.as_str()), (token(1), "open"));
    assert_eq!(first.text_at, 2);
}

#[test]
fn a_brief_that_does_not_exist_takes_only_its_creation() {
    for command in all_but_creation() {
        assert_eq!(refused(&Brief::default(), &command), BriefError::NotFound);
    }
}

#[test]
fn no_output_for_people_shows_a_title_a_text_or_a_reason() {
    let commands = [
        create(),
        propose(1, 0),
        approve(1, 1),
        edit(2, 0),
        rebase(1, 2),
        commit(1, 3),
        revert(1, 2),
    ];
    let (brief, log) = history(&commands);
    assert_eq!(body(&brief).version(), 3);
    assert!(!format!("{brief:?}{log:?}{commands:?}").contains("canary"));
}

#[test]
fn a_verdict_is_one_of_two_words() {
    assert_eq!(Verdict::parse("approve"), Some(Verdict::Approve));
    assert_eq!(Verdict::parse("reject"), Some(Verdict::Reject));
    assert_eq!(Verdict::parse("Approve"), None);
}
