//! The signal that stops a turn from outside (`agent-api` 2.7): cooperative, process-local, one-way.

use std::fmt;

use tokio::sync::watch;

/// Who stopped the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbortReason {
    Timeout,
    Cancelled,
    Expired,
}

impl fmt::Display for AbortReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Expired => "run_expired",
        })
    }
}

/// The side that raises the signal.
#[derive(Debug)]
pub struct AbortHandle(watch::Sender<Option<AbortReason>>);

impl AbortHandle {
    /// Raises the signal; the first reason stays.
    pub fn raise(&self, reason: AbortReason) {
        self.0.send_if_modified(|current| {
            let first = current.is_none();
            current.get_or_insert(reason);
            first
        });
    }
}

/// The side that a turn looks at between its steps.
#[derive(Debug, Clone)]
pub struct Abort(watch::Receiver<Option<AbortReason>>);

impl Abort {
    pub fn channel() -> (AbortHandle, Self) {
        let (sender, receiver) = watch::channel(None);
        (AbortHandle(sender), Self(receiver))
    }

    pub fn raised(&self) -> Option<AbortReason> {
        *self.0.borrow()
    }

    /// Completes when the signal is raised; never, when its handle is gone without raising it.
    pub async fn wait(&mut self) -> AbortReason {
        loop {
            if let Some(reason) = self.raised() {
                return reason;
            }
            if self.0.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_stays() {
        let (handle, abort) = Abort::channel();
        assert_eq!(abort.raised(), None);
        handle.raise(AbortReason::Cancelled);
        handle.raise(AbortReason::Timeout);
        assert_eq!(abort.raised(), Some(AbortReason::Cancelled));
    }
}
