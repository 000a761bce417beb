//! A byte stream between a socket and actix-http that passes on nothing but well-formed requests
//! (`access` 12, K25, K28).
//!
//! actix-http takes a bare LF for a line's end, reads heads of 128 KiB, answers what it refuses
//! without a body or a request id, gives only the first head of a connection a time, and serves
//! what was sent behind a request that closes its connection. Here each head is held back until it
//! is whole, in time and without fault; what is not is answered by the guard in the envelope of
//! every refusal.
//!
//! What must stay true: a head that is refused never reaches the router; whatever passes is read by
//! actix-http as the guard read it, so that both find the same ends (what it would refuse is refused
//! here first); an answer of the guard comes after every answer that is owed, and is the last one;
//! what is held of a connection is bounded by the longest head, and nothing is held of an idle one.
//!
//! A head costs a look at each of its bytes, a body none: its length is counted down, of a chunked
//! one the lines between the chunks are looked at. Every byte is copied once more.
//!
//! Deliberately absent: who may send what (the router's business), and other protocols. HTTP/2 is
//! not spoken on a plain socket: its preface is refused as the malformed request line it is, an
//! `Upgrade` to it is ignored, and one to WebSocket refused.

mod chunks;
mod fault;
mod framing;
mod head;
mod ledger;
mod lines;
mod parting;
mod refusal;
pub mod router;
mod surplus;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_web::web::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use fault::Fault;
use framing::{Awaits, Framing, Part, Step};
use ledger::Ledger;
use parting::Parting;
use refusal::Refusal;

use crate::metrics::Metrics;

/// Bytes that one read of the socket may bring.
const READ: usize = 8 * 1024;

/// How long a client may take.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// From the first byte of a head to its last; for the first head, from the connection on.
    pub head: Duration,
    /// From the end of a head to the end of its body. Longer than the router's own patience, which
    /// answers: this one ends what nobody reads any more.
    pub body: Duration,
}

/// One connection.
#[derive(Debug)]
pub struct Guarded<S> {
    socket: S,
    framing: Framing,
    /// Came, and did not go further yet.
    held: BytesMut,
    /// So many of the first bytes held may go.
    free: usize,
    stage: Stage,
    ledger: Rc<Ledger>,
    patience: Patience,
    /// When the head or body that is on its way must be there.
    deadline: Option<Instant>,
    alarm: Option<Pin<Box<Sleep>>>,
    metrics: Metrics,
}

#[derive(Debug)]
enum Stage {
    Open,
    /// Nothing more is read. Answers that are owed come first.
    Closing(Fault),
    /// actix-http believes that the client has closed its half, and closes when it is done.
    Closed(Fault),
    Parting(Parting),
}

/// What a look at the connection brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Came {
    Something,
    End,
}

impl<S> Guarded<S> {
    pub fn new(socket: S, patience: Patience, metrics: Metrics) -> Self {
        Self {
            socket,
            framing: Framing::default(),
            held: BytesMut::new(),
            free: 0,
            stage: Stage::Open,
            ledger: Rc::default(),
            patience,
            deadline: Some(Instant::now() + patience.head),
            alarm: None,
            metrics,
        }
    }

    pub fn socket(&self) -> &S {
        &self.socket
    }

    /// Where the router notes its answers.
    pub fn ledger(&self) -> Rc<Ledger> {
        Rc::clone(&self.ledger)
    }

    fn refuse(&mut self, fault: Fault) {
        let reason = fault.label();
        self.metrics
            .connections_cut
            .with_label_values(&[reason])
            .inc();
        self.held = BytesMut::new();
        self.stage = Stage::Closing(fault);
    }

    /// Tells actix-http that nothing more comes, once no answer is owed that would suffer by it.
    fn poll_closing(&mut self, context: &Context<'_>, fault: Fault) -> Poll<()> {
        let rest = u64::from(fault.problem().is_none());
        ready!(self.ledger.poll_at_most(rest, context));
        self.stage = Stage::Closed(fault);
        Poll::Ready(())
    }

    /// Moves free bytes to where actix-http wants them.
    fn give(&mut self, room: &mut ReadBuf<'_>) {
        let bytes = self.free.min(room.remaining());
        room.put_slice(&self.held[..bytes]);
        self.held.advance(bytes);
        self.free -= bytes;
    }

