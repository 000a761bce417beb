//! `helix account …`: the operator's way to accounts and their links (`operations` 3).

use std::io::Read;
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use helix_aggregates::access::account::command;
use helix_aggregates::ids::AccountId;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use zeroize::Zeroizing;

use super::attach::{Installation, with_store};
use super::failure::{Exit, Failure};
use super::{Context, SettingFlags};
use crate::app::access::accounts::{Accounts, AccountsError, LinkTuple};
use crate::app::access::sign_in::{ChoiceLink, Newcomer, SignIn, SignInError};
use crate::store::Core;

/// The shortest passphrase, in characters.
const PASSPHRASE_CHARS: usize = 12;

#[derive(Debug, Args)]
pub struct AccountArgs {
    #[command(subcommand)]
    pub verb: Verb,
    #[command(flatten)]
    pub settings: SettingFlags,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Create an account; the passphrase is read from standard input
    Create(CreateArgs),
    /// Create an account and print a link with which its owner chooses the passphrase, once and for 30 days
    Invite(InviteArgs),
    /// Print a link with which an account's owner sets another passphrase, once and for an hour
    ResetLink {
        /// The account's id, as `helix account list` prints it
        #[arg(value_name = "ACCOUNT_ID")]
        account: String,
    },
    /// List accounts and their links
    List,
    /// Link an identity of an authorization server to an account
    Link(LinkArgs),
    /// End a link; the next request of that identity is refused
    Unlink {
        /// The reference that `link` printed
        #[arg(long, value_name = "REF")]
        binding: String,
    },
}

#[derive(Debug, Args)]
pub struct CreateArgs {
    /// The e-mail address; no two accounts share one
    #[arg(long)]
    pub email: String,
    /// The name of the person
    #[arg(long)]
    pub name: String,
    /// What the account may use
    #[arg(long = "type", value_enum, default_value_t = AccountType::User)]
    pub account_type: AccountType,
    /// Read the passphrase from standard input; there is no flag that holds one
    #[arg(long, required = true)]
    pub passphrase_stdin: bool,
}

