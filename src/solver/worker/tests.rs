use std::sync::Arc;

use helix_aggregates::agent::run::turn::TerminalAuthority;

use super::*;
use crate::solver::engine::Engine;
use crate::solver::fixture::{Town, library};
use crate::solver::seam::{AbortReason, Claim, Progress, QuotedSpan, SourceHandle};

fn engine(town: &Town) -> (Engine, mpsc::Receiver<OfferedTurn>) {
    let (solver, desk) = WorkerSolver::with_desk();
    let engine = Engine::with_solver(Arc::clone(town.engine.corpora()), Box::new(solver));
    (engine, desk.take().unwrap())
}

#[tokio::test]
async fn a_desk_has_one_server() {
    let (_solver, desk) = WorkerSolver::with_desk();
    let other = desk.clone();
    assert!(desk.take().is_some());
    assert!(other.take().is_none());
}

#[tokio::test]
async fn what_a_worker_drafts_is_judged_as_any_draft_is() {
    let town = Town::new();
    let (engine, mut desk) = engine(&town);
    let (input, _handle) = library("How much will the renovation of the lighthouse cost?");
    let serve = async {
        let OfferedTurn { work, reply } = desk.recv().await.unwrap();
        assert_eq!(
            (work.run_id.as_str(), work.run_version),
            ("run_0123456789", 2)
        );
        assert_eq!(work.turn_id, "turn_1");
        let invented = QuotedSpan {
            source: SourceHandle(0),
            span: helix_aggregates::agent::evidence::item::Span { start: 0, end: 4 },
            quote: "Free".into(),
            why: String::new(),
        };
        let draft = Draft {
            spans: vec![invented],
            claims: vec![Claim {
                text: "It is free.".into(),
                spans: vec![0],
            }],
            digest: "It is free. [1]".into(),
            progress: Progress::Made,
            ..Draft::default()
        };
        reply.send(Ok(draft)).unwrap();
    };
    let (outcome, ()) = tokio::join!(engine.execute(input), serve);
    assert!(outcome.items.is_empty());
    assert_eq!(
        outcome.result.terminal_authority_status,
        TerminalAuthority::Blocked
    );
    assert!(outcome.result.terminal_product.is_none());
}

#[tokio::test]
async fn a_turn_that_is_stopped_closes_its_reply() {
    let town = Town::new();
    let (engine, mut desk) = engine(&town);
    let (input, handle) = library("When does the ferry leave?");
    let turn = tokio::spawn(async move { engine.execute(input).await });
    let OfferedTurn { mut reply, .. } = desk.recv().await.unwrap();
    handle.raise(AbortReason::Cancelled);
    reply.closed().await;
    assert!(!turn.await.unwrap().result.ok);
}

#[tokio::test]
async fn a_turn_whose_server_stops_is_not_failed() {
    let town = Town::new();
    let (solver, desk) = WorkerSolver::with_desk();
    let (input, _handle) = library("When does the ferry leave?");
    let host = ToolHost::new(&input, town.engine.corpora().snapshot());
    drop(desk.take());
    let mut solving = solver.solve(&input, &host);
    for _ in 0..10 {
        let ended = tokio::select! {
            biased;
            _ = &mut solving => true,
            () = tokio::task::yield_now() => false,
        };
        assert!(!ended);
    }
}

#[tokio::test]
async fn a_turn_that_no_worker_took_is_told_apart_from_one_that_failed() {
    let town = Town::new();
    let (engine, mut desk) = engine(&town);
    let (input, _handle) = library("When does the ferry leave?");
    let serve = async {
        let OfferedTurn { reply, .. } = desk.recv().await.unwrap();
        reply.send(Err(SolverError::WorkerUnavailable)).unwrap();
    };
    let (outcome, ()) = tokio::join!(engine.execute(input), serve);
    assert_eq!(outcome.result.status_code, 424);
    assert_eq!(
        outcome.result.failure_code.as_deref(),
        Some("worker_unavailable")
    );
}
