//! When a message is sent again, and when it is given up. Pure.

use std::time::Duration;

use helix_aggregates::ids::MessageId;

/// The waits after the first failure, the second and so on: ten attempts in a little over three
/// days.
const WAITS: [Duration; 9] = [
    Duration::from_secs(5),
    Duration::from_secs(5 * 60),
    Duration::from_secs(30 * 60),
    Duration::from_secs(2 * 3_600),
    Duration::from_secs(5 * 3_600),
    Duration::from_secs(10 * 3_600),
    Duration::from_secs(14 * 3_600),
    Duration::from_secs(20 * 3_600),
    Duration::from_secs(24 * 3_600),
];
/// The longest wait that a receiver may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(24 * 3_600);
/// Part of a wait by which it may be shorter or longer, in per cent.
const JITTER: u32 = 10;

/// The wait after failed attempt `attempt`, counted from 1, of a message; `None`: it is given up.
/// `asked` is the receiver's `Retry-After`: it may ask for more patience, within a day.
pub fn after(message: MessageId, attempt: u32, asked: Duration) -> Option<Duration> {
    let step = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
    let wait = WAITS.get(step).copied()?;
    Some(jittered(wait, message, attempt).max(asked.min(LONGEST_ASKED)))
}

/// Spread by the message's own id, so that what failed together does not come back together and
/// a repeated calculation gives the same.
fn jittered(wait: Duration, message: MessageId, attempt: u32) -> Duration {
    let bytes = message.uuid().into_bytes();
    let (low, high) = (bytes[14], bytes[15]);
    let seed = u32::from(u16::from_be_bytes([low, high])).wrapping_mul(2 * attempt + 1);
    let percent = 100 - JITTER + seed % (2 * JITTER + 1);
    wait * percent / 100
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn message(id: u128) -> MessageId {
        MessageId::new(Uuid::from_u128(id))
    }

    const NOTHING: Duration = Duration::ZERO;

    #[test]
    fn waits_grow_within_their_jitter_and_end_after_ten_attempts() {
        for id in 0..300 {
            let mut all = Duration::ZERO;
            for (attempt, wait) in (1..).zip(WAITS) {
                let pause = after(message(id), attempt, NOTHING).unwrap();
                assert!(pause >= wait * 9 / 10 && pause <= wait * 11 / 10);
                all += pause;
            }
            let hours = all.as_secs() / 3_600;
            assert!((65..84).contains(&hours), "{hours}");
            assert_eq!(after(message(id), 10, NOTHING), None);
        }
    }

    #[test]
    fn messages_that_failed_together_do_not_come_back_together() {
        let waits: std::collections::BTreeSet<Duration> = (0..100)
            .map(|id| after(message(id), 2, NOTHING).unwrap())
            .collect();
        assert!(waits.len() > 15, "{waits:?}");
    }

    #[test]
    fn a_receiver_may_ask_for_more_patience_but_not_for_less_or_for_ever() {
        let asked = |seconds| after(message(1), 1, Duration::from_secs(seconds));
        assert_eq!(asked(600), Some(Duration::from_secs(600)));
        assert_eq!(asked(0), after(message(1), 1, NOTHING));
        assert_eq!(asked(10_000_000), Some(LONGEST_ASKED));
        assert_eq!(after(message(1), 10, Duration::from_secs(1)), None);
    }
}
