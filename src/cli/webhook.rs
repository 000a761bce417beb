//! `helix webhook …`: endpoints that are told of runs (settled question 91).
//!
//! What must stay true: a secret is printed by the command that made it and by no other; an
//! address is printed with its path and query starred.

use std::collections::BTreeSet;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use helix_aggregates::access::webhook::kind::NoticeKind;
use helix_aggregates::ids::{AccountId, WebhookId};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::attach::{Installation, store_failure, with_store};
use super::failure::{Exit, Failure, Told};
use super::{Context, SettingFlags};
use crate::app::access::webhooks::{DeliveryView, WebhookView, Webhooks, WebhooksError};
use crate::server;

#[derive(Debug, Args)]
pub struct WebhookArgs {
    #[command(subcommand)]
    pub verb: Verb,
    #[command(flatten)]
    pub settings: SettingFlags,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Make an endpoint; its secret is shown once
    Create(CreateArgs),
    /// List endpoints
    List {
        /// Those of one account
        #[arg(long, value_name = "ID", value_parser = AccountId::parse)]
        account: Option<AccountId>,
    },
    /// Make a new secret; the old one signs beside it for a day
    Rotate(Named),
    /// Let a disabled endpoint hear of what happens from now on
    Enable(Named),
    /// Send a message that tells of no run; see `deliveries` for what came of it
    Test(Named),
    /// Tell an endpoint nothing more
    Delete(Named),
    /// List what was sent, newest first, each with its attempts
    Deliveries {
        /// What was sent to one endpoint
        #[arg(long, value_name = "ID", value_parser = WebhookId::parse)]
        webhook: Option<WebhookId>,
        /// How many messages
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1_000))]
        limit: u16,
    },
}

#[derive(Debug, Args)]
pub struct CreateArgs {
    /// Where messages are posted: https on port 443 at a public address
    #[arg(long)]
    pub url: String,
    /// What to tell, comma separated
    #[arg(long, value_name = "EVENT", value_delimiter = ',', required = true, value_parser = kinds())]
    pub events: Vec<NoticeKind>,
    /// Whose runs; may be left out where there is one account
    #[arg(long, value_name = "ID", value_parser = AccountId::parse)]
    pub account: Option<AccountId>,
}

#[derive(Debug, Args)]
pub struct Named {
    /// The endpoint's id, as `helix webhook list` prints it
    #[arg(value_name = "WEBHOOK", value_parser = WebhookId::parse)]
    pub webhook: WebhookId,
}

fn kinds() -> impl TypedValueParser<Value = NoticeKind> {
    let words = NoticeKind::ALL.map(NoticeKind::as_str);
    PossibleValuesParser::new(words)
        .try_map(|word| NoticeKind::parse(&word).ok_or("is not the name of an event"))
}

pub async fn run(args: WebhookArgs, context: &Context) -> Result<Exit, Failure> {
    let config = context.load(&args.settings)?;
    let reach = server::webhook_reach(&config);
    with_store(&config, Installation::MustExist, async |core| {
        act(&Webhooks::new(core, reach), args.verb, context).await
    })
    .await
}

async fn act(webhooks: &Webhooks, verb: Verb, context: &Context) -> Result<Exit, Failure> {
    match verb {
        Verb::Create(new) => create(webhooks, new, context).await,
        Verb::List { account } => list(webhooks, account, context).await,
        Verb::Rotate(named) => rotate(webhooks, named.webhook, context).await,
        Verb::Enable(Named { webhook }) => {
            let done = webhooks.enable(webhook).await;
            done.map_err(|error| refused(&error))?;
            said(
                context,
                &json!({"webhook_id": webhook, "status": "active"}),
                "enabled",
            )
        }
        Verb::Test(Named { webhook }) => {
            let made = webhooks.test(webhook).await;
            let message = made.map_err(|error| refused(&error))?;
            let line = format!("{message} is sent by the server that runs, or by the next one");
            let object = json!({"webhook_id": webhook, "message_id": message});
            said(context, &object, &line)
        }
        Verb::Delete(Named { webhook }) => {
            let done = webhooks.delete(webhook).await;
            done.map_err(|error| refused(&error))?;
            said(
                context,
                &json!({"webhook_id": webhook, "status": "deleted"}),
                "deleted",
            )
        }
        Verb::Deliveries { webhook, limit } => deliveries(webhooks, webhook, limit, context).await,
    }
}

fn said(context: &Context, object: &Value, line: &str) -> Result<Exit, Failure> {
    context.output.answer(object, |output| output.line(line))?;
    Ok(Exit::Ok)
}

async fn create(webhooks: &Webhooks, new: CreateArgs, context: &Context) -> Result<Exit, Failure> {
    let kinds: BTreeSet<NoticeKind> = new.events.into_iter().collect();
    let made = async {
        let account = webhooks.account(new.account).await?;
        webhooks.create(account, &new.url, kinds).await
    };
    let made = made.await.map_err(|error| refused(&error))?;
    let mut object = spelled(&made.webhook)?;
    if let Value::Object(members) = &mut object {
        let secret = made.secret.expose_secret();
        members.insert("secret".to_owned(), Value::from(secret));
    }
    let shown = context.output.answer(&object, |output| {
        let mut pairs = pairs(&made.webhook);
        pairs.push(("Secret", made.secret.expose_secret().to_owned()));
        output.pairs(&pairs)?;
        output.line("The secret is not shown again.")
    });
    let Err(Failure::Told(told)) = shown else {
        return shown.map(|()| Exit::Ok);
    };
    // Nobody could check what it would be sent.
    let id = made.webhook.webhook_id;
    webhooks.delete(id).await.map_err(|error| refused(&error))?;
    let message = format!("{}; the webhook is deleted again", told.message);
    Err(Failure::Told(Box::new(Told { message, ..*told })))
}

