//! Given events, the row they leave or the reason why they cannot be folded.

use helix_aggregates::ids::AccountId;
use helix_projections::access::account_activity::fold::Activity;
use helix_projections::access::account_activity::table::AccountActivity;
use helix_projections::feed::{FeedEvent, Poison};
use helix_projections::projector::Projection;
use serde_json::{Value, json};
use uuid::Uuid;

const ADA: &str = "acct_00000000-0000-0000-0000-000000000007";
const AT: &str = "2026-11-30T12:00:00.000Z";

fn event(stream_kind: &str, kind: &str, payload: &Value) -> FeedEvent {
    FeedEvent {
        stream: Uuid::from_u128(1),
        stream_kind: stream_kind.to_owned(),
        seq: 1,
        at: AT.to_owned(),
        kind: kind.to_owned(),
        ver: 1,
        payload: payload.to_string().into_bytes(),
    }
}

/// As stored: personal text closed.
fn started(profile: &str) -> FeedEvent {
    let sealed = json!({ "$sealed": "AAAA" });
    let public = json!({"version": 1, "lifecycle_status": "waiting",
        "completion_status": "needs_more_evidence", "terminal_authority_status": "not_evaluated"});
    let contract = json!({"min_evidence_refs": 0, "require_terminal_authority": false,
        "required_output_fields": {"$sealed": "AAAA"}, "max_unresolved_requirements": 0, "allow_conflicts": false});
    let state = json!({"at": AT, "owner": sealed, "profile": profile, "objective": sealed,
        "constraints": sealed, "database_scope": [], "completion_contract": contract, "max_steps": 4,
        "expires_at": AT, "policy": {"allowed_tools": [], "required_evidence": [], "policy_hash": "x"},
        "summary": "Started."});
    event(
        "run",
        "run_started",
        &json!({"public": public, "state": state}),
    )
}

fn cancelled() -> FeedEvent {
    let payload =
        json!({"public": {"version": 2, "reason": {"$sealed": "AAAA"}}, "state": {"at": AT}});
    event("run", "run_cancelled", &payload)
}

fn linked(account: &str) -> FeedEvent {
    let sealed = json!({ "$sealed": "AAAA" });
    let payload = json!({"at": AT, "account": account, "issuer": "https://id.example",
        "tenant": sealed, "provider": "example", "subject": sealed});
    event("agent_account_binding", "agent_account_linked", &payload)
}

fn fold(row: Option<&Activity>, event: &FeedEvent) -> Result<Activity, Poison> {
    AccountActivity::fold(row, event, |_, _, payload| payload)
}

#[test]
fn a_start_counts_for_the_account_it_names_in_clear() {
    let row = fold(None, &started(ADA)).unwrap();
    assert_eq!(
        (row.account, row.runs_started),
        (AccountId::parse(ADA).unwrap(), 1)
    );
    let ended = fold(Some(&row), &cancelled()).unwrap();
    assert_eq!((ended.runs_started, ended.turns), (1, row.turns));
}

#[test]
fn a_link_is_a_sign_of_life_and_no_run() {
    let row = fold(None, &linked(ADA)).unwrap();
    assert_eq!((row.runs_started, row.last.to_string()), (0, AT.to_owned()));
    let other = ADA.replace('7', "8");
    let moved = fold(Some(&row), &linked(&other)).unwrap();
    assert_eq!(moved.account, AccountId::parse(&other).unwrap());
}

#[test]
fn what_cannot_be_folded_says_why_and_nothing_of_its_content() {
    let row = fold(None, &started(ADA)).unwrap();
    let timeless = FeedEvent {
        at: "yesterday".to_owned(),
        ..started(ADA)
    };
    let broken = FeedEvent {
        payload: b"{\"canary\"".to_vec(),
        ..started(ADA)
    };
    let unknown = FeedEvent {
        kind: "run_invented".to_owned(),
        ..started(ADA)
    };
    let stranger = FeedEvent {
        stream_kind: "room".to_owned(),
        ..started(ADA)
    };
    for (row, event, expected) in [
        (None, timeless, Poison::NoTime),
        (None, broken, Poison::Undecodable),
        (None, unknown, Poison::Undecodable),
        (None, stranger, Poison::Misplaced),
        (None, started("canary"), Poison::NoAccount),
        (None, cancelled(), Poison::Misplaced),
        (Some(&row), started(ADA), Poison::Misplaced),
    ] {
        let poison = fold(row, &event).unwrap_err();
        assert_eq!(poison, expected);
        assert!(!poison.to_string().contains("canary"));
    }
}

#[test]
fn an_old_shape_is_read_through_the_upcasters() {
    let old = FeedEvent {
        kind: "run_started".to_owned(),
        ver: 0,
        payload: b"1".to_vec(),
        ..started(ADA)
    };
    assert_eq!(fold(None, &old), Err(Poison::Undecodable));
    let row = AccountActivity::fold(None, &old, |kind, ver, payload| {
        assert_eq!((kind, ver, payload), ("run_started", 0, json!(1)));
        serde_json::from_slice(&started(ADA).payload).unwrap()
    });
    assert_eq!(row.unwrap().runs_started, 1);
}
