//! Data keys in use: made, wrapped, unwrapped and cached; and the MACs that look-ups use.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::KeyInit;
use hmac::{Hmac, Mac};
use quick_cache::sync::Cache;
use sha2::Sha256;
use sqlx::{PgConnection, PgPool, Row};
use uuid::Uuid;
use zeroize::Zeroizing;

use super::StoreError;
use super::keyfile::{BUCKETS, KeyFile, KeyFileError};
use super::ledger::WrappedKey;
use super::owner::OwnerKey;
use super::patience::in_time;
use super::sealing::{DataKey, open_with, seal_with};

/// Names the lock of everybody who makes or changes the key file.
const KEY_FILE_LOCK: i64 = 0x6865_6c69_7802;
/// Unwrapped keys kept in memory.
const CACHED: usize = 10_000;

#[derive(Debug)]
pub struct Keyring {
    path: PathBuf,
    file: RwLock<KeyFile>,
    cache: Cache<Uuid, Arc<DataKey>>,
}

#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    #[error(transparent)]
    File(#[from] KeyFileError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for KeyringError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(StoreError::Unavailable(error))
    }
}

impl Keyring {
    /// Opens the key file of this database, or makes one for a database that has none yet.
    pub async fn open(path: &Path, pool: &PgPool, fresh_id: Uuid) -> Result<Self, KeyringError> {
        let mut alone = pool.begin().await?;
        // One process at a time: two that start together must not each make a file.
        sqlx::query("select pg_advisory_xact_lock($1)")
            .bind(KEY_FILE_LOCK)
            .execute(&mut *alone)
            .await?;
        let expected: Option<Uuid> = sqlx::query_scalar("select file_id from es.key_file")
            .fetch_optional(&mut *alone)
            .await?;
        let file = match (KeyFile::load(path)?, expected) {
            (Some(file), Some(expected)) if file.file_id == expected => file,
            (Some(_), Some(_)) => {
                return Err(KeyFileError::Foreign {
                    path: path.to_owned(),
                }
                .into());
            }
            (None, Some(_)) => {
                return Err(KeyFileError::Missing {
                    path: path.to_owned(),
                }
                .into());
            }
            (found, None) => adopt(path, &mut alone, found, fresh_id).await?,
        };
        // After a crash in the middle of a rotation the newest keys may not be named yet.
        name_keks(&mut alone, &file).await?;
        alone.commit().await?;
        Ok(Self {
            path: path.to_owned(),
            file: RwLock::new(file),
            cache: Cache::new(CACHED),
        })
    }

