//! How many requests of a connection still want their answer.
//!
//! The guard counts the heads it passed, the router the answers that ended: read to their last
//! byte, or dropped. Both live on the thread of the connection.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use actix_web::body::{BodySize, MessageBody};
use actix_web::web::Bytes;

/// The requests of one connection.
#[derive(Debug, Default)]
pub struct Ledger {
    owed: Cell<u64>,
    /// Whoever waits for answers to end.
    waiting: RefCell<Option<Waker>>,
}

impl Ledger {
    /// One more request was passed on.
    pub fn passed(&self) {
        self.owed.set(self.owed.get() + 1);
    }

    pub fn owes_nothing(&self) -> bool {
        self.owed.get() == 0
    }

    /// Ready when at most `rest` answers are owed.
    pub fn poll_at_most(&self, rest: u64, context: &Context<'_>) -> Poll<()> {
        if self.owed.get() <= rest {
            return Poll::Ready(());
        }
        self.waiting.replace(Some(context.waker().clone()));
        Poll::Pending
    }

    fn answered(&self) {
        self.owed.set(self.owed.get().saturating_sub(1));
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }
}

/// One answer that is owed, until this is dropped.
#[derive(Debug)]
pub struct Debt(pub Rc<Ledger>);

impl Drop for Debt {
    fn drop(&mut self) {
        self.0.answered();
    }
}

/// The body of an answer, which is owed as long as there is something of it left to send.
#[derive(Debug)]
pub struct Owed<B> {
    body: B,
    /// Held for the sake of its end.
    _debt: Option<Debt>,
}

impl<B> Owed<B> {
    /// Without a debt the body is one like any other.
    pub fn new(body: B, debt: Option<Debt>) -> Self {
        Self { body, _debt: debt }
    }
}

impl<B: MessageBody + Unpin> MessageBody for Owed<B> {
    type Error = B::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}
