//! `helix token …`: the operator's way to the named tokens of workspaces (`access` 8, settled question
//! 49). Its JSON is that of the REST answers.

use clap::{Args, Subcommand};
use helix_aggregates::access::reach::Reach;
use helix_aggregates::access::scopes::Scopes;
use helix_aggregates::access::token::event::TokenRevocation;
use helix_aggregates::ids::{ProjectId, TokenId, WorkspaceId};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::attach::{Installation, store_failure, with_store};
use super::failure::{Exit, Failure};
use super::workspace::chosen;
use super::{Context, SettingFlags};
use crate::app::work::tokens::{By, Minted, NamedTokens, TokenLine, TokenWish, TokensError};

#[derive(Debug, Args)]
pub struct TokenArgs {
    #[command(subcommand)]
    pub verb: Verb,
    #[command(flatten)]
    pub settings: SettingFlags,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Create a token; its text is shown this once
    Create(CreateArgs),
    /// List tokens; ended ones stay for a year
    List {
        /// Only those of this workspace
        #[arg(long, value_name = "WORKSPACE_ID")]
        workspace: Option<String>,
    },
    /// Create a replacement with the same permissions
    Rotate {
        /// The token's id, as `list` prints it
        #[arg(value_name = "TOKEN_ID")]
        token: String,
        /// Days until the replacement expires
        #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=365))]
        expires_days: u16,
        /// Seconds that the old one lives on, at most a day; without it, until it is revoked
        #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(0..=86_400))]
        grace_seconds: Option<u32>,
    },
    /// End a token; the next request with it is refused
    Revoke {
        /// The token's id, as `list` prints it
        #[arg(value_name = "TOKEN_ID")]
        token: String,
    },
}

#[derive(Debug, Args)]
pub struct CreateArgs {
    /// What the token is called in the list (1 to 80 characters)
    #[arg(long)]
    pub name: String,
    /// What it may do, such as brief:read,brief:write
    #[arg(
        long,
        value_name = "SCOPES",
        value_delimiter = ',',
        default_value = "brief:read"
    )]
    pub scopes: Vec<String>,
    /// Projects it reaches, by id; without it, all of the workspace
    #[arg(long, value_name = "PROJECT_IDS", value_delimiter = ',')]
    pub projects: Vec<String>,
    /// The workspace; without it, that of the only account
    #[arg(long, value_name = "WORKSPACE_ID")]
    pub workspace: Option<String>,
    /// The account whose own workspace it is for
    #[arg(long, value_name = "ACCOUNT_ID", conflicts_with = "workspace")]
    pub account: Option<String>,
    /// Days until it expires
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=365))]
    pub expires_days: u16,
}

pub async fn run(args: TokenArgs, context: &Context) -> Result<Exit, Failure> {
    let config = context.load(&args.settings)?;
    with_store(&config, Installation::MustExist, async |core| {
        let tokens = NamedTokens::new(std::sync::Arc::clone(&core));
        match args.verb {
            Verb::Create(create) => {
                let wish = wish(&create)?;
                let workspace = chosen(&core, create.workspace, create.account).await?;
                let made = tokens.create(workspace, &wish, &By::operator()).await;
                shown(&made.map_err(|error| refused(&error))?, context)?;
            }
            Verb::List { workspace } => list(&tokens, workspace, context).await?,
            Verb::Rotate {
                token,
                expires_days,
                grace_seconds,
            } => {
                let grace = grace_seconds.map(u64::from);
                let made = tokens
                    .rotate(named(&token)?, expires_days.into(), grace, &By::operator())
                    .await;
                shown(&made.map_err(|error| refused(&error))?, context)?;
            }
            Verb::Revoke { token } => {
                let id = named(&token)?;
                tokens
                    .revoke(id, TokenRevocation::Operator, &By::operator())
                    .await
                    .map_err(|error| refused(&error))?;
                let done = json!({ "token_id": id, "state": "revoked" });
                context
                    .output
                    .answer(&done, |output| output.line("revoked"))?;
            }
        }
        Ok(Exit::Ok)
    })
    .await
}

