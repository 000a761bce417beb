//! When a lane waits for the callers it has just answered.

/// Flushes after which waiting is tried again, though it failed before.
const MOST_SKIPPED: u32 = 63;

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    AllCame,
    TimedOut,
}

/// Whether waiting for the callers just answered is worth its time. Callers with more to do before
/// they return let it time out, and it is then left out for longer and longer.
#[derive(Debug, Default)]
pub(super) struct Regroups {
    /// Flushes for which none is tried yet.
    skip: u32,
    /// How many will be skipped after the next failure.
    next: u32,
}

impl Regroups {
    /// Whether this one is left out.
    pub(super) fn pass(&mut self) -> bool {
        let skipped = self.skip > 0;
        self.skip = self.skip.saturating_sub(1);
        skipped
    }

    pub(super) fn judge(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::AllCame => self.next = 0,
            Outcome::TimedOut => {
                self.skip = self.next;
                self.next = (self.next * 2 + 1).min(MOST_SKIPPED);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many flushes pass before the next wait.
    fn passed(regroups: &mut Regroups) -> u32 {
        let mut passed = 0;
        while regroups.pass() {
            passed += 1;
        }
        passed
    }

    #[test]
    fn each_failure_is_followed_by_a_longer_rest_and_success_ends_it() {
        let mut regroups = Regroups::default();
        let mut rests = Vec::new();
        for _ in 0..9 {
            rests.push(passed(&mut regroups));
            regroups.judge(Outcome::TimedOut);
        }
        assert_eq!(rests, [0, 0, 1, 3, 7, 15, 31, 63, 63]);
        assert_eq!(passed(&mut regroups), 63);
        regroups.judge(Outcome::AllCame);
        assert_eq!(passed(&mut regroups), 0);
        regroups.judge(Outcome::TimedOut);
        assert_eq!(passed(&mut regroups), 0);
    }
}
