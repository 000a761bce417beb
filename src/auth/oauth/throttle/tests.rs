use proptest::prelude::*;

use super::Admission::{Admit, Wait};
use super::*;

const NOTHING: Past = Past {
    here: Failures {
        count: 0,
        since_latest: Duration::ZERO,
    },
    anywhere: Failures {
        count: 0,
        since_latest: Duration::ZERO,
    },
    browser: Browser::Unknown,
    tries: Tries {
        count: 0,
        since_earliest: Duration::ZERO,
    },
};

fn failures(count: u32, milliseconds: u64) -> Failures {
    Failures {
        count,
        since_latest: Duration::from_millis(milliseconds),
    }
}

fn after(here: Failures) -> Admission {
    admit(&Past { here, ..NOTHING })
}

#[test]
fn delays_start_with_the_sixth_failure_and_double_up_to_30_seconds() {
    for (count, expected) in [
        (0, Admit),
        (1, Admit),
        (5, Admit),
        (6, Wait(2)),
        (7, Wait(4)),
        (8, Wait(8)),
        (9, Wait(16)),
        (10, Wait(30)),
        (11, Wait(30)),
        (68, Wait(30)),
        (69, Wait(30)),
        (70, Wait(30)),
        (u32::MAX, Wait(30)),
    ] {
        assert_eq!(after(failures(count, 0)), expected, "{count}");
    }
}

#[test]
fn a_delay_runs_from_the_latest_failure_and_is_told_in_whole_seconds() {
    for (milliseconds, expected) in [
        (0, Wait(8)),
        (1, Wait(8)),
        (1_000, Wait(7)),
        (7_000, Wait(1)),
        (7_999, Wait(1)),
        (8_000, Admit),
        (900_000, Admit),
    ] {
        assert_eq!(after(failures(8, milliseconds)), expected, "{milliseconds}");
    }
}

#[test]
fn an_account_is_slowed_from_50_failures_except_for_browsers_it_knows() {
    let anywhere = |count, browser| {
        admit(&Past {
            anywhere: failures(count, 10_000),
            browser,
            ..NOTHING
        })
    };
    assert_eq!(anywhere(49, Browser::Unknown), Admit);
    assert_eq!(anywhere(50, Browser::Unknown), Wait(20));
    assert_eq!(anywhere(5_000, Browser::Unknown), Wait(20));
    assert_eq!(anywhere(5_000, Browser::SignedInBefore), Admit);
}

#[test]
fn a_known_browser_waits_for_its_own_failures() {
    let past = Past {
        here: failures(7, 0),
        browser: Browser::SignedInBefore,
        ..NOTHING
    };
    assert_eq!(admit(&past), Wait(4));
}

#[test]
fn an_address_has_20_tries_until_the_earliest_leaves_the_window() {
    for (count, seconds, expected) in [
        (19, 0, Admit),
        (20, 0, Wait(900)),
        (20, 899, Wait(1)),
        (20, 900, Admit),
        (25, 300, Wait(600)),
    ] {
        for browser in [Browser::Unknown, Browser::SignedInBefore] {
            let tries = Tries {
                count,
                since_earliest: Duration::from_secs(seconds),
            };
            let past = Past {
                browser,
                tries,
                ..NOTHING
            };
            assert_eq!(admit(&past), expected, "{count} {seconds}");
        }
    }
}

#[test]
fn the_longest_wait_counts() {
    let past = Past {
        here: failures(6, 0),
        anywhere: failures(50, 0),
        browser: Browser::Unknown,
        tries: Tries {
            count: 20,
            since_earliest: Duration::from_secs(895),
        },
    };
    assert_eq!(admit(&past), Wait(30));
    let known = Past {
        browser: Browser::SignedInBefore,
        ..past
    };
    assert_eq!(admit(&known), Wait(5));
}

proptest! {
    #[test]
    fn who_waits_as_told_is_admitted_and_more_failures_never_shorten_a_wait(
        count in any::<u32>(),
        milliseconds in 0_u64..1_000_000,
        tries in 0_u32..40,
        tried in 0_u64..900_000,
    ) {
        let past = |count: u32, waited: u64| Past {
            here: failures(count, milliseconds + waited),
            anywhere: failures(count, milliseconds + waited),
            browser: Browser::Unknown,
            tries: Tries {
                count: tries,
                since_earliest: Duration::from_millis(tried + waited),
            },
        };
        let seconds = |admission| match admission {
            Admit => 0,
            Wait(seconds) => seconds,
        };
        let now = admit(&past(count, 0));
        prop_assert!(now != Wait(0));
        prop_assert_eq!(admit(&past(count, seconds(now) * 1_000)), Admit);
        let later = admit(&past(count.saturating_add(1), 0));
        prop_assert!(seconds(later) >= seconds(now));
        prop_assert!(seconds(now) <= 900);
    }
}
