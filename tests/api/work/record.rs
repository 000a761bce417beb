//! The record of a workspace.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use helix::testing::TestApp;
use helix_aggregates::ids::WorkspaceId;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::client::{Agent, text};
use super::person::Person;
use crate::races::beside::Beside;

/// The whole record, checked by the published rule: each entry's hash, its place, and the head.
async fn record(owner: &Person<'_>) -> Vec<Value> {
    let mut entries: Vec<Value> = Vec::new();
    loop {
        let path = format!("/audit?limit=100&after_seq={}", entries.len());
        let page = owner.get(&path).await.ok(200).body;
        let more = page["entries"].as_array().unwrap();
        entries.extend(more.iter().cloned());
        let seen = u64::try_from(entries.len()).unwrap();
        if page["head"]["seq"] == seen {
            assert_eq!(page["head"]["hash"], entries.last().unwrap()["hash"]);
            break;
        }
    }
    let mut prev = String::new();
    for (seq, entry) in (1_u64..).zip(&entries) {
        let part = |name: &str| text(&entry[name]);
        let hashed = [
            seq.to_string(),
            part("at"),
            part("client"),
            part("action"),
            part("detail"),
            prev.clone(),
        ];
        let hash = hex::encode(Sha256::digest(hashed.join("\u{1f}")));
        assert_eq!(
            (&entry["seq"], part("prev"), part("hash")),
            (&json!(seq), prev, hash.clone())
        );
        prev = hash;
    }
    entries
}

fn details(entries: &[Value]) -> Vec<String> {
    entries.iter().map(|entry| text(&entry["detail"])).collect()
}

#[tokio::test]
async fn each_operation_leaves_one_entry_whether_it_reads_changes_or_is_refused() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let (member, member_id) = owner.joined_by("ben", "member").await;
    let project = owner.project("tides").await;
    owner.project("tides").await;
    let wish = json!({
        "name": "night", "scopes": ["brief:read"], "reach": { "kind": "listed", "project_ids": [project] },
    });
    let made = owner.post("/tokens", &wish).await.ok(201).body;
    let agent = Agent {
        app: &app,
        workspace: owner.workspace.clone(),
        token: text(&made["token"]),
    };
    agent.get("").await.ok(200);
    agent
        .get("/projects/prj_00000000-0000-0000-0000-000000000001/briefs")
        .await
        .expect(403, "PROJECT_ACCESS_DENIED");
    agent
        .post("/projects", "a-key-of-its-own", &json!({ "name": "x" }))
        .await
        .expect(403, "insufficient_scope");
    agent
        .get("/members")
        .await
        .expect(403, "human_action_required");
    member
        .post(
            "/members",
            &json!({ "email": "eve@harbour.example", "role": "member" }),
        )
        .await
        .expect(403, "role_required");
    let nonsense = json!({ "role": "captain" });
    let path = format!("/members/{member_id}");
    owner
        .send(reqwest::Method::PATCH, &path, &nonsense)
        .await
        .expect(400, "invalid_request");
    member.delete(&path).await.ok(200);
    let entries = record(&owner).await;
    let details = details(&entries);
    let token = text(&made["token_id"]);
    assert_eq!(
        &details[..],
        [
            format!("member_add {member_id}"),
            format!("project_create {project}"),
            "project_create (replayed)".to_owned(),
            format!("token_create {}", text(&made["token_id"])),
            "workspace_get".to_owned(),
            "refused brief_list: PROJECT_ACCESS_DENIED prj_00000000-0000-0000-0000-000000000001"
                .to_owned(),
            "refused project_create: insufficient_scope".to_owned(),
            "refused member_list: human_action_required".to_owned(),
            "refused member_invite: role_required".to_owned(),
            "refused member_change: invalid_request".to_owned(),
            format!("member_remove {member_id}"),
        ]
    );
    let by = |entry: &Value| {
        (
            text(&entry["client"]),
            text(&entry["principal"]),
            text(&entry["action"]),
        )
    };
    let night = |action: &str| ("night".to_owned(), token.clone(), action.to_owned());
    assert_eq!(by(&entries[4]), night("read"));
    assert_eq!(by(&entries[6]), night("write"));
    assert_eq!(
        by(&entries[10]),
        (
            "You (web)".to_owned(),
            member_id.to_string(),
            "write".to_owned()
        )
    );
    // To look at the record is an operation too.
    let again = record(&owner).await;
    assert_eq!(text(&again.last().unwrap()["detail"]), "record_read");
    app.finish().await;
}

