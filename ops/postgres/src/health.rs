//! What the keeper's thread and the cluster's handle know of each other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::Signal;
use tokio::sync::watch;

use crate::pid_file::signal;

/// What the supervisor knows about its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    Starting,
    Ready {
        pid: u32,
    },
    /// The server died and is being restarted; the reason is the end of its log.
    Down {
        reason: String,
    },
    Stopped,
}

/// What the keeper and its cluster share.
#[derive(Debug)]
pub(crate) struct Shared {
    health: watch::Sender<Health>,
    child: Mutex<ChildState>,
}

#[derive(Debug, Default)]
pub(crate) struct ChildState {
    /// Present only while the child is not reaped.
    pub(crate) pid: Option<u32>,
    pub(crate) stopping: bool,
}

impl Shared {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            health: watch::Sender::new(Health::Starting),
            child: Mutex::default(),
        })
    }

    pub(crate) fn tell(&self, health: Health) {
        self.health.send_replace(health);
    }

    pub(crate) fn health(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }

    /// Asks for the end; a server that is not running is not started again.
    pub(crate) fn stop(&self, how: Signal) {
        let mut child = self.child();
        child.stopping = true;
        if let Some(pid) = child.pid.and_then(|pid| i32::try_from(pid).ok()) {
            signal(pid, how);
        }
    }

    pub(crate) fn child(&self) -> MutexGuard<'_, ChildState> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stopping(&self) -> bool {
        self.child().stopping
    }
}
