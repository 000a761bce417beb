use helix::testing::TestApp;
use serde_json::json;

use super::between;
use crate::access::browser::field;
use crate::work::client::{Agent, text};
use crate::work::decisions::agent_of;
use crate::work::person::Person;

const ALL: &str = "brief:read brief:write review:run review:execute";

/// Sends a form of a page and follows where it leads.
async fn pressed(person: &mut Person<'_>, path: &str, form: &[(&str, &str)]) -> String {
    let sent = person.browser.press(path, form).await.ok(303);
    let next = sent.header("location").to_owned();
    person.browser.get(&next).await.ok(200).text
}

async fn places(app: &TestApp) -> (Person<'_>, Agent<'_>, String, String) {
    let owner = Person::owner(app).await;
    let agent = agent_of(app, &owner).await.beside(ALL, &[]).await;
    let project = agent.project("tides").await;
    let here = format!("/workspaces/{}/projects/{project}", owner.workspace);
    (owner, agent, project, here)
}

#[tokio::test]
async fn a_person_writes_a_brief_and_decides_what_agents_propose_for_it() {
    let app = TestApp::start().await;
    let (mut owner, agent, project, here) = places(&app).await;
    let page = owner.browser.get(&here).await.ok(200).text;
    let key = field(&page, "key");
    let new = [("title", "Moon & tide"), ("key", key.as_str())];
    let page = pressed(&mut owner, &format!("{here}/briefs"), &new).await;
    assert!(page.contains("Moon &#38; tide") && page.contains("No text yet"));
    let brief = between(&page, "rel=\"canonical\" href=\"", "\"");
    let brief = format!("{here}/briefs/{}", brief.rsplit('/').next().unwrap());
    let write = [
        ("expected_version", "0"),
        ("body", "one\r\ntwo\r\n"),
        ("summary", "A start."),
    ];
    let page = pressed(&mut owner, &brief, &write).await;
    assert!(page.contains("Version 1") && page.contains("one\ntwo"));

    let id = brief.rsplit('/').next().unwrap();
    let proposals = format!("/projects/{project}/briefs/{id}/proposals");
    let mut made = Vec::new();
    for (number, body) in ["one\n<three>\n", "other\n", "four\n"]
        .into_iter()
        .enumerate()
    {
        let wish =
            json!({ "body": body, "summary": format!("Change {number}."), "expected_version": 1 });
        let key = format!("proposal-{number}");
        let answer = agent.post(&proposals, &key, &wish).await.ok(201);
        made.push(text(&answer.body["proposal"]["proposal_id"]));
    }
    let page = owner.browser.get(&here).await.ok(200).text;
    assert!(between(&page, "id=\"waiting\"", "id=\"briefs\"").contains("3 proposals"));
    let at = |proposal: &str| format!("{brief}/proposals/{proposal}");
    let page = owner.browser.get(&at(&made[0])).await.ok(200).text;
    assert!(page.contains("&#60;three&#62;") && !page.contains("<three>"));
    assert!(page.contains("<del>") && page.contains("<ins>"));
    let accept = [("expected_version", "1"), ("act", "approve_and_commit")];
    let page = pressed(&mut owner, &at(&made[0]), &accept).await;
    assert!(page.contains("committed and binds"));

    // The others were made for the text before.
    let page = owner.browser.get(&at(&made[1])).await.ok(200).text;
    assert!(page.contains("Fit it to the text in force"));
    let fit = [
        ("expected_version", "1"),
        ("act", "rebase"),
        ("body", "one\nthree\nother\n"),
    ];
    pressed(&mut owner, &at(&made[1]), &fit).await;
    let reject = [
        ("expected_version", "2"),
        ("act", "reject"),
        ("reason", "Too long."),
    ];
    let page = pressed(&mut owner, &at(&made[1]), &reject).await;
    assert!(page.contains("is rejected") && page.contains("Too long."));
    let (late_at, late) = (at(&made[2]), [("expected_version", "7"), ("act", "reject")]);
    let late = owner.browser.press(&late_at, &late).await.ok(409).text;
    assert!(late.contains("It has moved on"));

    let page = owner
        .browser
        .get(&format!("{brief}?version=1"))
        .await
        .ok(200)
        .text;
    assert!(page.contains("Take this text again"));
    let back = [("expected_version", "2"), ("to_version", "1")];
    let page = pressed(&mut owner, &brief, &back).await;
    assert!(page.contains("Version 3") && page.contains("one\ntwo"));
    app.finish().await;
}

