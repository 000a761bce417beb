//! The record of a workspace: one entry for every operation, refused ones included (`access` 6.2).
//!
//! What must stay true: a change and its entry are one commit; what was read or refused is answered
//! only once its entry is committed; nobody writes into the record of a workspace they do not belong
//! to. Deliberately absent: texts of anybody; an entry names the operation and ids.

use std::sync::Arc;

use helix_aggregates::access::audit::Audit;
use helix_aggregates::access::audit::command::{AuditCommand, NewEntry};
use helix_aggregates::access::audit::event::{Action, AuditEvent};
use helix_aggregates::access::author::Author;
use helix_aggregates::text::Text;
use helix_aggregates::time::Stamp;
use quick_cache::sync::Cache;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;
use uuid::Uuid;

use super::Work;
use super::arguments::Kind;
use super::caller::{CallerKind, WorkCaller};
use super::operations::{Op, Operation};
use super::perform::{Answer, Ask};
use super::site::{Site, asker_of, workspace_owner};
use crate::app::problem::{Code, Problem};
use crate::store::append::Append;
use crate::store::log::{ExecuteError, Loaded, Log, Meta, Stream};
use crate::store::work::{self, Asker};
use crate::store::{Core, StoreError, read};

/// Records whose turns are kept apart. One that falls out costs a commit that is judged again.
const TURNS: usize = 2_000;
/// How often an entry is made anew when another process was faster: of two that write into one record all
/// the time, each loses half of its commits.
const ATTEMPTS: usize = 24;

/// The records of all workspaces.
#[derive(Debug)]
pub struct Records {
    core: Arc<Core>,
    log: Log<Audit>,
    turns: Cache<Uuid, Arc<Mutex<()>>>,
}

/// How an operation went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Went {
    Well,
    Again,
    Refused(Code),
}

impl Records {
    pub fn new(core: Arc<Core>) -> Self {
        Self {
            log: Log::new(Arc::clone(&core)),
            turns: Cache::new(TURNS),
            core,
        }
    }

    /// Commits `append` and an entry in the record of `home`, a workspace's stream, together.
    pub async fn append(
        &self,
        home: &Stream,
        append: Append,
        entry: NewEntry,
        stamp: Stamp,
        meta: &Meta,
    ) -> Result<(), StoreError> {
        let stream = stream_of(home);
        let turn = self
            .turns
            .get_or_insert_with(&stream.id, || Ok::<_, StoreError>(Arc::default()))?;
        let _turn = turn.lock().await;
        let mut loaded = self.newest(&stream).await?;
        let command = AuditCommand::Record(Box::new(entry));
        for _ in 0..ATTEMPTS {
            let prepared = self.log.prepare(&stream, &loaded, &command, stamp, meta);
            let prepared = prepared.map_err(|error| match error {
                ExecuteError::Refused(refusal) => StoreError::Damaged(refusal.to_string()),
                ExecuteError::Store(error) => error,
            })?;
            let mut streams = append.streams.clone();
            streams.push(prepared.append);
            let whole = Append {
                streams,
                ..append.clone()
            };
            match self.core.append(whole).await {
                Ok(()) => {
                    self.log.remember(&stream, prepared.next);
                    return Ok(());
                }
                Err(StoreError::HeadMoved) => {
                    let now = self.look(&stream).await?;
                    if (now.version, now.head) == (loaded.version, loaded.head) {
                        // It was another stream of the commit.
                        return Err(StoreError::HeadMoved);
                    }
                    loaded = now;
                }
                Err(error) => {
                    self.log.forget(&stream);
                    return Err(error);
                }
            }
        }
        Err(StoreError::HeadMoved)
    }

    /// Where the record stands, from its last event alone.
    async fn newest(&self, stream: &Stream) -> Result<Arc<Loaded<Audit>>, StoreError> {
        match self.log.known(stream) {
            Some(loaded) => Ok(loaded),
            None => self.look(stream).await,
        }
    }

    async fn look(&self, stream: &Stream) -> Result<Arc<Loaded<Audit>>, StoreError> {
        let head = read::head(&self.core.pool, stream.lane, stream.id).await?;
        match head {
            Some(head) => self.log.tail(stream, head.version).await,
            None => Ok(Arc::default()),
        }
    }
}