#[derive(Debug, Args)]
pub struct InviteArgs {
    /// The e-mail address; no two accounts share one
    #[arg(long)]
    pub email: String,
    /// The name of the person
    #[arg(long)]
    pub name: String,
    /// What the account may use
    #[arg(long = "type", value_enum, default_value_t = AccountType::User)]
    pub account_type: AccountType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AccountType {
    User,
    Developer,
}

/// The exact tuple of `agent-api` 11.3.
#[derive(Debug, Args)]
pub struct LinkArgs {
    /// The account's id, as `helix account list` prints it
    #[arg(long, value_name = "ID")]
    pub account: String,
    /// Must equal the token's `iss`
    #[arg(long)]
    pub issuer: String,
    /// Must equal the token's tenant claim
    #[arg(long)]
    pub tenant: String,
    /// Must equal the server's `HELIX_AGENT_OAUTH_PROVIDER`
    #[arg(long)]
    pub provider: String,
    /// Must equal the token's `sub`
    #[arg(long)]
    pub subject: String,
}

impl From<AccountType> for command::AccountType {
    fn from(account_type: AccountType) -> Self {
        match account_type {
            AccountType::User => Self::User,
            AccountType::Developer => Self::Developer,
        }
    }
}

pub async fn run(args: AccountArgs, context: &Context) -> Result<Exit, Failure> {
    let config = context.load(&args.settings)?;
    let base = config.server.public_url.base(config.server.listen);
    let (installation, passphrase) = match &args.verb {
        Verb::Create(_) => (Installation::MayBegin, read_passphrase()?),
        Verb::Invite(_)
        | Verb::ResetLink { .. }
        | Verb::List
        | Verb::Link(_)
        | Verb::Unlink { .. } => (Installation::MustExist, SecretString::default()),
    };
    with_store(&config, installation, async |core| {
        act(core, args.verb, passphrase, base.as_str(), context).await
    })
    .await
}

async fn act(
    core: Arc<Core>,
    verb: Verb,
    passphrase: SecretString,
    base: &str,
    context: &Context,
) -> Result<Exit, Failure> {
    let sign_in = SignIn::new(Arc::clone(&core));
    let accounts = &Accounts::new(core);
    match verb {
        Verb::Create(create) => {
            let who = newcomer(create.email, create.name, create.account_type);
            let made = sign_in.enrol(&who, passphrase).await;
            let made = made.map_err(sign_in_refused)?;
            context.output.answer(&made, |output| {
                output.pairs(&[
                    ("Account", made.account_id.to_string()),
                    ("E-mail", made.email.clone()),
                    ("Type", made.account_type.as_str().to_owned()),
                ])
            })?;
        }
        Verb::Invite(invite) => {
            let who = newcomer(invite.email, invite.name, invite.account_type);
            let link = sign_in.invite(&who).await.map_err(sign_in_refused)?;
            show_link(&link, base, context)?;
        }
        Verb::ResetLink { account } => {
            let link = sign_in.reset_link(account_of(&account)?).await;
            show_link(&link.map_err(sign_in_refused)?, base, context)?;
        }
        Verb::List => list(accounts, context).await?,
        Verb::Link(link) => {
            let account = account_of(&link.account)?;
            let tuple = LinkTuple {
                issuer: link.issuer,
                tenant: link.tenant,
                provider: link.provider,
                subject: link.subject,
            };
            let reference = accounts
                .link(account, &tuple)
                .await
                .map_err(|error| refused(&error))?;
            let made = json!({ "binding_ref": reference });
            context.output.answer(&made, |output| {
                output.pairs(&[("Binding", reference.clone())])
            })?;
        }
        Verb::Unlink { binding } => {
            accounts
                .unlink(&binding)
                .await
                .map_err(|error| refused(&error))?;
            let done = json!({ "binding_ref": binding, "status": "revoked" });
            context
                .output
                .answer(&done, |output| output.line("revoked"))?;
        }
    }
    Ok(Exit::Ok)
}

async fn list(accounts: &Accounts, context: &Context) -> Result<(), Failure> {
    for line in accounts.list().await.map_err(|error| refused(&error))? {
        context.output.answer(&line, |output| {
            let bindings: Vec<String> = line
                .bindings
                .iter()
                .map(|binding| {
                    format!(
                        "{} ({}, {})",
                        binding.binding_ref, binding.provider, binding.status
                    )
                })
                .collect();
            output.pairs(&[
                ("Account", line.account.account_id.to_string()),
                ("Name", line.name.clone()),
                ("E-mail", line.account.email.clone()),
                ("Type", line.account.account_type.as_str().to_owned()),
                ("Created", line.created_at.to_string()),
                ("Runs", format!("{} started", line.activity.runs_started)),
                (
                    "Bindings",
                    if bindings.is_empty() {
                        "none".to_owned()
                    } else {
                        bindings.join("\n")
                    },
                ),
            ])
        })?;
    }
    Ok(())
}

fn newcomer(email: String, name: String, account_type: AccountType) -> Newcomer {
    Newcomer {
        email,
        name,
        account_type: account_type.into(),
    }
}

fn account_of(text: &str) -> Result<AccountId, Failure> {
    AccountId::parse(text).map_err(|error| {
        Failure::usage("account_id", error.to_string()).fix("see `helix account list`")
    })
}

fn show_link(link: &ChoiceLink, base: &str, context: &Context) -> Result<(), Failure> {
    let url = format!("{base}/invite/{}", link.text.expose_secret());
    let seen = json!({ "account_id": link.account, "url": url, "expires_at": link.expires_at });
    context.output.answer(&seen, |output| {
        output.pairs(&[
            ("Account", link.account.to_string()),
            ("Link", url.clone()),
            ("Works", format!("once, until {}", link.expires_at)),
        ])
    })
}

/// Read, and judged by its length, before anything is made.
fn read_passphrase() -> Result<SecretString, Failure> {
    let mut text = Zeroizing::new(String::new());
    std::io::stdin()
        .take(4_096)
        .read_to_string(&mut text)
        .map_err(|error| Failure::usage("passphrase", error.to_string()))?;
    let text = text.trim_end_matches(['\n', '\r']);
    if (PASSPHRASE_CHARS..=1_000).contains(&text.chars().count()) {
        return Ok(SecretString::from(text));
    }
    Err(Failure::usage(
        "passphrase",
        format!("a passphrase has {PASSPHRASE_CHARS} to 1,000 characters"),
    )
    .fix("pipe a longer passphrase into standard input"))
}

fn sign_in_refused(error: SignInError) -> Failure {
    match error {
        SignInError::Account(error) => refused(&error),
        SignInError::PassphraseLength => Failure::usage("passphrase", error.to_string())
            .fix("pipe another passphrase into standard input"),
        SignInError::Wrong
        | SignInError::Unverified
        | SignInError::Wait(_)
        | SignInError::Busy
        | SignInError::WrongCode
        | SignInError::PassphrasesDiffer
        | SignInError::LinkSpent
        | SignInError::HasOwner => Failure::new(Exit::No, "refused", error.to_string())
            .fix("see accounts with `helix account list`"),
    }
}

fn refused(error: &AccountsError) -> Failure {
    let message = error.to_string();
    match error {
        AccountsError::Account(_) | AccountsError::Binding(_) => {
            Failure::new(Exit::No, "refused", message)
                .fix("see accounts and links with `helix account list`")
        }
        AccountsError::EmailTaken => Failure::new(Exit::No, "refused", message)
            .fix("find it with `helix account list`, or use another --email"),
        AccountsError::NoAccount | AccountsError::NoBinding => {
            Failure::new(Exit::No, "not_found", message).fix("see `helix account list`")
        }
        AccountsError::Invalid { .. } => {
            Failure::usage("invalid", message).fix("correct it; see the same command with --help")
        }
        AccountsError::Store(_) => Failure::unavailable("database", message)
            .fix("see that the database is up, then try again"),
    }
}
