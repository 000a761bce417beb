//! The other reader: cqrs-es through postgres-es and the `events` view, with our codec alone.

use cqrs_es::Aggregate;
use cqrs_es::persist::{PersistedEventRepository, PersistenceError, SerializedEvent};
use helix_aggregates::agent::run::Run;
use helix_aggregates::agent::run::event::RunEvent;
use helix_aggregates::sourced::{Recorded, Sourced};
use helix_projections::projector::Difference;
use postgres_es::PostgresEventRepository;
use serde_json::Value;
use sqlx::PgPool;
use uuid::Uuid;

use crate::store::StoreError;
use crate::store::read::StoredEvent;
use crate::store::sealing::{DataKey, open_marks};
use crate::store::upcast::{UPCASTERS, upcast};

/// Where the fold of the other reader stood.
#[derive(Debug)]
pub(super) struct States {
    pub last: Run,
    pub at_until: Option<Run>,
}

pub(super) fn difference(stream: Uuid, ours: &str, theirs: &str) -> Difference {
    Difference {
        stream: Some(stream),
        field: "second reader".to_owned(),
        stored: theirs.to_owned(),
        folded: ours.to_owned(),
    }
}

/// The stream as postgres-es reads it, or why it cannot.
pub(super) async fn read(
    pool: &PgPool,
    stream: Uuid,
) -> Result<Result<Vec<SerializedEvent>, &'static str>, StoreError> {
    let repository = PostgresEventRepository::new(pool.clone());
    match repository
        .get_events::<Sourced<Run>>(&stream.to_string())
        .await
    {
        Ok(events) => Ok(Ok(events)),
        Err(error) if is_bad_data(&error) => Ok(Err("not readable as JSON")),
        Err(PersistenceError::OptimisticLockError) => Err(StoreError::HeadMoved),
        Err(
            PersistenceError::ConnectionError(error)
            | PersistenceError::DeserializationError(error)
            | PersistenceError::UnknownError(error),
        ) => Err(match error.downcast::<sqlx::Error>() {
            Ok(error) => StoreError::Unavailable(*error),
            Err(_) => StoreError::Damaged("postgres-es cannot read the log".to_owned()),
        }),
    }
}

/// The database could not turn the stored bytes into text or JSON (class 22).
fn is_bad_data(error: &PersistenceError) -> bool {
    let PersistenceError::UnknownError(cause) = error else {
        return false;
    };
    cause
        .downcast_ref::<sqlx::Error>()
        .and_then(sqlx::Error::as_database_error)
        .and_then(sqlx::error::DatabaseError::code)
        .is_some_and(|code| code.starts_with("22"))
}

/// Compares event by event with what our reader saw and folds with cqrs-es's own `apply`.
pub(super) fn fold(
    stream: Uuid,
    key: Option<&DataKey>,
    ours: &[StoredEvent],
    theirs: &[SerializedEvent],
    until: Option<u64>,
) -> Result<States, Box<Difference>> {
    let mut aggregate = Sourced::<Run>::default();
    let mut at_until = None;
    for (our, their) in ours.iter().zip(theirs) {
        let refuse = || {
            Box::new(difference(
                stream,
                &format!("event {}", our.seq),
                "another event",
            ))
        };
        if !is_same(our, their) {
            return Err(refuse());
        }
        let event = decode(stream, key, our, their).ok_or_else(refuse)?;
        aggregate.apply(Recorded(event));
        if until == Some(our.seq) {
            at_until = Some(aggregate.0.clone());
        }
    }
    Ok(States {
        last: aggregate.0,
        at_until,
    })
}

fn is_same(our: &StoredEvent, their: &SerializedEvent) -> bool {
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
    u64::try_from(their.sequence).is_ok_and(|sequence| sequence == our.seq)
        && their.event_type == our.kind
        && their.event_version == our.ver.to_string()
        && their.payload.get(&our.kind) == json(&our.payload).as_ref()
        && Some(&their.metadata) == json(&our.meta).as_ref()
}

fn decode(
    stream: Uuid,
    key: Option<&DataKey>,
    our: &StoredEvent,
    their: &SerializedEvent,
) -> Option<RunEvent> {
    let mut payload = their.payload.get(&their.event_type)?.clone();
    // The view does not tell which key an event was sealed under.
    let key = key.filter(|key| our.key_id == Some(key.id()));
    open_marks(
        &mut payload,
        key,
        stream,
        u64::try_from(their.sequence).ok()?,
    )
    .ok()?;
    let ver = their.event_version.parse().ok()?;
    let (_, payload) = upcast(UPCASTERS, &their.event_type, ver, payload);
    let tagged = Value::Object(std::iter::once((their.event_type.clone(), payload)).collect());
    serde_json::from_value(tagged).ok()
}
