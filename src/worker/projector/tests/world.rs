//! A database with an open store, and random histories of runs and bindings in it.

use std::sync::Arc;
use std::time::Duration;

use helix_aggregates::access::agent_account::AgentAccount;
use helix_aggregates::access::agent_account::command::{AgentAccountCommand, NewBinding};
use helix_aggregates::agent::run::Run;
use helix_aggregates::agent::run::command::{
    AdmittedPolicy, Budget, ClaimHolder, ClaimTurn, CompletionContract, FinishTurn, RunBrief,
    RunCommand,
};
use helix_aggregates::agent::run::turn::{Question, TurnFailure, TurnResult};
use helix_aggregates::agent::scope::NO_TOOLS;
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::{AccountId, OwnerTuple, RunId};
use helix_aggregates::text::Text;
use helix_aggregates::time::{Stamp, Timestamp};
use helix_postgres::testing::{self, TestDatabase};
use helix_projections::access::account_activity::view::{ActivityView, totals};
use helix_projections::inline::Inline;
use sqlx::{ConnectOptions, Executor, PgConnection};
use tempfile::TempDir;
use uuid::Uuid;

use crate::store::log::{ExecuteError, Log, Meta, Stream};
use crate::store::tests::open;
use crate::store::{Core, CoreConfig, database, ledger};
use crate::worker::projector::Projectors;

pub const CANARY: &str = "canary objective";

pub struct World {
    pub core: Arc<Core>,
    pub projectors: Projectors,
    pub runs: Log<Run>,
    bindings: Log<AgentAccount>,
    pub database: TestDatabase,
    keys: TempDir,
}

impl World {
    pub async fn new() -> Self {
        let template = testing::template("projector", |options| async move {
            database::migrate(&options, Duration::from_secs(30))
                .await
                .map(drop)
        })
        .await;
        let database = template.clone_of_template().await;
        let keys = tempfile::tempdir().unwrap();
        let core = open(&database, &keys, config()).await;
        Self {
            projectors: Projectors::new(Arc::clone(&core)),
            runs: Log::new(Arc::clone(&core)),
            bindings: Log::new(Arc::clone(&core)),
            core,
            database,
            keys,
        }
    }

    /// Another process on the same database, as far as the database can tell.
    pub async fn second(&self) -> Arc<Core> {
        open(&self.database, &self.keys, config()).await
    }

    /// A connection that may do what no process of ours may.
    pub async fn superuser(&self) -> PgConnection {
        let mut conn = self.database.options.connect().await.unwrap();
        conn.execute("alter table es.event disable trigger user")
            .await
            .unwrap();
        conn
    }

    async fn stream(&self, owner: &str) -> Stream {
        let owner = self.core.keyring.owner("test", &[owner.as_bytes()]);
        let lane = self.core.lane(&owner).await.unwrap();
        let (wrapped, key) = self
            .core
            .keyring
            .make(self.core.ids.uuid(), &owner, 0)
            .unwrap();
        let mut conn = self.core.pool.acquire().await.unwrap();
        ledger::add_data_key(&mut conn, &wrapped).await.unwrap();
        Stream {
            id: self.core.ids.stream(lane),
            lane,
            owner,
            key,
        }
    }

    /// A run in the lane of `owner`, started for `account`.
    pub async fn start(&self, owner: &str, account: AccountId, at: Stamp) -> Stream {
        let stream = self.stream(owner).await;
        let command = RunCommand::Start(Box::new(brief(account)));
        act(&self.runs, &stream, &command, at).await;
        stream
    }

    pub async fn totals(&self, account: AccountId) -> ActivityView {
        totals(&self.core.pool, &[account])
            .await
            .unwrap()
            .remove(&account)
            .unwrap_or_default()
    }

    pub async fn projected(&self) -> Vec<String> {
        let rows = "select row(a.lane, a.stream_id, a.seq, a.account_id, a.runs_started, a.turns_completed,
                a.turns_waiting, a.turns_blocked, a.turns_failed, a.turns_budget_exhausted, a.last_at_ms)::text
           from access.account_activity a join es.projection_live v using (version)
          where v.name = 'account_activity' order by a.stream_id";
        sqlx::query_scalar(rows)
            .fetch_all(&self.core.pool)
            .await
            .unwrap()
    }

    /// Everything a proof could have changed, as text.
    pub async fn everything(&self) -> Vec<String> {
        let mut all = Vec::new();
        for table in [
            "es.stream",
            "es.event",
            "es.projection",
            "es.projection_live",
            "es.projection_parked",
            "access.account_activity",
        ] {
            let rows = format!("select t::text from {table} t order by 1");
            all.extend(
                sqlx::query_scalar::<_, String>(&rows)
                    .fetch_all(&self.core.pool)
                    .await
                    .unwrap(),
            );
        }
        all
    }
}

fn config() -> CoreConfig {
    CoreConfig {
        lanes: 3,
        read_connections: 6,
        ..CoreConfig::default()
    }
}

/// A small generator, so that a failing history can be had again.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

pub fn at(second: usize) -> Stamp {
    let second = i64::try_from(second).unwrap();
    Stamp {
        at: Timestamp::from_millis(1_796_040_000_000 + second * 1_000),
    }
}

pub fn account(number: u128) -> AccountId {
    AccountId::new(Uuid::from_u128(number))
}

