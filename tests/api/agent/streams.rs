//! Events as a stream.

use std::time::{Duration, Instant};

use helix::testing::{Script, TestApp};
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::harness::{Answer, Client, RUNS};

/// One server-sent event, or a comment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Frame {
    id: Option<u64>,
    event: String,
    data: String,
}

/// An open stream and what of it was not yet read.
struct Following {
    response: Response,
    text: String,
}

impl Following {
    async fn open(client: &Client<'_>, run: &str, query: &str, last: Option<&str>) -> Self {
        let response = Self::ask(client, run, query, last).await;
        assert_eq!(response.status(), 200);
        let header = |name: &str| {
            response.headers()[name]
                .to_str()
                .expect("readable")
                .to_owned()
        };
        assert!(header("content-type").starts_with("text/event-stream"));
        assert_eq!(header("cache-control"), "no-store");
        assert!(header("x-request-id").starts_with("agent_req_"));
        Self {
            response,
            text: String::new(),
        }
    }

    async fn ask(client: &Client<'_>, run: &str, query: &str, last: Option<&str>) -> Response {
        let mut request = client
            .request(Method::GET, &format!("{RUNS}/{run}/events{query}"))
            .header("Accept", "text/event-stream");
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        request.send().await.expect("an answer")
    }

    /// The next frame, `None` at the end of the stream.
    async fn next(&mut self) -> Option<Frame> {
        while !self.text.contains("\n\n") {
            let chunk = self.response.chunk().await.expect("an unbroken stream")?;
            self.text
                .push_str(std::str::from_utf8(&chunk).expect("UTF-8"));
        }
        let (frame, rest) = self.text.split_once("\n\n").expect("a frame");
        let mut read = Frame::default();
        for line in frame.lines() {
            match line.split_once(": ").expect("a field") {
                ("id", id) => read.id = Some(id.parse().expect("a place")),
                ("event", event) => event.clone_into(&mut read.event),
                ("data", data) => read.data.push_str(data),
                ("", _) => {}
                other => panic!("an unknown field {other:?}"),
            }
        }
        self.text = rest.into();
        Some(read)
    }

    async fn rest(mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            frames.push(frame);
        }
        frames
    }
}

async fn started(client: &Client<'_>) -> String {
    let body = json!({"objective": "List"});
    client.started("ferry-plan-0001", &body).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_shows_what_pages_show_and_ends_with_the_run() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started(&client).await;
    let mut stream = Following::open(&client, &run, "", None).await;
    assert_eq!(stream.next().await.expect("a frame").id, Some(1));
    app.script.answer(&Script::success());
    let turn = json!({"expected_version": 1, "instruction": "go\nid: 99"});
    client
        .continue_run(&run, "ferry-turn-0001", &turn)
        .await
        .ok(200);
    let frames = stream.rest().await;
    let page = client
        .get(&format!("{RUNS}/{run}/events?after_seq=1"))
        .await
        .ok(200);
    let events = page.body["events"].as_array().unwrap();
    assert_eq!(frames.len(), events.len() + 1);
    for (frame, event) in frames.iter().zip(events) {
        assert_eq!(frame.id, event["seq"].as_u64());
        assert_eq!(frame.event, event["event_type"].as_str().unwrap());
        assert_eq!(serde_json::from_str::<Value>(&frame.data).unwrap(), *event);
    }
    let closed = frames.last().unwrap();
    assert_eq!((closed.event.as_str(), closed.id), ("closed", None));
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_resumes_after_the_last_id_and_an_ended_run_has_nothing_more() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started(&client).await;
    client
        .cancel(
            &run,
            "ferry-stop-0001",
            &json!({"expected_version": 1, "reason": "a\r\nid: 7\n\nevent: x"}),
        )
        .await
        .ok(200);
    for (query, last, ids) in [
        ("", None, vec![1, 2]),
        ("", Some("1"), vec![2]),
        ("?after_seq=1", None, vec![2]),
        // What the browser has seen counts more than the address it was given.
        ("?after_seq=0", Some("1"), vec![2]),
    ] {
        let frames = Following::open(&client, &run, query, last)
            .await
            .rest()
            .await;
        let seen: Vec<u64> = frames.iter().filter_map(|frame| frame.id).collect();
        assert_eq!(seen, ids, "{query} {last:?}");
        assert_eq!(frames.last().unwrap().event, "closed");
        assert_eq!(frames.len(), ids.len() + 1);
    }
    for last in ["2", "99"] {
        let done = Following::ask(&client, &run, "", Some(last)).await;
        assert_eq!(done.status(), 204);
        assert_eq!(done.text().await.unwrap(), "");
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_is_refused_like_a_page_before_its_first_byte() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let run = started(&client).await;
    let ben = Client::new(&app, &app.caller("ben").await);
    let writer = client.with_token(ana.token_of("helix.agent_runs.write"));
    let missing = format!("run_{}", uuid::Uuid::nil());
    for (client, run, query, status, code) in [
        (&client, missing.as_str(), "", 404, "not_found"),
        (&ben, run.as_str(), "", 404, "not_found"),
        (&writer, run.as_str(), "?limit=0", 403, "insufficient_scope"),
        (&client, run.as_str(), "?limit=0", 400, "invalid_request"),
        (&client, "run_abc", "", 400, "invalid_request"),
    ] {
        let request = client
            .request(Method::GET, &format!("{RUNS}/{run}/events{query}"))
            .header("Accept", "text/event-stream");
        Answer::of(request).await.expect(status, code);
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unlinking_closes_open_streams_at_once_on_every_server() {
    let mut app = TestApp::start().await;
    app.add_server().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let run = started(&client).await;
    let mut here = Following::open(&client, &run, "", None).await;
    let mut there = Following::open(&client.at(1), &run, "", None).await;
    for stream in [&mut here, &mut there] {
        assert_eq!(stream.next().await.expect("a frame").id, Some(1));
    }
    let ben = app.caller("ben").await;
    let bens = Client::new(&app, &ben);
    let other = started(&bens).await;
    let mut untouched = Following::open(&bens, &other, "", None).await;
    assert_eq!(untouched.next().await.expect("a frame").id, Some(1));
    app.unlink(&ana).await;
    let unlinked = Instant::now();
    for stream in [here, there] {
        let frames = stream.rest().await;
        let closed = Frame {
            id: None,
            event: "closed".to_owned(),
            data: json!({"error": "account_not_linked"}).to_string(),
        };
        assert_eq!(frames, [closed]);
    }
    assert!(
        unlinked.elapsed() < Duration::from_secs(3),
        "{:?}",
        unlinked.elapsed()
    );
    client.inspect(&run).await.expect(403, "account_not_linked");
    bens.cancel(&other, "ferry-stop-0001", &json!({"expected_version": 1}))
        .await
        .ok(200);
    let rest = untouched.rest().await;
    assert_eq!((rest[0].id, rest.len()), (Some(2), 2));
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_asked_for_beyond_the_end_still_hears_how_the_run_ends() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = client
        .start("beyond-the-end-1", &json!({"objective": "List"}))
        .await
        .run_id();
    let mut following = Following::open(&client, &run, "", Some("999")).await;
    client
        .cancel(&run, "beyond-the-end-2", &json!({"expected_version": 1}))
        .await
        .ok(200);
    let cancelled = following.next().await.expect("an event");
    assert_eq!(
        (cancelled.id, cancelled.event.as_str()),
        (Some(2), "run_cancelled")
    );
    assert_eq!(following.next().await.expect("a last word").event, "closed");
    assert_eq!(following.next().await, None);
    app.finish().await;
}
