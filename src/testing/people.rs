//! The way in for a test's first person.

use secrecy::ExposeSecret;

use super::TestApp;
use crate::app::access::sign_in::{LinkReach, SignIn, SignInError};
use crate::worker::cleanup::Cleanup;

impl TestApp {
    /// One round of the clean-up; how many rows it forgot.
    pub async fn clean_up(&self) -> u64 {
        let core = self.servers[0].runs.core().clone();
        Cleanup::new(core).clean().await.unwrap()
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