/// The record of the workspace whose stream is `home`.
fn stream_of(home: &Stream) -> Stream {
    let mut hasher = Sha256::new();
    hasher.update(b"workspace-audit");
    hasher.update(home.id.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize()[..16]);
    let id = uuid::Builder::from_custom_bytes(bytes).into_uuid();
    Stream {
        id: home.lane.mark(id),
        ..home.clone()
    }
}

impl Work {
    /// Records what was answered, unless its own commit did, and hands it on.
    pub(super) async fn recorded(
        &self,
        ask: &Ask<'_>,
        answered: Result<Answer, Problem>,
    ) -> Result<Answer, Problem> {
        self.recorded_in(ask, asker_of(ask).ok(), answered).await
    }

    /// The same, in a workspace that the question does not name.
    pub(super) async fn recorded_in(
        &self,
        ask: &Ask<'_>,
        asker: Option<Asker>,
        answered: Result<Answer, Problem>,
    ) -> Result<Answer, Problem> {
        let went = match &answered {
            Ok(answer) if answer.is_recorded => return answered,
            Ok(answer) if answer.replayed == Some(true) => Went::Again,
            Ok(_) => Went::Well,
            Err(problem) if problem.code.row().status >= 500 && problem.code != Code::NotBuilt => {
                return answered;
            }
            Err(problem) => Went::Refused(problem.code),
        };
        if let Some(asker) = asker
            && let Some(site) = self.belongs(ask, asker).await?
        {
            self.record(ask, &site, went).await?;
        }
        answered.map(|answer| Answer {
            is_recorded: true,
            ..answer
        })
    }

    /// What is refused before it is performed; the answer is why, or that it could not be recorded.
    pub async fn refused(&self, ask: &Ask<'_>, problem: Problem) -> Problem {
        let recorded = self.recorded(ask, Err(problem)).await;
        recorded
            .err()
            .unwrap_or_else(|| Problem::new(Code::Internal))
    }

    /// The workspace that is asked about, for those who belong to it, whatever else they may do there.
    async fn belongs(&self, ask: &Ask<'_>, asker: Asker) -> Result<Option<Site>, Problem> {
        let standing = work::standing(self.reads(ask), &asker).await?;
        if !standing.lives || standing.works_as.is_none() {
            return Ok(None);
        }
        let Some(key) = self.core.key(standing.key_id).await? else {
            return Ok(None);
        };
        Ok(Some(Site::of_member(asker, key, &standing)))
    }

    async fn record(&self, ask: &Ask<'_>, site: &Site, went: Went) -> Result<(), Problem> {
        let append = Append {
            priority: ask.operation.demand.priority(),
            ..Append::of(site.asker.lane, Vec::new())
        };
        let (home, entry, meta) = (
            self.home_of(site),
            entry(ask, went, &[])?,
            ask.caller.meta(),
        );
        let recorded = self.records.append(&home, append, entry, site.stamp, &meta);
        Ok(recorded.await?)
    }

    /// The stream of the workspace at hand.
    pub(super) fn home_of(&self, site: &Site) -> Stream {
        let id = site.asker.workspace;
        site.stream((id, workspace_owner(&self.core, id)))
    }

    /// A page of the record, oldest first.
    pub(super) async fn read_record(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        super::policy::human(ask.caller)?;
        let (site, _) = self.look_around(ask).await?;
        let after = ask.arguments.number("after_seq").unwrap_or(0);
        let limit = ask.arguments.number("limit").unwrap_or(50);
        let stream = stream_of(&self.home_of(&site));
        let newest = self.records.look(&stream).await?;
        let limit = i64::try_from(limit).unwrap_or(50);
        let page = read::events(&self.core.pool, stream.lane, stream.id, after, limit).await?;
        let mut entries = Vec::with_capacity(page.len());
        for stored in &page {
            entries.push(view(&crate::store::log::decode(
                stream.id,
                Some(&stream.key),
                stored,
            )?));
        }
        self.still(ask, &site).await?;
        let head = json!({ "seq": newest.state.seq, "hash": newest.state.head.open() });
        let seen = json!({ "entries": entries, "head": head });
        Ok(Answer::of(ask.operation, seen, false))
    }
}

