//! `helix worker …`: the operator's way to the credentials of external workers (settled question
//! 86).

use clap::{Args, Subcommand};
use helix_aggregates::ids::WorkerTokenId;
use secrecy::ExposeSecret;
use serde_json::json;

use super::attach::{Installation, with_store};
use super::failure::{Exit, Failure, Told};
use super::{Context, SettingFlags};
use crate::app::access::worker_tokens::{WorkerTokens, WorkerTokensError};

#[derive(Debug, Args)]
pub struct WorkerArgs {
    #[command(subcommand)]
    pub noun: Noun,
    #[command(flatten)]
    pub settings: SettingFlags,
}

#[derive(Debug, Subcommand)]
pub enum Noun {
    /// Create, list and revoke the tokens of external workers
    Token {
        #[command(subcommand)]
        verb: TokenVerb,
    },
}

#[derive(Debug, Subcommand)]
pub enum TokenVerb {
    /// Create a token; its text is shown this once
    Create {
        /// What the token is called in the list (1 to 80 characters)
        #[arg(long)]
        name: String,
    },
    /// List tokens, revoked ones too
    List,
    /// End a token; the next request with it is refused
    Revoke {
        /// The token's id, as `list` prints it
        #[arg(value_name = "TOKEN_ID")]
        token: String,
    },
}

pub async fn run(args: WorkerArgs, context: &Context) -> Result<Exit, Failure> {
    let config = context.load(&args.settings)?;
    let Noun::Token { verb } = args.noun;
    let installation = match &verb {
        TokenVerb::Create { .. } => Installation::MayBegin,
        TokenVerb::List | TokenVerb::Revoke { .. } => Installation::MustExist,
    };
    with_store(&config, installation, async |core| {
        act(&WorkerTokens::new(core), verb, context).await
    })
    .await
}

async fn act(tokens: &WorkerTokens, verb: TokenVerb, context: &Context) -> Result<Exit, Failure> {
    match verb {
        TokenVerb::Create { name } => create(tokens, &name, context).await?,
        TokenVerb::List => list(tokens, context).await?,
        TokenVerb::Revoke { token } => {
            let id = WorkerTokenId::parse(&token).map_err(|error| {
                Failure::usage("token_id", error.to_string()).fix("see `helix worker token list`")
            })?;
            tokens.revoke(id).await.map_err(|error| refused(&error))?;
            let done = json!({ "token_id": id, "state": "revoked" });
            context
                .output
                .answer(&done, |output| output.line("revoked"))?;
        }
    }
    Ok(Exit::Ok)
}

async fn create(tokens: &WorkerTokens, name: &str, context: &Context) -> Result<(), Failure> {
    let made = tokens.create(name).await.map_err(|error| refused(&error))?;
    let token = made.token.expose_secret();
    let seen = json!({
        "token": token, "token_id": made.token_id, "name": made.name,
        "created_at": made.created_at,
    });
    let shown = context.output.answer(&seen, |output| {
        output.pairs(&[
            ("Token", format!("{token} (shown this once)")),
            ("Id", made.token_id.to_string()),
            ("Name", made.name.clone()),
        ])
    });
    let Err(Failure::Told(told)) = shown else {
        return shown;
    };
    // Nobody has it whole, and what was written of it may lie anywhere.
    tokens.revoke(made.token_id).await.map_err(|error| {
        let id = made.token_id;
        let message = format!("the token {id} could neither be shown nor revoked: {error}");
        Failure::unavailable("output", message).fix("`helix worker token revoke TOKEN_ID`")
    })?;
    let message = format!("{}; the token is revoked again", told.message);
    Err(Failure::Told(Box::new(Told { message, ..*told })))
}

async fn list(tokens: &WorkerTokens, context: &Context) -> Result<(), Failure> {
    for line in tokens.list().await.map_err(|error| refused(&error))? {
        context.output.answer(&line, |output| {
            let used = line
                .last_used_at
                .map_or_else(|| "never".to_owned(), |at| at.to_string());
            output.pairs(&[
                ("Id", line.token_id.to_string()),
                ("Name", line.name.clone()),
                ("Ends in", line.last_four.clone()),
                ("State", line.state.to_owned()),
                ("Created", line.created_at.to_string()),
                ("Last used", used),
            ])
        })?;
    }
    Ok(())
}

fn refused(error: &WorkerTokensError) -> Failure {
    let message = error.to_string();
    match error {
        WorkerTokensError::Refused(_) => Failure::new(Exit::No, "refused", message)
            .fix("see tokens with `helix worker token list`"),
        WorkerTokensError::NoToken => {
            Failure::new(Exit::No, "not_found", message).fix("see `helix worker token list`")
        }
        WorkerTokensError::Name(_) => Failure::usage("invalid", message)
            .fix("give a name of 1 to 80 characters without control characters"),
        WorkerTokensError::Store(_) => Failure::unavailable("database", message)
            .fix("see that the database is up, then try again"),
    }
}
