//! Who waits for which stream, and how word of a commit reaches them.
//!
//! In this process a commit is published when it is acknowledged. Other processes hear one
//! contentless `NOTIFY` at most every 10 ms, sent outside every append; a look at the heads once a
//! second is the safety net. A lost notice delays a waiter, it never loses an event.
//!
//! The ledger row of a credential is watched the same way: its version is the moment it was revoked or
//! paused, or the row it rests on was. Word of it only wakes; whether the row lives is read where it matters. So are a turn
//! that is with a worker, by the changes of its offer, and [`BELL`], by the offers that came open.

use std::sync::Arc;
use std::time::Duration;

use dashmap::DashMap;
use sqlx::postgres::PgListener;
use sqlx::{PgPool, Row};
use tokio::sync::{Notify, watch};
use uuid::Uuid;

use super::patience::in_time;

/// Watched by those who wait for any open offer.
pub const BELL: Uuid = Uuid::from_u128(0x6865_6c69_785f_6265_6c6c);

const CHANNEL: &str = "helix_es";
const NOTIFY_EVERY: Duration = Duration::from_millis(10);
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The meeting place of writers and waiters.
#[derive(Debug, Clone, Default)]
pub struct Hub {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    watched: DashMap<Uuid, watch::Sender<u64>>,
    committed: Notify,
    /// Counts commits heard of, from whatever process.
    commits: watch::Sender<u64>,
}

/// A waiter's place; dropping the last one of a stream forgets the stream.
#[derive(Debug)]
pub struct Watch {
    stream: Uuid,
    shared: Arc<Shared>,
    versions: watch::Receiver<u64>,
}

impl Watch {
    /// The latest version heard of; 0 before any word.
    pub fn seen(&self) -> u64 {
        *self.versions.borrow()
    }

    /// Waits until the stream is known to be past `version`. Cancel-safe.
    pub async fn past(&mut self, version: u64) {
        // The sender lives in the map at least as long as this receiver.
        if self
            .versions
            .wait_for(|seen| *seen > version)
            .await
            .is_err()
        {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Swapped for a receiver of nothing inside the entry's lock, so that of two watches that
        // end at once the second sees that it is the last.
        self.shared.watched.remove_if(&self.stream, |_, sender| {
            self.versions = watch::channel(0).1;
            sender.receiver_count() == 0
        });
    }
}

impl Hub {
    pub fn watch(&self, stream: Uuid) -> Watch {
        let entry = self
            .shared
            .watched
            .entry(stream)
            .or_insert_with(|| watch::channel(0).0);
        let versions = entry.subscribe();
        drop(entry);
        Watch {
            stream,
            shared: Arc::clone(&self.shared),
            versions,
        }
    }

    /// Tells this process's waiters, and lets the other processes be told.
    pub fn publish(&self, stream: Uuid, version: u64) {
        self.raise(stream, version);
        self.shared.committed.notify_one();
        self.heard();
    }

    /// Changes whenever something was committed, here or in a process that was heard.
    pub fn commits(&self) -> watch::Receiver<u64> {
        self.shared.commits.subscribe()
    }

    fn heard(&self) {
        self.shared.commits.send_modify(|count| *count += 1);
    }

    fn raise(&self, stream: Uuid, version: u64) {
        if let Some(sender) = self.shared.watched.get(&stream) {
            sender.send_if_modified(|seen| {
                let newer = version > *seen;
                *seen = version.max(*seen);
                newer
            });
        }
    }

    /// Tells other processes that something was committed. Runs until cancelled.
    pub async fn tell_others(self, pool: PgPool) {
        loop {
            self.shared.committed.notified().await;
            // Failure costs the others at most a second: they look by themselves.
            let told = sqlx::query("select pg_notify($1, '')").bind(CHANNEL);
            if let Err(error) = in_time(told.execute(&pool)).await {
                tracing::debug!(%error, "a wake-up was not sent");
            }
            tokio::time::sleep(NOTIFY_EVERY).await;
        }
    }

    /// Hears other processes. Runs until cancelled; a lost connection is made again.
    pub async fn hear_others(self, pool: PgPool) {
        let mut listener = None;
        loop {
            if listener.is_none() {
                listener = listen(&pool).await;
            }
            match &mut listener {
                Some(open) => match tokio::time::timeout(LOOK_EVERY, open.try_recv()).await {
                    Ok(Ok(_)) => self.heard(),
                    Ok(Err(_)) => listener = None,
                    Err(_) => {}
                },
                None => tokio::time::sleep(LOOK_EVERY).await,
            }
            self.look(&pool).await;
        }
    }

    async fn look(&self, pool: &PgPool) {
        let ids: Vec<Uuid> = self
            .shared
            .watched
            .iter()
            .map(|entry| *entry.key())
            .collect();
        if ids.is_empty() {
            return;
        }
        let lanes: Vec<i16> = ids.iter().map(|id| i16::from(id.as_bytes()[15])).collect();
        let query = sqlx::query(
            "select s.stream_id, s.version from unnest($1::smallint[], $2::uuid[]) as u(lane, id)
               join es.stream s on s.lane = u.lane and s.stream_id = u.id
             union all
             select l.row_id, greatest(l.revoked_at_ms, l.paused_at_ms, r.revoked_at_ms)
               from access.ledger l left join access.ledger r on r.row_id = l.rests_on
              where l.row_id = any ($2) and not (l.live and coalesce(r.live, true))
             union all
             select o.offer_id, o.moved from worker.offer o where o.offer_id = any ($2)
             union all
             select $3, b.rung from worker.bell b where $3 = any ($2)",
        )
        .bind(lanes)
        .bind(ids)
        .bind(BELL);
        let Ok(heads) = in_time(query.fetch_all(pool)).await else {
            return;
        };
        for head in heads {
            if let (Ok(stream), Ok(version)) =
                (head.try_get("stream_id"), head.try_get::<i64, _>("version"))
            {
                self.raise(stream, u64::try_from(version).unwrap_or(0));
            }
        }
    }
}

async fn listen(pool: &PgPool) -> Option<PgListener> {
    let listening = async {
        let mut listener = PgListener::connect_with(pool).await?;
        listener.listen(CHANNEL).await?;
        Ok(listener)
    };
    in_time(listening).await.ok()
}
