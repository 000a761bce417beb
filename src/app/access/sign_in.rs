//! People: the first owner's link, sign-in, sessions (`access` 1.2, 3.6; settled questions 51, 58).
//!
//! What must stay true: nobody becomes owner by coming first; an address that nobody has is answered
//! like one with another passphrase, after the same work; every session is a row of its own that can be
//! ended. Deliberately absent: cookies and forms, which are the browser's.

mod invitation;
mod person;
mod setup;
mod tries;
mod upkeep;

use std::sync::Arc;

use helix_aggregates::access::account::Account;
use helix_aggregates::access::account::command::{AccountCommand, NewSession, SignOff};
use helix_aggregates::access::account::error::AccountError;
use helix_aggregates::access::account::event::AccountEvent;
use helix_aggregates::ids::{AccountId, SessionId};
use helix_aggregates::text::Text;
use helix_aggregates::time::{Stamp, Timestamp};
use secrecy::SecretString;

use super::accounts::{self, AccountsError};
use crate::app::redaction::issued_token::{self, Minted};
use crate::auth::passphrase::{PassphraseError, Passphrases, Verdict};
use crate::auth::session::{KIND, LIFE_MS};
use crate::store::append::{Append, Priority};
use crate::store::ledger::LedgerChange;
use crate::store::ledger::people::{PeopleChange, SessionRow};
use crate::store::log::{ExecuteError, Log, Meta, Stream};
use crate::store::owner::Lane;
use crate::store::people::SignInRow;
use crate::store::sealing::DataKey;
use crate::store::uses::Used;
use crate::store::{Core, Line, StoreError, people};

use tries::Tries;

pub use invitation::{ChoiceLink, Newcomer};
pub use person::Person;
pub use setup::{LINK_KIND, LinkReach, SetUp, Whence};
pub use tries::Origin;
pub use upkeep::WithAccount;

/// Why nobody was let in. Only the door knows the words.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    #[error("no account has this address and passphrase")]
    Wrong,
    #[error("the address of the account is not confirmed")]
    Unverified,
    #[error("too many failed; the next try is in {0} s")]
    Wait(u64),
    #[error("too many passphrases are being checked")]
    Busy,
    #[error("the passphrase is too short or too long")]
    PassphraseLength,
    #[error("no account has this address and recovery code")]
    WrongCode,
    #[error("the two passphrases differ")]
    PassphrasesDiffer,
    #[error("the link has been used or is over")]
    LinkSpent,
    #[error("this server has its owner")]
    HasOwner,
    #[error(transparent)]
    Account(#[from] AccountsError),
}

impl From<StoreError> for SignInError {
    fn from(error: StoreError) -> Self {
        if matches!(error, StoreError::Spent) {
            return Self::LinkSpent;
        }
        if matches!(error, StoreError::PassphraseChanged) {
            return Self::Wrong;
        }
        Self::Account(error.into())
    }
}

impl From<ExecuteError<AccountError>> for SignInError {
    fn from(error: ExecuteError<AccountError>) -> Self {
        if matches!(error, ExecuteError::Store(StoreError::Spent)) {
            return Self::LinkSpent;
        }
        if matches!(error, ExecuteError::Store(StoreError::PassphraseChanged)) {
            return Self::Wrong;
        }
        if matches!(error, ExecuteError::Refused(AccountError::Unverified)) {
            return Self::Unverified;
        }
        Self::Account(accounts::email_taken(error))
    }
}

impl From<PassphraseError> for SignInError {
    fn from(error: PassphraseError) -> Self {
        match error {
            PassphraseError::Busy => Self::Busy,
            PassphraseError::Length => Self::PassphraseLength,
            PassphraseError::Hash => Self::Account(AccountsError::Store(StoreError::Damaged(
                "a passphrase could not be hashed".to_owned(),
            ))),
        }
    }
}

/// A session on the one occasion that its text is known.
#[derive(Debug)]
pub struct Started {
    pub token: SecretString,
    pub account: AccountId,
}

/// An account that has shown its passphrase.
#[derive(Debug, Clone)]
pub struct Proved {
    pub account: AccountId,
    pub key: Arc<DataKey>,
    /// When the passphrase that was entered was set.
    set_at_ms: i64,
}

impl Proved {
    /// The commit holds only while that is still the passphrase.
    pub(super) fn still(&self) -> LedgerChange {
        LedgerChange::People(PeopleChange::HoldPassphrase {
            account: self.account.uuid(),
            set_at_ms: self.set_at_ms,
        })
    }
}

#[derive(Debug)]
pub struct SignIn {
    core: Arc<Core>,
    log: Log<Account>,
    passphrases: Passphrases,
    tries: Tries,
}

