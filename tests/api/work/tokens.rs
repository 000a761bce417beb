use std::time::Duration;

use helix::testing::TestApp;
use serde_json::{Value, json};

use super::client::{Agent, text};
use super::person::Person;
use crate::harness::Answer;

fn wish() -> Value {
    json!({ "name": "harness", "scopes": ["brief:write"], "reach": { "kind": "all" } })
}

fn agent<'a>(app: &'a TestApp, owner: &Person<'a>, made: &Value) -> Agent<'a> {
    Agent {
        app,
        workspace: owner.workspace.clone(),
        token: text(&made["token"]),
    }
}

#[tokio::test]
async fn an_owner_mints_rotates_and_revokes_a_token() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let made = owner.post("/tokens", &wish()).await.ok(201).body;
    let first = agent(&app, &owner, &made);
    let seen = first.get("").await.ok(200).body;
    assert_eq!(
        seen["caller"]["scopes"],
        json!(["brief:read", "brief:write"])
    );
    let project = first.project("tides").await;
    let listed = owner.get("/tokens").await.ok(200);
    assert!(!listed.text.contains(&first.token));
    let line = &listed.body["tokens"][0];
    assert_eq!(
        (&line["state"], &line["exposed"]),
        (&json!("live"), &json!(false))
    );
    assert!(first.token.ends_with(line["last_four"].as_str().unwrap()));
    assert!(!line["last_used_at"].is_null());

    let of = |made: &Value, act: &str| format!("/tokens/{}/{act}", text(&made["token_id"]));
    let rotated = owner
        .post(&of(&made, "rotate"), &json!({ "grace_seconds": 60 }))
        .await;
    let rotated = rotated.ok(201).body;
    let second = agent(&app, &owner, &rotated);
    // A replacement is the same caller: what the first did, it may repeat and withdraw.
    let again = json!({ "name": "tides" });
    let again = second
        .post("/projects", "project-tides", &again)
        .await
        .ok(201)
        .body;
    assert_eq!(again["project"]["project_id"], project);
    assert_eq!(again["idempotency_replayed"], true);
    first.get("").await.ok(200);
    app.freeze().await;
    app.advance(Duration::from_secs(61)).await;
    first.get("").await.expect(401, "unauthorized");
    second.get("").await.ok(200);
    owner
        .post(&of(&rotated, "revoke"), &json!({}))
        .await
        .ok(200);
    second.get("").await.expect(401, "unauthorized");
    owner
        .post(&of(&rotated, "revoke"), &json!({}))
        .await
        .ok(200);
    owner
        .post(&of(&rotated, "rotate"), &json!({}))
        .await
        .expect(400, "invalid_request");
    app.advance(Duration::from_secs(600)).await;
    owner
        .post("/tokens", &wish())
        .await
        .expect(403, "reauthentication_required");
    app.finish().await;
}

#[tokio::test]
async fn a_token_is_minted_within_bounds_and_by_owners_alone() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let project = owner.project("tides").await;
    let with = |name: &str, value: Value| {
        let mut wish = wish();
        wish[name] = value;
        wish
    };
    for bad in [
        with("name", json!("")),
        with("name", json!("a\tb")),
        with("scopes", json!([])),
        with("scopes", json!(["work"])),
        with("expires_days", json!(0)),
        with("expires_days", json!(366)),
        with("reach", json!({ "kind": "listed", "project_ids": [] })),
        with(
            "reach",
            json!({ "kind": "listed", "project_ids": ["prj_x"] }),
        ),
        with(
            "reach",
            json!({ "kind": "listed", "project_ids": ["prj_00000000-0000-7000-8000-000000000001"] }),
        ),
        with("reach", json!({ "kind": "all", "project_ids": [project] })),
        with("more", json!(1)),
    ] {
        owner
            .post("/tokens", &bad)
            .await
            .expect(400, "invalid_request");
    }
    let listed = with(
        "reach",
        json!({ "kind": "listed", "project_ids": [project] }),
    );
    owner.post("/tokens", &listed).await.ok(201);
    let (admin, _) = owner.joined_by("ben", "admin").await;
    admin
        .post("/tokens", &wish())
        .await
        .expect(403, "role_required");
    admin.get("/tokens").await.expect(403, "role_required");
    let (stranger, _) = Person::other(&app, "cleo").await;
    let foreign = stranger.browser.get(&owner.path("/tokens")).await;
    foreign.expect(404, "not_found");
    for _ in 1..50 {
        owner.post("/tokens", &wish()).await.ok(201);
    }
    owner
        .post("/tokens", &wish())
        .await
        .expect(409, "limit_reached");
    app.finish().await;
}

#[tokio::test]
async fn a_token_seen_in_a_url_opens_nothing_and_is_marked() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let made = owner.post("/tokens", &wish()).await.ok(201).body;
    let token = text(&made["token"]);
    let leaked = app
        .client()
        .get(app.url(&format!("/healthz?x=1&t={token}")));
    Answer::of(leaked).await;
    let leaked = app
        .client()
        .get(app.url(&format!("{}?access_token={token}", owner.path(""))));
    Answer::of(leaked).await.expect(401, "unauthorized");
    let mut tick = tokio::time::interval(Duration::from_millis(20));
    for _ in 0..500 {
        let listed = owner.get("/tokens").await.ok(200).body;
        if listed["tokens"][0]["exposed"] == true {
            app.finish().await;
            return;
        }
        tick.tick().await;
    }
    panic!("the token was not marked");
}

#[tokio::test]
async fn the_tokens_of_an_owner_who_is_removed_end_with_them() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let (ben, account) = owner.joined_by("ben", "owner").await;
    let made = ben.post("/tokens", &wish()).await.ok(201).body;
    let theirs = agent(&app, &owner, &made);
    let own = owner.post("/tokens", &wish()).await.ok(201).body;
    let removed = owner
        .delete(&format!("/members/{account}"))
        .await
        .ok(200)
        .body;
    assert_eq!(removed["tokens"][0]["token_id"], made["token_id"]);
    theirs.get("").await.expect(401, "unauthorized");
    agent(&app, &owner, &own).get("").await.ok(200);
    app.finish().await;
}
