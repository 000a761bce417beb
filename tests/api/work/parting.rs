//! What an account leaves behind when it is deleted.

use std::time::Duration;

use helix::testing::TestApp;
use reqwest::Method;
use serde_json::json;

use super::client::{Agent, text};
use super::person::Person;
use crate::access::browser::PASSPHRASE;
use crate::races::beside::Beside;

fn harness<'a>(person: &Person<'a>, token: String) -> Agent<'a> {
    Agent {
        app: person.browser.app,
        workspace: person.workspace.clone(),
        token,
    }
}

async fn minted<'a>(person: &Person<'a>) -> Agent<'a> {
    let wish = json!({ "name": "night", "scopes": ["brief:read"], "reach": { "kind": "all" }, "expires_days": 365 });
    let made = person.post("/tokens", &wish).await.ok(201).body;
    harness(person, text(&made["token"]))
}

#[tokio::test]
async fn the_workspace_of_a_deleted_account_ends_with_it_and_its_tokens() {
    let app = TestApp::start().await;
    let mut owner = Person::owner(&app).await;
    let agent = minted(&owner).await;
    agent.get("").await.ok(200);
    let deletion = [("passphrase", PASSPHRASE)];
    let gone = owner.browser.press("/account/delete", &deletion).await;
    gone.ok(200);
    agent.get("").await.expect(401, "unauthorized");
    let mut beside = Beside::open(&app).await;
    let left = "select count(*) from access.membership";
    assert_eq!(beside.number(left).await, 0);
    // The account's key and the workspace's.
    let keys =
        "select count(*) from es.data_key where dropped_at_ms is not null and wrapped is null";
    assert_eq!(beside.number(keys).await, 2);
    app.finish().await;
}

#[tokio::test]
async fn the_only_owner_of_a_workspace_of_others_stays_until_there_is_another() {
    let app = TestApp::start().await;
    let mut owner = Person::owner(&app).await;
    let (ben, account) = owner.joined_by("ben", "member").await;
    let agent = minted(&owner).await;
    let deletion = [("passphrase", PASSPHRASE)];
    let refused = owner.browser.press("/account/delete", &deletion).await;
    assert!(refused.ok(409).text.contains("only owner"));
    agent.get("").await.ok(200);
    let promote = json!({ "role": "owner" });
    let path = format!("/members/{account}");
    owner.send(Method::PATCH, &path, &promote).await.ok(200);
    owner
        .browser
        .press("/account/delete", &deletion)
        .await
        .ok(200);
    agent.get("").await.expect(401, "unauthorized");
    let left = ben.get("/members").await.ok(200).body;
    let members = left["members"].as_array().unwrap();
    assert_eq!(members.len(), 1);
    assert_eq!(members[0]["account_id"], account.to_string());
    app.finish().await;
}

#[tokio::test]
async fn an_invitation_ends_with_the_right_of_whoever_made_it() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let (ben, account) = owner.joined_by("ben", "owner").await;
    let token = |answer: &serde_json::Value| {
        let link = text(&answer["link"]);
        link.rsplit('/').next().unwrap().to_owned()
    };
    let wish = |role: &str| json!({ "email": format!("{role}@harbour.example"), "role": role });
    let as_owner = ben.post("/members", &wish("owner")).await.ok(201).body;
    let as_member = ben.post("/members", &wish("member")).await.ok(201).body;
    let path = format!("/members/{account}");
    let demote = json!({ "role": "admin" });
    owner.send(Method::PATCH, &path, &demote).await.ok(200);
    let (cleo, _) = Person::other(&app, "cleo").await;
    cleo.accept(&token(&as_owner))
        .await
        .expect(404, "not_found");
    owner.delete(&path).await.ok(200);
    ben.accept(&token(&as_member))
        .await
        .expect(404, "not_found");
    ben.get("").await.expect(404, "not_found");

    // And when somebody takes it back.
    let made = owner.post("/members", &wish("admin")).await.ok(201).body;
    let withdraw = format!("/members/invites/{}", text(&made["invite_id"]));
    owner.delete(&withdraw).await.ok(200);
    cleo.accept(&token(&made)).await.expect(404, "not_found");
    owner.delete(&withdraw).await.expect(404, "not_found");
    app.finish().await;
}

#[tokio::test]
async fn who_owns_a_workspace_changes_only_after_a_fresh_passphrase() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let (_, account) = owner.joined_by("ben", "member").await;
    let (_, second) = owner.joined_by("cleo", "owner").await;
    app.advance(Duration::from_secs(11 * 60)).await;
    let path = format!("/members/{account}");
    let promote = json!({ "role": "owner" });
    let refused = owner.send(Method::PATCH, &path, &promote).await;
    refused.expect(403, "reauthentication_required");
    let invite = json!({ "email": "dora@harbour.example", "role": "owner" });
    let refused = owner.post("/members", &invite).await;
    refused.expect(403, "reauthentication_required");
    let refused = owner.delete(&format!("/members/{second}")).await;
    refused.expect(403, "reauthentication_required");
    let admin = json!({ "role": "admin" });
    owner.send(Method::PATCH, &path, &admin).await.ok(200);
    app.finish().await;
}
