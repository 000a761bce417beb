//! What holds for any sequence of commands to a webhook endpoint.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use helix_aggregates::access::webhook::Webhook;
use helix_aggregates::access::webhook::command::{
    DisableReason, NewSecret, NewWebhook, WebhookCommand,
};
use helix_aggregates::access::webhook::event::WebhookEvent;
use helix_aggregates::access::webhook::kind::NoticeKind;
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::{AccountId, MessageId, WebhookId};
use helix_aggregates::text::Text;
use helix_aggregates::time::{Stamp, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use uuid::Uuid;

/// Stands in every address.
const CANARY: &str = "canary-kestrel";

fn command() -> impl Strategy<Value = WebhookCommand> {
    prop_oneof![
        (any::<u128>(), vec(0_usize..8, 0..4)).prop_map(|(account, kinds)| {
            WebhookCommand::Create(Box::new(NewWebhook {
                account: AccountId::new(Uuid::from_u128(account)),
                url: Text::parse(&format!("https://h.example/{CANARY}")).unwrap(),
                kinds: kinds
                    .into_iter()
                    .map(|kind| NoticeKind::ALL[kind])
                    .collect(),
                fingerprint: "made".to_owned(),
            }))
        }),
        (1_u32..4).prop_map(|after| WebhookCommand::RotateSecret(NewSecret {
            after,
            fingerprint: format!("after {after}"),
        })),
        Just(WebhookCommand::Disable(DisableReason::Gone)),
        Just(WebhookCommand::Disable(DisableReason::Failing)),
        Just(WebhookCommand::Enable),
        Just(WebhookCommand::Delete),
    ]
}

proptest! {
    #[test]
    fn any_sequence_of_commands_keeps_the_invariants(commands in vec(command(), 1..30)) {
        let (mut webhook, mut log) = (Webhook::default(), Vec::new());
        for (second, command) in (0_i64..).zip(&commands) {
            let stamp = Stamp { at: Timestamp::from_millis(second * 1000) };
            let before = webhook.clone();
            let Ok(events) = webhook.decide(command, stamp) else { continue };
            prop_assert!(!matches!(before, Webhook::Deleted { .. }), "a deleted one accepted {command:?}");
            for event in &events {
                webhook.evolve(event);
            }
            log.extend(events);
            if let (Some(was), Some(is)) = (before.endpoint(), webhook.endpoint()) {
                prop_assert_eq!(was.account, is.account);
                prop_assert_eq!(&was.url, &is.url);
                prop_assert!(is.generation == was.generation || is.generation == was.generation + 1);
            }
            if let Some(endpoint) = webhook.endpoint() {
                prop_assert!(!endpoint.kinds.is_empty());
            }
        }
        let mut replayed = Webhook::default();
        for event in &log {
            let stored = serde_json::to_string(event).unwrap();
            replayed.evolve(&serde_json::from_str::<WebhookEvent>(&stored).unwrap());
        }
        prop_assert_eq!(&replayed, &webhook);
        let shown = format!("{webhook:?}{log:?}{commands:?}");
        prop_assert!(!shown.contains(CANARY));
    }

    #[test]
    fn a_message_is_named_by_its_endpoint_and_event_alone(
        webhook in any::<u128>(), run in any::<u128>(), seq in any::<u64>(),
    ) {
        let (webhook, run) = (WebhookId::new(Uuid::from_u128(webhook)), Uuid::from_u128(run));
        let id = MessageId::of(webhook, run, seq);
        prop_assert_eq!(id, MessageId::of(webhook, run, seq));
        prop_assert_eq!(MessageId::parse(&id.to_string()), Ok(id));
        prop_assert_ne!(id, MessageId::of(webhook, run, seq.wrapping_add(1)));
        let other = WebhookId::new(Uuid::from_u128(webhook.uuid().as_u128().wrapping_add(1)));
        prop_assert_ne!(id, MessageId::of(other, run, seq));
    }
}
