use proptest::prelude::*;

use super::*;

const TOO_MANY: Decision = Decision::TooMany {
    retry_after: RETRY_AFTER,
};

fn used(milliseconds: u64, successors: u32, line: Line) -> Standing {
    Standing::Used {
        age: Duration::from_millis(milliseconds),
        successors,
        line,
    }
}

#[test]
fn an_unused_token_rotates_whatever_the_overlap() {
    for seconds in [0, 30, 60] {
        let overlap = Overlap::of_seconds(seconds).unwrap();
        assert_eq!(decide(Standing::Unused, overlap), Decision::Rotate);
    }
}

#[test]
fn every_second_use_is_decided_by_line_then_age_then_number() {
    use Decision::{Reused, Sibling};
    use Line::{Children, Grandchildren};
    for (seconds, milliseconds, successors, line, expected) in [
        (30, 0, 1, Children, Sibling),
        (30, 0, 2, Children, Sibling),
        (30, 0, 3, Children, TOO_MANY),
        (30, 0, 4, Children, TOO_MANY),
        (30, 29_999, 1, Children, Sibling),
        (30, 29_999, 3, Children, TOO_MANY),
        (30, 30_000, 1, Children, Reused),
        (30, 30_000, 3, Children, Reused),
        (30, 86_400_000, 1, Children, Reused),
        (30, 0, 1, Grandchildren, Reused),
        (30, 0, 2, Grandchildren, Reused),
        (30, 0, 3, Grandchildren, Reused),
        (30, 30_000, 1, Grandchildren, Reused),
        (0, 0, 1, Children, Reused),
        (0, 0, 3, Children, Reused),
        (0, 0, 1, Grandchildren, Reused),
        (1, 999, 2, Children, Sibling),
        (1, 1_000, 2, Children, Reused),
        (60, 59_999, 2, Children, Sibling),
        (60, 60_000, 2, Children, Reused),
    ] {
        let overlap = Overlap::of_seconds(seconds).unwrap();
        let standing = used(milliseconds, successors, line);
        let decided = decide(standing, overlap);
        assert_eq!(decided, expected, "{standing:?} within {seconds} s");
    }
}

#[test]
fn an_overlap_has_at_most_60_seconds_and_30_by_default() {
    assert_eq!(Overlap::of_seconds(30), Some(Overlap::DEFAULT));
    assert!(Overlap::of_seconds(60).is_some());
    assert_eq!(Overlap::of_seconds(61), None);
    assert_eq!(Overlap::of_seconds(u64::MAX), None);
}

/// A grant's refresh tokens as a ledger keeps them: each with its parent and the time of first use.
#[derive(Default)]
struct Grant {
    now: Duration,
    tokens: Vec<Token>,
    revoked: bool,
}

struct Token {
    parent: Option<usize>,
    used_at: Option<Duration>,
}

impl Grant {
    fn new() -> Self {
        let mut grant = Self::default();
        grant.issue(None);
        grant
    }

    fn issue(&mut self, parent: Option<usize>) -> usize {
        self.tokens.push(Token {
            parent,
            used_at: None,
        });
        self.tokens.len() - 1
    }

    fn children(&self, token: usize) -> impl Iterator<Item = &Token> {
        self.tokens
            .iter()
            .filter(move |other| other.parent == Some(token))
    }

    fn standing(&self, token: usize) -> Standing {
        let Some(used_at) = self.tokens[token].used_at else {
            return Standing::Unused;
        };
        let gone_on = self.children(token).any(|child| child.used_at.is_some());
        Standing::Used {
            age: self.now.saturating_sub(used_at),
            successors: u32::try_from(self.children(token).count()).unwrap(),
            line: if gone_on {
                Line::Grandchildren
            } else {
                Line::Children
            },
        }
    }

    /// Presents a token; what it yields is added to the ledger.
    fn present(&mut self, token: usize) -> Decision {
        let decision = decide(self.standing(token), Overlap::DEFAULT);
        match decision {
            Decision::Rotate | Decision::Sibling => {
                let now = self.now;
                self.tokens[token].used_at.get_or_insert(now);
                self.issue(Some(token));
            }
            Decision::TooMany { .. } => {}
            Decision::Reused => self.revoked = true,
        }
        decision
    }

    fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }
}

#[test]
fn a_lost_answer_is_made_up_for_and_each_sibling_is_good_once() {
    let mut grant = Grant::new();
    assert_eq!(grant.present(0), Decision::Rotate);
    grant.pass(5);
    assert_eq!(grant.present(0), Decision::Sibling);
    assert_eq!(grant.present(1), Decision::Rotate);
    assert_eq!(grant.present(2), Decision::Rotate);
    assert!(!grant.revoked);
}

#[test]
fn a_fourth_successor_is_refused_without_harm_to_the_others() {
    let mut grant = Grant::new();
    for expected in [
        Decision::Rotate,
        Decision::Sibling,
        Decision::Sibling,
        TOO_MANY,
        TOO_MANY,
    ] {
        assert_eq!(grant.present(0), expected);
    }
    assert!(!grant.revoked);
    for sibling in 1..=3 {
        assert_eq!(grant.present(sibling), Decision::Rotate);
    }
}

#[test]
fn the_same_token_after_the_overlap_ends_the_grant() {
    let mut grant = Grant::new();
    grant.present(0);
    grant.pass(30);
    assert_eq!(grant.present(0), Decision::Reused);
    assert!(grant.revoked);
}

#[test]
fn the_overlap_counts_from_the_first_use_and_is_not_renewed() {
    let mut grant = Grant::new();
    grant.present(0);
    grant.pass(20);
    assert_eq!(grant.present(0), Decision::Sibling);
    grant.pass(10);
    assert_eq!(grant.present(0), Decision::Reused);
}

#[test]
fn a_grandparent_ends_the_grant_at_once() {
    let mut grant = Grant::new();
    for token in 0..3 {
        assert_eq!(grant.present(token), Decision::Rotate);
    }
    assert_eq!(grant.present(0), Decision::Reused);
    assert!(grant.revoked);
}

#[test]
fn eight_refreshes_at_once_yield_three_pairs_and_no_revocation() {
    let mut grant = Grant::new();
    let decisions: Vec<_> = (0..8).map(|_| grant.present(0)).collect();
    let pairs = decisions.iter().filter(|&&decision| decision != TOO_MANY);
    assert_eq!(pairs.count(), 3);
    assert!(!grant.revoked);
}

proptest! {
    #[test]
    fn no_history_of_a_grant_breaks_the_rules(
        steps in proptest::collection::vec((any::<proptest::sample::Index>(), 0_u64..40), 0..60),
    ) {
        let mut grant = Grant::new();
        for (index, seconds) in steps {
            grant.pass(seconds);
            let token = index.index(grant.tokens.len());
            let before = grant.standing(token);
            let decision = grant.present(token);
            prop_assert!(grant.children(token).count() <= 3);
            match (before, decision) {
                (Standing::Unused, decision) => prop_assert_eq!(decision, Decision::Rotate),
                (Standing::Used { age, line, .. }, Decision::Sibling | Decision::TooMany { .. }) => {
                    prop_assert!(age < Duration::from_secs(30));
                    prop_assert_eq!(line, Line::Children);
                }
                (Standing::Used { age, line, .. }, Decision::Reused) => {
                    prop_assert!(age >= Duration::from_secs(30) || line == Line::Grandchildren);
                }
                (Standing::Used { .. }, Decision::Rotate) => prop_assert!(false, "rotated twice"),
            }
            if grant.revoked {
                break;
            }
        }
    }
}
