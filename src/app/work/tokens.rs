//! Named tokens: the credential of a harness without a browser (`access` 8).
//!
//! What must stay true: the text is shown once and stored nowhere; a replacement has the permissions of
//! what it replaces and stays the same caller; a token that was seen in a URL is marked. Deliberately
//! absent: who may mint, which is policy or the operator's terminal.

mod error;
mod list;

use std::sync::Arc;
use std::time::Duration;

use helix_aggregates::access::audit::command::NewEntry;
use helix_aggregates::access::author::Maker;
use helix_aggregates::access::reach::Reach;
use helix_aggregates::access::scopes::Scopes;
use helix_aggregates::access::token::Token;
use helix_aggregates::access::token::command::{NewToken, TokenCommand};
use helix_aggregates::access::token::event::TokenRevocation;
use helix_aggregates::access::workspace::Workspace;
use helix_aggregates::ids::{TokenId, WorkspaceId};
use helix_aggregates::text::{Text, without_controls};
use helix_aggregates::time::{Stamp, Timestamp};
use helix_projections::agent::ERASED;
use secrecy::SecretString;
use uuid::Uuid;

use super::audit::{Records, operators_entry};
use super::caller::kept;
use super::site::workspace_owner;
use crate::app::redaction::issued_token;
use crate::store::append::{Append, Priority};
use crate::store::ledger::LedgerChange;
use crate::store::ledger::work::{MustWork, NamedTokenRow, WorkChange};
use crate::store::log::{Loaded, Log, Meta, Stream};
use crate::store::owner::Lane;
use crate::store::sealing::DataKey;
use crate::store::work::{self, TokenPlace};
use crate::store::{Core, StoreError};

pub use error::TokensError;
pub use list::TokenLine;

/// The kind in a named token's text (`access` 1.1).
pub const KIND: &str = "nt";
/// Live tokens of one workspace.
pub const MOST: i64 = 50;
/// Days of a token's life unless somebody says otherwise.
pub const DAYS: u64 = 30;
const DAY_MS: i64 = 86_400_000;

/// What a token is to be.
#[derive(Debug, Clone)]
pub struct TokenWish {
    pub name: String,
    pub scopes: Scopes,
    pub reach: Reach,
    /// 1 to 365.
    pub expires_days: u64,
}

/// Who does something with a token.
#[derive(Debug, Clone)]
pub struct By {
    pub maker: Maker,
    pub meta: Meta,
    /// What the commit checks once more of a person.
    pub must: Option<MustWork>,
    /// The entry in the record that shares the commit; nothing, where the act is part of a larger one, or
    /// the operator's, whose entry is made here.
    pub entry: Option<NewEntry>,
}

impl By {
    /// Whoever holds the data directory.
    pub fn operator() -> Self {
        Self {
            maker: Maker::Operator,
            meta: Meta::new(),
            must: None,
            entry: None,
        }
    }

    /// The entry of what is done to the token called `id`.
    fn entry(&self, act: &str, id: TokenId) -> Result<Option<NewEntry>, StoreError> {
        match (&self.entry, self.maker) {
            (Some(entry), _) => naming(entry, id).map(Some),
            (None, Maker::Operator) => operators_entry(act, &id.to_string()).map(Some),
            (None, Maker::Account(_)) => Ok(None),
        }
    }

    fn rows(&self) -> Vec<LedgerChange> {
        let must = self.must.clone().map(WorkChange::MustWork);
        must.map(LedgerChange::Work).into_iter().collect()
    }
}

/// The same entry, with the token among its ids.
fn naming(entry: &NewEntry, id: TokenId) -> Result<NewEntry, StoreError> {
    let (said, id) = (entry.detail.as_str(), id.to_string());
    let mut named = entry.clone();
    if !said.contains(&id) {
        let fault = |_| StoreError::Damaged("an entry of a record is too long".to_owned());
        named.detail = Text::parse(&format!("{said} {id}")).map_err(fault)?;
    }
    Ok(named)
}

