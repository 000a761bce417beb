//! What accounts granted to apps: given, paused, ended; and the tokens that stand for it
//! (`access` 2, 3.5).
//!
//! What must stay true: a grant dies in the commit that appends its end, and its tokens with it; a
//! code or refresh token is used up only together with its successors; whoever uses one twice ends
//! the grant. Deliberately absent: who may ask for what, which stands in `auth::oauth`.

mod introspection;
mod list;
mod tokens;

use std::sync::Arc;

use helix_aggregates::access::grant::Grant;
use helix_aggregates::access::grant::command::{Boundary, Door, GrantCommand, NewGrant};
use helix_aggregates::access::grant::error::GrantError;
use helix_aggregates::access::grant::event::GrantEnding;
use helix_aggregates::access::reach::Reach;
use helix_aggregates::access::scopes::Scopes as GrantScopes;
use helix_aggregates::ids::{AccountId, GrantId, WorkspaceId};
use helix_aggregates::time::Timestamp;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::accounts::{self, Accounts, AccountsError, LinkTuple};
use super::sign_in::{Person, Proved};
use crate::app::problem::{Code, Problem};
use crate::app::redaction::issued_token;
use crate::app::work::caller::kept;
use crate::auth::oauth::authorize::AuthorizationRequest;
use crate::auth::oauth::redirect::Shown;
use crate::auth::oauth::resource::Resources;
use crate::auth::oauth::rotation::Overlap;
use crate::auth::oauth::scope::Scopes;
use crate::store::append::{Append, Priority};
use crate::store::ledger::LedgerChange;
use crate::store::ledger::grants::{CodeRow, GrantChange, GrantRow};
use crate::store::ledger::people::PeopleChange;
use crate::store::ledger::work::WorkChange;
use crate::store::log::{ExecuteError, Log, Meta, Stream};
use crate::store::oauth_grants;
use crate::store::owner::Lane;
use crate::store::sealing::DataKey;
use crate::store::{Core, StoreError};

pub use introspection::Introspected;
pub use list::{GrantLine, GrantState};
pub use tokens::{ACCESS_KIND, Issued, RedeemError};

/// The kind in the text of an authorization code (`access` 1.1).
const CODE_KIND: &str = "ac";
const CODE_LIFE_MS: i64 = 600_000;
/// The alias under which apps of this server act (`access` 1.3).
pub const OWN_PROVIDER: &str = "helix";
/// Live grants of one account (`access` 3.5).
pub const MOST: i64 = 200;

/// Why a grant could not be given or changed.
#[derive(Debug, thiserror::Error)]
pub enum GrantsError {
    #[error("an account has at most {MOST} connections")]
    TooMany,
    #[error("there is no such connection")]
    NoGrant,
    #[error("the form was answered already or is over")]
    Spent,
    #[error("the passphrase that was entered is no longer the account's")]
    PassphraseChanged,
    #[error("only a member may connect an app to the workspace")]
    NoMember,
    #[error(transparent)]
    Refused(#[from] GrantError),
    #[error(transparent)]
    Account(#[from] AccountsError),
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for GrantsError {
    fn from(error: StoreError) -> Self {
        if matches!(error, StoreError::Spent) {
            return Self::Spent;
        }
        if matches!(error, StoreError::PassphraseChanged) {
            return Self::PassphraseChanged;
        }
        if matches!(error, StoreError::Full) {
            return Self::TooMany;
        }
        Self::Store(error)
    }
}

impl From<ExecuteError<GrantError>> for GrantsError {
    fn from(error: ExecuteError<GrantError>) -> Self {
        match error {
            ExecuteError::Refused(refusal) => refusal.into(),
            ExecuteError::Store(error) => error.into(),
        }
    }
}

impl From<GrantsError> for Problem {
    fn from(error: GrantsError) -> Self {
        match error {
            GrantsError::NoGrant => Self::new(Code::NoSuchPath),
            GrantsError::Refused(_) => Self::invalid("The connection has ended already."),
            GrantsError::Spent => Self::invalid("The form was answered already or is over."),
            GrantsError::NoMember => Self::new(Code::RoleRequired),
            GrantsError::Store(error) => error.into(),
            GrantsError::TooMany | GrantsError::PassphraseChanged | GrantsError::Account(_) => {
                Self::new(Code::Internal).because(error)
            }
        }
    }
}

/// What a list shows of a grant, sealed under its account's key.
#[derive(Debug, Serialize, Deserialize)]
struct GrantBody {
    app: String,
    redirect: String,
}

/// What somebody decided on a consent page.
#[derive(Debug)]
pub struct Decision<'a> {
    pub request: &'a AuthorizationRequest,
    /// The app's name as it was shown.
    pub app: &'a str,
    pub scopes: Scopes,
    pub within: Within,
    pub expires_days: u16,
    pub earlier: Earlier,
    /// The form that was answered: it is used up in the same commit.
    pub handle_hash: [u8; 32],
}

/// What an app is confined to besides its scopes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Within {
    /// Whatever its door opens to the account.
    Account,
    Workspace {
        workspace: WorkspaceId,
        reach: Reach,
    },
}

/// What becomes of earlier connections of the same app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earlier {
    Replaced,
    Kept,
}

