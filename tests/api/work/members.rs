use helix::testing::TestApp;
use reqwest::Method;
use serde_json::json;

use super::client::text;
use super::person::Person;
use crate::access::browser::Browser;
use crate::harness::Answer;

#[tokio::test]
async fn whoever_follows_an_invitation_joins_once_with_the_promised_role() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let (mut ben, account) = Person::other(&app, "ben").await;
    let wish = json!({ "email": "ben@harbour.example", "role": "admin" });
    let first = owner.post("/members", &wish).await.ok(201).body;
    let second = owner.post("/members", &wish).await.ok(201).body;
    let token = |link: &serde_json::Value| text(link).rsplit('/').next().unwrap().to_owned();
    // A newer link takes the place of an older one.
    ben.accept(&token(&first["link"]))
        .await
        .expect(404, "not_found");
    let listed = owner.get("/members").await.ok(200).body;
    assert_eq!(listed["invites"].as_array().unwrap().len(), 1);
    assert_eq!(listed["invites"][0]["invite_id"], second["invite_id"]);
    let joined = ben.accept(&token(&second["link"])).await.ok(200).body;
    assert_eq!(
        joined,
        json!({ "workspace_id": owner.workspace, "role": "admin" })
    );
    ben.accept(&token(&second["link"]))
        .await
        .expect(404, "not_found");
    ben.workspace.clone_from(&owner.workspace);
    let listed = ben.get("/members").await.ok(200).body;
    assert_eq!(listed["invites"], json!([]));
    let members = listed["members"].as_array().unwrap();
    let mine = members
        .iter()
        .find(|one| one["account_id"] == account.to_string())
        .unwrap();
    assert_eq!(
        (&mine["name"], &mine["role"]),
        (&json!("ben"), &json!("admin"))
    );
    app.finish().await;
}

#[tokio::test]
async fn owners_administer_everybody_admins_members_and_members_nobody() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let (admin, admin_id) = owner.joined_by("ben", "admin").await;
    let (member, member_id) = owner.joined_by("cleo", "member").await;
    let invite = |role: &str| json!({ "email": "dora@harbour.example", "role": role });
    member
        .post("/members", &invite("member"))
        .await
        .expect(403, "role_required");
    admin
        .post("/members", &invite("admin"))
        .await
        .expect(403, "role_required");
    admin.post("/members", &invite("member")).await.ok(201);
    let of_member = format!("/members/{member_id}");
    let of_admin = format!("/members/{admin_id}");
    let role = |role: &str| json!({ "role": role });
    admin
        .send(Method::PATCH, &of_member, &role("owner"))
        .await
        .expect(403, "role_required");
    owner
        .send(Method::PATCH, &of_member, &role("admin"))
        .await
        .ok(200);
    admin.delete(&of_member).await.expect(403, "role_required");
    owner
        .send(Method::PATCH, &of_member, &role("member"))
        .await
        .ok(200);
    member.delete(&of_admin).await.expect(403, "role_required");
    admin.delete(&of_member).await.ok(200);
    member.get("").await.expect(404, "not_found");
    admin.delete(&of_admin).await.ok(200);
    admin.get("").await.expect(404, "not_found");
    let listed = owner.get("/members").await.ok(200).body;
    let only = text(&listed["members"][0]["account_id"]);
    owner
        .delete(&format!("/members/{only}"))
        .await
        .expect(400, "invalid_request");
    owner
        .delete("/members/acct_x")
        .await
        .expect(404, "not_found");
    app.finish().await;
}

#[tokio::test]
async fn tokens_of_a_removed_owner_end_unless_they_are_kept() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let wish = json!({ "name": "night", "scopes": ["brief:read"], "reach": { "kind": "all" } });
    let (admin, _) = owner.joined_by("cleo", "admin").await;
    for (name, query, state, status) in [
        ("ben", "", "revoked", 401),
        ("dora", "?keep_tokens=true", "live", 200),
    ] {
        let (other, account) = owner.joined_by(name, "owner").await;
        let made = other.post("/tokens", &wish).await.ok(201).body;
        let ask = || async {
            let request = Browser::new(&app).request(Method::GET, &owner.path(""));
            Answer::of(request.bearer_auth(text(&made["token"]))).await
        };
        let path = format!("/members/{account}{query}");
        admin.delete(&path).await.expect(403, "role_required");
        ask().await.ok(200);
        let removed = owner.delete(&path).await.ok(200).body;
        let line = json!({ "token_id": made["token_id"], "name": "night", "state": state });
        assert_eq!(removed["tokens"], json!([line]));
        ask().await.ok(status);
        other.get("").await.expect(404, "not_found");
    }
    app.finish().await;
}

#[tokio::test]
async fn a_project_is_linked_only_to_a_repository_that_was_opened_to_it() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let agent = super::decisions::agent_of(&app, &owner).await;
    let (tides, winds) = (agent.project("tides").await, agent.project("winds").await);
    let wish =
        json!({ "name": "almanac", "url": "https://git.example/almanac", "project_ids": [tides] });
    let made = owner.post("/repositories", &wish).await.ok(201).body;
    let repository = text(&made["repository_id"]);
    let leaking = json!({ "name": "a", "url": "https://u:p@git.example/a", "project_ids": [] });
    owner
        .post("/repositories", &leaking)
        .await
        .expect(400, "credential_in_content");
    let link = |id: &str, version: u64| json!({ "repository_id": id, "expected_version": version });
    let of = |project: &str| format!("/projects/{project}/codebase-link");
    for (project, id) in [
        (&winds, repository.as_str()),
        (&tides, "repo_x"),
        (&tides, "repo_00000000-0000-7000-8000-000000000001"),
    ] {
        let refused = agent.post(&of(project), "link-refused", &link(id, 1)).await;
        refused.expect(409, "repository_not_connected");
    }
    agent
        .post(&of(&tides), "link-stale", &link(&repository, 4))
        .await
        .expect(409, "version_conflict");
    let linked = agent
        .post(&of(&tides), "link-good-1", &link(&repository, 1))
        .await
        .ok(200)
        .body;
    assert_eq!(
        linked["project"]["linked_repository"]["repository_id"],
        repository
    );
    assert_eq!(linked["project"]["version"], 2);
    // The same link again changes nothing and is answered all the same.
    agent
        .post(&of(&tides), "link-good-2", &link(&repository, 2))
        .await
        .ok(200);
    let again = agent
        .post(&of(&tides), "link-good-2", &link(&repository, 2))
        .await
        .ok(200)
        .body;
    assert_eq!(again["idempotency_replayed"], true);
    owner
        .delete(&format!("/repositories/{repository}"))
        .await
        .ok(200);
    let listed = agent.get("/projects").await.ok(200).body;
    assert!(listed["projects"][1]["linked_repository"].is_null());
    app.finish().await;
}
