//! The server's port, its public address and the issuer of its callers' tokens.

use std::net::TcpListener;
use std::time::Duration;

use reqwest::header::HOST;
use serde_json::Value;

use super::Report;
use crate::auth::jwks::VerificationKey;
use crate::cli::serve::listen_fix;
use crate::config::{Config, ExternalIssuer, JwksNetwork, OAuth, PublicUrl};
use crate::outbound::{FetchLimits, GuardedFetch, Reach};

const PATIENCE: Duration = Duration::from_secs(5);
/// Largest answer that is looked at, in bytes.
const MAX_ANSWER: u64 = 64 << 10;

/// Who is at the port of this configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serving {
    Helix,
    Nobody,
    SomebodyElse,
}

pub async fn port(config: &Config, report: &mut Report) -> Serving {
    let listen = config.server.listen;
    let refused = match TcpListener::bind(listen) {
        Err(error) if listen.port() != 0 => error.kind(),
        Err(_) | Ok(_) => {
            report.ok("port", format!("{listen} is free"));
            return Serving::Nobody;
        }
    };
    let base = PublicUrl::FromListener.base(listen);
    match ask(&format!("{}/healthz", base.as_str()), None).await {
        Some((200, body)) if body["status"] == "ok" => {
            report.ok("port", format!("a helix server answers on {listen}"));
            Serving::Helix
        }
        Some(_) | None => {
            let (_, fix) = listen_fix(refused);
            report.error(
                "port",
                format!("{listen} cannot be had and no helix server answers there"),
                fix,
            );
            Serving::SomebodyElse
        }
    }
}

/// A server refuses requests whose `Host` it does not know; its own address must not be one.
pub async fn public_url(config: &Config, serving: Serving, report: &mut Report) {
    let listen = config.server.listen;
    let base = config.server.public_url.base(listen);
    if serving != Serving::Helix {
        report.ok(
            "public_url",
            format!("{}; matched against Host when a server runs", base.as_str()),
        );
        return;
    }
    let url = format!(
        "{}/api/v1/agent-runs",
        PublicUrl::FromListener.base(listen).as_str()
    );
    let answer = ask(&url, Some(base.authority())).await;
    if answer
        .as_ref()
        .is_some_and(|(_, body)| body["error"] == "host_not_allowed")
    {
        let text = format!(
            "the server on {listen} refuses the host {}",
            base.authority()
        );
        report.error(
            "public_url",
            text,
            "give the server and this command the same --public-url",
        );
    } else if answer.is_some() {
        report.ok(
            "public_url",
            format!("{} is admitted as Host", base.authority()),
        );
    } else {
        report.warn(
            "public_url",
            "the server did not answer",
            "try `helix health`",
        );
    }
}

/// Status and JSON body of an answer, `Null` when it is none.
async fn ask(url: &str, host: Option<&str>) -> Option<(u16, Value)> {
    let client = reqwest::Client::builder()
        .timeout(PATIENCE)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .ok()?;
    let request = client.get(url);
    let request = match host {
        Some(host) => request.header(HOST, host),
        None => request,
    };
    let answer = request.send().await.ok()?;
    let status = answer.status().as_u16();
    if answer
        .content_length()
        .is_none_or(|length| length > MAX_ANSWER)
    {
        return Some((status, Value::Null));
    }
    let body = answer.bytes().await.ok()?;
    Some((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

pub async fn issuer(config: &Config, report: &mut Report) {
    match &config.oauth {
        OAuth::BuiltIn => report.ok("issuer", "no external issuer is configured"),
        OAuth::LocalHs256(_) => report.ok("issuer", "the local HS256 test lane is open"),
        OAuth::Incomplete { reason } => {
            report.error(
                "issuer",
                format!("the agent doors are closed: {reason}"),
                "complete HELIX_AGENT_OAUTH_*",
            );
        }
        OAuth::External(external) => key_set(external, report).await,
    }
}

async fn key_set(external: &ExternalIssuer, report: &mut Report) {
    let reach = match external.jwks_network {
        JwksNetwork::PublicOnly => Reach::Public,
        JwksNetwork::Any => Reach::Anywhere,
    };
    let fetched = GuardedFetch::new(reach, FetchLimits::default())
        .json(&external.jwks_url)
        .await;
    let fix = "check HELIX_AGENT_OAUTH_JWKS_URL and that the issuer is up";
    match fetched {
        Err(error) => report.error(
            "jwks",
            format!("the issuer's keys cannot be fetched: {error}"),
            fix,
        ),
        Ok(document) => {
            let keys = document["keys"].as_array().map_or(&[][..], Vec::as_slice);
            match keys
                .iter()
                .filter(|key| VerificationKey::from_jwk(key).is_some())
                .count()
            {
                0 => report.error("jwks", "the issuer publishes no usable key", fix),
                usable => report.ok(
                    "jwks",
                    format!("{usable} of {} published keys are usable", keys.len()),
                ),
            }
        }
    }
}