impl SignIn {
    pub fn new(core: Arc<Core>) -> Self {
        Self {
            log: Log::new(Arc::clone(&core)),
            passphrases: Passphrases::default(),
            tries: Tries::default(),
            core,
        }
    }

    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// The account of an address whose passphrase was given.
    pub async fn prove(
        &self,
        email: &str,
        passphrase: SecretString,
        origin: &Origin,
    ) -> Result<Proved, SignInError> {
        let mac = accounts::email_mac(&self.core.keyring, email);
        self.count(&mac, origin)?;
        let found = people::by_email(&self.core.admissions, &mac).await?;
        let judged = self.judge(found, passphrase).await;
        self.note(&mac, origin, &judged);
        judged
    }

    /// The same, of somebody who is signed in.
    pub async fn prove_again(
        &self,
        person: &Person,
        passphrase: SecretString,
        origin: &Origin,
    ) -> Result<Proved, SignInError> {
        let mac = accounts::email_mac(&self.core.keyring, &person.email);
        self.count(&mac, origin)?;
        let account = person.account.uuid();
        let found = people::by_account(&self.core.admissions, account).await?;
        let judged = self.judge(found, passphrase).await;
        self.note(&mac, origin, &judged);
        let proved = judged?;
        let at_ms = self.core.clock.now().millis();
        people::note_proof(&self.core.pool, person.session.uuid(), at_ms).await?;
        Ok(proved)
    }

    /// Nothing is looked up and nothing hashed for somebody who has to wait.
    fn count(&self, email_mac: &[u8; 32], origin: &Origin) -> Result<(), SignInError> {
        let admitted = self.tries.admit(email_mac, origin, self.now_ms());
        admitted.map_err(SignInError::Wait)
    }

    fn note(&self, email_mac: &[u8; 32], origin: &Origin, judged: &Result<Proved, SignInError>) {
        match judged {
            Ok(_) => self.tries.succeeded(email_mac, origin),
            Err(SignInError::Wrong) => self.tries.failed(email_mac, origin, self.now_ms()),
            Err(_) => {}
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.core.clock.now().millis()).unwrap_or(0)
    }

    /// What tells a browser that signed in to an address before. It lets nobody in.
    pub fn known_browser(&self, email: &str) -> String {
        let mac = accounts::email_mac(&self.core.keyring, email);
        hex::encode(self.core.keyring.mac("known-browser", &[&mac]))
    }

    async fn judge(
        &self,
        found: Option<SignInRow>,
        passphrase: SecretString,
    ) -> Result<Proved, SignInError> {
        let stored = found.as_ref().map(|found| found.phc.clone());
        let again = passphrase.clone();
        let verdict = self.passphrases.verify(stored, passphrase).await?;
        let Some(found) = found.filter(|_| verdict != Verdict::Wrong) else {
            return Err(SignInError::Wrong);
        };
        if !found.verified {
            return Err(SignInError::Unverified);
        }
        if verdict == Verdict::RightButOld {
            let phc = self.passphrases.hash(again).await?;
            people::rehash(&self.core.pool, found.account, &found.phc, &phc).await?;
        }
        // Without its key an account is erased, whatever its rows still say.
        let key = self.core.key(Some(found.key_id)).await?;
        Ok(Proved {
            account: AccountId::new(found.account),
            key: key.ok_or(SignInError::Wrong)?,
            set_at_ms: found.set_at_ms,
        })
    }

    /// Signs a browser in.
    pub async fn sign_in(
        &self,
        email: &str,
        passphrase: SecretString,
        origin: &Origin,
        device: Text<120>,
    ) -> Result<Started, SignInError> {
        let proved = self.prove(email, passphrase, origin).await?;
        self.open(&proved, device).await
    }

    /// Starts a session of whoever has just shown the passphrase.
    pub async fn open(&self, proved: &Proved, device: Text<120>) -> Result<Started, SignInError> {
        let stamp = self.core.clock.stamp();
        let stream = self.stream(proved.account, &proved.key).await?;
        let opened = self.new_session(proved.account, stream.lane, device, stamp)?;
        let row = opened.row;
        let at_ms = stamp.at.millis();
        let command = [AccountCommand::StartSession(opened.session)];
        self.log
            .execute_all(&stream, &command, stamp, &Meta::new(), |events, append| {
                let opened = LedgerChange::People(PeopleChange::OpenSession(row.clone()));
                let mut ledger = vec![proved.still(), opened];
                ledger.extend(ended(events, at_ms));
                Append { ledger, ..append }
            })
            .await?;
        Ok(Started {
            token: opened.token,
            account: proved.account,
        })
    }

