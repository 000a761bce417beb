//! Given events, when a command, then events or a refusal.

use std::collections::BTreeSet;

use super::Webhook;
use super::command::{DisableReason, NewSecret, NewWebhook, WebhookCommand};
use super::error::WebhookError;
use super::kind::{NoticeKind, TURNING_POINTS};
use crate::agent::run::status::{Completion, Lifecycle};
use crate::decider::Decider;
use crate::ids::AccountId;
use crate::text::Text;
use crate::time::{Stamp, Timestamp};

const URL: &str = "https://hooks.example.org/in?token=canary";

fn at(seconds: i64) -> Stamp {
    Stamp {
        at: Timestamp::from_millis(1_796_040_000_000 + seconds * 1000),
    }
}

fn new(url: &str, kinds: &[NoticeKind]) -> WebhookCommand {
    WebhookCommand::Create(Box::new(NewWebhook {
        account: AccountId::new(uuid::Uuid::from_u128(7)),
        url: Text::parse(url).unwrap(),
        kinds: kinds.iter().copied().collect(),
        fingerprint: "one".to_owned(),
    }))
}

fn create() -> WebhookCommand {
    new(URL, &[NoticeKind::Completed, NoticeKind::Failed])
}

fn rotate(after: u32) -> WebhookCommand {
    WebhookCommand::RotateSecret(NewSecret {
        after,
        fingerprint: format!("after-{after}"),
    })
}

fn disable() -> WebhookCommand {
    WebhookCommand::Disable(DisableReason::Gone)
}

fn after(commands: &[WebhookCommand]) -> Webhook {
    let mut webhook = Webhook::default();
    for (second, command) in (0..).zip(commands) {
        for event in webhook.decide(command, at(second)).unwrap() {
            webhook.evolve(&event);
        }
    }
    webhook
}

fn refused(webhook: &Webhook, command: &WebhookCommand) -> WebhookError {
    webhook.decide(command, at(9)).unwrap_err()
}

#[test]
fn an_endpoint_is_created_once_with_its_account_address_and_kinds() {
    let webhook = after(&[create()]);
    let endpoint = webhook.endpoint().unwrap();
    assert_eq!(endpoint.account, AccountId::new(uuid::Uuid::from_u128(7)));
    assert_eq!(endpoint.url.open().unwrap(), URL);
    let kinds = BTreeSet::from([NoticeKind::Completed, NoticeKind::Failed]);
    assert_eq!((&endpoint.kinds, endpoint.generation), (&kinds, 1));
    assert_eq!(endpoint.fingerprint, "one");
    assert_eq!(refused(&webhook, &create()), WebhookError::AlreadyExists);
    let disabled = after(&[create(), disable()]);
    assert_eq!(refused(&disabled, &create()), WebhookError::AlreadyExists);
}

#[test]
fn an_endpoint_without_kinds_or_with_a_control_character_is_refused() {
    let absent = Webhook::default();
    assert_eq!(refused(&absent, &new(URL, &[])), WebhookError::NoKinds);
    let forged = new("https://h.example/\u{1f}", &[NoticeKind::Failed]);
    assert_eq!(refused(&absent, &forged), WebhookError::Control);
}

#[test]
fn an_endpoint_that_does_not_exist_takes_only_its_creation() {
    let others = [
        rotate(1),
        disable(),
        WebhookCommand::Enable,
        WebhookCommand::Delete,
    ];
    for command in others {
        assert_eq!(
            refused(&Webhook::default(), &command),
            WebhookError::NotFound
        );
    }
}

#[test]
fn a_rotation_must_know_the_secret_it_replaces() {
    let webhook = after(&[create(), rotate(1)]);
    let endpoint = webhook.endpoint().unwrap();
    assert_eq!(
        (endpoint.generation, endpoint.fingerprint.as_str()),
        (2, "after-1")
    );
    assert_eq!(endpoint.updated_at, at(1).at);
    let stale = WebhookError::Rotated { current: 2 };
    assert_eq!(refused(&webhook, &rotate(1)), stale);
    let disabled = after(&[create(), disable(), rotate(1)]);
    assert_eq!(disabled.endpoint().unwrap().generation, 2);
    assert!(matches!(disabled, Webhook::Disabled { .. }));
}

#[test]
fn an_endpoint_is_disabled_and_enabled_and_keeps_what_it_has() {
    let disabled = after(&[create(), rotate(1), disable()]);
    let Webhook::Disabled {
        reason,
        at: when,
        endpoint,
    } = &disabled
    else {
        panic!("disabled");
    };
    assert_eq!((*reason, *when), (DisableReason::Gone, at(2).at));
    assert_eq!(endpoint.generation, 2);
    assert_eq!(
        refused(&disabled, &disable()),
        WebhookError::AlreadyDisabled
    );
    let enabled = after(&[create(), rotate(1), disable(), WebhookCommand::Enable]);
    assert!(matches!(&enabled, Webhook::Active(endpoint) if endpoint.generation == 2));
    assert_eq!(
        refused(&enabled, &WebhookCommand::Enable),
        WebhookError::NotDisabled
    );
}

#[test]
fn a_deleted_endpoint_stays_deleted() {
    for before in [vec![create()], vec![create(), disable()]] {
        let deleted = after(&[before, vec![WebhookCommand::Delete]].concat());
        assert!(deleted.endpoint().is_none());
        let all = [
            create(),
            rotate(1),
            disable(),
            WebhookCommand::Enable,
            WebhookCommand::Delete,
        ];
        for command in all {
            assert_eq!(refused(&deleted, &command), WebhookError::Deleted);
        }
    }
}

#[test]
fn no_output_for_people_shows_the_address() {
    let webhook = after(&[create()]);
    let events = Webhook::default().decide(&create(), at(0)).unwrap();
    assert!(!format!("{webhook:?}{events:?}{:?}", create()).contains("canary"));
}

#[test]
fn every_kind_reads_back_from_its_word_and_from_json() {
    for kind in NoticeKind::ALL {
        assert_eq!(NoticeKind::parse(kind.as_str()), Some(kind));
        assert_eq!(
            serde_json::to_value(kind).unwrap(),
            serde_json::json!(kind.as_str())
        );
    }
    assert_eq!(NoticeKind::parse("run.started"), None);
}

#[test]
fn every_state_in_which_a_run_rests_has_its_own_kind() {
    use Completion as C;
    use Lifecycle as L;
    let states = [
        (L::Completed, C::Completed),
        (L::Failed, C::Failed),
        (L::Failed, C::BudgetExhausted),
        (L::Cancelled, C::Cancelled),
        (L::Waiting, C::NeedsInput),
        (L::Waiting, C::Blocked),
        (L::Waiting, C::NeedsMoreEvidence),
        (L::Waiting, C::ConflictDetected),
    ];
    let kinds = states.map(|(lifecycle, completion)| NoticeKind::of(lifecycle, completion));
    assert_eq!(kinds, NoticeKind::ALL.map(Some));
    assert_eq!(NoticeKind::of(L::Running, C::Pending), None);
    assert_eq!(NoticeKind::of(L::Queued, C::NeedsInput), None);
    let unique = BTreeSet::from(TURNING_POINTS);
    assert_eq!(unique.len(), TURNING_POINTS.len());
}
