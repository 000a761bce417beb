//! Owners and lanes: all streams and receipts of one owner live in one lane (ADR 0003).

use std::fmt;

use sqlx::PgPool;
use uuid::Uuid;

use super::StoreError;
use super::patience::in_time;

/// The highest number of lanes a database can use.
pub const MAX_LANES: u8 = 64;
/// Lanes that new owners are spread over unless a setting says otherwise (ADR 0003).
pub const DEFAULT_LANES: u8 = 2;

/// A gapless, commit-ordered sub-log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane(u8);

impl Lane {
    pub fn new(lane: u8) -> Option<Self> {
        (lane < MAX_LANES).then_some(Self(lane))
    }

    /// The lane written in the last byte of a stream id.
    pub fn of_stream(stream: Uuid) -> Option<Self> {
        Self::new(stream.as_bytes()[15])
    }

    /// Writes this lane into a fresh id.
    pub fn mark(self, id: Uuid) -> Uuid {
        let mut bytes = id.into_bytes();
        bytes[15] = self.0;
        Uuid::from_bytes(bytes)
    }

    pub fn number(self) -> i16 {
        i16::from(self.0)
    }

    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// An owner as the log knows it: a MAC, so the log alone does not tell who owns what.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct OwnerKey([u8; 32]);

impl OwnerKey {
    pub fn from_mac(mac: [u8; 32]) -> Self {
        Self(mac)
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for OwnerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnerKey({:02x}{:02x}…)", self.0[0], self.0[1])
    }
}

/// The lane of an owner, chosen among `lanes` at the first call for it and fixed from then on.
pub async fn lane_of(pool: &PgPool, owner: &OwnerKey, lanes: u8) -> Result<Lane, StoreError> {
    let wished = i16::from(owner.0[0] % lanes.max(1));
    let key = &owner.0[..];
    in_time(
        sqlx::query(
            "insert into es.owner (owner_key, lane) values ($1, $2) on conflict do nothing",
        )
        .bind(key)
        .bind(wished)
        .execute(pool),
    )
    .await?;
    let lane: i16 = in_time(
        sqlx::query_scalar("select lane from es.owner where owner_key = $1")
            .bind(key)
            .fetch_one(pool),
    )
    .await?;
    u8::try_from(lane)
        .ok()
        .and_then(Lane::new)
        .ok_or_else(|| StoreError::Damaged(format!("an owner is in lane {lane}")))
}
