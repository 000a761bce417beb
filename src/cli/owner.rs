//! `helix owner …`: the way to the first account (`pages`, first run 3).

use clap::{Args, Subcommand};
use secrecy::ExposeSecret;
use serde_json::json;

use super::attach::{Installation, with_store};
use super::failure::{Exit, Failure};
use super::{Context, SettingFlags};
use crate::app::access::sign_in::{LinkReach, SignIn, SignInError};
use crate::config::Config;

#[derive(Debug, Args)]
pub struct OwnerArgs {
    #[command(subcommand)]
    pub verb: Verb,
    #[command(flatten)]
    pub settings: SettingFlags,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Print a fresh one-time link with which the first owner makes their account
    Link {
        /// The link works from any address, not from this machine alone
        #[arg(long)]
        public: bool,
    },
}

pub async fn run(args: OwnerArgs, context: &Context) -> Result<Exit, Failure> {
    let config = context.load(&args.settings)?;
    let Verb::Link { public } = args.verb;
    let reach = if public {
        LinkReach::Anywhere
    } else {
        LinkReach::Loopback
    };
    let base = config.server.public_url.base(config.server.listen);
    with_store(&config, Installation::MayBegin, async |core| {
        let link = SignIn::new(core)
            .owner_link(reach)
            .await
            .map_err(|error| refused(&error))?;
        let url = format!("{}/setup/{}", base.as_str(), link.expose_secret());
        let seen = json!({ "url": url, "expires_in_s": 3_600, "public": public });
        context.output.answer(&seen, |output| {
            let note = if public {
                "from anywhere"
            } else {
                "on this machine"
            };
            output.pairs(&[
                ("Setup", url.clone()),
                ("Works", format!("once, for 60 minutes, {note}")),
            ])
        })
    })
    .await?;
    Ok(Exit::Ok)
}

/// The link that a server without an owner prints when it starts.
pub(super) async fn first_link(
    config: &Config,
    sign_in: &SignIn,
    base: &str,
) -> Result<Option<String>, Failure> {
    let waits = sign_in.waits_for_owner().await;
    let waits = waits.map_err(|error| Failure::unavailable("database", error.to_string()))?;
    // Where others can reach the listener, a link is made only when somebody asks for one.
    if !waits || config.production {
        return Ok(None);
    }
    let link = sign_in.owner_link(LinkReach::Loopback).await;
    let link = link.map_err(|error| refused(&error))?;
    Ok(Some(format!("{base}/setup/{}", link.expose_secret())))
}

fn refused(error: &SignInError) -> Failure {
    let message = error.to_string();
    if matches!(error, SignInError::HasOwner) {
        return Failure::new(Exit::No, "has_owner", message).fix("sign in at /sign-in");
    }
    Failure::unavailable("database", message).fix("see `helix doctor`, then try again")
}