#[derive(Debug)]
pub struct Grants {
    core: Arc<Core>,
    log: Log<Grant>,
    accounts: Accounts,
    /// Byte for byte what every answer carries as `iss`.
    issuer: String,
    resources: Resources,
    overlap: Overlap,
}

impl Grants {
    pub fn new(core: Arc<Core>, issuer: String, resources: Resources, overlap: Overlap) -> Self {
        Self {
            log: Log::new(Arc::clone(&core)),
            accounts: Accounts::new(Arc::clone(&core)),
            core,
            issuer,
            resources,
            overlap,
        }
    }

    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    pub fn resources(&self) -> &Resources {
        &self.resources
    }

    fn core(&self) -> &Core {
        &self.core
    }

    fn overlap(&self) -> Overlap {
        self.overlap
    }

    /// Gives what was decided; the code that the app redeems for it.
    pub async fn give(
        &self,
        proved: &Proved,
        meta: &Meta,
        decision: &Decision<'_>,
    ) -> Result<SecretString, GrantsError> {
        let account = proved.account;
        let door = decision.request.door();
        let rests_on = match door {
            Door::Agent => Some(self.bind(account).await?),
            Door::Vault | Door::Workspace => None,
        };
        let owner = accounts::owner_of(&self.core, account);
        let lane = self.core.lane(&owner).await?;
        let stamp = self.core.clock.stamp();
        let at_ms = stamp.at.millis();
        let id = self.core.ids.stream(lane);
        let expires_at_ms = at_ms + i64::from(decision.expires_days) * 86_400_000;
        let code = issued_token::mint(CODE_KIND)?;
        let shown = shown(decision.request);
        let new = NewGrant {
            account,
            client_id: accounts::field("client_id", &decision.request.client_id)?,
            app: accounts::field("app", decision.app)?,
            redirect: accounts::field("redirect", &shown)?,
            boundary: boundary(door, account, &decision.within)?,
            scopes: GrantScopes::parse(decision.scopes.words()).map_err(GrantError::from)?,
            expires_at: Timestamp::from_millis(expires_at_ms),
        };
        let body = GrantBody {
            app: decision.app.to_owned(),
            redirect: shown,
        };
        let (workspace, reach) = match &decision.within {
            Within::Account => (None, None),
            Within::Workspace { workspace, reach } => (Some(workspace.uuid()), kept(reach)),
        };
        let row = GrantRow {
            row_id: id,
            account: account.uuid(),
            door: door.as_str(),
            client_id: decision.request.client_id.clone(),
            app_mac: self.app_mac(account, decision),
            rests_on,
            scopes: owned(decision.scopes.words()),
            workspace,
            reach,
            key_id: proved.key.id(),
            body: proved.key.seal(&place(id), &accounts::spelled(&body)?)?,
            at_ms,
            expires_at_ms,
        };
        let code_row = CodeRow {
            code_hash: code.hash,
            row_id: id,
            client_id: decision.request.client_id.clone(),
            redirect_uri: decision.request.redirect.as_str().to_owned(),
            challenge: decision.request.challenge.as_str().to_owned(),
            expires_at_ms: at_ms + CODE_LIFE_MS,
        };
        let must = workspace.map(|workspace| must_be_member(proved, workspace));
        let mut ledger = vec![
            proved.still(),
            LedgerChange::People(PeopleChange::UseHandle {
                handle_hash: decision.handle_hash,
                at_ms,
            }),
            LedgerChange::Grant(GrantChange::Give(Box::new(row))),
            LedgerChange::Grant(GrantChange::MustHold {
                new: id,
                replaces: decision.earlier == Earlier::Replaced,
                most: MOST,
            }),
            LedgerChange::Grant(GrantChange::IssueCode(code_row)),
        ];
        ledger.extend(must);
        let stream = Stream {
            id,
            lane,
            owner,
            key: Arc::clone(&proved.key),
        };
        let command = GrantCommand::Give(Box::new(new));
        self.log
            .execute_with(&stream, &command, stamp, meta, |append| Append {
                ledger: ledger.clone(),
                ..append
            })
            .await
            .map_err(not_given)?;
        if decision.earlier == Earlier::Replaced {
            self.end_earlier(account, id, decision).await;
        }
        Ok(code.text)
    }

