//! Server-sent events, as far as event streams of runs use them: `id`, `event` and `data` lines,
//! comments as heartbeats. Bounded: one event never takes more than [`MAX_EVENT`] bytes.

use crate::cli::failure::Failure;

/// Largest event, in bytes.
const MAX_EVENT: usize = 32 << 20;

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// The kind; empty for plain messages.
    pub event: String,
    pub data: String,
}

/// Puts pieces together into messages.
#[derive(Debug, Default)]
pub struct Parser {
    rest: Vec<u8>,
    message: Message,
    has_data: bool,
}

impl Parser {
    /// The messages that are complete after this piece.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Vec<Message>, Failure> {
        let mut complete = Vec::new();
        let mut from = self.rest.len();
        self.rest.extend_from_slice(piece);
        let mut start = 0;
        while let Some(end) = self.rest[from..].iter().position(|byte| *byte == b'\n') {
            let end = from + end;
            let line = String::from_utf8_lossy(&self.rest[start..end]).into_owned();
            complete.extend(self.line(line.strip_suffix('\r').unwrap_or(&line)));
            start = end + 1;
            from = start;
        }
        self.rest.drain(..start);
        if self.rest.len() + self.message.data.len() > MAX_EVENT {
            return Err(Failure::unavailable(
                "too_large",
                "an event of the stream is too large",
            ));
        }
        Ok(complete)
    }

    fn line(&mut self, line: &str) -> Option<Message> {
        if line.is_empty() {
            let message = std::mem::take(&mut self.message);
            return std::mem::take(&mut self.has_data).then_some(message);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.message.event),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.message.data.push('\n');
                }
                self.message.data.push_str(value);
            }
            // Ids are the sequence numbers inside the data; a leading colon is a heartbeat.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(event: &str, data: &str) -> Message {
        Message {
            event: event.to_owned(),
            data: data.to_owned(),
        }
    }

    #[test]
    fn messages_come_out_whole_however_they_are_cut() {
        let text = ": hello\n\nid: 1\nevent: run_started\ndata: {\"a\":\"é\"}\n\ndata: x\r\ndata:y\r\n\r\nid: 3\n\n";
        let expected = [message("run_started", "{\"a\":\"é\"}"), message("", "x\ny")];
        for size in 1..text.len() {
            let mut parser = Parser::default();
            let pieces = text.as_bytes().chunks(size);
            let messages: Vec<_> = pieces
                .flat_map(|piece| parser.feed(piece).unwrap())
                .collect();
            assert_eq!(messages, expected, "pieces of {size}");
        }
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut parser = Parser::default();
        let piece = vec![b'x'; MAX_EVENT / 2 + 1];
        assert!(parser.feed(&piece).is_ok());
        assert!(parser.feed(&piece).is_err());
    }
}