#[tokio::test]
async fn what_the_operator_does_is_recorded_as_the_operators() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let (_, member) = owner.joined_by("ben", "member").await;
    let workspace = WorkspaceId::parse(&owner.workspace).unwrap();
    let (_, token) = app.named_token(workspace, "brief:read", &[]).await;
    app.revoke_named_token(token).await;
    let entries = record(&owner).await;
    assert_eq!(
        details(&entries),
        [
            format!("member_add {member}"),
            format!("token_create {token}"),
            format!("token_revoke {token}"),
        ]
    );
    for entry in &entries {
        assert_eq!(
            (&entry["client"], &entry["principal"]),
            (&json!("Helix (operator)"), &Value::Null)
        );
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_of_many_at_once_over_two_processes_stand_in_one_chain() {
    let mut app = TestApp::start().await;
    app.add_server().await;
    let owner = Person::owner(&app).await;
    let mut others = Vec::new();
    for number in 0..8 {
        let mut other = owner.clone();
        other.browser.server = number % 2;
        others.push(other);
    }
    let each = others.iter().enumerate().map(|(number, other)| async move {
        for round in 0..4 {
            other.project(&format!("p{number}{round}")).await;
            other.get("/projects").await.ok(200);
        }
    });
    join_all(each).await;
    let details = details(&record(&owner).await);
    let count = |name: &str| details.iter().filter(|one| one.starts_with(name)).count();
    assert_eq!(
        (count("project_create prj_"), count("project_list")),
        (32, 32)
    );
    assert_eq!(details.len(), 64);
    app.finish().await;
}

#[tokio::test]
async fn nobody_writes_into_the_record_of_a_workspace_that_is_not_theirs() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let (mut stranger, _) = Person::other(&app, "eve").await;
    owner.get("").await.ok(200);
    stranger.workspace.clone_from(&owner.workspace);
    stranger.get("").await.expect(404, "not_found");
    stranger.get("/audit").await.expect(404, "not_found");
    stranger
        .post("/members", &json!({ "nonsense": 1 }))
        .await
        .expect(400, "invalid_request");
    let seen: BTreeSet<String> = details(&record(&owner).await).into_iter().collect();
    assert_eq!(seen, BTreeSet::from(["workspace_get".to_owned()]));
    app.finish().await;
}

#[tokio::test]
async fn what_cannot_be_recorded_is_neither_answered_nor_done() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let mut beside = Beside::open(&app).await;
    beside
        .run(
            "create function es.no_entry() returns trigger language plpgsql as $$
             begin
                 if exists (select 1 from written where kind = 'operation_recorded') then
                     raise exception 'no entry';
                 end if;
                 return null;
             end $$;
             create trigger no_entry after insert on es.event
                 referencing new table as written for each statement execute function es.no_entry()",
        )
        .await;
    owner.get("").await.expect(503, "overloaded");
    let request = owner
        .request(reqwest::Method::POST, &owner.path("/projects"))
        .header("Idempotency-Key", "project-tides");
    let made = request.body(json!({ "name": "tides" }).to_string());
    crate::harness::Answer::of(made)
        .await
        .expect(503, "overloaded");
    beside.run("drop trigger no_entry on es.event").await;
    let listed = owner.get("/projects").await.ok(200).body;
    assert_eq!(listed["projects"], json!([]));
    assert_eq!(details(&record(&owner).await), ["project_list"]);
    app.finish().await;
}
