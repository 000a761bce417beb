//! What owners do with their own account: another passphrase, a recovery sheet, the end of it all
//! (`access` 2, settled question 63).
//!
//! What must stay true: a new passphrase ends every session but the one it was set in; a code of the
//! newest sheet works once; after a deletion nothing of the account can be read or used, from the
//! commit on.

use helix_aggregates::access::account::command::{AccountCommand, PassphraseCause, RecoveryCode};
use helix_aggregates::access::account::event::AccountEvent;
use helix_aggregates::ids::AccountId;
use helix_aggregates::text::Text;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use uuid::Uuid;
use zeroize::Zeroizing;

use super::{Origin, Person, Proved, SignIn, SignInError, Started};
use crate::app::access::accounts;
use crate::store::append::{Append, Priority, StreamAppend};
use crate::store::ledger::LedgerChange;
use crate::store::ledger::people::PeopleChange;
use crate::store::log::{ExecuteError, Meta};
use crate::store::{StoreError, people};

/// Codes of one sheet, and the characters of one code.
const CODES: u8 = 10;
const CODE_CHARACTERS: usize = 20;
/// Without letters that are read as digits.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

impl SignIn {
    /// Another passphrase, set by somebody who has just entered the present one.
    pub async fn change_passphrase(
        &self,
        person: &Person,
        proved: &Proved,
        passphrase: SecretString,
    ) -> Result<(), SignInError> {
        let phc = self.passphrases.hash(passphrase).await?;
        let stamp = self.core.clock.stamp();
        let at_ms = stamp.at.millis();
        let account = person.account.uuid();
        let kept = Some(person.session);
        let stream = self.stream(proved.account, &proved.key).await?;
        let command = AccountCommand::SetPassphrase {
            cause: PassphraseCause::Change,
            kept,
        };
        let ledger = vec![
            proved.still(),
            LedgerChange::People(PeopleChange::SetPassphrase {
                account,
                phc,
                at_ms,
            }),
            LedgerChange::People(PeopleChange::EndSessions {
                account,
                kept: kept.map(helix_aggregates::ids::SessionId::uuid),
                reason: "passphrase_changed",
                at_ms,
            }),
        ];
        self.log
            .execute_with(&stream, &command, stamp, &person.meta(), |append| Append {
                guards: vec![person.session.uuid()],
                ledger: ledger.clone(),
                priority: Priority::Withdrawal,
                ..append
            })
            .await?;
        Ok(())
    }

    /// A fresh recovery sheet: its codes, on the one occasion that they are known.
    pub async fn issue_sheet(
        &self,
        person: &Person,
        proved: &Proved,
    ) -> Result<Vec<SecretString>, SignInError> {
        let account = person.account.uuid();
        let codes: Vec<SecretString> =
            (0..CODES).map(|_| fresh_code()).collect::<Result<_, _>>()?;
        let hashes: Vec<[u8; 32]> = codes
            .iter()
            .map(|code| code_hash(account, code.expose_secret()))
            .collect();
        let stream = self.stream(proved.account, &proved.key).await?;
        let stamp = self.core.clock.stamp();
        let command = [AccountCommand::IssueRecoverySheet];
        self.log
            .execute_all(
                &stream,
                &command,
                stamp,
                &person.meta(),
                |events, append| {
                    let sheet = events.iter().find_map(sheet_of).unwrap_or_default();
                    let kept = PeopleChange::KeepRecoveryCodes {
                        account,
                        sheet,
                        hashes: hashes.clone(),
                    };
                    Append {
                        guards: vec![person.session.uuid()],
                        ledger: vec![proved.still(), LedgerChange::People(kept)],
                        ..append
                    }
                },
            )
            .await?;
        Ok(codes)
    }

    /// A new passphrase for whoever holds a code of the newest sheet; every session ends, and this
    /// browser gets one.
    pub async fn recover(
        &self,
        email: &str,
        code: &str,
        passphrase: SecretString,
        origin: &Origin,
        device: Text<120>,
    ) -> Result<Started, SignInError> {
        let mac = accounts::email_mac(&self.core.keyring, email);
        self.count(&mac, origin)?;
        // Hashed whoever asks, so that an unknown address costs the same.
        let phc = self.passphrases.hash(passphrase).await?;
        let found = people::by_email(&self.core.admissions, &mac).await?;
        let hash = found
            .as_ref()
            .map(|found| code_hash(found.account, &plain(code)));
        let place = match &hash {
            Some(hash) => people::recovery_code(&self.core.admissions, hash).await?,
            None => None,
        };
        let (Some(found), Some(hash), Some(place)) = (found, hash, place) else {
            self.tries.failed(&mac, origin, self.now_ms());
            return Err(SignInError::WrongCode);
        };
        let account = AccountId::new(found.account);
        let key = self.core.key(Some(found.key_id)).await?;
        let key = key.ok_or(SignInError::WrongCode)?;
        let stream = self.stream(account, &key).await?;
        let stamp = self.core.clock.stamp();
        let at_ms = stamp.at.millis();
        let opened = self.new_session(account, stream.lane, device, stamp)?;
        let ledger = vec![
            LedgerChange::People(PeopleChange::UseRecoveryCode {
                code_hash: hash,
                at_ms,
            }),
            LedgerChange::People(PeopleChange::SetPassphrase {
                account: account.uuid(),
                phc,
                at_ms,
            }),
            LedgerChange::People(PeopleChange::EndSessions {
                account: account.uuid(),
                kept: None,
                reason: "passphrase_reset",
                at_ms,
            }),
            LedgerChange::People(PeopleChange::OpenSession(opened.row)),
        ];
        let commands = [
            AccountCommand::UseRecoveryCode(RecoveryCode {
                sheet: place.sheet,
                code: place.code,
            }),
            AccountCommand::SetPassphrase {
                cause: PassphraseCause::Recovery,
                kept: None,
            },
            AccountCommand::StartSession(opened.session),
        ];
        let meta = Meta::new();
        let complete = |_: &[AccountEvent], append| Append {
            ledger: ledger.clone(),
            ..append
        };
        let done = self
            .log
            .execute_all(&stream, &commands, stamp, &meta, complete);
        if let Err(error) = done.await {
            if !matches!(
                error,
                ExecuteError::Refused(_) | ExecuteError::Store(StoreError::Spent)
            ) {
                return Err(error.into());
            }
            // Of an older sheet, or used a moment ago.
            self.tries.failed(&mac, origin, self.now_ms());
            return Err(SignInError::WrongCode);
        }
        self.tries.succeeded(&mac, origin);
        Ok(Started {
            token: opened.token,
            account,
        })
    }

