//! The way in for a test's first person.

use helix_aggregates::text::Text;
use secrecy::ExposeSecret;

use super::TestApp;
use crate::app::access::sign_in::{LinkReach, Origin, SignIn, SignInError};
use crate::auth::oauth::throttle::Browser;
use crate::auth::session;
use crate::worker::cleanup::Cleanup;

impl TestApp {
    /// One round of the clean-up; how many rows it forgot.
    pub async fn clean_up(&self) -> u64 {
        let core = self.servers[0].runs.core().clone();
        Cleanup::new(core).clean().await.unwrap()
    }

    /// Cookies of so many fresh sessions of one account, whose passphrase is checked once.
    pub async fn sessions(&self, email: &str, passphrase: &str, count: usize) -> Vec<String> {
        let sign_in = SignIn::new(self.servers[0].runs.core().clone());
        let origin = Origin {
            address: "127.0.0.1".to_owned(),
            browser: Browser::Unknown,
        };
        let proved = sign_in.prove(email, passphrase.into(), &origin).await;
        let proved = proved.unwrap();
        let mut cookies = Vec::new();
        for _ in 0..count {
            let device = Text::parse("a browser").unwrap();
            let started = sign_in.open(&proved, device).await.unwrap();
            let name = session::name(&self.servers[0].base);
            cookies.push(format!("{name}={}", started.token.expose_secret()));
        }
        cookies
    }

    /// The path of a fresh setup link, as `helix owner link` makes it.
    pub async fn setup_path(&self) -> String {
        self.try_setup_path().await.unwrap()
    }

    /// The same, or nothing where the server has its owner.
    pub async fn try_setup_path(&self) -> Option<String> {
        let core = self.servers[0].runs.core().clone();
        let link = SignIn::new(core).owner_link(LinkReach::Loopback).await;
        if matches!(link, Err(SignInError::HasOwner)) {
            return None;
        }
        Some(format!("/setup/{}", link.unwrap().expose_secret()))
    }
}