async fn rotate(webhooks: &Webhooks, id: WebhookId, context: &Context) -> Result<Exit, Failure> {
    let rotated = webhooks.rotate(id).await.map_err(|error| refused(&error))?;
    let secret = rotated.secret.expose_secret();
    let until = rotated.previous_valid_until;
    let object = json!({
        "webhook_id": id, "secret": secret, "fingerprint": rotated.fingerprint,
        "previous_valid_until": until,
    });
    context.output.answer(&object, |output| {
        output.pairs(&[
            ("Webhook", id.to_string()),
            ("Secret", secret.to_owned()),
            ("Old secret", format!("signs beside it until {until}")),
        ])?;
        output.line("The secret is not shown again.")
    })?;
    Ok(Exit::Ok)
}

async fn list(
    webhooks: &Webhooks,
    account: Option<AccountId>,
    context: &Context,
) -> Result<Exit, Failure> {
    let listed = webhooks.list(account).await;
    for webhook in listed.map_err(|error| refused(&error))? {
        context
            .output
            .answer(&webhook, |output| output.pairs(&pairs(&webhook)))?;
    }
    Ok(Exit::Ok)
}

fn pairs(webhook: &WebhookView) -> Vec<(&'static str, String)> {
    let status = match &webhook.disabled_reason {
        Some(reason) => format!("{} ({reason})", webhook.status),
        None => webhook.status.to_owned(),
    };
    let delivered = webhook.last_delivered_at;
    vec![
        ("Webhook", webhook.webhook_id.to_string()),
        ("Account", webhook.account_id.to_string()),
        ("URL", webhook.url.clone()),
        ("Events", webhook.events.join(", ")),
        ("Status", status),
        ("Fingerprint", webhook.fingerprint.clone()),
        ("Created", webhook.created_at.to_string()),
        (
            "Delivered",
            delivered.map_or_else(|| "never".to_owned(), |at| at.to_string()),
        ),
        ("Waiting", webhook.waiting.to_string()),
    ]
}

async fn deliveries(
    webhooks: &Webhooks,
    webhook: Option<WebhookId>,
    limit: u16,
    context: &Context,
) -> Result<Exit, Failure> {
    let sent = webhooks.deliveries(webhook, limit).await;
    for delivery in sent.map_err(|error| refused(&error))? {
        context
            .output
            .answer(&delivery, |output| output.pairs(&delivery_pairs(&delivery)))?;
    }
    Ok(Exit::Ok)
}

fn delivery_pairs(delivery: &DeliveryView) -> Vec<(&'static str, String)> {
    let attempts: Vec<String> = delivery
        .attempts
        .iter()
        .map(|attempt| {
            let outcome = match (attempt.status, &attempt.failure) {
                (Some(status), _) => status.to_string(),
                (None, Some(failure)) => failure.clone(),
                (None, None) => "no outcome".to_owned(),
            };
            let took = attempt.duration_ms;
            let took = took.map_or_else(String::new, |ms| format!(", {ms} ms"));
            format!("{} {outcome}{took}", attempt.at)
        })
        .collect();
    let run = delivery.run_id.zip(delivery.seq);
    let mut pairs = vec![
        ("Message", delivery.message_id.to_string()),
        ("Webhook", delivery.webhook_id.to_string()),
        ("Event", delivery.kind.clone()),
        (
            "Run",
            run.map_or_else(
                || "none".to_owned(),
                |(run, seq)| format!("{run} event {seq}"),
            ),
        ),
        ("State", delivery.state.clone()),
    ];
    if let Some(next) = delivery.next_attempt_at {
        pairs.push(("Next", next.to_string()));
    }
    pairs.push((
        "Attempts",
        if attempts.is_empty() {
            "none".to_owned()
        } else {
            attempts.join("\n")
        },
    ));
    pairs
}

fn spelled(webhook: &WebhookView) -> Result<Value, Failure> {
    serde_json::to_value(webhook)
        .map_err(|error| Failure::new(Exit::No, "unprintable", error.to_string()))
}

fn refused(error: &WebhooksError) -> Failure {
    let message = error.to_string();
    let no = |code: &str, fix: &str| Failure::new(Exit::No, code, message.clone()).fix(fix);
    match error {
        WebhooksError::Webhook(_) => no("refused", "see `helix webhook list`"),
        WebhooksError::Disabled => no("refused", "`helix webhook enable WEBHOOK`, then try again"),
        WebhooksError::NoWebhook => no("not_found", "see `helix webhook list`"),
        WebhooksError::NoAccount => no("not_found", "see `helix account list`"),
        WebhooksError::TooManySecrets { .. } => no(
            "refused",
            "rotate again then, or make a new webhook and delete this one",
        ),
        WebhooksError::TooMany { .. } => no("refused", "delete one; see `helix webhook list`"),
        WebhooksError::WhichAccount => Failure::usage("account", message)
            .fix("name it with --account; see `helix account list`"),
        WebhooksError::Target(_) => Failure::usage("url", message).fix(
            "name a public https address with --url; to try things out on this machine, \
             start everything with HELIX_WEBHOOK_ALLOW_PRIVATE=1",
        ),
        WebhooksError::Store(error) => store_failure(error),
    }
}