    /// Ends the account of somebody who has just entered the passphrase: its key is destroyed in the
    /// commit that answers, and with it everything that was sealed under it. `with` shares that commit.
    pub async fn delete_account(
        &self,
        person: &Person,
        proved: &Proved,
        with: WithAccount,
    ) -> Result<(), SignInError> {
        let stream = self.stream(proved.account, &proved.key).await?;
        let stamp = self.core.clock.stamp();
        let erased = PeopleChange::EraseAccount {
            account: person.account.uuid(),
            key_id: proved.key.id(),
            at_ms: stamp.at.millis(),
        };
        let command = AccountCommand::Delete;
        let mut ledger = vec![proved.still(), LedgerChange::People(erased)];
        ledger.extend(with.ledger);
        self.log
            .execute_with(&stream, &command, stamp, &person.meta(), |append| Append {
                guards: vec![person.session.uuid()],
                ledger: ledger.clone(),
                streams: [append.streams, with.streams.clone()].concat(),
                priority: Priority::Withdrawal,
                ..append
            })
            .await?;
        for key in with.keys.into_iter().chain([proved.key.id()]) {
            self.core.keyring.forget(key);
        }
        Ok(())
    }

    /// Whether somebody could get back in without the passphrase.
    pub async fn has_sheet(&self, person: &Person) -> Result<bool, StoreError> {
        people::has_recovery_codes(&self.core.reads, person.account.uuid()).await
    }
}

/// What ends together with an account, in its lane.
#[derive(Debug, Default)]
pub struct WithAccount {
    pub streams: Vec<StreamAppend>,
    pub ledger: Vec<LedgerChange>,
    /// Keys that are destroyed.
    pub keys: Vec<Uuid>,
}

fn sheet_of(event: &AccountEvent) -> Option<u32> {
    if let AccountEvent::RecoverySheetIssued(issued) = event {
        Some(issued.sheet)
    } else {
        None
    }
}

fn fresh_code() -> Result<SecretString, StoreError> {
    let mut random = Zeroizing::new([0; CODE_CHARACTERS]);
    getrandom::fill(&mut *random).map_err(|_| StoreError::Damaged("no randomness".to_owned()))?;
    let mut code = Zeroizing::new(String::with_capacity(CODE_CHARACTERS + 3));
    for (place, byte) in random.iter().enumerate() {
        if place > 0 && place % 5 == 0 {
            code.push('-');
        }
        code.push(char::from(ALPHABET[usize::from(byte % 32)]));
    }
    Ok(SecretString::from(code.as_str()))
}

/// A code as it is hashed, however it was typed.
fn plain(code: &str) -> Zeroizing<String> {
    let letter = |c: char| match c.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        other => other,
    };
    Zeroizing::new(
        code.chars()
            .filter(char::is_ascii_alphanumeric)
            .map(letter)
            .collect(),
    )
}

fn code_hash(account: Uuid, code: &str) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(account.as_bytes());
    hasher.update(plain(code).as_bytes());
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_the_same_however_it_is_typed() {
        let account = Uuid::nil();
        let code = "0A1B2-C3D4E-F5G6H-J7K8M";
        let hash = code_hash(account, code);
        for typed in ["oa1b2c3d4ef5g6hj7k8m", " OAIB2 c3d4e-F5G6H J7K8M", code] {
            assert_eq!(code_hash(account, typed), hash, "{typed}");
        }
        assert_ne!(code_hash(Uuid::max(), code), hash);
        assert_ne!(code_hash(account, "0A1B2-C3D4E-F5G6H-J7K8N"), hash);
    }

    #[test]
    fn codes_have_a_hundred_random_bits_and_no_letter_that_reads_as_a_digit() {
        let (one, other) = (fresh_code().unwrap(), fresh_code().unwrap());
        assert_ne!(one.expose_secret(), other.expose_secret());
        assert_eq!(one.expose_secret().len(), 23);
        assert!(!one.expose_secret().contains(['I', 'L', 'O', 'U']));
        assert_eq!(ALPHABET.len(), 32);
    }
}
