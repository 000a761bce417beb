//! What holds for any sequence of commands to a brief.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use helix_aggregates::access::author::Author;
use helix_aggregates::access::brief::command::{
    Act, BriefCommand, NewBrief, NewProposal, ProposalChange, Verdict,
};
use helix_aggregates::access::brief::event::BriefEvent;
use helix_aggregates::access::brief::markdown::Markdown;
use helix_aggregates::access::brief::{Body, Brief, OPEN_LIMIT, ProposalState};
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::{AccountId, BriefId, ProjectId, ProposalId, TokenId, WorkspaceId};
use helix_aggregates::text::Text;
use helix_aggregates::time::{Stamp, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use uuid::Uuid;

/// Stands in every text a person or an agent wrote.
const CANARY: &str = "canary-kestrel";

/// One attempt, relative to the state it meets.
#[derive(Debug, Clone)]
enum Attempt {
    Propose { ahead: u64 },
    Edit { ahead: u64 },
    Revert { ahead: u64, back: u64 },
    OnProposal { which: usize, ahead: u64, act: Act },
}

fn said<const MAX: usize>() -> Text<MAX> {
    Text::parse(CANARY).unwrap()
}

fn markdown(number: u64) -> Markdown {
    Markdown::parse(&format!("# {CANARY} {number}")).unwrap()
}

fn person() -> AccountId {
    AccountId::new(Uuid::from_u128(1))
}

fn author() -> Author {
    Author::Token(TokenId::new(Uuid::from_u128(2)))
}

fn act() -> impl Strategy<Value = Act> {
    let decide = |verdict| Act::Decide {
        verdict,
        reason: Some(said()),
        by: person(),
    };
    prop_oneof![
        1 => Just(Act::Withdraw { by: author() }),
        1 => Just(Act::Withdraw { by: Author::Account(person()) }),
        6 => Just(decide(Verdict::Approve)),
        1 => Just(decide(Verdict::Reject)),
        8 => Just(Act::Commit { by: person() }),
        4 => (0_u64..9).prop_map(|number| Act::Rebase { body: markdown(number), by: person() }),
    ]
}

fn attempt() -> impl Strategy<Value = Attempt> {
    let ahead = || prop_oneof![9 => Just(0_u64), 1 => Just(1)];
    prop_oneof![
        8 => ahead().prop_map(|ahead| Attempt::Propose { ahead }),
        1 => ahead().prop_map(|ahead| Attempt::Edit { ahead }),
        1 => (ahead(), 0_u64..4).prop_map(|(ahead, back)| Attempt::Revert { ahead, back }),
        20 => (any::<usize>(), ahead(), act())
            .prop_map(|(which, ahead, act)| Attempt::OnProposal { which, ahead, act }),
    ]
}

fn new(number: u64) -> NewProposal {
    NewProposal {
        proposal: ProposalId::new(Uuid::from_u128(u128::from(number))),
        body: markdown(number),
        summary: said(),
    }
}

/// What the attempt means against this brief.
fn command(body: &Body, attempt: &Attempt) -> Option<BriefCommand> {
    let fresh = Box::new(new(body.seq));
    Some(match attempt {
        Attempt::Propose { ahead } => BriefCommand::Propose {
            new: fresh,
            author: author(),
            expected_version: body.version() + ahead,
        },
        Attempt::Edit { ahead } => BriefCommand::Edit {
            new: fresh,
            by: person(),
            expected_version: body.version() + ahead,
        },
        Attempt::Revert { ahead, back } => BriefCommand::Revert {
            to_version: body.version().saturating_sub(*back),
            reason: None,
            by: person(),
            expected_version: body.version() + ahead,
        },
        Attempt::OnProposal { which, ahead, act } => {
            let known: Vec<_> = body.proposals.iter().collect();
            let (id, proposal) = known.get(which.checked_rem(known.len())?)?;
            BriefCommand::ChangeProposal(Box::new(ProposalChange {
                proposal: **id,
                expected_version: proposal.version + ahead,
                act: act.clone(),
            }))
        }
    })
}

/// One accepted command against the invariants of a brief.
fn check(before: &Body, after: &Body, events: &[BriefEvent]) {
    let earlier = before.versions.len();
    assert_eq!(
        before.versions,
        after.versions[..earlier],
        "a version changed"
    );
    assert!(after.versions.len() <= earlier + 1);
    assert_eq!(after.seq, before.seq + u64::try_from(events.len()).unwrap());
    let pending = after
        .proposals
        .values()
        .filter(|one| one.state.is_pending());
    assert!(pending.count() <= OPEN_LIMIT);
    for (id, was) in &before.proposals {
        let is = &after.proposals[id];
        assert_eq!(
            (is.version == was.version),
            (is == was),
            "a change without a version"
        );
        assert!(is.version <= was.version + 1);
        assert!(
            was.state.is_pending() || was == is,
            "a closed proposal changed"
        );
        if let (true, ProposalState::Committed { brief_version, .. }) = (was != is, &is.state) {
            assert!(matches!(was.state, ProposalState::Approved(_)));
            assert_eq!(was.base_version, before.version());
            assert_eq!(*brief_version, after.version());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_commands_keeps_the_invariants(
        first in any::<bool>(),
        attempts in vec(attempt(), 1..80),
    ) {
        let creating = BriefCommand::Create(Box::new(NewBrief {
            workspace: WorkspaceId::new(Uuid::from_u128(3)),
            project: ProjectId::new(Uuid::from_u128(4)),
            title: said(),
            author: author(),
            first: first.then(|| new(0)),
        }));
        let mut brief = Brief::default();
        let mut log = brief.decide(&creating, Stamp { at: Timestamp::from_millis(0) }).unwrap();
        for event in &log {
            brief.evolve(event);
        }
        for (second, attempt) in (1_i64..).zip(&attempts) {
            let before = brief.body().unwrap().clone();
            let Some(command) = command(&before, attempt) else { continue };
            let stamp = Stamp { at: Timestamp::from_millis(second * 1000) };
            let Ok(events) = brief.decide(&command, stamp) else { continue };
            for event in &events {
                brief.evolve(event);
            }
            check(&before, brief.body().unwrap(), &events);
            log.extend(events);
        }

        let body = brief.body().unwrap();
        for version in &body.versions {
            let event = &log[usize::try_from(version.text_at).unwrap() - 1];
            let text = Markdown::parse(event.text().unwrap().open().unwrap()).unwrap();
            prop_assert_eq!(&text.sha256(), version.content_sha256.open().unwrap());
        }
        let mut replayed = Brief::default();
        for event in &log {
            let stored = serde_json::to_string(event).unwrap();
            replayed.evolve(&serde_json::from_str::<BriefEvent>(&stored).unwrap());
        }
        prop_assert_eq!(&replayed, &brief);
        let shown = format!("{brief:?}{log:?}{attempts:?}");
        prop_assert!(!shown.contains(CANARY));
    }

    #[test]
    fn the_ids_of_a_brief_read_back_as_themselves(id in any::<u128>()) {
        let uuid = Uuid::from_u128(id);
        let (brief, proposal) = (BriefId::new(uuid), ProposalId::new(uuid));
        prop_assert_eq!(BriefId::parse(&brief.to_string()), Ok(brief));
        prop_assert_eq!(ProposalId::parse(&proposal.to_string()), Ok(proposal));
        prop_assert!(ProposalId::parse(&brief.to_string()).is_err());
    }
}