#[tokio::test]
async fn a_person_starts_a_review_and_decides_at_its_gate() {
    let app = TestApp::start().await;
    let (mut owner, agent, project, here) = places(&app).await;
    let briefs = format!("/projects/{project}/briefs");
    let new = json!({ "title": "Tides" });
    let made = agent.post(&briefs, "tides-brief", &new).await.ok(201).body;
    let brief = format!("{here}/briefs/{}", text(&made["brief"]["brief_id"]));
    let write = [
        ("expected_version", "0"),
        ("body", "All of it."),
        ("summary", "First."),
    ];
    let page = pressed(&mut owner, &brief, &write).await;
    let key = field(&page, "key");
    let start = [("key", key.as_str()), ("version", "1")];
    let reviews = format!("{brief}/reviews");
    let page = pressed(&mut owner, &reviews, &start).await;
    assert!(page.contains("Review of Tides") && !page.contains("Your decision"));
    let review = between(&page, "rel=\"canonical\" href=\"", "\"");
    let review = review.rsplit('/').next().unwrap().to_owned();

    let at = format!("/projects/{project}/reviews/{review}");
    let wish = json!({ "expected_version": 1 });
    let claimed = agent
        .post(&format!("{at}/claims"), "claim-one", &wish)
        .await;
    let claim = text(&claimed.ok(201).body["claim"]["claim_id"]);
    let finding = json!({ "kind": "issue", "severity": "blocker", "title": "<b>Bold</b>",
        "detail": "Says nothing.", "refs": ["line 1"] });
    let wish = json!({ "findings": [finding], "final": true, "expected_version": 2 });
    let submit = format!("{at}/claims/{claim}/submissions");
    agent.post(&submit, "submit-one", &wish).await.ok(201);
    let page = owner.browser.get(&here).await.ok(200).text;
    assert!(between(&page, "id=\"waiting\"", "id=\"briefs\"").contains("Review of Tides"));

    let page_at = format!("{here}/reviews/{review}");
    let (member, _) = owner.joined_by("ben", "member").await;
    let seen = member.browser.get(&page_at).await.ok(200).text;
    assert!(seen.contains("An owner or admin") && !seen.contains("Your decision"));
    let page = owner.browser.get(&page_at).await.ok(200).text;
    assert!(page.contains("&#60;b&#62;Bold") && page.contains("blocker"));
    let decide = [
        ("expected_version", "3"),
        ("decision", "approve"),
        ("reason", "It will do."),
    ];
    let page = pressed(&mut owner, &page_at, &decide).await;
    assert!(page.contains("approved and complete") && page.contains("It will do."));
    let again = owner.browser.press(&page_at, &decide).await.ok(409).text;
    assert!(again.contains("completed"));
    app.finish().await;
}

#[tokio::test]
async fn pages_of_a_project_are_not_there_for_others() {
    let app = TestApp::start().await;
    let (owner, _, _, here) = places(&app).await;
    let (stranger, _) = Person::other(&app, "eve").await;
    for rest in [
        "",
        "/briefs/brf_none",
        "/briefs/brf_none/proposals/prop_none",
        "/reviews/rev_none",
    ] {
        let path = format!("{here}{rest}");
        let theirs = stranger.browser.get(&path).await.ok(404).text;
        assert!(!theirs.contains("tides"));
        if !rest.is_empty() {
            owner.browser.get(&path).await.ok(404);
        }
    }
    app.finish().await;
}
