//! The list of a caller's runs.

use std::time::Duration;

use helix::testing::{AccountType, Script, TestApp};
use serde_json::{Value, json};

use crate::harness::{Client, RUNS};

async fn started(client: &Client<'_>, number: usize) -> String {
    let body = json!({"objective": format!("List {number}")});
    let key = format!("ferry-plan-{number:04}");
    client.started(&key, &body).await
}

fn ids(page: &Value) -> Vec<String> {
    let runs = page["runs"].as_array().expect("runs");
    runs.iter()
        .map(|run| run["run_id"].as_str().expect("an id").to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_are_listed_newest_first_and_pages_join_without_gap_or_repeat() {
    let app = TestApp::start().await;
    app.freeze().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let mut made = Vec::new();
    for number in 0..23 {
        // Some are made in the same millisecond: their order must still be one.
        if number % 3 == 0 {
            app.advance(Duration::from_millis(1)).await;
        }
        made.push(started(&client, number).await);
    }
    let whole = client.get(&format!("{RUNS}?limit=100")).await.ok(200);
    let all = ids(&whole.body);
    assert_eq!((all.len(), &whole.body["next_cursor"]), (23, &Value::Null));
    let times: Vec<&str> = whole.body["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["created_at"].as_str().unwrap())
        .collect();
    assert!(times.is_sorted_by(|newer, older| newer >= older));
    assert_eq!(
        client.get(RUNS).await.ok(200).body["runs"]
            .as_array()
            .unwrap()
            .len(),
        20
    );
    let (mut joined, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("{RUNS}?limit=7{cursor}")).await.ok(200);
        assert_eq!(page.body["schema"], "helix.agent_run.list.v1");
        joined.extend(ids(&page.body));
        let Some(next) = page.body["next_cursor"].as_str() else {
            break;
        };
        cursor = format!("&cursor={next}");
        // A run made between two pages is newer than both.
        started(&client, 100 + joined.len()).await;
    }
    assert_eq!(joined, all);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_of_the_list_says_what_the_run_itself_says_at_once_on_every_server() {
    let mut app = TestApp::start().await;
    app.add_server().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let long = format!("{}é tail", "🦊".repeat(99));
    let run = client
        .start("ferry-plan-0001", &json!({"objective": long}))
        .await
        .ok(201);
    let check = async |run: &Value, server: usize| {
        let page = client.at(server).get(RUNS).await.ok(200);
        let fields = [
            "run_id",
            "lifecycle_status",
            "completion_status",
            "terminal_authority_status",
            "version",
            "created_at",
            "updated_at",
        ];
        let mut line = json!({"objective": format!("{}é ", "🦊".repeat(99))});
        for field in fields {
            line[field] = run[field].clone();
        }
        assert_eq!(page.body["runs"], json!([line]));
    };
    check(&run.body, 1).await;
    app.script.answer(&Script::success());
    let turn = json!({"expected_version": 1, "instruction": "go"});
    let done = client
        .continue_run(&run.run_id(), "ferry-turn-0001", &turn)
        .await
        .ok(200);
    for server in [0, 1] {
        check(&done.body, server).await;
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_select_by_lifecycle_and_bad_queries_are_refused() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let waiting = started(&client, 1).await;
    let cancelled = started(&client, 2).await;
    client
        .cancel(
            &cancelled,
            "ferry-stop-0001",
            &json!({"expected_version": 1}),
        )
        .await
        .ok(200);
    for (status, expected) in [
        ("waiting", vec![&waiting]),
        ("cancelled", vec![&cancelled]),
        ("queued", vec![]),
        ("running", vec![]),
        ("completed", vec![]),
        ("failed", vec![]),
    ] {
        let page = client.get(&format!("{RUNS}?status={status}")).await.ok(200);
        assert_eq!(
            ids(&page.body).iter().collect::<Vec<_>>(),
            expected,
            "{status}"
        );
    }
    for query in [
        "status=Waiting",
        "status=",
        "status=needs_input",
        "status=waiting&status=failed",
        "limit=0",
        "limit=101",
        "limit=1e1",
        "cursor=",
        "cursor=abc",
        "cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "cursor=%00",
        "order=asc",
        "status=waiting'--",
    ] {
        client
            .get(&format!("{RUNS}?{query}"))
            .await
            .expect(400, "invalid_request");
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_works_only_for_its_owner_and_filter() {
    let app = TestApp::start().await;
    let ana = Client::new(&app, &app.caller("ana").await);
    let other_tenant = app.linked("ana", "other-coop", AccountType::User).await;
    let other = Client::new(&app, &other_tenant);
    for number in 0..3 {
        started(&ana, number).await;
        started(&other, number).await;
    }
    let page = ana
        .get(&format!("{RUNS}?limit=1&status=waiting"))
        .await
        .ok(200);
    let cursor = page.body["next_cursor"].as_str().unwrap().to_owned();
    let next = ana
        .get(&format!("{RUNS}?limit=2&status=waiting&cursor={cursor}"))
        .await
        .ok(200);
    assert_eq!(ids(&next.body).len(), 2);
    assert!(next.body["next_cursor"].is_null());
    for (client, query) in [
        (&other, format!("status=waiting&cursor={cursor}")),
        (&ana, format!("status=failed&cursor={cursor}")),
        (&ana, format!("cursor={cursor}")),
        (&ana, format!("status=waiting&cursor={cursor}A")),
        (&ana, format!("status=waiting&cursor={}", &cursor[1..])),
        (
            &ana,
            format!("status=waiting&cursor={cursor}&cursor={cursor}"),
        ),
    ] {
        client
            .get(&format!("{RUNS}?{query}"))
            .await
            .expect(400, "invalid_request");
    }
    let mine = ids(&ana.get(RUNS).await.ok(200).body);
    let theirs = ids(&other.get(RUNS).await.ok(200).body);
    assert!(mine.len() == 3 && theirs.len() == 3 && mine.iter().all(|run| !theirs.contains(run)));
    app.finish().await;
}
