//! Webhook endpoints from the operator's side (settled question 91).
//!
//! What must stay true: a secret is shown once, by the command that made it, and stands nowhere
//! but in the sealed row; an address is admitted here and judged again by every delivery.

mod error;
mod sealed;
mod signing;
mod target;
mod view;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use helix_aggregates::access::webhook::Webhook;
use helix_aggregates::access::webhook::command::{
    DisableReason, NewSecret, NewWebhook, WebhookCommand,
};
use helix_aggregates::access::webhook::kind::NoticeKind;
use helix_aggregates::ids::{AccountId, MessageId, WebhookId};
use helix_aggregates::text::Text;
use helix_aggregates::time::Timestamp;
use helix_projections::access::webhook_outbox::fold::message;
use uuid::Uuid;

use crate::outbound::Reach;
use crate::store::append::{Append, Priority};
use crate::store::ledger::LedgerChange;
use crate::store::log::{Log, Meta, Stream};
use crate::store::webhooks::{self as rows, EndpointRow, WebhookChange, WebhookRow};
use crate::store::{Core, StoreError, accounts};

pub use error::WebhooksError;
pub use sealed::{Open, Previous};
pub use signing::SigningSecret;
pub use target::Target;
pub use view::{AttemptView, DeliveryView, Made, Rotated, WebhookView};

/// Endpoints of one account.
const PER_ACCOUNT: i64 = 20;
/// Endpoints of one list.
const LISTED: i64 = 1_000;
/// How long a replaced secret goes on signing beside its successor.
const OVERLAP: Duration = Duration::from_secs(24 * 3_600);
/// Replaced secrets that may sign at a time.
const REPLACED: usize = 4;
/// The kind of a message that is sent on request.
const TEST: &str = "webhook.test";

#[derive(Debug)]
pub struct Webhooks {
    core: Arc<Core>,
    log: Log<Webhook>,
    reach: Reach,
}

impl Webhooks {
    pub fn new(core: Arc<Core>, reach: Reach) -> Self {
        Self {
            log: Log::new(Arc::clone(&core)),
            core,
            reach,
        }
    }

    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// The account that is meant: the one named, or the only one there is.
    pub async fn account(&self, named: Option<AccountId>) -> Result<AccountId, WebhooksError> {
        if let Some(account) = named {
            let key = accounts::key_id(&self.core.pool, account.uuid()).await?;
            return key.map(|_| account).ok_or(WebhooksError::NoAccount);
        }
        let all = accounts::list(&self.core.pool, 2).await?;
        match all.as_slice() {
            [] => Err(WebhooksError::NoAccount),
            [only] => Ok(AccountId::new(only.account)),
            [_, _, ..] => Err(WebhooksError::WhichAccount),
        }
    }

    /// Makes an endpoint. It hears of what is committed from now on.
    pub async fn create(
        &self,
        account: AccountId,
        url: &str,
        kinds: BTreeSet<NoticeKind>,
    ) -> Result<Made, WebhooksError> {
        let target = Target::admit(url, self.reach).await?;
        let known = rows::of_account(&self.core.pool, Some(account.uuid()), PER_ACCOUNT).await?;
        if i64::try_from(known.len()).is_ok_and(|known| known >= PER_ACCOUNT) {
            return Err(WebhooksError::TooMany { limit: PER_ACCOUNT });
        }
        let key_id = accounts::key_id(&self.core.pool, account.uuid()).await?;
        let key = self.core.key(key_id).await?;
        let key = key.ok_or(WebhooksError::NoAccount)?;
        let owner = self
            .core
            .keyring
            .owner("account", &[account.uuid().as_bytes()]);
        let lane = self.core.lane(&owner).await?;
        let id = WebhookId::new(self.core.ids.stream(lane));
        let secret = SigningSecret::fresh()?;
        let open = Open {
            target,
            secret,
            previous: Vec::new(),
        };
        let stamp = self.core.clock.stamp();
        let command = WebhookCommand::Create(Box::new(NewWebhook {
            account,
            url: Text::parse(open.target.as_str())?,
            kinds: kinds.clone(),
            fingerprint: open.secret.fingerprint(),
        }));
        let change = WebhookChange::Add(WebhookRow {
            webhook: id.uuid(),
            account: account.uuid(),
            key_id: key.id(),
            body: open.seal(&key, id.uuid(), 1)?,
            fingerprint: open.secret.fingerprint(),
            kinds: kinds.iter().map(|kind| kind.as_str().to_owned()).collect(),
            at_ms: stamp.at.millis(),
        });
        let stream = Stream {
            id: id.uuid(),
            lane,
            owner,
            key,
        };
        self.change(&stream, &command, change).await?;
        let row = self.row(id).await?;
        Ok(Made {
            webhook: WebhookView::of(&row, Some(&open)),
            secret: open.secret.text(),
        })
    }

    /// Gives an endpoint a new secret. Each old one signs beside it for a day from its replacement on;
    /// while too many do, there is no further one.
    pub async fn rotate(&self, id: WebhookId) -> Result<Rotated, WebhooksError> {
        let row = self.row(id).await?;
        let stream = self.stream(&row).await?;
        let old = Open::unseal(&stream.key, id.uuid(), row.generation, &row.body)?;
        let now = self.core.clock.now();
        let until = now.plus(OVERLAP);
        let mut previous = vec![Previous {
            secret: old.secret,
            until,
        }];
        previous.extend(old.previous.into_iter().filter(|one| now < one.until));
        if previous.len() > REPLACED {
            let first = previous.iter().map(|one| one.until).min();
            return Err(WebhooksError::TooManySecrets {
                count: REPLACED,
                at: first.unwrap_or(until),
            });
        }
        let open = Open {
            target: old.target,
            secret: SigningSecret::fresh()?,
            previous,
        };
        let generation = row.generation.saturating_add(1);
        let command = WebhookCommand::RotateSecret(NewSecret {
            after: row.generation,
            fingerprint: open.secret.fingerprint(),
        });
        let change = WebhookChange::Rotate {
            webhook: id.uuid(),
            generation: i32::try_from(generation).unwrap_or(i32::MAX),
            fingerprint: open.secret.fingerprint(),
            body: open.seal(&stream.key, id.uuid(), generation)?,
        };
        self.change(&stream, &command, change).await?;
        Ok(Rotated {
            webhook_id: id,
            fingerprint: open.secret.fingerprint(),
            previous_valid_until: until,
            secret: open.secret.text(),
        })
    }