    fn pass(&mut self, bytes: usize, part: Part) {
        self.free = bytes;
        if let Part::Head { fields } = part {
            self.ledger.passed();
            self.pack(fields);
        }
        match (part, self.framing.awaits()) {
            (Part::Head { .. }, Awaits::Body) => {
                self.deadline = Some(Instant::now() + self.patience.body);
            }
            (Part::Body, Awaits::Body) => {}
            (_, Awaits::Head | Awaits::Nothing) => self.deadline = None,
        }
    }

    /// Makes the head that is free one that actix-http takes.
    fn pack(&mut self, fields: usize) {
        if let Some(mut packed) = surplus::packed(&self.held[..self.free], fields) {
            let rest = self.held.split_off(self.free);
            self.free = packed.len();
            packed.extend_from_slice(&rest);
            self.held = BytesMut::from(&packed[..]);
        }
    }

    /// What is late when the deadline passes.
    fn late(&self) -> Fault {
        match self.framing.awaits() {
            Awaits::Body => Fault::LateBody,
            Awaits::Head | Awaits::Nothing => Fault::LateHead,
        }
    }

    /// Whether a body goes on long after its answer. A sender that never pauses is never waited for,
    /// so that no alarm is set for it.
    fn is_read_for_nothing(&self) -> bool {
        self.framing.awaits() == Awaits::Body
            && self.ledger.owes_nothing()
            && self.deadline.is_some_and(|end| end <= Instant::now())
    }

    /// Ready when whatever is on its way is late.
    fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.deadline.is_none() && self.framing.awaits() == Awaits::Head {
            self.deadline = Some(Instant::now() + self.patience.head);
        }
        let Some(deadline) = self.deadline else {
            return Poll::Pending;
        };
        let alarm = self
            .alarm
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if alarm.deadline() != deadline {
            alarm.as_mut().reset(deadline);
        }
        alarm.as_mut().poll(context)
    }
}

impl<S: AsyncRead + Unpin> Guarded<S> {
    /// Reads on until there is something to give, or the end.
    fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Came>> {
        if self.is_read_for_nothing() {
            self.refuse(Fault::LateBody);
            return Poll::Ready(Ok(Came::Something));
        }
        loop {
            match self.framing.step(&self.held) {
                Step::Pass { bytes, part } => {
                    self.pass(bytes, part);
                    return Poll::Ready(Ok(Came::Something));
                }
                Step::Drop(bytes) => self.held.advance(bytes),
                Step::Refuse(fault) => {
                    self.refuse(fault);
                    return Poll::Ready(Ok(Came::Something));
                }
                Step::More => match self.poll_fill(context) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Ok(Came::End)),
                    Poll::Ready(Ok(_)) => {}
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => {
                        if self.held.is_empty() {
                            self.held = BytesMut::new();
                        }
                        ready!(self.poll_late(context));
                        let fault = self.late();
                        self.refuse(fault);
                        return Poll::Ready(Ok(Came::Something));
                    }
                },
            }
        }
    }

    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.held.reserve(READ);
        pin!(self.socket.read_buf(&mut self.held)).poll(context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            match this.stage {
                Stage::Open if this.free > 0 => {
                    this.give(room);
                    return Poll::Ready(Ok(()));
                }
                Stage::Open => match ready!(this.poll_open(context))? {
                    Came::Something => {}
                    Came::End => return Poll::Ready(Ok(())),
                },
                Stage::Closing(fault) => ready!(this.poll_closing(context, fault)),
                Stage::Closed(_) | Stage::Parting(_) => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        match this.stage {
            // The last answer was ours.
            Stage::Parting(_) => Poll::Ready(Ok(bytes.len())),
            Stage::Open | Stage::Closing(_) | Stage::Closed(_) => {
                Pin::new(&mut this.socket).poll_write(context, bytes)
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(context)
    }

    /// actix-http comes here when every answer of its own is written.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Stage::Closed(fault) = this.stage {
            this.stage = Stage::Parting(last_words(fault));
        }
        match &mut this.stage {
            Stage::Parting(parting) => parting.poll(context, &mut this.socket).map(Ok),
            Stage::Open | Stage::Closing(_) | Stage::Closed(_) => {
                Pin::new(&mut this.socket).poll_shutdown(context)
            }
        }
    }
}

/// The answer, if it is ours to give, and then the end.
fn last_words(fault: Fault) -> Parting {
    let Some(problem) = fault.problem() else {
        return Parting::new(Vec::new());
    };
    let refusal = Refusal::of(&problem);
    let (request_id, status, reason) = (&refusal.request_id, refusal.status, fault.label());
    tracing::info!(request.id = %request_id, status, reason, "request head refused");
    Parting::new(refusal.bytes)
}
