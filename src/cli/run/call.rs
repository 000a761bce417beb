//! One change under one key, however often it is sent.

use std::time::{Duration, Instant};

use clap::Args;
use serde_json::Value;

use crate::cli::Context;
use crate::cli::client::{Answer, Client, fresh_key, pause_before_retry};
use crate::cli::failure::Failure;
use crate::cli::output::Output;

/// How long `--wait` keeps asking: the longest turn, its lease and the sweeper's delay.
const PATIENCE: Duration = Duration::from_secs(1200);

/// How a change is sent.
#[derive(Debug, Args)]
pub struct CallArgs {
    /// The idempotency key (8..200 characters); without it a fresh one is made and printed
    #[arg(long)]
    key: Option<String>,
    /// Keep asking under the same key until the answer is final (at most 20 minutes)
    #[arg(long)]
    wait: bool,
}

/// A key, and whether to go on asking under it.
#[derive(Debug)]
pub struct Call {
    key: String,
    output: Output,
    deadline: Option<Instant>,
}

impl Call {
    /// Takes the given key, or makes and prints one.
    pub fn new(args: &CallArgs, context: &Context) -> Result<Self, Failure> {
        let output = context.output;
        let deadline = args.wait.then(|| Instant::now() + PATIENCE);
        if let Some(key) = &args.key {
            if !key
                .bytes()
                .all(|byte| byte == b' ' || byte.is_ascii_graphic())
            {
                let plain = "a key is made of printable ASCII characters";
                return Err(Failure::usage("key", plain).fix("name another one with --key"));
            }
            return Ok(Self {
                key: key.clone(),
                output,
                deadline,
            });
        }
        let key = fresh_key()?;
        output.note(&format!(
            "key: {key}  (the same command with --key repeats it safely)"
        ));
        Ok(Self {
            key,
            output,
            deadline,
        })
    }

    pub async fn send(
        &self,
        client: &Client,
        path: &[&str],
        body: &Value,
    ) -> Result<Answer, Failure> {
        let mut pause = Duration::from_millis(250);
        loop {
            let failure = match client.post(path, &self.key, body).await {
                Ok(answer) => return Ok(self.told(answer)),
                Err(failure) => failure,
            };
            let Some(least) = pause_before_retry(&failure) else {
                return Err(failure);
            };
            let wait = pause.max(least);
            if self
                .deadline
                .is_none_or(|deadline| Instant::now() + wait >= deadline)
            {
                return Err(failure);
            }
            tokio::time::sleep(wait).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }

    fn told(&self, answer: Answer) -> Answer {
        if answer
            .headers
            .get("Idempotency-Replayed")
            .is_some_and(|word| word == "true")
        {
            self.output
                .note("replayed: this is the answer that the key has had before");
        }
        answer
    }
}
