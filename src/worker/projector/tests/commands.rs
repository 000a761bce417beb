//! The two commands as an operator runs them, against a database somebody tampered with.

use clap::Parser;
use sqlx::Executor;

use super::world::{World, account, at, run_id};
use crate::cli::failure::{Exit, Failure};
use crate::cli::output::Output;
use crate::cli::{Context, projections, replay};
use crate::config::Environment;

#[derive(Debug, Parser)]
enum Line {
    Replay(replay::ReplayArgs),
    Projections(projections::ProjectionsArgs),
}

async fn ended(world: &World, words: &[&str]) -> Result<Exit, Failure> {
    let line = Line::try_parse_from(std::iter::once("helix").chain(words.iter().copied())).unwrap();
    let (url, key_file) = (
        world.database.url(),
        world.core.keyring.path().display().to_string(),
    );
    let context = Context {
        output: Output::Json,
        environment: Environment::from_pairs([
            ("HELIX_DATABASE_URL", url.as_str()),
            ("HELIX_KEK_FILE", key_file.as_str()),
        ]),
        folder: std::env::temp_dir(),
    };
    match line {
        Line::Replay(args) => replay::run(args, &context).await,
        Line::Projections(args) => projections::run(args, &context).await,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_commands_end_with_the_exit_code_of_their_answer() {
    let world = World::new().await;
    let stream = world.start("a", account(1), at(1)).await;
    world.projectors.settle().await.unwrap();
    let run = run_id(&stream).to_string();
    for words in [
        &["replay", run.as_str()][..],
        &["replay", run.as_str(), "--until", "1"],
        &["projections", "rebuild", "--check"],
        &["projections", "rebuild"],
        &["projections", "rebuild", "account_activity"],
        &["projections", "rebuild", "run", "--check"],
    ] {
        assert_eq!(ended(&world, words).await, Ok(Exit::Ok), "{words:?}");
    }
    let missing = ended(
        &world,
        &["replay", "run_00000000-0000-0000-0000-000000000000"],
    )
    .await;
    assert_eq!(missing.unwrap_err().code(), "run_not_found");
    let beyond = ended(&world, &["replay", run.as_str(), "--until", "2"]).await;
    assert_eq!(beyond.unwrap_err().code(), "no_such_event");

    world
        .core
        .pool
        .execute("update es.stream set status = 'queued'")
        .await
        .unwrap();
    assert_eq!(ended(&world, &["replay", run.as_str()]).await, Ok(Exit::No));
    assert_eq!(
        ended(&world, &["projections", "rebuild", "--check"]).await,
        Ok(Exit::No)
    );
    assert_eq!(
        ended(
            &world,
            &["projections", "rebuild", "account_activity", "--check"]
        )
        .await,
        Ok(Exit::Ok)
    );
    assert_eq!(
        ended(&world, &["projections", "rebuild", "run"]).await,
        Ok(Exit::Ok)
    );
    assert_eq!(ended(&world, &["replay", run.as_str()]).await, Ok(Exit::Ok));
}