    /// The account's own binding, through which its apps use the agent doors.
    async fn bind(&self, account: AccountId) -> Result<Uuid, GrantsError> {
        let id = account.to_string();
        let tuple = LinkTuple {
            issuer: self.issuer.clone(),
            tenant: id.clone(),
            provider: OWN_PROVIDER.to_owned(),
            subject: id,
        };
        Ok(self.accounts.bind(account, &tuple).await?)
    }

    /// A failure to end an earlier grant never fails the new one (`vault` 3.3).
    async fn end_earlier(&self, account: AccountId, new: Uuid, decision: &Decision<'_>) {
        let app_mac = self.app_mac(account, decision);
        let client_id = &decision.request.client_id;
        let pool = &self.core.pool;
        let earlier = oauth_grants::earlier(pool, account.uuid(), new, client_id, &app_mac);
        let ended = async {
            for grant in earlier.await? {
                self.end(GrantId::new(grant), GrantEnding::Replaced, &Meta::new())
                    .await?;
            }
            Ok::<_, GrantsError>(())
        };
        if let Err(error) = ended.await {
            tracing::warn!(cause = %error, "an earlier connection of an app could not be ended");
        }
    }

    /// Ends a grant of `person`.
    pub async fn revoke(&self, person: &Person, grant: GrantId) -> Result<(), GrantsError> {
        self.of(person, grant).await?;
        self.end(grant, GrantEnding::RevokedByOwner, &person.meta())
            .await
    }

    /// Switches an app off, or on again.
    pub async fn switch(
        &self,
        person: &Person,
        grant: GrantId,
        to: Switch,
    ) -> Result<(), GrantsError> {
        self.of(person, grant).await?;
        let stream = self.stream(grant.uuid()).await?;
        let stamp = self.core.clock.stamp();
        let row_id = grant.uuid();
        let (command, change) = match to {
            Switch::Off => {
                let at_ms = stamp.at.millis();
                (GrantCommand::Pause, GrantChange::Pause { row_id, at_ms })
            }
            Switch::On => (GrantCommand::Resume, GrantChange::Resume { row_id }),
        };
        self.log
            .execute_with(&stream, &command, stamp, &person.meta(), |append| Append {
                guards: vec![person.session.uuid()],
                ledger: vec![LedgerChange::Grant(change.clone())],
                priority: Priority::Withdrawal,
                ..append
            })
            .await?;
        Ok(())
    }

    async fn of(&self, person: &Person, grant: GrantId) -> Result<(), GrantsError> {
        let place = oauth_grants::place(&self.core.withdrawals, grant.uuid()).await?;
        place
            .filter(|place| place.account == person.account.uuid())
            .map(drop)
            .ok_or(GrantsError::NoGrant)
    }

    /// Ends a grant and with it all its tokens. Ending an ended one changes nothing.
    async fn end(
        &self,
        grant: GrantId,
        cause: GrantEnding,
        meta: &Meta,
    ) -> Result<(), GrantsError> {
        end(&self.core, &self.log, grant, (cause, meta)).await
    }