    /// A MAC for look-ups: equal inputs of one domain meet, and nobody without the key file can
    /// test a guess.
    pub fn mac(&self, domain: &str, parts: &[&[u8]]) -> [u8; 32] {
        let file = self.file.read().unwrap_or_else(PoisonError::into_inner);
        // HMAC takes keys of any length, so this cannot fail.
        let Ok(mut mac) = <Hmac<Sha256> as Mac>::new_from_slice(file.lookup.expose()) else {
            return [0; 32];
        };
        for part in std::iter::once(domain.as_bytes()).chain(parts.iter().copied()) {
            mac.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    pub fn owner(&self, domain: &str, parts: &[&[u8]]) -> OwnerKey {
        OwnerKey::from_mac(self.mac(domain, parts))
    }

    /// Makes a data key for `owner`, wrapped and ready to be stored in the same transaction.
    pub fn make(
        &self,
        key_id: Uuid,
        owner: &OwnerKey,
        at_ms: i64,
    ) -> Result<(WrappedKey, Arc<DataKey>), StoreError> {
        let mut plain = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *plain)
            .map_err(|_| StoreError::Damaged("no randomness".to_owned()))?;
        let bucket = i16::from(owner.as_bytes()[1]) % BUCKETS;
        let (kek, wrapped) = self.wrap(key_id, bucket, &plain)?;
        let key = Arc::new(DataKey::new(key_id, &plain));
        let wrapped = WrappedKey {
            key_id,
            owner: *owner.as_bytes(),
            bucket,
            kek_id: kek,
            wrapped,
            at_ms,
        };
        Ok((wrapped, key))
    }

    fn wrap(
        &self,
        key_id: Uuid,
        bucket: i16,
        plain: &[u8; 32],
    ) -> Result<(String, Vec<u8>), StoreError> {
        let file = self.file.read().unwrap_or_else(PoisonError::into_inner);
        let (name, kek) = file
            .current(bucket)
            .ok_or_else(|| StoreError::KeyMissing(format!("bucket {bucket}")))?;
        let cipher = XChaCha20Poly1305::new(kek.key.expose().into());
        Ok((
            name.to_owned(),
            seal_with(&cipher, &wrap_aad(key_id, name), plain)?,
        ))
    }

    fn unwrap_key(
        &self,
        key_id: Uuid,
        name: &str,
        wrapped: &[u8],
    ) -> Result<Zeroizing<[u8; 32]>, StoreError> {
        let file = self.file.read().unwrap_or_else(PoisonError::into_inner);
        let kek = file
            .keks
            .get(name)
            .ok_or_else(|| StoreError::KeyMissing(name.to_owned()))?;
        let cipher = XChaCha20Poly1305::new(kek.key.expose().into());
        let plain = Zeroizing::new(open_with(&cipher, &wrap_aad(key_id, name), wrapped)?);
        let bytes: [u8; 32] = plain
            .as_slice()
            .try_into()
            .map_err(|_| StoreError::Damaged("a data key has the wrong length".to_owned()))?;
        Ok(Zeroizing::new(bytes))
    }

    /// Takes a key that was dropped out of memory.
    pub fn forget(&self, key_id: Uuid) {
        self.cache.remove(&key_id);
    }

    /// The key with this id; `None` when it was dropped, which is how text is erased.
    pub async fn key(
        &self,
        pool: &PgPool,
        key_id: Uuid,
    ) -> Result<Option<Arc<DataKey>>, StoreError> {
        if let Some(key) = self.cache.get(&key_id) {
            return Ok(Some(key));
        }
        let row = in_time(sqlx::query(
            "select kek_id, wrapped from es.data_key where key_id = $1 and dropped_at_ms is null",
        )
        .bind(key_id)
        .fetch_optional(pool))
        .await?;
        let Some(row) = row else { return Ok(None) };
        let (kek, wrapped): (String, Vec<u8>) = (row.try_get("kek_id")?, row.try_get("wrapped")?);
        let plain = match self.unwrap_key(key_id, &kek, &wrapped) {
            // Another process may have rotated the file since it was read.
            Err(StoreError::KeyMissing(_)) => {
                self.reload()?;
                self.unwrap_key(key_id, &kek, &wrapped)?
            }
            other => other?,
        };
        let key = Arc::new(DataKey::new(key_id, &plain));
        self.cache.insert(key_id, Arc::clone(&key));
        Ok(Some(key))
    }

    /// Reads the file again: another process may have rotated it.
    pub fn reload(&self) -> Result<(), StoreError> {
        let loaded = KeyFile::load(&self.path)
            .map_err(|error| StoreError::Damaged(error.to_string()))?
            .ok_or_else(|| StoreError::KeyMissing("file".to_owned()))?;
        *self.file.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(())
    }

    /// Gives every bucket a new wrapping key, rewraps all data keys and forgets the old wrapping
    /// keys. Returns how many data keys were rewrapped. One rotation at a time, over all processes.
    /// Safe to repeat after a crash: both keys are in the file until the last row is rewrapped.
    pub async fn rotate(&self, pool: &PgPool) -> Result<u64, KeyringError> {
        let mut alone = pool.begin().await?;
        sqlx::query("select pg_advisory_xact_lock($1)")
            .bind(KEY_FILE_LOCK)
            .execute(&mut *alone)
            .await?;
        self.reload()?;
        let renewed = {
            let mut file = self.file.write().unwrap_or_else(PoisonError::into_inner);
            for bucket in 0..BUCKETS {
                file.add_generation(bucket)
                    .map_err(|_| StoreError::Damaged("no randomness".to_owned()))?;
            }
            file.store(&self.path)?;
            file.clone()
        };
        let mut conn = pool.acquire().await?;
        name_keks(&mut conn, &renewed).await?;
        drop(conn);
        let rewrapped = self.rewrap(pool).await?;
        {
            let mut file = self.file.write().unwrap_or_else(PoisonError::into_inner);
            for bucket in 0..BUCKETS {
                file.keep_newest(bucket);
            }
            file.store(&self.path)?;
        }
        alone.commit().await?;
        Ok(rewrapped)
    }

    /// Rewraps until the database lets the old wrapping keys go: it refuses as long as a data key,
    /// perhaps one made by another process a moment ago, still needs one.
    async fn rewrap(&self, pool: &PgPool) -> Result<u64, StoreError> {
        let mut rewrapped = 0;
        loop {
            rewrapped += self.rewrap_stale(pool).await?;
            match sqlx::query("delete from es.kek where kek_id <> all ($1)")
                .bind(self.current_keks())
                .execute(pool)
                .await
            {
                Ok(_) => return Ok(rewrapped),
                Err(error) if is_foreign_key_violation(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn rewrap_stale(&self, pool: &PgPool) -> Result<u64, StoreError> {
        let mut rewrapped = 0;
        while let Some(batch) = self.stale(pool).await? {
            for (key_id, bucket, kek, wrapped) in batch {
                let plain = self.unwrap_key(key_id, &kek, &wrapped)?;
                let (new_kek, new_wrapped) = self.wrap(key_id, bucket, &plain)?;
                sqlx::query("update es.data_key set kek_id = $3, wrapped = $4 where key_id = $1 and kek_id = $2")
                    .bind(key_id)
                    .bind(kek)
                    .bind(new_kek)
                    .bind(new_wrapped)
                    .execute(pool)
                    .await?;
                rewrapped += 1;
            }
        }
        Ok(rewrapped)
    }

    fn current_keks(&self) -> Vec<String> {
        let file = self.file.read().unwrap_or_else(PoisonError::into_inner);
        (0..BUCKETS)
            .filter_map(|bucket| file.current(bucket))
            .map(|(id, _)| id.to_owned())
            .collect()
    }

    /// The next 500 data keys that an old wrapping key holds.
    async fn stale(
        &self,
        pool: &PgPool,
    ) -> Result<Option<Vec<(Uuid, i16, String, Vec<u8>)>>, StoreError> {
        let rows: Vec<(Uuid, i16, String, Vec<u8>)> = sqlx::query_as(
            "select key_id, bucket, kek_id, wrapped from es.data_key
              where dropped_at_ms is null and kek_id <> all ($1) limit 500",
        )
        .bind(self.current_keks())
        .fetch_all(pool)
        .await?;
        Ok((!rows.is_empty()).then_some(rows))
    }

    /// The file's id and how many wrapping keys it holds.
    pub fn status(&self) -> (Uuid, usize) {
        let file = self.file.read().unwrap_or_else(PoisonError::into_inner);
        (file.file_id, file.keks.len())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn wrap_aad(key_id: Uuid, kek: &str) -> Vec<u8> {
    [b"helix data key", &key_id.as_bytes()[..], kek.as_bytes()].concat()
}

/// The file is durable before the database names it, so a crash between the two is harmless.
async fn adopt(
    path: &Path,
    conn: &mut PgConnection,
    found: Option<KeyFile>,
    fresh_id: Uuid,
) -> Result<KeyFile, KeyringError> {
    let file = if let Some(file) = found {
        file
    } else {
        KeyFile::fresh(fresh_id)
            .map_err(|_| StoreError::Damaged("no randomness".to_owned()))?
            .store_new(path)?
    };
    sqlx::query("insert into es.key_file (file_id) values ($1)")
        .bind(file.file_id)
        .execute(conn)
        .await?;
    Ok(file)
}

/// Names the newest wrapping key of each bucket, unless the database knows a newer one: then the
/// file is an old copy, and its keys must not wrap again.
async fn name_keks(conn: &mut PgConnection, file: &KeyFile) -> Result<(), StoreError> {
    for bucket in 0..BUCKETS {
        let Some((name, kek)) = file.current(bucket) else {
            continue;
        };
        sqlx::query(
            "insert into es.kek (kek_id, bucket, generation)
             select $1, $2, $3
              where not exists (select 1 from es.kek where bucket = $2 and generation > $3)
             on conflict do nothing",
        )
        .bind(name)
        .bind(bucket)
        .bind(i32::try_from(kek.generation).unwrap_or(i32::MAX))
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

fn is_foreign_key_violation(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(sqlx::error::DatabaseError::is_foreign_key_violation)
}
