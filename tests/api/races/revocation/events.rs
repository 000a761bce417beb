//! Events of a run as a stream: what is committed after the answer goes to nobody who was shut out by it.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;

use super::{LANES, STREAMS, connections, press, rounds, two_issuing};
use crate::access::app::OAuthApp;
use crate::access::browser::Browser;
use crate::harness::{Answer, Client, RUNS};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_carries_nothing_that_was_committed_after_its_app_was_paused() {
    let app = two_issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let (_, pair) = OAuthApp::connected(&app, &mut browser, "Harbour").await;
    let staying = Client {
        app: &app,
        token: pair.access,
        server: 0,
    };
    let mut known = connections(&browser).await;
    let mut apps = Vec::new();
    for number in 0..LANES {
        let (_, pair) = OAuthApp::connected(&app, &mut browser, &format!("Tide {number}")).await;
        let now = connections(&browser).await;
        let grant = now.difference(&known).next().unwrap().clone();
        known = now;
        let paused = Client {
            token: pair.access,
            ..staying.at(1)
        };
        apps.push((number, paused, grant));
    }
    let csrf = browser.csrf().await;
    let (browser, csrf, staying) = (&browser, csrf.as_str(), &staying);
    let lane = async |(number, paused, grant): &(usize, Client<'_>, String)| {
        let grant = ("grantId", grant.as_str());
        let mut races = 0;
        for round in 0..rounds(STREAMS, 1) {
            let name = format!("{number:04}-{round:04}");
            let plan = json!({"objective": "List the ferries"});
            let run = staying.started(&format!("plan-{name}"), &plan).await;
            let ask = || {
                let request = paused.request(Method::GET, &format!("{RUNS}/{run}/events"));
                request.header("Accept", "text/event-stream")
            };
            let mut stream = ask().send().await.unwrap();
            assert_eq!(stream.status(), 200);
            let first = stream.chunk().await.unwrap().unwrap();
            let ended = async {
                press(browser, csrf, "/connections/pause", grant).await;
                let body = json!({"expected_version": 1, "reason": "enough"});
                staying
                    .cancel(&run, &format!("end-{name}"), &body)
                    .await
                    .ok(200);
            };
            let (rest, ()) = tokio::join!(stream.text(), ended);
            let told = String::from_utf8_lossy(&first).into_owned() + &rest.unwrap();
            assert!(told.contains("run_started"), "{told}");
            assert!(!told.contains("run_cancelled"), "{told}");
            // A stream has no request left that could be looked up again to tell a pause from an end.
            let closed = "event: closed\ndata: {\"error\":\"unauthorized\"}\n\n";
            assert!(told.ends_with(closed), "{told}");
            Answer::of(ask())
                .await
                .expect(403, "account_policy_blocked");
            press(browser, csrf, "/connections/resume", grant).await;
            races += 1;
        }
        races
    };
    let lanes = join_all(apps.iter().map(lane)).await;
    assert_eq!(lanes.into_iter().sum::<usize>(), STREAMS);
    app.finish().await;
}
