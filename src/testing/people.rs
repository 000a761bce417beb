//! The way in for a test's first person.

use secrecy::ExposeSecret;

use super::TestApp;
use crate::app::access::sign_in::{LinkReach, SignIn, SignInError};

impl TestApp {
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
