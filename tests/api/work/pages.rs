//! The pages of workspaces and their tokens.

mod decisions;

use std::time::Duration;

use helix::testing::TestApp;
use reqwest::Method;

use super::person::Person;
use crate::access::browser::{Browser, PASSPHRASE, field};
use crate::harness::Answer;

/// What stands between two marks of a page.
fn between(page: &str, from: &str, to: &str) -> String {
    let start = page
        .find(from)
        .unwrap_or_else(|| panic!("no {from} in {page}"))
        + from.len();
    let end = page[start..].find(to).unwrap();
    page[start..start + end].to_owned()
}

async fn works(app: &TestApp, token: &str, workspace: &str) -> u16 {
    let path = format!("/api/v1/workspaces/{workspace}");
    let request = Browser::new(app).request(Method::GET, &path);
    Answer::of(request.bearer_auth(token)).await.status
}

#[tokio::test]
async fn an_owner_makes_a_token_on_a_page_and_hands_it_out_once() {
    let app = TestApp::start().await;
    let mut owner = Person::owner(&app).await;
    let workspace = owner.workspace.clone();
    let here = format!("/workspaces/{workspace}");
    let listed = owner.browser.get("/workspaces").await.ok(200);
    assert!(listed.text.contains(&here));
    let page = owner.browser.get(&here).await.ok(200).text;
    let key = field(&page, "key");
    let project = [("name", "tides"), ("key", key.as_str())];
    let made = owner
        .browser
        .press(&format!("{here}/projects"), &project)
        .await;
    assert_eq!(
        made.ok(303).header("location"),
        format!("{here}?done=project")
    );
    // The same form again makes no second one.
    owner
        .browser
        .press(&format!("{here}/projects"), &project)
        .await
        .ok(303);
    let page = owner.browser.get(&here).await.ok(200).text;
    assert_eq!(page.matches("<strong>tides</strong>").count(), 1);
    assert!(page.contains("brief proposal decide") && page.contains("member invite"));

    let tokens = format!("{here}/tokens");
    let page = owner
        .browser
        .get(&format!("{tokens}?template=propose"))
        .await
        .ok(200)
        .text;
    assert_eq!(page.matches("\" checked>").count(), 2, "{page}");
    let id = between(&page, "name=\"projects\" value=\"", "\"");
    let mut form = vec![
        ("name", "night"),
        ("scopes", "brief:read"),
        ("reach", "listed"),
        ("expires_days", "7"),
        ("step", "review"),
    ];
    let refused = owner.browser.press(&tokens, &form).await.ok(400);
    assert!(refused.text.contains("Tick the projects"));
    form.push(("projects", &id));
    let review = owner.browser.press(&tokens, &form).await.ok(200).text;
    assert!(review.contains("night") && review.contains("tides") && !review.contains("hx_nt_"));
    form[4] = ("step", "create");
    let shown = owner.browser.press(&tokens, &form).await.ok(200);
    assert_eq!(shown.header("cache-control"), "no-store");
    let token = between(&shown.text, "HELIX_TOKEN=", "</pre>");
    assert!(token.starts_with("hx_nt_") && shown.text.contains("/workspace/mcp"));
    assert_eq!(works(&app, &token, &workspace).await, 200);

    let page = owner.browser.get(&tokens).await.ok(200).text;
    assert!(!page.contains(&token) && page.contains(&token[token.len() - 4..]));
    let token_id = field(&page, "token_id");
    let rotate = [("token_id", token_id.as_str()), ("grace_seconds", "")];
    let shown = owner
        .browser
        .press(&format!("{tokens}/rotate"), &rotate)
        .await
        .ok(200);
    let second = between(&shown.text, "HELIX_TOKEN=", "</pre>");
    assert_eq!(works(&app, &second, &workspace).await, 200);
    let revoke = [("token_id", token_id.as_str())];
    owner
        .browser
        .press(&format!("{tokens}/revoke"), &revoke)
        .await
        .ok(303);
    assert_eq!(works(&app, &token, &workspace).await, 401);
    assert_eq!(works(&app, &second, &workspace).await, 200);
    app.finish().await;
}