/// A token on the one occasion that its text is known.
#[derive(Debug)]
pub struct Minted {
    pub token: SecretString,
    pub token_id: TokenId,
    pub workspace: WorkspaceId,
    pub expires_at: Timestamp,
}

#[derive(Debug)]
pub struct NamedTokens {
    core: Arc<Core>,
    log: Log<Token>,
    workspaces: Arc<Log<Workspace>>,
    records: Arc<Records>,
}

impl NamedTokens {
    pub fn new(core: Arc<Core>) -> Self {
        let workspaces = Arc::new(Log::new(Arc::clone(&core)));
        let records = Arc::new(Records::new(Arc::clone(&core)));
        Self::with(core, workspaces, records)
    }

    pub(super) fn with(
        core: Arc<Core>,
        workspaces: Arc<Log<Workspace>>,
        records: Arc<Records>,
    ) -> Self {
        Self {
            log: Log::new(Arc::clone(&core)),
            core,
            workspaces,
            records,
        }
    }

    /// Mints a token of a workspace.
    pub async fn create(
        &self,
        workspace: WorkspaceId,
        wish: &TokenWish,
        by: &By,
    ) -> Result<Minted, TokensError> {
        let place = self.workspace(workspace).await?;
        self.check_reach(&place, &wish.reach).await?;
        let stamp = self.core.clock.stamp();
        let mint = self.mint(&place, wish, by, stamp, None)?;
        let mut ledger = by.rows();
        ledger.extend(mint.rows(workspace));
        let append = Append {
            ledger,
            ..Append::of(place.lane, vec![mint.prepared.append.clone()])
        };
        let entry = by.entry("token_create", TokenId::new(mint.row.row_id))?;
        self.append(&place, append, entry, (stamp, &by.meta))
            .await?;
        Ok(mint.shown(&self.log, workspace))
    }

    /// Mints a replacement with the same permissions. The old one lives on, or for `grace_s` seconds.
    pub async fn rotate(
        &self,
        token: TokenId,
        expires_days: u64,
        grace_s: Option<u64>,
        by: &By,
    ) -> Result<Minted, TokensError> {
        let (kept_at, old) = self.stream(token).await?;
        let workspace = WorkspaceId::new(kept_at.workspace);
        let loaded = self.log.load(&old).await?;
        let Token::Live(known) = &loaded.state else {
            return Err(TokensError::Ended);
        };
        let stamp = self.core.clock.stamp();
        if known.dies_at() <= stamp.at {
            return Err(TokensError::Ended);
        }
        let wish = TokenWish {
            name: known.name.open().cloned().unwrap_or_default(),
            scopes: known.scopes.clone(),
            reach: known.reach.clone(),
            expires_days,
        };
        let of_workspace = Stream {
            id: workspace.uuid(),
            ..old.clone()
        };
        let mint = self.mint(&of_workspace, &wish, by, stamp, Some(kept_at))?;
        let mut streams = vec![mint.prepared.append.clone()];
        let mut ledger = by.rows();
        ledger.extend(mint.rows(workspace));
        let mut retired = None;
        if let Some(grace_s) = grace_s {
            let until = stamp.at.plus(Duration::from_secs(grace_s));
            let command = TokenCommand::Retire { until };
            let prepared = self.log.prepare(&old, &loaded, &command, stamp, &by.meta)?;
            if !prepared.events.is_empty() {
                streams.push(prepared.append.clone());
                ledger.push(LedgerChange::Work(WorkChange::RetireToken {
                    row_id: old.id,
                    until_ms: until.millis(),
                }));
                retired = Some(prepared.next);
            }
        }
        let append = Append {
            ledger,
            ..Append::of(old.lane, streams)
        };
        let entry = by.entry("token_rotate", token)?;
        self.append(&of_workspace, append, entry, (stamp, &by.meta))
            .await?;
        if let Some(next) = retired {
            self.log.remember(&old, next);
        }
        Ok(mint.shown(&self.log, workspace))
    }

