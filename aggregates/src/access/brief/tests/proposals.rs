//! A proposal is open until it is approved, rejected or withdrawn, and binds when it is committed.

use super::super::command::Act;
use super::super::error::BriefError;
use super::super::{OPEN_LIMIT, PROPOSALS_LIMIT, ProposalState};
use super::{
    act, ada, after, approve, at, body, commit, create, edit, history, proposal, propose, rebase,
    refused, reject, revert, token, withdraw,
};
use crate::access::author::Author;
use crate::decider::{Decider, WireEvent};

#[test]
fn a_proposal_is_made_once_for_the_version_in_force() {
    let brief = after(&[propose(1, 0), edit(2, 0), propose(3, 1)]);
    let made = proposal(&brief, 3);
    assert_eq!(made.summary.open().unwrap(), "canary summary");
    assert_eq!((made.base_version, made.version), (1, 1));
    assert_eq!((made.author, &made.state), (token(1), &ProposalState::Open));
    assert_eq!((made.at, made.updated_at), (at(3).at, at(3).at));
    for again in [propose(1, 1), edit(1, 1)] {
        assert_eq!(refused(&brief, &again), BriefError::ProposalExists);
    }
}

#[test]
fn a_stale_version_is_reported_first_with_the_present_one() {
    let brief = after(&[edit(1, 0), propose(2, 1)]);
    let current = BriefError::VersionConflict { current: 1 };
    for command in [propose(1, 0), propose(3, 2), edit(1, 0), revert(7, 0)] {
        assert_eq!(refused(&brief, &command), current);
    }
    for command in [
        act(2, 2, Act::Withdraw { by: token(2) }),
        approve(2, 0),
        reject(2, 2),
        commit(2, 2),
        rebase(2, 2),
    ] {
        assert_eq!(refused(&brief, &command), current);
    }
    // Of the closed proposal, which is at its second version.
    let closed = BriefError::VersionConflict { current: 2 };
    assert_eq!(refused(&brief, &commit(1, 1)), closed);
}

#[test]
fn an_unknown_proposal_is_refused_whatever_is_asked_of_it() {
    let brief = after(&[propose(1, 0)]);
    for command in [
        withdraw(7, 1),
        approve(7, 1),
        reject(7, 1),
        commit(7, 1),
        rebase(7, 1),
    ] {
        assert_eq!(refused(&brief, &command), BriefError::NoProposal);
    }
}

#[test]
fn open_and_approved_proposals_are_bounded_together_and_closed_ones_free_their_place() {
    let limit = u128::try_from(OPEN_LIMIT).unwrap();
    let mut commands: Vec<_> = (1..=limit).map(|number| propose(number, 0)).collect();
    commands.push(approve(1, 1));
    let full = after(&commands);
    assert_eq!(
        refused(&full, &propose(limit + 1, 0)),
        BriefError::LimitReached {
            what: "open proposals",
            limit: OPEN_LIMIT
        }
    );
    // An edit never waits.
    assert!(full.decide(&edit(limit + 1, 0), at(900)).is_ok());
    for closing in [reject(2, 1), withdraw(2, 1), commit(1, 2)] {
        let mut brief = full.clone();
        for event in brief.decide(&closing, at(900)).unwrap() {
            brief.evolve(&event);
        }
        let version = body(&brief).version();
        assert!(brief.decide(&propose(limit + 1, version), at(901)).is_ok());
    }
}

#[test]
fn proposals_are_bounded_for_good() {
    let mut brief = after(&[]);
    let limit = u128::try_from(PROPOSALS_LIMIT).unwrap();
    for number in 1..=limit {
        for command in [propose(number, 0), withdraw(number, 1)] {
            for event in brief.decide(&command, at(1)).unwrap() {
                brief.evolve(&event);
            }
        }
    }
    let refusal = BriefError::LimitReached {
        what: "proposals",
        limit: PROPOSALS_LIMIT,
    };
    for command in [propose(limit + 1, 0), edit(limit + 1, 0)] {
        assert_eq!(refused(&brief, &command), refusal);
    }
}

#[test]
fn a_proposal_is_withdrawn_by_its_author_alone() {
    let brief = after(&[propose(1, 0)]);
    for by in [token(2), Author::Account(ada())] {
        let foreign = act(1, 1, Act::Withdraw { by });
        assert_eq!(refused(&brief, &foreign), BriefError::NotYours);
    }
    for before in [vec![propose(1, 0)], vec![propose(1, 0), approve(1, 1)]] {
        let version = u64::try_from(before.len()).unwrap();
        let brief = after(&[before, vec![withdraw(1, version)]].concat());
        let withdrawn = proposal(&brief, 1);
        assert_eq!(withdrawn.state, ProposalState::Withdrawn);
        assert_eq!(withdrawn.version, version + 1);
    }
}

