//! `helix run events [--follow]`: every event once and in order, over whatever connection.
//!
//! Following uses server-sent events, resumed by the last event seen, and long polling when the
//! server or a proxy does not stream. The cursor is the event's own `seq`: a doubled event is
//! dropped, a gap is filled from the page route.

use std::time::Duration;

use clap::Args;
use helix_aggregates::agent::run::event::ends_run;
use reqwest::Response;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::Value;

use super::{path, run_id};
use crate::cli::Context;
use crate::cli::client::sse::{Message, Parser};
use crate::cli::client::{Client, pause_before_retry, piece};
use crate::cli::failure::{Exit, Failure};

/// Connections lost in a row, without an event between them, before following gives up.
const MAX_LOSSES: u32 = 10;

#[derive(Debug, Args)]
pub struct EventsArgs {
    /// The run id
    #[arg(value_parser = run_id)]
    run: String,
    /// Only events after this one
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    after: u64,
    /// Go on until the run has ended
    #[arg(long, short)]
    follow: bool,
}

/// What has been printed so far.
struct Feed<'a> {
    run: &'a str,
    client: &'a Client,
    context: &'a Context,
    after: u64,
    ended: bool,
}

enum Streamed {
    /// The connection ended; there may be more.
    Cut,
    /// A long poll was answered.
    Polled,
    /// There is no stream to be had here.
    NotOffered,
}

pub async fn run(args: EventsArgs, client: &Client, context: &Context) -> Result<Exit, Failure> {
    let mut feed = Feed {
        run: &args.run,
        client,
        context,
        after: args.after,
        ended: false,
    };
    feed.pages(None).await?;
    if args.follow {
        feed.follow().await?;
    }
    Ok(Exit::Ok)
}

impl Feed<'_> {
    async fn follow(&mut self) -> Result<(), Failure> {
        let (mut losses, mut streams) = (0, true);
        while !self.ended {
            let before = self.after;
            let lost = match if streams {
                self.stream().await
            } else {
                self.poll().await
            } {
                Ok(Streamed::NotOffered) => {
                    streams = false;
                    continue;
                }
                // A long poll without an event is an answer like any other.
                Ok(Streamed::Polled) => {
                    losses = 0;
                    continue;
                }
                Ok(Streamed::Cut) if self.ended => break,
                Ok(Streamed::Cut) => {
                    Failure::unavailable("interrupted", "the stream breaks off again and again")
                }
                Err(failure) => failure,
            };
            losses = if self.after > before { 1 } else { losses + 1 };
            match pause_before_retry(&lost) {
                Some(least) if losses <= MAX_LOSSES => {
                    let pause = Duration::from_millis(50 << losses.min(7));
                    tokio::time::sleep(pause.max(least)).await;
                }
                Some(_) | None => return Err(lost),
            }
        }
        Ok(())
    }

    async fn poll(&mut self) -> Result<Streamed, Failure> {
        self.pages(Some(25_000)).await?;
        Ok(Streamed::Polled)
    }

    /// Prints pages until there is nothing more, the first one after a wait if one is given.
    async fn pages(&mut self, mut wait_ms: Option<u32>) -> Result<(), Failure> {
        loop {
            let mut query = vec![
                ("after_seq", self.after.to_string()),
                ("limit", "200".to_owned()),
            ];
            query.extend(wait_ms.take().map(|wait| ("wait_ms", wait.to_string())));
            let page = self
                .client
                .get(&path(self.run, &["events"]), &query)
                .await?
                .body;
            let Some(events) = page["events"].as_array() else {
                return Err(Failure::unavailable(
                    "not_helix",
                    "the server's answer is no page of events",
                ));
            };
            for event in events {
                self.print(event)?;
            }
            if page["has_more"] != true || events.is_empty() {
                return Ok(());
            }
        }
    }

    async fn stream(&mut self) -> Result<Streamed, Failure> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert("Last-Event-ID", HeaderValue::from(self.after));
        let query = [("after_seq", self.after.to_string())];
        let path = path(self.run, &["events"]);
        let mut response = match self.client.stream(&path, &query, headers).await {
            Ok(response) if is_stream(&response) => response,
            Err(failure) if failure.code() != "http_406" => return Err(failure),
            Ok(_) | Err(_) => return Ok(Streamed::NotOffered),
        };
        let mut parser = Parser::default();
        while !self.ended {
            let Some(piece) = piece(&mut response).await? else {
                break;
            };
            for message in parser.feed(&piece)? {
                self.message(&message).await?;
            }
        }
        Ok(Streamed::Cut)
    }

    async fn message(&mut self, message: &Message) -> Result<(), Failure> {
        let value: Value = serde_json::from_str(&message.data).unwrap_or(Value::Null);
        if message.event == "closed" {
            let code = value["error"].as_str().unwrap_or("closed");
            return Err(Failure::new(
                Exit::NotAllowed,
                code,
                "the server closed the stream",
            ));
        }
        match value["seq"].as_u64() {
            Some(seq) if seq > self.after + 1 => self.pages(None).await,
            Some(_) => self.print(&value),
            None => Ok(()),
        }
    }

    /// Prints an event that was not printed before.
    fn print(&mut self, event: &Value) -> Result<(), Failure> {
        let Some(seq) = event["seq"].as_u64().filter(|seq| *seq > self.after) else {
            return Ok(());
        };
        let kind = event["event_type"].as_str().unwrap_or("?");
        self.context.output.answer(event, |out| {
            let at = event["created_at"].as_str().unwrap_or("?");
            out.line(&format!("{seq:>5}  {at}  {kind:28}  {}", event["payload"]))
        })?;
        self.after = seq;
        self.ended = ends_run(kind);
        Ok(())
    }
}

fn is_stream(response: &Response) -> bool {
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}