/// A history of `steps` commands that goes on over many calls.
pub struct History {
    dice: Dice,
    second: usize,
    pub runs: Vec<(Stream, AccountId)>,
    bindings: Vec<Stream>,
}

impl History {
    pub fn new(seed: u64) -> Self {
        Self {
            dice: Dice::new(seed),
            second: 0,
            runs: Vec::new(),
            bindings: Vec::new(),
        }
    }

    pub async fn go_on(&mut self, world: &World, steps: usize) {
        for _ in 0..steps {
            self.second += 1 + self.dice.below(40);
            match self.dice.below(12) {
                0 | 1 => self.start(world).await,
                2 => self.bind(world).await,
                _ => self.change(world).await,
            }
        }
    }

    async fn start(&mut self, world: &World) {
        let number = self.dice.below(4);
        let owner = format!("owner {number} {}", self.dice.below(3));
        let account = account(number as u128);
        self.runs
            .push((world.start(&owner, account, at(self.second)).await, account));
    }

    async fn bind(&mut self, world: &World) {
        if self.bindings.is_empty() || self.dice.below(3) == 0 {
            self.bindings.push(
                world
                    .stream(&format!("tuple {}", self.bindings.len()))
                    .await,
            );
        }
        let index = self.dice.below(self.bindings.len());
        let text = |text: &str| Text::parse(text).unwrap();
        let command = if self.dice.below(2) == 0 {
            AgentAccountCommand::Revoke {
                reason: Text::parse("gone").unwrap(),
            }
        } else {
            AgentAccountCommand::Link(Box::new(NewBinding {
                account: account(self.dice.below(4) as u128),
                issuer: Text::parse("https://id.example").unwrap(),
                tenant: text("harbour"),
                provider: Text::parse("example").unwrap(),
                subject: text("ada"),
            }))
        };
        act(
            &world.bindings,
            &self.bindings[index],
            &command,
            at(self.second),
        )
        .await;
    }

    async fn change(&mut self, world: &World) {
        if self.runs.is_empty() {
            return;
        }
        let index = self.dice.below(self.runs.len());
        let stream = self.runs[index].0.clone();
        let run = world.runs.load(&stream).await.unwrap();
        let expected = run.state.version();
        let command = match (run.state.claim(), self.dice.below(10)) {
            (_, 0) => RunCommand::Cancel {
                expected,
                reason: Some(Text::parse("enough").unwrap()),
            },
            (_, 1) => RunCommand::Lapse,
            (_, 2) => RunCommand::Recover {
                abandon_after_sweep: Duration::from_secs(30),
            },
            (Some(claim), _) => RunCommand::Finish(Box::new(FinishTurn {
                operation: claim.operation,
                claimed_version: claim.version,
                result: self.result(),
            })),
            (None, _) => RunCommand::Claim(Box::new(ClaimTurn {
                expected,
                operation: world.core.ids.operation(),
                credential: None,
                instruction: Some("canary instruction".to_owned()),
                answers: Vec::new(),
                policy: policy(),
                abandon_after: Duration::from_secs(60),
                holder: ClaimHolder::Live,
            })),
        };
        act(&world.runs, &stream, &command, at(self.second)).await;
    }

    fn result(&mut self) -> TurnResult {
        let failed = TurnFailure::Timeout.into_result();
        let good = TurnResult {
            ok: true,
            status_code: 200,
            summary: "canary summary".to_owned(),
            evidence_refs: vec![format!("e:{}", self.second)],
            unresolved_requirements: Vec::new(),
            failure_code: None,
            ..failed.clone()
        };
        match self.dice.below(5) {
            0 => good,
            1 => failed,
            2 => TurnResult {
                pending_questions: vec![Question {
                    question_id: "q1".to_owned(),
                    prompt: "Which one?".to_owned(),
                    required_fields: Vec::new(),
                    options: Vec::new(),
                }],
                ..good
            },
            3 => TurnResult {
                contradictions: vec!["two timetables".to_owned()],
                ..good
            },
            _ => TurnResult { ok: false, ..good },
        }
    }
}

fn policy() -> AdmittedPolicy {
    AdmittedPolicy {
        allowed_tools: vec![NO_TOOLS.to_owned()],
        required_evidence: Vec::new(),
        policy_hash: "sha256:policy".to_owned(),
    }
}

fn brief(account: AccountId) -> RunBrief {
    RunBrief {
        owner: OwnerTuple {
            tenant: "harbour".to_owned(),
            issuer: "https://id.example".to_owned(),
            subject: "ada".to_owned(),
            profile: account.to_string(),
        },
        objective: Text::parse(CANARY).unwrap(),
        constraints: Vec::new(),
        database_scope: Vec::new(),
        completion_contract: CompletionContract {
            min_evidence_refs: 0,
            require_terminal_authority: false,
            ..CompletionContract::default()
        },
        budget: Budget {
            max_steps: 4,
            expires_in_seconds: 3_000,
        },
        policy: policy(),
    }
}

/// A refusal is part of a random history; a store that fails is not.
async fn act<D: Inline + Decider>(log: &Log<D>, stream: &Stream, command: &D::Command, at: Stamp) {
    match log.execute(stream, command, at, &Meta::new()).await {
        Ok(_) | Err(ExecuteError::Refused(_)) => {}
        Err(ExecuteError::Store(error)) => panic!("{error}"),
    }
}

pub fn run_id(stream: &Stream) -> RunId {
    RunId::new(stream.id)
}