fn view(event: &AuditEvent) -> Value {
    let AuditEvent::Recorded(entry) = event;
    json!({
        "seq": entry.seq,
        "at": entry.at,
        "client": entry.client.open(),
        "action": entry.action.as_str(),
        "detail": entry.detail.open(),
        "principal": entry.by.map(principal),
        "prev": entry.prev.open(),
        "hash": entry.hash.open(),
    })
}

fn principal(by: Author) -> String {
    match by {
        Author::Account(account) => account.to_string(),
        Author::Grant(grant) => grant.to_string(),
        Author::Token(token) => token.to_string(),
    }
}

/// The entry of an operation.
///
/// `made` are the ids of what it has made; those that the question names stand before them.
pub(super) fn entry(ask: &Ask<'_>, went: Went, made: &[String]) -> Result<NewEntry, StoreError> {
    let name = ask.operation.name;
    let mut detail = match went {
        Went::Well => name.to_owned(),
        Went::Again => format!("{name} (replayed)"),
        Went::Refused(code) => format!("refused {name}: {}", code.row().code),
    };
    let named = named(ask);
    let made = made.iter().filter(|id| !named.contains(id));
    for id in named.iter().chain(made) {
        detail.push(' ');
        detail.push_str(id);
    }
    let fault = |_| StoreError::Damaged("an entry of a record is too long".to_owned());
    Ok(NewEntry {
        client: Text::parse(client(ask.caller)).map_err(fault)?,
        action: action(ask.operation),
        detail: Text::parse(&detail).map_err(fault)?,
        by: Some(ask.caller.author),
    })
}

/// The entry of what whoever holds the data directory does (`access` 8).
pub(super) fn operators_entry(name: &str, id: &str) -> Result<NewEntry, StoreError> {
    let fault = |_| StoreError::Damaged("an entry of a record is too long".to_owned());
    Ok(NewEntry {
        client: Text::parse("Helix (operator)").map_err(fault)?,
        action: Action::Write,
        detail: Text::parse(&format!("{name} {id}")).map_err(fault)?,
        by: None,
    })
}

/// As whom somebody is recorded (`access` 1.3).
fn client(caller: &WorkCaller) -> &str {
    match &caller.kind {
        CallerKind::Human(_) => "You (web)",
        CallerKind::App { .. } | CallerKind::NamedToken { .. } => &caller.name,
    }
}

fn action(operation: &Operation) -> Action {
    if matches!(operation.op, Op::BriefCreate | Op::ProposalCreate) {
        Action::Propose
    } else if operation.method == "GET" {
        Action::Read
    } else {
        Action::Write
    }
}

/// The ids that a question names, in the order of its fields. What is no id is the caller's text, which is
/// never quoted.
fn named(ask: &Ask<'_>) -> Vec<String> {
    let ids = ask
        .operation
        .fields
        .iter()
        .filter(|field| field.kind == Kind::Id && field.name.ends_with("_id"))
        .filter_map(|field| ask.arguments.text(field.name));
    ids.filter(|text| is_id(text)).map(str::to_owned).collect()
}

/// The ids of what an operation has made, as its answer shows them.
pub(super) fn made(answer: &Map<String, Value>) -> Vec<String> {
    let own = |(name, value): (&String, &Value)| {
        let key = format!("{name}_id");
        let inner = value.get(&key).and_then(Value::as_str);
        let plain = value.as_str().filter(|_| name.ends_with("_id"));
        inner.or(plain).map(str::to_owned)
    };
    answer.iter().filter_map(own).collect()
}

/// A short word and a UUID, as every id of a workspace is spelled.
fn is_id(text: &str) -> bool {
    let parts = text.split_once('_');
    parts.is_some_and(|(word, uuid)| {
        (2..=5).contains(&word.len())
            && word.bytes().all(|b| b.is_ascii_lowercase())
            && Uuid::try_parse(uuid).is_ok_and(|id| id.hyphenated().to_string() == uuid)
    })
}
