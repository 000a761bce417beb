//! Webhook endpoints of a test, made and looked at as the operator would.

use std::collections::BTreeSet;
use std::sync::Arc;

use helix_aggregates::access::webhook::kind::NoticeKind;
use helix_aggregates::ids::WebhookId;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{Caller, TestApp};
use crate::app::access::webhooks::{Webhooks, WebhooksError};
use crate::server;

/// An endpoint and what its receiver knows.
#[derive(Debug, Clone)]
pub struct Hook {
    id: WebhookId,
    pub secret: SecretString,
}

impl Hook {
    pub fn id(&self) -> String {
        self.id.to_string()
    }
}

impl TestApp {
    /// An endpoint of a caller's account; every kind when `kinds` is empty.
    pub async fn webhook(&self, caller: &Caller, url: &str, kinds: &[&str]) -> Hook {
        self.try_webhook(caller, url, kinds).await.unwrap()
    }

    /// As [`Self::webhook`], or why not.
    pub async fn try_webhook(
        &self,
        caller: &Caller,
        url: &str,
        kinds: &[&str],
    ) -> Result<Hook, WebhooksError> {
        let named: BTreeSet<NoticeKind> = kinds
            .iter()
            .map(|kind| NoticeKind::parse(kind).unwrap())
            .collect();
        let kinds = if named.is_empty() {
            BTreeSet::from(NoticeKind::ALL)
        } else {
            named
        };
        let account = caller.account.unwrap();
        let made = self.webhooks().create(account, url, kinds).await?;
        Ok(Hook {
            id: made.webhook.webhook_id,
            secret: made.secret,
        })
    }

    /// Gives an endpoint a new secret.
    pub async fn rotate_webhook(&self, hook: &Hook) -> Hook {
        let rotated = self.try_rotate_webhook(hook).await.unwrap();
        assert_ne!(rotated.secret.expose_secret(), hook.secret.expose_secret());
        rotated
    }

    /// As [`Self::rotate_webhook`], or why not.
    pub async fn try_rotate_webhook(&self, hook: &Hook) -> Result<Hook, String> {
        let rotated = self.webhooks().rotate(hook.id).await;
        rotated
            .map(|rotated| Hook {
                id: hook.id,
                secret: rotated.secret,
            })
            .map_err(|error| error.to_string())
    }

    pub async fn delete_webhook(&self, hook: &Hook) {
        self.webhooks().delete(hook.id).await.unwrap();
    }

    pub async fn enable_webhook(&self, hook: &Hook) {
        self.webhooks().enable(hook.id).await.unwrap();
    }

    /// Puts a message of no run in the outbox.
    pub async fn test_webhook(&self, hook: &Hook) -> String {
        let message = self.webhooks().test(hook.id).await.unwrap();
        message.to_string()
    }

    /// The line of an endpoint, as the operator's list prints it; `null` when it is gone.
    pub async fn webhook_line(&self, hook: &Hook) -> Value {
        let listed = self.webhooks().list(None).await.unwrap();
        let line = listed.iter().find(|line| line.webhook_id == hook.id);
        serde_json::to_value(line).unwrap()
    }

    /// What was sent to an endpoint, newest first.
    pub async fn deliveries(&self, hook: &Hook) -> Vec<Value> {
        let sent = self.webhooks().deliveries(Some(hook.id), 1_000).await;
        let lines = sent.unwrap();
        lines
            .iter()
            .map(|line| serde_json::to_value(line).unwrap())
            .collect()
    }

    /// Counts what waits, and forgets what is old.
    pub async fn tidy_webhooks(&self) {
        self.servers[0].outbox.tidy().await.unwrap();
    }

    fn webhooks(&self) -> Webhooks {
        let core = Arc::clone(self.servers[0].runs.core());
        let reach = server::webhook_reach(&self.config(0));
        Webhooks::new(core, reach)
    }
}
