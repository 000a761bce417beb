//! A person's browser, as far as forms and cookies go.

use helix::testing::TestApp;
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder};

use crate::harness::Answer;

pub const PASSPHRASE: &str = "three tall ships at sea";
pub const EMAIL: &str = "ada@harbour.example";

#[derive(Debug, Clone)]
pub struct Browser<'a> {
    pub app: &'a TestApp,
    pub server: usize,
    client: Client,
    pub cookie: Option<String>,
}

impl<'a> Browser<'a> {
    pub fn new(app: &'a TestApp) -> Self {
        let client = Client::builder().no_proxy().redirect(Policy::none());
        Self {
            app,
            server: 0,
            client: client.build().unwrap(),
            cookie: None,
        }
    }

    /// The first owner, signed in.
    pub async fn of_owner(app: &'a TestApp) -> Self {
        let mut browser = Self::new(app);
        let path = app.setup_path().await;
        browser.set_up(&path).await.ok(303);
        browser
    }

    pub async fn set_up(&mut self, path: &str) -> Answer {
        let form = [
            ("name", "Ada"),
            ("email", EMAIL),
            ("passphrase", PASSPHRASE),
            ("passphrase_confirm", PASSPHRASE),
        ];
        self.submit(path, &form).await
    }

    pub async fn sign_in(&mut self, email: &str, passphrase: &str) -> Answer {
        let form = [
            ("email", email),
            ("passphrase", passphrase),
            ("next", "/connections"),
        ];
        self.submit("/sign-in", &form).await
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self
            .client
            .request(method, self.app.url_of(self.server, path))
            .header(
                "User-Agent",
                "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0",
            );
        match &self.cookie {
            Some(cookie) => request.header("Cookie", cookie),
            None => request,
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path)).await
    }

    /// A request as the script of a page sends it.
    pub fn lane(&self, method: Method, path: &str) -> RequestBuilder {
        self.request(method, path)
            .header("Origin", self.app.url_of(self.server, ""))
            .header("Sec-Fetch-Site", "same-origin")
    }

    /// A form as its page sends it.
    pub fn form(&self, path: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        self.lane(Method::POST, path)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(encoded(fields))
    }

    /// Sends a form and keeps the cookie that comes back.
    pub async fn submit(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let answer = Answer::of(self.form(path, fields)).await;
        let set = answer.header("set-cookie").split(';').next().unwrap_or("");
        if !set.is_empty() {
            self.cookie = Some(set.to_owned());
        }
        answer
    }

    /// Sends a form of a signed-in page.
    pub async fn press(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let csrf = self.csrf().await;
        let mut all = fields.to_vec();
        all.push(("csrf", &csrf));
        self.submit(path, &all).await
    }

    pub async fn csrf(&self) -> String {
        let page = self.get("/connections").await.ok(200);
        field(&page.text, "csrf")
    }
}

/// The value of a hidden field.
pub fn field(page: &str, name: &str) -> String {
    let mark = format!("name=\"{name}\" value=\"");
    let start = page
        .find(&mark)
        .unwrap_or_else(|| panic!("no field {name} in {page}"))
        + mark.len();
    let end = page[start..].find('"').unwrap();
    page[start..start + end].to_owned()
}

/// Fields as a form sends them.
pub fn encoded(fields: &[(&str, &str)]) -> String {
    let mut url = reqwest::Url::parse("http://x/").unwrap();
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or("").to_owned()
}
