//! Whether the client of a request is still there.
//!
//! actix-web lets a handler go on after the client has closed its side of the connection, because
//! such a client might still read; it drops the handler only when the connection is reset. For an
//! answer that takes something from others, such as a worker's turn, that is not good enough. What
//! must stay true: a closed side counts as gone, and looking neither reads nor waits. Deliberately
//! absent: a client whose machine or network is gone without a word. Only time tells of it.

use std::any::Any;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::os::fd::AsFd;

use actix_web::HttpRequest;
use actix_web::dev::Extensions;
use actix_web::rt::net;

use crate::app::agent::workers::claims::Presence;

/// A second handle of the connection's socket, kept with the connection and closed with it.
#[derive(Debug)]
struct Line(TcpStream);

/// Called once for each connection.
pub fn watch(connection: &dyn Any, data: &mut Extensions) {
    let Some(socket) = connection.downcast_ref::<net::TcpStream>() else {
        return;
    };
    match socket.as_fd().try_clone_to_owned() {
        Ok(second) => drop(data.insert(Line(second.into()))),
        // Served all the same: the client is taken to be there.
        Err(error) => tracing::debug!(%error, "a connection is not watched"),
    }
}

/// Where the client of `request` is now.
pub fn presence(request: &HttpRequest) -> Presence {
    request
        .conn_data::<Line>()
        .map_or(Presence::Here, Line::presence)
}

impl Line {
    fn presence(&self) -> Presence {
        // The socket does not block. What a client sent after its request is left to be read.
        match self.0.peek(&mut [0]) {
            Ok(0) => Presence::Gone,
            Ok(_) => Presence::Here,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                Presence::Here
            }
            Err(_) => Presence::Gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{Shutdown, TcpListener};

    use super::*;

    /// A client and the server's end of its connection.
    fn connected() -> (TcpStream, Line) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        (client, Line(server))
    }

    /// Loopback delivers what was sent a moment later.
    fn wait_for(line: &Line, presence: Presence) {
        while line.presence() != presence {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_client_that_waits_or_sends_more_is_here() {
        let (mut client, line) = connected();
        assert_eq!(line.presence(), Presence::Here);
        client.write_all(b"GET").unwrap();
        while line.0.peek(&mut [0]).is_err() {
            std::thread::yield_now();
        }
        assert_eq!(line.presence(), Presence::Here);
        drop(client);
    }

    #[test]
    fn a_client_that_closed_its_side_or_all_of_it_is_gone() {
        let (client, line) = connected();
        client.shutdown(Shutdown::Write).unwrap();
        wait_for(&line, Presence::Gone);
        let (client, line) = connected();
        drop(client);
        wait_for(&line, Presence::Gone);
    }
}