#[tokio::test]
async fn tokens_are_behind_a_passphrase_entered_a_short_while_ago() {
    let app = TestApp::start().await;
    app.freeze().await;
    let mut owner = Person::owner(&app).await;
    let tokens = format!("/workspaces/{}/tokens", owner.workspace);
    assert!(
        owner
            .browser
            .get(&tokens)
            .await
            .ok(200)
            .text
            .contains("Create a token")
    );
    app.advance(Duration::from_secs(601)).await;
    let locked = owner.browser.get(&tokens).await.ok(200).text;
    assert!(!locked.contains("Create a token"));
    let form = [
        ("name", "night"),
        ("scopes", "brief:read"),
        ("reach", "all"),
        ("step", "create"),
    ];
    let refused = owner.browser.press(&tokens, &form).await.ok(403);
    assert!(!refused.text.contains("hx_nt_"));
    let unlock = format!("{tokens}/unlock");
    owner
        .browser
        .press(&unlock, &[("passphrase", "not it at all")])
        .await
        .ok(401);
    owner
        .browser
        .press(&unlock, &[("passphrase", PASSPHRASE)])
        .await
        .ok(303);
    owner.browser.press(&tokens, &form).await.ok(200);
    let elsewhere = "/workspaces/x%0d%0aset-cookie:%20a=b/tokens/unlock";
    let passphrase = [("passphrase", PASSPHRASE)];
    owner.browser.press(elsewhere, &passphrase).await.ok(404);
    app.finish().await;
}

#[tokio::test]
async fn a_page_of_a_workspace_shows_nothing_to_others_and_forms_need_their_mark() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let here = format!("/workspaces/{}", owner.workspace);
    let tokens = format!("{here}/tokens");
    let (member, _) = owner.joined_by("ben", "member").await;
    let (stranger, _) = Person::other(&app, "eve").await;
    member.browser.get(&here).await.ok(200);
    member.browser.get(&tokens).await.ok(403);
    stranger.browser.get(&here).await.ok(404);
    stranger.browser.get(&tokens).await.ok(404);
    let signed_out = Browser::new(&app).get(&here).await.ok(303);
    assert!(signed_out.header("location").contains("/sign-in?next="));
    let form = [
        ("name", "night"),
        ("scopes", "brief:read"),
        ("reach", "all"),
        ("step", "create"),
    ];
    let unmarked = owner.browser.form(&tokens, &form);
    Answer::of(unmarked).await.ok(403);
    let listed = owner.get("/tokens").await.ok(200).body;
    assert_eq!(listed["tokens"], serde_json::json!([]));
    app.finish().await;
}

#[tokio::test]
async fn an_invitation_leads_through_sign_in_into_the_workspace_once() {
    let app = TestApp::start().await;
    let mut owner = Person::owner(&app).await;
    let here = format!("/workspaces/{}", owner.workspace);
    app.second_person("ben@harbour.example", "Ben", PASSPHRASE)
        .await;
    let form = [("email", "ben@harbour.example"), ("role", "admin")];
    let made = owner
        .browser
        .press(&format!("{here}/invites"), &form)
        .await
        .ok(200);
    let link = between(&made.text, "/workspace-invites/", "<");
    let page = owner.browser.get(&here).await.ok(200).text;
    assert!(page.contains("ben@harbour.example") && !page.contains(&link));
    let path = format!("/workspace-invites/{link}");
    let mut ben = Browser::new(&app);
    let first = ben.get(&path).await.ok(303);
    assert!(first.header("location").contains("/sign-in?next="));
    ben.sign_in("ben@harbour.example", PASSPHRASE).await.ok(303);
    ben.get(&path).await.ok(200);
    let joined = ben.press(&path, &[]).await.ok(303);
    assert_eq!(joined.header("location"), format!("{here}?done=joined"));
    assert!(ben.get(&here).await.ok(200).text.contains("an admin"));
    ben.press(&path, &[]).await.ok(404);
    app.finish().await;
}
