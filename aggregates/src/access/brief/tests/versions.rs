//! Versions are counted, kept, and repeated by a revert.

use super::super::error::BriefError;
use super::super::event::BriefEvent;
use super::super::{Brief, Origin, VERSIONS_LIMIT};
use super::{
    ada, after, approve, at, body, commit, create, edit, history, id, new, propose, rebase,
    refused, revert, token, words,
};
use crate::access::author::Author;
use crate::decider::Decider;
use crate::sealed::Sealed;

/// The text of a version, found by its place in the stream.
fn text(brief: &Brief, log: &[BriefEvent], version: u64) -> String {
    let known = body(brief).at_version(version).unwrap();
    let event = &log[usize::try_from(known.text_at).unwrap() - 1];
    event.text().unwrap().open().unwrap().clone()
}

#[test]
fn each_commit_makes_the_next_version_and_keeps_the_ones_before() {
    let (brief, log) = history(&[
        create(),
        propose(1, 0),
        approve(1, 1),
        commit(1, 2),
        edit(2, 1),
    ]);
    let body = body(&brief);
    assert_eq!((body.version(), body.updated_at), (2, at(4).at));
    let first = body.at_version(1).unwrap();
    assert_eq!((first.author, first.by), (token(1), ada()));
    assert_eq!(
        (first.at, first.origin),
        (at(3).at, Origin::Proposal(id(1)))
    );
    assert_eq!(first.content_sha256.open().unwrap(), &new(1).body.sha256());
    assert_eq!(body.at_version(2).unwrap().author, Author::Account(ada()));
    assert_eq!(text(&brief, &log, 1), words(1));
    assert_eq!(text(&brief, &log, 2), words(2));
    for unknown in [0, 3, u64::MAX] {
        assert!(body.at_version(unknown).is_none());
    }
}

#[test]
fn the_words_of_a_rebase_are_those_that_bind() {
    let (brief, log) = history(&[
        create(),
        propose(1, 0),
        approve(1, 1),
        edit(2, 0),
        rebase(1, 2),
        commit(1, 3),
    ]);
    assert_eq!(body(&brief).version(), 2);
    assert_eq!(text(&brief, &log, 2), "# canary rebased\n");
    assert_eq!(body(&brief).at_version(2).unwrap().author, token(1));
}

#[test]
fn a_revert_is_a_new_version_that_says_what_an_earlier_one_said() {
    let (brief, log) = history(&[create(), edit(1, 0), edit(2, 1), revert(1, 2), revert(2, 3)]);
    let body = body(&brief);
    assert_eq!(body.version(), 4);
    assert_eq!(text(&brief, &log, 3), words(1));
    assert_eq!(text(&brief, &log, 4), words(2));
    let reverted = body.at_version(3).unwrap();
    assert_eq!(reverted.origin, Origin::Revert { to_version: 1 });
    assert_eq!((reverted.by, reverted.at), (ada(), at(3).at));
    assert_eq!(
        reverted.content_sha256,
        body.at_version(1).unwrap().content_sha256
    );
}

#[test]
fn a_revert_goes_to_an_earlier_version_that_exists() {
    let brief = after(&[edit(1, 0), edit(2, 1)]);
    for unknown in [0, 3] {
        assert_eq!(refused(&brief, &revert(unknown, 2)), BriefError::NoVersion);
    }
    assert_eq!(refused(&brief, &revert(2, 2)), BriefError::VersionInForce);
    let untold = after(&[]);
    assert_eq!(refused(&untold, &revert(0, 0)), BriefError::NoVersion);
}

#[test]
fn a_revert_makes_pending_proposals_stale() {
    let brief = after(&[edit(1, 0), edit(2, 1), propose(3, 2), revert(1, 2)]);
    let body = body(&brief);
    assert!(body.is_stale(&body.proposals[&id(3)]));
}

#[test]
fn versions_are_bounded() {
    let mut brief = after(&[edit(1, 0), edit(2, 1), propose(3, 2), approve(3, 1)]);
    let limit = u64::try_from(VERSIONS_LIMIT).unwrap();
    for version in 2..limit {
        let back = revert(version - 1, version);
        for event in brief.decide(&back, at(9)).unwrap() {
            brief.evolve(&event);
        }
    }
    for event in brief.decide(&rebase(3, 2), at(9)).unwrap() {
        brief.evolve(&event);
    }
    let refusal = BriefError::LimitReached {
        what: "versions",
        limit: VERSIONS_LIMIT,
    };
    for command in [revert(1, limit), edit(4, limit), commit(3, 3)] {
        assert_eq!(refused(&brief, &command), refusal);
    }
}

#[test]
fn a_fold_without_the_key_knows_every_version_and_state() {
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
    let mut erased = Brief::default();
    for event in &log {
        let mut stored = serde_json::to_value(event).unwrap();
        close(&mut stored);
        erased.evolve(&serde_json::from_value(stored).unwrap());
    }
    let (known, blind) = (body(&brief), body(&erased));
    assert!(blind.title.is_closed());
    assert_eq!(known.version(), blind.version());
    assert_eq!(known.seq, blind.seq);
    for (open, closed) in known.versions.iter().zip(&blind.versions) {
        assert!(closed.content_sha256.is_closed());
        assert_eq!((open.text_at, open.origin), (closed.text_at, closed.origin));
    }
    let state = |brief: &Brief| body(brief).proposals[&id(1)].state.as_str();
    assert_eq!(state(&brief), state(&erased));
    assert!(erased.decide(&edit(3, 3), at(9)).is_ok());
}

/// Every open mark as a reader without the key finds it.
fn close(value: &mut serde_json::Value) {
    if value.get("$open").is_some() {
        *value = serde_json::to_value(Sealed::<String>::Closed("c".to_owned())).unwrap();
    } else if let Some(members) = value.as_object_mut() {
        members.values_mut().for_each(close);
    }
}
