//! The thread that owns the postmaster for as long as it lives.
//!
//! A child gets its death signal when the *thread* that started it ends, so one dedicated thread starts the
//! server, waits for it and restarts it when it dies unasked, after a full disk for instance. The thread
//! keeps the data directory locked until the child is reaped. The process id is only signalled while it
//! cannot have been recycled.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use tokio::sync::oneshot;

use crate::cluster::ClusterConfig;
use crate::endpoint::{Endpoint, PORT};
use crate::error::PostgresError;
use crate::health::{Health, Shared};
use crate::launch::{Identity, command, launch_error};
use crate::log::{Tail, drain};
use crate::pid_file::{POLL, PidFile, clear_the_way, signal};
use crate::settings::Durability;
use crate::{initdb, settings, socket};

/// The pause before a restart doubles from the first to the second.
const RESTART_PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// For how long a first start may fail because the remains of an earlier server are still going away.
const REMAINS_WAIT: Duration = Duration::from_secs(10);

pub(crate) struct Keeper {
    config: ClusterConfig,
    shared: Arc<Shared>,
    cluster: PathBuf,
    socket_dir: PathBuf,
    identity: Identity,
}

/// How one run of the server ended.
struct Ended {
    was_ready: bool,
    tail: Tail,
}

impl Keeper {
    /// The whole life of the thread. The first start's outcome goes to `started`.
    pub(crate) fn run(
        config: ClusterConfig,
        shared: &Arc<Shared>,
        started: oneshot::Sender<Result<Endpoint, PostgresError>>,
    ) {
        let mut started = Some(started);
        let outcome = Self::prepare(config, Arc::clone(shared))
            .and_then(|keeper| keeper.supervise(&mut started));
        if let Err(error) = outcome {
            tracing::error!(%error, "PostgreSQL cannot be kept running");
            if report(&mut started, Err(error)) == Listener::Gone {
                tracing::debug!("the start was given up before it failed");
            }
        }
        // The configuration, and with it this thread's hold on the lock, is gone by now.
        shared.tell(Health::Stopped);
    }

    fn prepare(mut config: ClusterConfig, shared: Arc<Shared>) -> Result<Self, PostgresError> {
        let data_dir = config.lock.data_dir();
        let identity = Identity::choose(&config.programs, initdb::owner(data_dir));
        let cluster = initdb::ensure(data_dir, &config.programs, identity, config.durability)?;
        let socket_dir = socket::prepare(data_dir, config.socket_dir.as_deref(), identity.owner())?;
        if config.durability == Durability::Full {
            let compression = settings::wal_compression(&config.programs, &cluster, identity)?;
            config.settings.insert(0, compression);
        }
        Ok(Self {
            config,
            shared,
            cluster,
            socket_dir,
            identity,
        })
    }

    fn supervise(
        self,
        started: &mut Option<oneshot::Sender<Result<Endpoint, PostgresError>>>,
    ) -> Result<(), PostgresError> {
        let begun = Instant::now();
        let mut pause = RESTART_PAUSE.0;
        while !self.shared.stopping() {
            let ended = match self.one_life(started) {
                Ok(ended) => ended,
                Err(error) if started.is_some() => return Err(error),
                Err(error) => {
                    self.down(error.to_string());
                    self.rest(&mut pause);
                    continue;
                }
            };
            if self.shared.stopping() {
                break;
            }
            let reason = ended.tail.reason();
            if started.is_some() && !(remains(&reason) && begun.elapsed() < REMAINS_WAIT) {
                return Err(PostgresError::Start {
                    detail: reason,
                    log: self.config.log_path(),
                });
            }
            if ended.was_ready {
                pause = RESTART_PAUSE.0;
            }
            self.down(reason);
            self.rest(&mut pause);
        }
        socket::leave(self.config.lock.data_dir(), &self.socket_dir);
        Ok(())
    }

    fn down(&self, reason: String) {
        tracing::warn!(%reason, "PostgreSQL ended unasked and will be restarted");
        self.shared.tell(Health::Down { reason });
    }

    fn rest(&self, pause: &mut Duration) {
        crate::pid_file::wait_until(*pause, || self.shared.stopping());
        *pause = (*pause * 2).min(RESTART_PAUSE.1);
    }

