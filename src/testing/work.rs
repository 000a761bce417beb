//! Workspaces of a test, and the tokens that open them.

use std::collections::BTreeSet;
use std::sync::Arc;

use helix_aggregates::access::reach::Reach;
use helix_aggregates::access::scopes::Scopes;
use helix_aggregates::access::token::event::TokenRevocation;
use helix_aggregates::access::workspace::command::Role;
use helix_aggregates::ids::{AccountId, ProjectId, TokenId, WorkspaceId};
use secrecy::ExposeSecret;

use super::{AccountType, Caller, TestApp};
use crate::app::access::sign_in::{Newcomer, SignIn};
use crate::app::work::Work;
use crate::app::work::tokens::{By, TokenWish};

pub use crate::app::work::operations::{Face, OPERATIONS, Operation, Who};

impl TestApp {
    /// The own workspace of a caller's account.
    pub async fn workspace_of(&self, caller: &Caller) -> WorkspaceId {
        self.workspace_of_account(caller.account.unwrap()).await
    }

    pub async fn workspace_of_account(&self, account: AccountId) -> WorkspaceId {
        self.work().own(account, "Ada").await.unwrap()
    }

    /// A named token as `helix token create` makes it: its text, and its id. Without projects it reaches
    /// all of the workspace.
    pub async fn named_token(
        &self,
        workspace: WorkspaceId,
        scopes: &str,
        projects: &[&str],
    ) -> (String, TokenId) {
        let listed: BTreeSet<ProjectId> = projects
            .iter()
            .map(|text| ProjectId::parse(text).unwrap())
            .collect();
        let wish = TokenWish {
            name: "harness".to_owned(),
            scopes: Scopes::parse(scopes.split(' ')).unwrap(),
            reach: if listed.is_empty() {
                Reach::All
            } else {
                Reach::Listed(listed)
            },
            expires_days: 30,
        };
        let by = By::operator();
        let work = self.work();
        let made = work.tokens().create(workspace, &wish, &by).await.unwrap();
        (made.token.expose_secret().to_owned(), made.token_id)
    }

    /// Ends a named token, as the operator would.
    pub async fn revoke_named_token(&self, token: TokenId) {
        let by = By::operator();
        let work = self.work();
        let revoked = work.tokens().revoke(token, TokenRevocation::Operator, &by);
        revoked.await.unwrap();
    }

    /// Adds an account to a workspace, as the operator would.
    pub async fn add_member(&self, workspace: WorkspaceId, account: AccountId, role: &str) {
        let role = Role::parse(role).unwrap();
        let added = self.work().add_member(workspace, account, role).await;
        added.unwrap();
    }

    /// An account that can sign in with `passphrase`.
    pub async fn second_person(&self, email: &str, name: &str, passphrase: &str) -> AccountId {
        let sign_in = SignIn::new(Arc::clone(self.servers[0].runs.core()));
        let who = Newcomer {
            email: email.to_owned(),
            name: name.to_owned(),
            account_type: AccountType::User,
        };
        let made = sign_in.enrol(&who, passphrase.into()).await.unwrap();
        made.account_id
    }

    /// The path of a link by which somebody new chooses a passphrase, as `helix account invite` prints it.
    pub async fn invitation_path(&self, email: &str, name: &str) -> (String, AccountId) {
        let sign_in = SignIn::new(Arc::clone(self.servers[0].runs.core()));
        let who = Newcomer {
            email: email.to_owned(),
            name: name.to_owned(),
            account_type: AccountType::User,
        };
        let link = sign_in.invite(&who).await.unwrap();
        let path = format!("/invite/{}", link.text.expose_secret());
        (path, link.account)
    }

    /// The path of a link by which an account's owner sets another passphrase.
    pub async fn reset_path(&self, account: AccountId) -> String {
        let sign_in = SignIn::new(Arc::clone(self.servers[0].runs.core()));
        let link = sign_in.reset_link(account).await.unwrap();
        format!("/invite/{}", link.text.expose_secret())
    }

    fn work(&self) -> Work {
        Work::new(
            Arc::clone(self.servers[0].runs.core()),
            self.servers[0].base.as_str(),
        )
    }
}

impl Caller {
    pub fn account(&self) -> AccountId {
        self.account.unwrap()
    }
}