    /// Ends a session of `person`: this one, or another of the same account.
    pub async fn end_session(
        &self,
        person: &Person,
        session: SessionId,
        cause: SignOff,
    ) -> Result<(), SignInError> {
        let stamp = self.core.clock.stamp();
        let stream = self.stream(person.account, &person.key).await?;
        let at_ms = stamp.at.millis();
        let command = [AccountCommand::EndSession { session, cause }];
        self.log
            .execute_all(
                &stream,
                &command,
                stamp,
                &person.meta(),
                |events, append| Append {
                    ledger: ended(events, at_ms),
                    priority: Priority::Withdrawal,
                    ..append
                },
            )
            .await?;
        Ok(())
    }

    /// The browsers that `person` is signed in with, this one among them.
    pub async fn sessions(&self, person: &Person) -> Result<Vec<SessionLine>, SignInError> {
        let stream = self.stream(person.account, &person.key).await?;
        let loaded = self.log.load(&stream).await?;
        let now = self.core.clock.now();
        let uses = people::last_uses(&self.core.reads, person.account.uuid()).await?;
        let profile = loaded.state.profile();
        let sessions = profile.iter().flat_map(|profile| &profile.sessions);
        Ok(sessions
            .filter(|(_, session)| session.expires_at > now)
            .map(|(id, session)| SessionLine {
                session: *id,
                device: session.device.open().cloned().unwrap_or_default(),
                since: session.started_at,
                used: uses.get(&id.uuid()).map(|at| Timestamp::from_millis(*at)),
                ends: session.expires_at,
                this: *id == person.session,
            })
            .collect())
    }

    /// Who holds the session behind a cookie's hash.
    pub async fn person(
        &self,
        token_hash: &[u8; 32],
        line: Line,
    ) -> Result<Option<Person>, StoreError> {
        let Some(found) = people::session(self.core.line(line), token_hash).await? else {
            return Ok(None);
        };
        let Some(key) = self.core.key(Some(found.key_id)).await? else {
            return Ok(None);
        };
        if found.stale {
            let noted = self.core.note_use(Used::Session, found.row_id, line);
            noted.await?;
        }
        let csrf = self.core.keyring.mac("csrf", &[token_hash]);
        Ok(Person::of(&found, key, &csrf))
    }

    async fn stream(&self, account: AccountId, key: &Arc<DataKey>) -> Result<Stream, StoreError> {
        let owner = accounts::owner_of(&self.core, account);
        let lane = self.core.lane(&owner).await?;
        Ok(Stream {
            id: lane.mark(account.uuid()),
            lane,
            owner,
            key: Arc::clone(key),
        })
    }

    fn new_session(
        &self,
        account: AccountId,
        lane: Lane,
        device: Text<120>,
        stamp: Stamp,
    ) -> Result<Opened, StoreError> {
        let Minted { text, hash } = issued_token::mint(KIND)?;
        let session = SessionId::new(self.core.ids.stream(lane));
        let at_ms = stamp.at.millis();
        Ok(Opened {
            token: text,
            row: SessionRow {
                token_hash: hash,
                row_id: session.uuid(),
                account: account.uuid(),
                at_ms,
                expires_at_ms: at_ms + LIFE_MS,
            },
            session: NewSession {
                session,
                device,
                expires_at: Timestamp::from_millis(at_ms + LIFE_MS),
            },
        })
    }
}

/// A browser that is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLine {
    pub session: SessionId,
    pub device: String,
    pub since: Timestamp,
    /// To the minute.
    pub used: Option<Timestamp>,
    pub ends: Timestamp,
    /// It is the one that asks.
    pub this: bool,
}

/// A session that is about to be.
struct Opened {
    token: SecretString,
    row: SessionRow,
    session: NewSession,
}

/// The rows of the sessions that events ended.
fn ended(events: &[AccountEvent], at_ms: i64) -> Vec<LedgerChange> {
    let revoked = |event: &AccountEvent| match event {
        AccountEvent::SessionEnded(ended) => Some(LedgerChange::Revoke {
            row_id: ended.session.uuid(),
            reason: ended.cause.as_str(),
            at_ms,
        }),
        AccountEvent::Created(_)
        | AccountEvent::Verified(_)
        | AccountEvent::PassphraseSet(_)
        | AccountEvent::SessionStarted(_)
        | AccountEvent::EmailChanged(_)
        | AccountEvent::Renamed(_)
        | AccountEvent::RecoverySheetIssued(_)
        | AccountEvent::RecoveryCodeUsed(_)
        | AccountEvent::ProviderLinked(_)
        | AccountEvent::ProviderUnlinked(_)
        | AccountEvent::Deleted(_) => None,
    };
    events.iter().filter_map(revoked).collect()
}