fn wish(create: &CreateArgs) -> Result<TokenWish, Failure> {
    let scopes = Scopes::parse(&create.scopes).and_then(|scopes| scopes.of_workspace());
    let scopes = scopes.map_err(|error| {
        Failure::usage("scopes", error.to_string())
            .fix("choose among brief:read, brief:write, review:run, review:execute")
    })?;
    let projects: Result<_, _> = create
        .projects
        .iter()
        .map(|text| ProjectId::parse(text))
        .collect();
    let projects: std::collections::BTreeSet<ProjectId> =
        projects.map_err(|error| Failure::usage("project_id", error.to_string()))?;
    Ok(TokenWish {
        name: create.name.clone(),
        scopes,
        reach: if projects.is_empty() {
            Reach::All
        } else {
            Reach::Listed(projects)
        },
        expires_days: create.expires_days.into(),
    })
}

fn named(text: &str) -> Result<TokenId, Failure> {
    TokenId::parse(text).map_err(|error| {
        Failure::usage("token_id", error.to_string()).fix("see `helix token list`")
    })
}

fn shown(made: &Minted, context: &Context) -> Result<(), Failure> {
    let seen = minted(made);
    let token = made.token.expose_secret();
    context.output.answer(&seen, |output| {
        output.pairs(&[
            ("Token", format!("{token} (shown this once)")),
            ("Id", made.token_id.to_string()),
            ("Workspace", made.workspace.to_string()),
            ("Expires", made.expires_at.to_string()),
            ("Environment", "HELIX_TOKEN".to_owned()),
        ])
    })
}

/// A token as both doors show it, once.
fn minted(made: &Minted) -> Value {
    json!({
        "token": made.token.expose_secret(),
        "token_id": made.token_id,
        "workspace_id": made.workspace,
        "expires_at": made.expires_at,
    })
}

async fn list(
    tokens: &NamedTokens,
    workspace: Option<String>,
    context: &Context,
) -> Result<(), Failure> {
    let workspace = workspace.as_deref().map(WorkspaceId::parse).transpose();
    let workspace = workspace.map_err(|error| Failure::usage("workspace_id", error.to_string()))?;
    let lines = tokens.list(workspace).await;
    for line in lines.map_err(|error| store_failure(&error))? {
        context
            .output
            .answer(&line, |output| output.pairs(&pairs(&line)))?;
    }
    Ok(())
}

fn pairs(line: &TokenLine) -> Vec<(&'static str, String)> {
    let reach = match &line.reach {
        Reach::All => "all projects".to_owned(),
        Reach::Listed(projects) => format!("{} projects", projects.len()),
    };
    let used = line
        .last_used_at
        .map_or_else(|| "never".to_owned(), |at| at.to_string());
    let state = if line.exposed {
        format!("{}, exposed: it was seen in a URL", line.state)
    } else {
        line.state.to_owned()
    };
    vec![
        ("Id", line.token_id.to_string()),
        ("Name", line.name.clone()),
        ("Workspace", line.workspace_id.to_string()),
        ("Ends in", line.last_four.clone()),
        ("Scopes", line.scopes.join(" ")),
        ("Reach", reach),
        ("State", state),
        ("Creator", line.creator.clone()),
        ("Expires", line.expires_at.to_string()),
        ("Last used", used),
    ]
}

fn refused(error: &TokensError) -> Failure {
    let message = error.to_string();
    match error {
        TokensError::Refused(_) | TokensError::Ended | TokensError::TooMany => {
            Failure::new(Exit::No, "refused", message).fix("see `helix token list`")
        }
        TokensError::NoToken => {
            Failure::new(Exit::No, "not_found", message).fix("see `helix token list`")
        }
        TokensError::NoWorkspace | TokensError::NoProject => {
            Failure::new(Exit::No, "not_found", message).fix("see `helix workspace list`")
        }
        TokensError::Name(_) | TokensError::Scopes(_) => Failure::usage("invalid", message)
            .fix("give a name of 1 to 80 characters without control characters"),
        TokensError::Store(error) => store_failure(error),
    }
}