    /// Tells the endpoint nothing more, whatever waits, and forgets its secret.
    pub async fn delete(&self, id: WebhookId) -> Result<(), WebhooksError> {
        let stream = self.stream(&self.row(id).await?).await?;
        let change = WebhookChange::Delete {
            webhook: id.uuid(),
            at_ms: self.core.clock.now().millis(),
        };
        self.change(&stream, &WebhookCommand::Delete, change).await
    }

    /// Lets a disabled endpoint hear of what is committed from now on.
    pub async fn enable(&self, id: WebhookId) -> Result<(), WebhooksError> {
        let stream = self.stream(&self.row(id).await?).await?;
        let change = WebhookChange::Enable { webhook: id.uuid() };
        self.change(&stream, &WebhookCommand::Enable, change).await
    }

    /// Tells the endpoint nothing more until it is enabled.
    pub async fn disable(&self, id: WebhookId, reason: DisableReason) -> Result<(), WebhooksError> {
        let stream = self.stream(&self.row(id).await?).await?;
        let change = WebhookChange::Disable {
            webhook: id.uuid(),
            reason: reason.as_str(),
            at_ms: self.core.clock.now().millis(),
        };
        self.change(&stream, &WebhookCommand::Disable(reason), change)
            .await
    }

    /// Puts a message in the outbox that tells of no run.
    pub async fn test(&self, id: WebhookId) -> Result<MessageId, WebhooksError> {
        let row = self.row(id).await?;
        let data = serde_json::json!({ "webhook_id": WebhookId::new(row.webhook) });
        let body = message(TEST, self.core.clock.now(), data)
            .map_err(|error| StoreError::Damaged(error.to_string()))?;
        let made = MessageId::new(self.core.ids.uuid());
        let pool = &self.core.pool;
        if rows::test_message(pool, row.webhook, made.uuid(), TEST, &body).await? {
            Ok(made)
        } else {
            Err(WebhooksError::Disabled)
        }
    }

    /// The endpoints of an account, or all, oldest first, at most 1,000.
    pub async fn list(
        &self,
        account: Option<AccountId>,
    ) -> Result<Vec<WebhookView>, WebhooksError> {
        let account = account.map(AccountId::uuid);
        let mut views = Vec::new();
        for row in rows::of_account(&self.core.pool, account, LISTED).await? {
            let open = self.open(&row).await?;
            views.push(WebhookView::of(&row, open.as_ref()));
        }
        Ok(views)
    }

    /// What was sent to one endpoint or to all, newest first, at most `limit`.
    pub async fn deliveries(
        &self,
        webhook: Option<WebhookId>,
        limit: u16,
    ) -> Result<Vec<DeliveryView>, WebhooksError> {
        let webhook = webhook.map(WebhookId::uuid);
        let lines = rows::deliveries(&self.core.pool, webhook, i64::from(limit)).await?;
        Ok(lines.into_iter().map(DeliveryView::of).collect())
    }

    /// Address and secrets; `None` when the account's key is gone.
    pub async fn open(&self, row: &EndpointRow) -> Result<Option<Open>, StoreError> {
        self.open_body(row.webhook, row.key_id, row.generation, &row.body)
            .await
    }

    /// As [`Self::open`], by the parts of the row.
    pub async fn open_body(
        &self,
        webhook: Uuid,
        key_id: Uuid,
        generation: u32,
        body: &[u8],
    ) -> Result<Option<Open>, StoreError> {
        match self.core.key(Some(key_id)).await? {
            Some(key) => Open::unseal(&key, webhook, generation, body).map(Some),
            None => Ok(None),
        }
    }

    async fn row(&self, id: WebhookId) -> Result<EndpointRow, WebhooksError> {
        let row = rows::endpoint(&self.core.pool, id.uuid()).await?;
        row.ok_or(WebhooksError::NoWebhook)
    }

    async fn stream(&self, row: &EndpointRow) -> Result<Stream, WebhooksError> {
        let owner = self
            .core
            .keyring
            .owner("account", &[row.account.as_bytes()]);
        let key = self.core.key(Some(row.key_id)).await?;
        Ok(Stream {
            id: row.webhook,
            lane: self.core.lane(&owner).await?,
            owner,
            key: key.ok_or(WebhooksError::NoAccount)?,
        })
    }

    async fn change(
        &self,
        stream: &Stream,
        command: &WebhookCommand,
        change: WebhookChange,
    ) -> Result<(), WebhooksError> {
        let priority = match command {
            WebhookCommand::Delete => Priority::Withdrawal,
            WebhookCommand::Create(_)
            | WebhookCommand::RotateSecret(_)
            | WebhookCommand::Disable(_)
            | WebhookCommand::Enable => Priority::Ordinary,
        };
        let stamp = self.core.clock.stamp();
        self.log
            .execute_with(stream, command, stamp, &Meta::new(), |append| Append {
                ledger: vec![LedgerChange::Webhook(change.clone())],
                priority,
                ..append
            })
            .await?;
        Ok(())
    }
}

/// When something happened, as the views show it.
fn moment(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}