    /// From the first process to the last of one server.
    fn one_life(
        &self,
        started: &mut Option<oneshot::Sender<Result<Endpoint, PostgresError>>>,
    ) -> Result<Ended, PostgresError> {
        clear_the_way(&self.cluster)?;
        socket::clear(&self.socket_dir);
        let mut child = self.spawn()?;
        let tail = Tail::default();
        let drained = child.stderr.take().map(|stderr| {
            let (path, tail) = (self.config.log_path(), tail.clone());
            std::thread::spawn(move || drain(stderr, &path, &tail))
        });
        let was_ready = self.until_ready(&mut child);
        if let Ok(true) = was_ready {
            self.shared.tell(Health::Ready { pid: child.id() });
            let endpoint = Endpoint {
                socket_dir: self.socket_dir.clone(),
                port: PORT,
            };
            if report(started, Ok(endpoint)) == Listener::Gone {
                self.shared.stop(Signal::INT);
            }
        } else if was_ready.is_err() {
            self.signal_child(Signal::QUIT);
        }
        self.reap(&mut child)?;
        // Its backends have the pipe open too: the log is whole when the last of them has gone.
        if let Some(drained) = drained {
            crate::pid_file::wait_until(Duration::from_secs(5), || drained.is_finished());
        }
        was_ready.map(|was_ready| Ended { was_ready, tail })
    }

    fn spawn(&self) -> Result<Child, PostgresError> {
        let mut server = command(&self.config.programs, "postgres", self.identity)?;
        server
            .arg("-D")
            .arg(&self.cluster)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        server.args(settings::arguments(
            self.config.durability,
            &self.socket_dir,
            &self.config.settings,
        ));
        let mut state = self.shared.child();
        let child = server
            .spawn()
            .map_err(|source| launch_error(&self.config.programs.bin.join("postgres"), source))?;
        state.pid = Some(child.id());
        if state.stopping {
            signal(child.id().cast_signed(), Signal::INT);
        }
        Ok(child)
    }

    fn signal_child(&self, how: Signal) {
        if let Some(pid) = self.shared.child().pid {
            signal(pid.cast_signed(), how);
        }
    }

    /// `false` when the child ended first.
    fn until_ready(&self, child: &mut Child) -> Result<bool, PostgresError> {
        let begun = Instant::now();
        loop {
            if PidFile::read(&self.cluster).is_some_and(|file| file.is_ready_as(child.id())) {
                return Ok(true);
            }
            if exited(child, WaitIdOptions::NOHANG) {
                return Ok(false);
            }
            let waited = begun.elapsed();
            if waited > self.config.start_timeout {
                return Err(PostgresError::StartTimeout {
                    waited,
                    log: self.config.log_path(),
                });
            }
            std::thread::sleep(POLL);
        }
    }

    fn reap(&self, child: &mut Child) -> Result<(), PostgresError> {
        while !exited(child, WaitIdOptions::empty()) {}
        self.shared.child().pid = None;
        child
            .wait()
            .map(drop)
            .map_err(|source| launch_error(&self.config.programs.bin.join("postgres"), source))
    }
}

/// Whether the child has ended. It stays a zombie, so that its id remains its own.
fn exited(child: &Child, how: WaitIdOptions) -> bool {
    let Some(pid) = Pid::from_raw(child.id().cast_signed()) else {
        return true;
    };
    match waitid(
        WaitId::Pid(pid),
        WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | how,
    ) {
        Ok(status) => status.is_some(),
        Err(error) => error != rustix::io::Errno::INTR,
    }
}

/// Complaints that end by themselves once the last process of an earlier server has gone.
fn remains(reason: &str) -> bool {
    reason.contains("pre-existing shared memory block")
        || reason.contains("lock file \"postmaster.pid\"")
}

/// Whether somebody still waits for the first start.
#[derive(PartialEq, Eq)]
enum Listener {
    Told,
    Gone,
}

fn report(
    started: &mut Option<oneshot::Sender<Result<Endpoint, PostgresError>>>,
    outcome: Result<Endpoint, PostgresError>,
) -> Listener {
    match started.take().map(|started| started.send(outcome)) {
        None | Some(Ok(())) => Listener::Told,
        Some(Err(_)) => Listener::Gone,
    }
}
