//! The demo's account, its link and its token (settled question 84).

use std::sync::Arc;

use helix_aggregates::access::account::command::AccountType;
use helix_aggregates::agent::scope;
use helix_aggregates::ids::AccountId;
use helix_aggregates::text::Text;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::home::Home;
use super::settings::{AUDIENCE, ISSUER, PROVIDER};
use super::ticks::Done;
use crate::app::access::accounts::{AccountLine, Accounts, AccountsError, LinkTuple};
use crate::app::access::sign_in::SignIn;
use crate::app::caller::{SCOPE_READ, SCOPE_WRITE};
use crate::cli::failure::{Exit, Failure};
use crate::config::{Config, OAuth};
use crate::solver::corpora::LIBRARY_SCOPE;
use crate::store::Core;

pub const EMAIL: &str = "demo@helix.invalid";
const TENANT: &str = "demo";
const SUBJECT: &str = "demo-user";
/// Seconds. Each start mints a new one.
const TOKEN_LIFE: i64 = 7 * 86_400;

/// Finds the demo's account and link, or makes what is missing of them; the passphrase becomes that of the
/// demo's file, whatever it was.
pub async fn owner(core: &Arc<Core>, passphrase: SecretString) -> Result<Done<String>, Failure> {
    let (account, done) = linked(core).await?;
    let sign_in = SignIn::new(Arc::clone(core));
    let device = Text::parse("helix demo").map_err(|error| unusable(&error))?;
    let link = sign_in.reset_link(account).await;
    let link = link.map_err(|error| unusable(&error))?;
    let chosen = sign_in.choose(link.text.expose_secret(), passphrase, device);
    chosen.await.map_err(|error| unusable(&error))?;
    Ok(done)
}

fn unusable(error: &dyn std::fmt::Display) -> Failure {
    let message = format!("the owner's passphrase could not be set: {error}");
    Failure::new(Exit::No, "owner", message).fix("try `helix demo --reset`")
}

async fn linked(core: &Arc<Core>) -> Result<(AccountId, Done<String>), Failure> {
    let accounts = Accounts::new(Arc::clone(core));
    let known = accounts
        .list()
        .await
        .map_err(|error| refused(&error))?
        .into_iter()
        .find(|line| line.account.email == EMAIL);
    if let Some(line) = known.as_ref().filter(|line| is_linked(line)) {
        let (id, account) = (line.account.account_id, line.account.account_id.to_string());
        return Ok((id, Done::new(account.clone()).id(account).status("kept")));
    }
    let account = match known {
        Some(line) => line.account,
        None => accounts
            .create(EMAIL, "Demo", AccountType::User)
            .await
            .map_err(|error| refused(&error))?,
    };
    let tuple = LinkTuple {
        issuer: ISSUER.to_owned(),
        tenant: TENANT.to_owned(),
        provider: PROVIDER.to_owned(),
        subject: SUBJECT.to_owned(),
    };
    accounts
        .link(account.account_id, &tuple)
        .await
        .map_err(|error| refused(&error))?;
    let (id, account) = (account.account_id, account.account_id.to_string());
    Ok((id, Done::new(account.clone()).id(account).status("created")))
}

fn is_linked(line: &AccountLine) -> bool {
    line.bindings
        .iter()
        .any(|binding| binding.provider == PROVIDER && binding.status == "active")
}

fn refused(error: &AccountsError) -> Failure {
    Failure::new(Exit::No, "owner", error.to_string()).fix("try `helix demo --reset`")
}

/// Mints the token and keeps it in a file that only its owner can read.
pub fn token(core: &Core, home: &Home, config: &Config) -> Result<SecretString, Failure> {
    let OAuth::LocalHs256(local) = &config.oauth else {
        return Err(Failure::new(
            Exit::No,
            "token",
            "the local token lane is closed",
        ));
    };
    let data = scope::find(LIBRARY_SCOPE).map_or("", |scope| scope.oauth_scope);
    let now = core.clock.stamp().at.millis() / 1_000;
    let claims = json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": SUBJECT, "tenant_id": TENANT,
        "iat": now, "exp": now + TOKEN_LIFE,
        "scope": format!("{SCOPE_READ} {SCOPE_WRITE} {data}"),
    });
    let token = EncodingKey::from_secret(local.secret.expose_secret().as_bytes())
        .and_then(|key| jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &key))
        .map(SecretString::from)
        .map_err(|error| {
            Failure::new(
                Exit::No,
                "token",
                format!("no token could be made: {error}"),
            )
        })?;
    home.keep_token(&token)?;
    Ok(token)
}