    /// Revokes a token: whatever it asks from the commit on is refused. A second time changes nothing.
    pub async fn revoke(
        &self,
        token: TokenId,
        cause: TokenRevocation,
        by: &By,
    ) -> Result<(), TokensError> {
        let (place, stream) = self.stream(token).await?;
        let stamp = self.core.clock.stamp();
        let revoked = LedgerChange::Revoke {
            row_id: stream.id,
            reason: cause.as_str(),
            at_ms: stamp.at.millis(),
        };
        let mut ledger = by.rows();
        ledger.push(revoked);
        let command = TokenCommand::Revoke { cause };
        self.log
            .execute_with(&stream, &command, stamp, &by.meta, |append| Append {
                ledger: ledger.clone(),
                priority: Priority::Withdrawal,
                ..append
            })
            .await?;
        // Apart, since what ends a token must not wait for others who write into the record.
        let entry = by.entry("token_revoke", token)?;
        if entry.is_some() {
            let home = Stream {
                id: place.workspace,
                ..stream.clone()
            };
            let append = Append::of(stream.lane, Vec::new());
            self.append(&home, append, entry, (stamp, &by.meta)).await?;
        }
        Ok(())
    }

    async fn append(
        &self,
        home: &Stream,
        append: Append,
        entry: Option<NewEntry>,
        (stamp, meta): (Stamp, &Meta),
    ) -> Result<(), StoreError> {
        match entry {
            Some(entry) => self.records.append(home, append, entry, stamp, meta).await,
            None => self.core.append(append).await,
        }
    }

    /// Marks a token that was seen in a URL. What is no token, or dead, is left alone.
    pub async fn expose(&self, token_hash: &[u8; 32]) -> Result<(), TokensError> {
        let found = work::place(&self.core.admissions, None, Some(token_hash)).await?;
        let Some(place) = found else { return Ok(()) };
        let (_, stream) = self.stream(TokenId::new(place.row_id)).await?;
        let stamp = self.core.clock.stamp();
        let change = LedgerChange::Work(WorkChange::ExposeToken {
            row_id: stream.id,
            at_ms: stamp.at.millis(),
        });
        self.log
            .execute_with(
                &stream,
                &TokenCommand::Expose,
                stamp,
                &Meta::new(),
                |append| Append {
                    ledger: vec![change.clone()],
                    ..append
                },
            )
            .await?;
        Ok(())
    }

    /// The workspace of a token, ended or not.
    pub async fn workspace_of(&self, token: TokenId) -> Result<WorkspaceId, TokensError> {
        let place = work::place(&self.core.withdrawals, Some(token.uuid()), None).await?;
        let place = place.ok_or(TokensError::NoToken)?;
        Ok(WorkspaceId::new(place.workspace))
    }

    fn mint(
        &self,
        home: &Stream,
        wish: &TokenWish,
        by: &By,
        stamp: Stamp,
        replaces: Option<TokenPlace>,
    ) -> Result<Mint, TokensError> {
        let issued_token::Minted { text, hash } = issued_token::mint(KIND)?;
        let name: Text<80> = without_controls(&wish.name)
            .and_then(Text::parse)
            .map_err(|reason| TokensError::Name(reason.to_string()))?;
        let row_id = self.core.ids.stream(home.lane);
        let days = i64::try_from(wish.expires_days).unwrap_or(i64::MAX / DAY_MS);
        let at_ms = stamp.at.millis();
        let expires_at = Timestamp::from_millis(at_ms.saturating_add(days * DAY_MS));
        let last_four = issued_token::last_four(&text);
        let scopes = wish.scopes.of_workspace().map_err(TokensError::Scopes)?;
        let command = TokenCommand::Mint(Box::new(NewToken {
            workspace: WorkspaceId::new(home.id),
            name: name.clone(),
            last_four: short(&last_four)?,
            fingerprint: short(&hex::encode(&hash[..8]))?,
            scopes: scopes.clone(),
            reach: wish.reach.clone(),
            maker: by.maker,
            expires_at,
            replaces: replaces.map(|old| TokenId::new(old.row_id)),
        }));
        let stream = Stream {
            id: row_id,
            ..home.clone()
        };
        let prepared = self
            .log
            .prepare(&stream, &Loaded::default(), &command, stamp, &by.meta)?;
        let row = NamedTokenRow {
            token_hash: hash,
            row_id,
            workspace: home.id,
            line: replaces.map_or(row_id, |old| old.line),
            last_four,
            key_id: home.key.id(),
            body: home.key.seal(&place_of(row_id), name.as_str().as_bytes())?,
            made_by: match by.maker {
                Maker::Account(account) => Some(account.uuid()),
                Maker::Operator => None,
            },
            scopes: scopes.words().to_vec(),
            reach: kept(&wish.reach),
            at_ms,
            expires_at_ms: expires_at.millis(),
        };
        Ok(Mint {
            text,
            row,
            stream,
            prepared,
            expires_at,
        })
    }

