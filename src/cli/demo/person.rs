//! The demo's owner at a browser: signs in, lets an app work in a workspace, makes a named token
//! (`operations` 1, `access` 3, 8).

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::{Method, Response, Url};
use scraper::{Html, Selector};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::ticks::{text, wrong};
use crate::cli::client::Client;
use crate::cli::failure::Failure;

/// A browser's page is no larger.
const MAX_PAGE: usize = 1 << 20;

/// Somebody who is signed in. The cookie is a credential, so there is no `Debug`.
pub struct Person {
    client: Client,
    cookie: SecretString,
}

/// An answer of the server, whatever its status.
pub struct Reply {
    pub status: u16,
    pub text: String,
}

impl Person {
    pub async fn sign_in(
        base: &str,
        email: &str,
        passphrase: &SecretString,
    ) -> Result<Self, Failure> {
        let mut person = Self {
            client: Client::without_token(base)?,
            cookie: SecretString::default(),
        };
        let form = [("email", email), ("passphrase", passphrase.expose_secret())];
        let response = person.form("sign-in", &form).await?;
        let set = response.headers().get(SET_COOKIE);
        let set = set.and_then(|cookie| cookie.to_str().ok());
        let cookie = set.and_then(|cookie| cookie.split(';').next());
        let cookie = cookie.ok_or_else(|| wrong("the owner could not sign in"))?;
        person.cookie = SecretString::from(cookie);
        Ok(person)
    }

    /// A page, as a browser asks for it.
    pub async fn page(&self, path: &str, query: &[(&str, String)]) -> Result<Html, Failure> {
        let url = self.client.address(&[path], query)?;
        let request = self.client.request(Method::GET, url);
        let reply = read(request.header(COOKIE, self.cookie.expose_secret())).await?;
        if reply.status != 200 {
            return Err(wrong(format!("the page /{path} answers {}", reply.status)));
        }
        Ok(Html::parse_document(&reply.text))
    }

    /// Sends a form and tells where it leads.
    pub async fn submit(&self, path: &str, form: &[(&str, &str)]) -> Result<Url, Failure> {
        let response = self.form(path, form).await?;
        let place = response.headers().get(LOCATION);
        let place = place.and_then(|place| place.to_str().ok());
        place
            .and_then(|place| Url::parse(place).ok())
            .ok_or_else(|| wrong(format!("the form of /{path} answers {}", response.status())))
    }

    async fn form(&self, path: &str, form: &[(&str, &str)]) -> Result<Response, Failure> {
        let body: String = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let url = self.client.address(&[path], &[])?;
        let request = self
            .client
            .request(Method::POST, url)
            .header(ORIGIN, self.client.base())
            .header(COOKIE, self.cookie.expose_secret())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(body);
        request.send().await.map_err(|error| lost(&error))
    }

    /// What a page of the server asks by script.
    pub async fn post(&self, segments: &[&str], body: &Value) -> Result<Value, Failure> {
        let url = self.client.address(segments, &[])?;
        let request = self
            .client
            .request(Method::POST, url)
            .header(ORIGIN, self.client.base())
            .header(COOKIE, self.cookie.expose_secret())
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_string());
        good(&read(request).await?)
    }
}

/// An app or a harness with its token.
pub struct Agent {
    client: Client,
    token: SecretString,
}

impl Agent {
    pub fn new(base: &str, token: SecretString) -> Result<Self, Failure> {
        Ok(Self {
            client: Client::without_token(base)?,
            token,
        })
    }

    pub async fn ask(&self, segments: &[&str]) -> Result<Reply, Failure> {
        let url = self.client.address(segments, &[])?;
        let bearer = format!("Bearer {}", self.token.expose_secret());
        let request = self.client.request(Method::GET, url);
        read(request.header(AUTHORIZATION, bearer)).await
    }

    pub async fn get(&self, segments: &[&str]) -> Result<Value, Failure> {
        good(&self.ask(segments).await?)
    }

    pub async fn post(&self, segments: &[&str], key: &str, body: &Value) -> Result<Value, Failure> {
        let url = self.client.address(segments, &[])?;
        let bearer = format!("Bearer {}", self.token.expose_secret());
        let request = self
            .client
            .request(Method::POST, url)
            .header(AUTHORIZATION, bearer)
            .header("Idempotency-Key", key)
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_string());
        good(&read(request).await?)
    }
}

/// A public document or endpoint, asked by an app that has no token yet.
pub async fn public(
    base: &str,
    path: &str,
    (media, body): (&str, String),
) -> Result<Value, Failure> {
    let client = Client::without_token(base)?;
    let url = client.address(&[path], &[])?;
    let request = client.request(Method::POST, url);
    good(&read(request.header(CONTENT_TYPE, media).body(body)).await?)
}

/// The value of a field that a page has once.
pub fn field(page: &Html, name: &str) -> Result<String, Failure> {
    let selector = Selector::parse(&format!("input[name={name}]"));
    let selector = selector.map_err(|_| wrong(format!("{name} is no field")))?;
    let found = page.select(&selector).next();
    found
        .and_then(|input| input.attr("value"))
        .map(str::to_owned)
        .ok_or_else(|| wrong(format!("the page has no field {name}")))
}

async fn read(request: reqwest::RequestBuilder) -> Result<Reply, Failure> {
    let mut response = request.send().await.map_err(|error| lost(&error))?;
    let status = response.status().as_u16();
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| lost(&error))? {
        bytes.extend(piece);
        if bytes.len() > MAX_PAGE {
            return Err(wrong("an answer does not end"));
        }
    }
    Ok(Reply {
        status,
        text: String::from_utf8_lossy(&bytes).into_owned(),
    })
}

fn good(reply: &Reply) -> Result<Value, Failure> {
    let body: Value = serde_json::from_str(&reply.text).unwrap_or(json!({}));
    if (200..300).contains(&reply.status) {
        return Ok(body);
    }
    let code = text(&body, "error").unwrap_or("no error");
    Err(wrong(format!("the server answers {} {code}", reply.status)))
}

/// Without the address, whose query may hold what nobody else may read.
fn lost(error: &reqwest::Error) -> Failure {
    let what = if error.is_timeout() {
        "did not answer in time"
    } else {
        "hung up"
    };
    Failure::unavailable("unreachable", format!("the demo's server {what}"))
        .fix("start the demo again")
}
