//! `helix health`: up (`/healthz`) and ready (`/readyz`)?

use clap::Args;
use serde_json::{Value, json};

use super::client::{self, Client};
use super::failure::{Exit, Failure};
use super::{Context, SettingFlags};
use crate::config::PublicUrl;

#[derive(Debug, Args)]
pub struct HealthArgs {
    /// The server's address; without it, the one this configuration would listen on
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    pub settings: SettingFlags,
}

/// Exit 0 when ready, 1 when up but not ready, 4 when unreachable.
pub async fn run(args: HealthArgs, context: &Context) -> Result<Exit, Failure> {
    let named = match args.url {
        Some(url) => Some(url),
        None => client::named(&context.environment, "HELIX_URL")?.map(str::to_owned),
    };
    let url = if let Some(url) = named {
        url
    } else {
        let listen = context.load(&args.settings)?.server.listen;
        PublicUrl::FromListener.base(listen).as_str().to_owned()
    };
    let client = Client::without_token(&url)?;
    let (alive, _) = client.status("healthz").await?;
    let (ready, body) = client.status("readyz").await?;
    let is_ready = alive.is_success() && ready.is_success();
    let body: Value = serde_json::from_str(&body).unwrap_or(Value::Null);
    let object = json!({
        "url": client.base(),
        "alive": alive.is_success(),
        "ready": is_ready,
        "status": ready.as_u16(),
        "readyz": body,
    });
    context.output.answer(&object, |out| {
        let state = body["status"]
            .as_str()
            .unwrap_or(if is_ready { "ready" } else { "not ready" });
        out.line(&format!("{}: {state}", client.base()))
    })?;
    Ok(if is_ready { Exit::Ok } else { Exit::No })
}