#[test]
fn a_decision_is_kept_with_its_author_and_reason() {
    let approved = after(&[propose(1, 0), approve(1, 1)]);
    let ProposalState::Approved(decided) = &proposal(&approved, 1).state else {
        panic!("{approved:?}")
    };
    assert_eq!(decided.by, ada());
    assert_eq!(
        decided.reason.as_ref().unwrap().open().unwrap(),
        "canary reason"
    );
    assert_eq!(approved.decide(&approve(1, 2), at(9)), Ok(Vec::new()));
    for before in [vec![propose(1, 0)], vec![propose(1, 0), approve(1, 1)]] {
        let version = u64::try_from(before.len()).unwrap();
        let rejected = after(&[before, vec![reject(1, version)]].concat());
        assert_eq!(proposal(&rejected, 1).state.as_str(), "rejected");
        assert_eq!(
            proposal(&rejected, 1).updated_at,
            at(i64::try_from(version).unwrap() + 1).at
        );
    }
}

#[test]
fn only_an_approved_proposal_is_committed() {
    let open = after(&[propose(1, 0)]);
    assert_eq!(refused(&open, &commit(1, 1)), BriefError::NotApproved);
    let brief = after(&[propose(1, 0), approve(1, 1), commit(1, 2)]);
    let committed = ProposalState::Committed {
        brief_version: 1,
        by: ada(),
    };
    assert_eq!(proposal(&brief, 1).state, committed);
    assert_eq!(proposal(&brief, 1).version, 3);
    assert_eq!(body(&brief).version(), 1);
}

#[test]
fn a_closed_proposal_stays_closed() {
    for ending in [
        vec![reject(1, 1)],
        vec![withdraw(1, 1)],
        vec![approve(1, 1), commit(1, 2)],
    ] {
        let brief = after(&[vec![propose(1, 0)], ending].concat());
        let closed = proposal(&brief, 1);
        assert!(!closed.state.is_pending());
        let version = closed.version;
        for command in [
            withdraw(1, version),
            approve(1, version),
            reject(1, version),
            commit(1, version),
            rebase(1, version),
        ] {
            assert_eq!(refused(&brief, &command), BriefError::ProposalClosed);
        }
    }
}

#[test]
fn a_proposal_for_an_older_version_waits_until_it_is_rebased() {
    let brief = after(&[propose(1, 0), approve(1, 1), edit(2, 0)]);
    assert!(body(&brief).is_stale(proposal(&brief, 1)));
    assert_eq!(
        refused(&brief, &commit(1, 2)),
        BriefError::Stale {
            base: 0,
            current: 1
        }
    );
    let rebased = after(&[propose(1, 0), approve(1, 1), edit(2, 0), rebase(1, 2)]);
    let known = proposal(&rebased, 1);
    assert!(!body(&rebased).is_stale(known));
    assert_eq!((known.base_version, known.version), (1, 3));
    // The approval stands, and the words are those of the rebase.
    assert_eq!(known.state.as_str(), "approved");
    assert_eq!(known.text_at, 6);
    assert!(rebased.decide(&commit(1, 3), at(9)).is_ok());
    assert_eq!(refused(&rebased, &rebase(1, 3)), BriefError::NotStale);
}

#[test]
fn a_stale_proposal_can_be_decided_and_withdrawn() {
    let brief = after(&[propose(1, 0), edit(2, 0)]);
    for command in [approve(1, 1), reject(1, 1), withdraw(1, 1), rebase(1, 1)] {
        assert!(brief.decide(&command, at(9)).is_ok(), "{command:?}");
    }
}

#[test]
fn a_closed_proposal_is_never_stale() {
    let brief = after(&[propose(1, 0), reject(1, 1), edit(2, 0)]);
    assert!(!body(&brief).is_stale(proposal(&brief, 1)));
    assert!(!body(&brief).is_stale(proposal(&brief, 2)));
}

#[test]
fn an_edit_proposes_and_commits_in_one_act() {
    let (brief, log) = history(&[create(), edit(1, 0)]);
    let names: Vec<_> = log.iter().map(WireEvent::name).collect();
    assert_eq!(
        names,
        [
            "brief_created",
            "brief_proposal_made",
            "brief_proposal_committed"
        ]
    );
    let known = proposal(&brief, 1);
    assert_eq!(known.author, Author::Account(ada()));
    assert_eq!((known.version, known.state.as_str()), (2, "committed"));
}