    async fn stream(&self, grant: Uuid) -> Result<Stream, GrantsError> {
        stream_of(&self.core, grant).await
    }

    /// The look-up of an app by its name, since clients register anew. An app without one is called
    /// after its host, like many others, so it is only the client that it is.
    fn app_mac(&self, account: AccountId, decision: &Decision<'_>) -> [u8; 32] {
        let request = decision.request;
        let nameless = decision.app == request.redirect.host();
        let name = if nameless {
            request.client_id.as_str()
        } else {
            decision.app
        };
        let account = account.uuid();
        let parts = [account.as_bytes().as_slice(), name.as_bytes()];
        self.core.keyring.mac("app-name", &parts)
    }
}

/// Ends a grant for whoever may end it.
pub(crate) async fn end(
    core: &Core,
    log: &Log<Grant>,
    grant: GrantId,
    (cause, meta): (GrantEnding, &Meta),
) -> Result<(), GrantsError> {
    let stream = stream_of(core, grant.uuid()).await?;
    let stamp = core.clock.stamp();
    let change = LedgerChange::Revoke {
        row_id: grant.uuid(),
        reason: cause.as_str(),
        at_ms: stamp.at.millis(),
    };
    let command = GrantCommand::End { cause };
    log.execute_with(&stream, &command, stamp, meta, |append| Append {
        ledger: vec![change.clone()],
        priority: Priority::Withdrawal,
        ..append
    })
    .await?;
    Ok(())
}

async fn stream_of(core: &Core, grant: Uuid) -> Result<Stream, GrantsError> {
    let place = oauth_grants::place(&core.withdrawals, grant).await?;
    let place = place.ok_or(GrantsError::NoGrant)?;
    let key = core.key(Some(place.key_id)).await?;
    Ok(Stream {
        id: grant,
        lane: Lane::of_stream(grant).ok_or(GrantsError::NoGrant)?,
        owner: accounts::owner_of(core, AccountId::new(place.account)),
        key: key.ok_or(GrantsError::NoGrant)?,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    Off,
    On,
}

/// Which door a grant is confined to, and to what part of what is behind it.
fn boundary(door: Door, account: AccountId, within: &Within) -> Result<Boundary, GrantsError> {
    match (door, within) {
        (Door::Agent, Within::Account) => Ok(Boundary::Agent),
        (Door::Vault, Within::Account) => Ok(Boundary::Vault {
            vault: account,
            labels: Vec::new(),
        }),
        (Door::Workspace, Within::Workspace { workspace, reach }) => Ok(Boundary::Workspace {
            workspace: *workspace,
            reach: reach.clone(),
        }),
        (Door::Workspace, Within::Account)
        | (Door::Agent | Door::Vault, Within::Workspace { .. }) => {
            let fault = "a grant and its door do not fit".to_owned();
            Err(GrantsError::Store(StoreError::Damaged(fault)))
        }
    }
}

/// A dead row under a consent is a membership: it rests on no other row.
fn not_given(error: ExecuteError<GrantError>) -> GrantsError {
    if matches!(error, ExecuteError::Store(StoreError::Revoked)) {
        return GrantsError::NoMember;
    }
    error.into()
}

/// Any member may connect an app that acts for them, as long as they are one.
fn must_be_member(proved: &Proved, workspace: Uuid) -> LedgerChange {
    LedgerChange::Work(WorkChange::MustBeMember {
        workspace,
        account: proved.account.uuid(),
    })
}

/// Where answers go, in the words of the consent page.
pub fn shown(request: &AuthorizationRequest) -> String {
    match request.redirect.shown() {
        Shown::Host(host) => host.to_owned(),
        Shown::ThisComputer => "an app on this computer".to_owned(),
        Shown::Scheme(scheme) => format!("{scheme}:"),
    }
}

fn owned(words: &[&'static str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The name of an app, as the row of its grant seals it.
pub(crate) fn app_name(key: &DataKey, grant: Uuid, body: &[u8]) -> Option<String> {
    let plain = key.open(&place(grant), body).ok()?;
    let body: GrantBody = serde_json::from_slice(&plain).ok()?;
    Some(body.app)
}

fn place(grant: Uuid) -> String {
    format!("{grant}/grant")
}
