//! The last words on a connection: an answer, the end of our half, and patience until the other
//! side has read both.
//!
//! A socket that is closed while bytes lie unread in it is reset, and a reset takes the answer away
//! from a client that is still sending. So what comes is read and thrown away, for a while.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How long the other side has for reading the answer and closing.
const LONGEST: Duration = Duration::from_secs(2);

/// What is left to be done.
#[derive(Debug)]
pub struct Parting {
    answer: Vec<u8>,
    written: usize,
    half: Half,
    until: Pin<Box<Sleep>>,
}

/// Our half of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Open,
    Closed,
}

impl Parting {
    /// `answer` may be empty.
    pub fn new(answer: Vec<u8>) -> Self {
        Self {
            answer,
            written: 0,
            half: Half::Open,
            until: Box::pin(tokio::time::sleep(LONGEST)),
        }
    }

    /// Ready when the connection can be dropped.
    pub fn poll<S>(&mut self, context: &mut Context<'_>, socket: &mut S) -> Poll<()>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        if self.until.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        // Whatever fails now, the other side has gone.
        if ready!(self.poll_say(context, socket)).is_err() {
            return Poll::Ready(());
        }
        poll_waste(context, socket)
    }

    fn poll_say<S>(
        &mut self,
        context: &mut Context<'_>,
        socket: &mut S,
    ) -> Poll<std::io::Result<()>>
    where
        S: AsyncWrite + Unpin,
    {
        let mut socket = Pin::new(socket);
        while let Some(rest @ [_, ..]) = self.answer.get(self.written..) {
            let written = ready!(socket.as_mut().poll_write(context, rest))?;
            if written == 0 {
                return Poll::Ready(Err(std::io::ErrorKind::WriteZero.into()));
            }
            self.written += written;
        }
        if self.half == Half::Open {
            ready!(socket.as_mut().poll_shutdown(context))?;
            self.half = Half::Closed;
        }
        Poll::Ready(Ok(()))
    }
}

/// Reads until the other side closes.
fn poll_waste<S: AsyncRead + Unpin>(context: &mut Context<'_>, socket: &mut S) -> Poll<()> {
    let mut waste = [0; 4_096];
    loop {
        let mut room = ReadBuf::new(&mut waste);
        match ready!(Pin::new(&mut *socket).poll_read(context, &mut room)) {
            Ok(()) if !room.filled().is_empty() => {}
            Ok(()) | Err(_) => return Poll::Ready(()),
        }
    }
}
