//! The demo's workspace: an app that is connected over OAuth, and a named token that reaches one project
//! and is refused outside it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Demo;
use super::access::EMAIL;
use super::person::{Agent, Person, field, public};
use super::ticks::{Done, text, wrong};
use crate::cli::client::fresh_key;
use crate::cli::failure::Failure;

const APP: &str = "Harbour notes";
/// Where a code goes; the demo reads it from the redirect and asks nobody there.
const REDIRECT: &str = "http://127.0.0.1:9/back";
const ROOT: [&str; 3] = ["api", "v1", "workspaces"];
/// The one that the named token reaches, and the one it does not.
const PROJECTS: [&str; 2] = ["Ferries", "Tariffs"];

/// What the steps share.
struct Place {
    app: Agent,
    workspace: String,
}

pub async fn run(demo: &Demo<'_>) -> Result<(), Failure> {
    let base = demo.running.base.as_str();
    let passphrase = demo.home.passphrase()?;
    let person = demo
        .ticks
        .step("sign_in", "owner signed in", async {
            let person = Person::sign_in(base, EMAIL, &passphrase).await?;
            Ok(Done::new(person).id(EMAIL).status("signed in"))
        })
        .await?;
    let place = demo
        .ticks
        .step(
            "connect",
            "app connected",
            connect(base, &person, &passphrase),
        )
        .await?;
    let projects = demo
        .ticks
        .step("projects", "projects", projects(&place))
        .await?;
    demo.ticks
        .step(
            "reach",
            "named token refused",
            reach(base, &person, &place, &projects),
        )
        .await
}

/// From registration to a token, as any app does it.
async fn connect(
    base: &str,
    person: &Person,
    passphrase: &SecretString,
) -> Result<Done<Place>, Failure> {
    let document = json!({
        "client_name": APP, "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none",
    });
    let form = "application/x-www-form-urlencoded";
    let asked = ("application/json", document.to_string());
    let registered = public(base, "register", asked).await?;
    let client_id = text(&registered, "client_id")?;
    let verifier = hex::encode(Sha256::digest(fresh_key()?));
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
    let query = [
        ("response_type", "code".to_owned()),
        ("client_id", client_id.to_owned()),
        ("redirect_uri", REDIRECT.to_owned()),
        ("scope", "brief:read brief:write".to_owned()),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256".to_owned()),
        ("resource", format!("{base}/workspace/mcp")),
    ];
    let page = person.page("authorize", &query).await?;
    let (handle, workspace) = (field(&page, "oauthreq")?, field(&page, "workspace_id")?);
    let consent = [
        ("oauthreq", handle.as_str()),
        ("scopes", "brief:read"),
        ("scopes", "brief:write"),
        ("workspace_id", workspace.as_str()),
        ("reach", "all"),
        ("expires_days", "1"),
        ("passphrase", passphrase.expose_secret()),
        ("action", "allow"),
    ];
    let back = person.submit("authorize", &consent).await?;
    let code = back.query_pairs().find(|(name, _)| name == "code");
    let code = code.ok_or_else(|| wrong("the consent brought no code"))?.1;
    let exchange = form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", "authorization_code")
        .append_pair("code", &code)
        .append_pair("redirect_uri", REDIRECT)
        .append_pair("client_id", client_id)
        .append_pair("code_verifier", &verifier)
        .finish();
    let tokens = public(base, "token", (form, exchange)).await?;
    let token = SecretString::from(text(&tokens, "access_token")?);
    let place = Place {
        app: Agent::new(base, token)?,
        workspace: workspace.clone(),
    };
    let seen = place.app.get(&place.at(&[])).await?;
    let name = text(&seen["workspace"], "name")?.to_owned();
    Ok(Done::new(place)
        .id(workspace)
        .status("connected")
        .detail(format!("{APP} may read and propose in “{name}”")))
}

/// Finds the projects, or makes what is missing of them.
async fn projects(place: &Place) -> Result<Done<[String; 2]>, Failure> {
    let listed = place.app.get(&place.at(&["projects"])).await?;
    let known = listed["projects"].as_array().cloned().unwrap_or_default();
    let (mut ids, mut status) = ([String::new(), String::new()], "kept");
    for (id, name) in ids.iter_mut().zip(PROJECTS) {
        let there = known.iter().find(|project| project["name"] == name);
        let project: Value = if let Some(project) = there {
            project.clone()
        } else {
            status = "created";
            let (at, key) = (place.at(&["projects"]), fresh_key()?);
            let made = place.app.post(&at, &key, &json!({ "name": name })).await?;
            made["project"].clone()
        };
        text(&project, "project_id")?.clone_into(id);
    }
    let said = PROJECTS.join(", ");
    Ok(Done::new(ids).id(said).status(status))
}

/// A token that reaches the first project is refused at the second.
async fn reach(
    base: &str,
    person: &Person,
    place: &Place,
    [inside, outside]: &[String; 2],
) -> Result<Done<()>, Failure> {
    let wish = json!({
        "name": "demo", "scopes": ["brief:read"], "expires_days": 1,
        "reach": { "kind": "listed", "project_ids": [inside] },
    });
    let made = person.post(&place.at(&["tokens"]), &wish).await?;
    let id = text(&made, "token_id")?.to_owned();
    let agent = Agent::new(base, SecretString::from(text(&made, "token")?))?;
    let briefs = |project: &str| -> Vec<String> {
        let at = place.at(&["projects", project, "briefs"]);
        at.into_iter().map(str::to_owned).collect()
    };
    let ask = async |project: &str| {
        let at = briefs(project);
        let at: Vec<&str> = at.iter().map(String::as_str).collect();
        agent.ask(&at).await
    };
    if ask(inside).await?.status != 200 {
        return Err(wrong("the token is refused within its project"));
    }
    let refused = ask(outside).await?;
    let body: Value = serde_json::from_str(&refused.text).unwrap_or(Value::Null);
    if refused.status != 403 || body["error"] != "PROJECT_ACCESS_DENIED" {
        return Err(wrong(format!(
            "outside its project the token is answered {}",
            refused.status
        )));
    }
    person
        .post(&place.at(&["tokens", &id, "revoke"]), &json!({}))
        .await?;
    if ask(inside).await?.status != 401 {
        return Err(wrong("a revoked token still opens its project"));
    }
    Ok(Done::new(()).id(id).status("revoked").detail(format!(
        "{}: answered; {}: PROJECT_ACCESS_DENIED; revoked: 401",
        PROJECTS[0], PROJECTS[1]
    )))
}

impl Place {
    fn at<'a>(&'a self, below: &[&'a str]) -> Vec<&'a str> {
        [&ROOT, &[self.workspace.as_str()][..], below].concat()
    }
}
