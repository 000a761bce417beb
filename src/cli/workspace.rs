//! `helix workspace …`: the operator's way to workspaces and their members (settled question 40).

use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use helix_aggregates::access::workspace::command;
use helix_aggregates::ids::{AccountId, WorkspaceId};
use serde_json::json;

use super::attach::{Installation, store_failure, with_store};
use super::failure::{Exit, Failure};
use super::{Context, SettingFlags};
use crate::app::access::accounts::{AccountLine, Accounts};
use crate::app::work::Work;
use crate::store::Core;

#[derive(Debug, Args)]
pub struct WorkspaceArgs {
    #[command(subcommand)]
    pub noun: Noun,
    #[command(flatten)]
    pub settings: SettingFlags,
}

#[derive(Debug, Subcommand)]
pub enum Noun {
    /// List the workspaces of all accounts; an account without one gets its own
    List,
    /// Change who belongs to a workspace
    Member {
        #[command(subcommand)]
        verb: MemberVerb,
    },
}

#[derive(Debug, Subcommand)]
pub enum MemberVerb {
    /// Add an account to a workspace
    Add {
        /// The workspace's id, as `helix workspace list` prints it
        #[arg(long, value_name = "WORKSPACE_ID")]
        workspace: String,
        /// The account's id, as `helix account list` prints it
        #[arg(long, value_name = "ACCOUNT_ID")]
        account: String,
        /// What the member may do
        #[arg(long, value_enum)]
        role: Role,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Role {
    Owner,
    Admin,
    Member,
}

impl From<Role> for command::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::Owner => Self::Owner,
            Role::Admin => Self::Admin,
            Role::Member => Self::Member,
        }
    }
}

pub async fn run(args: WorkspaceArgs, context: &Context) -> Result<Exit, Failure> {
    let config = context.load(&args.settings)?;
    with_store(&config, Installation::MustExist, async |core| {
        let work = Work::new(Arc::clone(&core), "");
        match args.noun {
            Noun::List => {
                for account in accounts(&core).await? {
                    list(&work, &account, context).await?;
                }
            }
            Noun::Member {
                verb:
                    MemberVerb::Add {
                        workspace,
                        account,
                        role,
                    },
            } => add(&work, &workspace, &account, role.into(), context).await?,
        }
        Ok(Exit::Ok)
    })
    .await
}

async fn list(work: &Work, account: &AccountLine, context: &Context) -> Result<(), Failure> {
    let id = account.account.account_id;
    let own = work.own(id, &account.name).await;
    let own = own.map_err(|error| store_failure(&error))?;
    let seen = json!({ "workspace_id": own, "account_id": id, "name": account.name });
    context.output.answer(&seen, |output| {
        output.pairs(&[
            ("Workspace", own.to_string()),
            ("Of", account.name.clone()),
            ("Account", id.to_string()),
        ])
    })
}

async fn add(
    work: &Work,
    workspace: &str,
    account: &str,
    role: command::Role,
    context: &Context,
) -> Result<(), Failure> {
    let workspace = WorkspaceId::parse(workspace)
        .map_err(|error| Failure::usage("workspace_id", error.to_string()))?;
    let account = AccountId::parse(account)
        .map_err(|error| Failure::usage("account_id", error.to_string()))?;
    work.add_member(workspace, account, role)
        .await
        .map_err(|problem| {
            Failure::new(
                Exit::No,
                problem.code.row().code,
                problem.message.to_string(),
            )
            .fix("see `helix workspace list` and `helix account list`")
        })?;
    let seen = json!({
        "workspace_id": workspace, "account_id": account, "role": role.as_str(),
    });
    context.output.answer(&seen, |output| output.line("added"))
}

async fn accounts(core: &Arc<Core>) -> Result<Vec<AccountLine>, Failure> {
    let listed = Accounts::new(Arc::clone(core)).list().await;
    listed.map_err(|error| Failure::unavailable("database", error.to_string()))
}

/// The workspace that a command names, or the own one of the account it names, or that of the only
/// account.
pub(super) async fn chosen(
    core: &Arc<Core>,
    workspace: Option<String>,
    account: Option<String>,
) -> Result<WorkspaceId, Failure> {
    if let Some(text) = workspace {
        return WorkspaceId::parse(&text).map_err(|error| {
            Failure::usage("workspace_id", error.to_string()).fix("see `helix workspace list`")
        });
    }
    let mut known = accounts(core).await?;
    if let Some(text) = account {
        known.retain(|line| line.account.account_id.to_string() == text);
    }
    let [only] = known.as_slice() else {
        let message = "there is not exactly one account that could be meant";
        return Err(Failure::usage("account", message)
            .fix("name the workspace with --workspace, or its account with --account"));
    };
    let own = Work::new(Arc::clone(core), "")
        .own(only.account.account_id, &only.name)
        .await;
    own.map_err(|error| store_failure(&error))
}