    /// A list may name only what there is.
    async fn check_reach(&self, home: &Stream, reach: &Reach) -> Result<(), TokensError> {
        let Reach::Listed(listed) = reach else {
            return Ok(());
        };
        let loaded = self.workspaces.load(home).await?;
        let body = loaded.state.body().ok_or(TokensError::NoWorkspace)?;
        if listed.iter().all(|id| body.projects.contains_key(id)) {
            Ok(())
        } else {
            Err(TokensError::NoProject)
        }
    }

    async fn workspace(&self, workspace: WorkspaceId) -> Result<Stream, TokensError> {
        let id = workspace.uuid();
        let key_id = work::key_id(&self.core.admissions, id).await?;
        let key = self.core.key(key_id).await?;
        Ok(Stream {
            id,
            lane: Lane::of_stream(id).ok_or(TokensError::NoWorkspace)?,
            owner: workspace_owner(&self.core, id),
            key: key.ok_or(TokensError::NoWorkspace)?,
        })
    }

    async fn stream(&self, token: TokenId) -> Result<(TokenPlace, Stream), TokensError> {
        let id = token.uuid();
        let place = work::place(&self.core.withdrawals, Some(id), None).await?;
        let place = place.ok_or(TokensError::NoToken)?;
        let key = self.core.key(Some(place.key_id)).await?;
        let stream = Stream {
            id,
            lane: Lane::of_stream(id).ok_or(TokensError::NoToken)?,
            owner: workspace_owner(&self.core, place.workspace),
            key: key.ok_or(TokensError::NoToken)?,
        };
        Ok((place, stream))
    }
}

/// A token that is about to be.
struct Mint {
    text: SecretString,
    row: NamedTokenRow,
    stream: Stream,
    prepared: crate::store::log::Prepared<Token>,
    expires_at: Timestamp,
}

impl Mint {
    fn rows(&self, workspace: WorkspaceId) -> [LedgerChange; 2] {
        [
            WorkChange::MintToken(Box::new(self.row.clone())),
            WorkChange::MustHoldTokens {
                workspace: workspace.uuid(),
                most: MOST,
            },
        ]
        .map(LedgerChange::Work)
    }

    fn shown(self, log: &Log<Token>, workspace: WorkspaceId) -> Minted {
        log.remember(&self.stream, self.prepared.next);
        Minted {
            token: self.text,
            token_id: TokenId::new(self.row.row_id),
            workspace,
            expires_at: self.expires_at,
        }
    }
}

fn short<const MAX: usize>(text: &str) -> Result<Text<MAX>, TokensError> {
    Text::parse(text).map_err(|reason| StoreError::Damaged(reason.to_string()).into())
}

fn place_of(row_id: Uuid) -> String {
    format!("{row_id}/named_token")
}

/// The name of a token, or a word where its key is gone.
pub(super) fn name_of(key: &DataKey, row_id: Uuid, body: &[u8]) -> String {
    let plain = key.open(&place_of(row_id), body).ok();
    let name = plain.and_then(|plain| String::from_utf8(plain).ok());
    name.unwrap_or_else(|| ERASED.to_owned())
}
