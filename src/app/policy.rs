//! Which data a run may use: deployment, catalog, token and account, in that order (`agent-api` 6.2).

use std::collections::BTreeSet;

use helix_aggregates::access::account::command::AccountType;
use helix_aggregates::agent::run::command::AdmittedPolicy;
use helix_aggregates::agent::scope::{self, DataScope, NO_TOOLS, POLICY_LIMIT, USER_CAPABILITIES};
use helix_aggregates::{canonical, text};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::problem::{Code, Problem};

/// The deployment's side of the policy.
#[derive(Debug, Clone, Default)]
pub struct DataPolicy {
    enabled: BTreeSet<String>,
}

impl DataPolicy {
    pub fn new(enabled: impl IntoIterator<Item = String>) -> Self {
        Self {
            enabled: enabled.into_iter().collect(),
        }
    }

    /// The four checks. The same at start, before every continue, and before a ref is read back.
    pub fn admit(
        &self,
        requested: &[String],
        token_scopes: &BTreeSet<String>,
        account_type: AccountType,
    ) -> Result<AdmittedPolicy, Problem> {
        self.check_enabled(requested)?;
        let scopes = in_catalog(requested)?;
        check_token(&scopes, token_scopes)?;
        check_account(&scopes, account_type)?;
        let tools = text::unique(
            scopes
                .iter()
                .flat_map(|scope| scope.capabilities.iter().copied()),
        );
        let families = text::unique(scopes.iter().map(|scope| scope.family));
        if tools.len() > POLICY_LIMIT || families.len() > POLICY_LIMIT {
            return Err(Problem::new(Code::ScopePolicyNotConfigured));
        }
        Ok(admitted(tools, families))
    }

    fn check_enabled(&self, requested: &[String]) -> Result<(), Problem> {
        let denied: Vec<&String> = requested
            .iter()
            .filter(|id| !self.enabled.contains(*id))
            .collect();
        if denied.is_empty() {
            return Ok(());
        }
        Err(Problem::new(Code::AccountPolicyBlocked).with(json!({"denied_scopes": denied})))
    }
}

fn in_catalog(requested: &[String]) -> Result<Vec<&'static DataScope>, Problem> {
    let missing: Vec<&String> = requested
        .iter()
        .filter(|id| scope::find(id).is_none())
        .collect();
    if missing.is_empty() {
        return Ok(requested.iter().filter_map(|id| scope::find(id)).collect());
    }
    let details = json!({"missing_scope_policies": missing});
    Err(Problem::new(Code::ScopePolicyNotConfigured).with(details))
}

fn check_token(scopes: &[&DataScope], token_scopes: &BTreeSet<String>) -> Result<(), Problem> {
    let lacking: Vec<_> = scopes
        .iter()
        .filter(|scope| !token_scopes.contains(scope.oauth_scope))
        .collect();
    if lacking.is_empty() {
        return Ok(());
    }
    let denied: Vec<&str> = lacking.iter().map(|scope| scope.id).collect();
    let required: Vec<&str> = lacking.iter().map(|scope| scope.oauth_scope).collect();
    let mut all: Vec<&str> = scopes.iter().map(|scope| scope.oauth_scope).collect();
    let mut seen = BTreeSet::new();
    all.retain(|scope| seen.insert(*scope));
    Err(Problem::new(Code::InsufficientScope)
        .with(json!({"denied_scopes": denied, "required_oauth_scopes": required}))
        .of_operation(&all))
}

fn check_account(scopes: &[&DataScope], account_type: AccountType) -> Result<(), Problem> {
    let denied: Vec<&str> = scopes
        .iter()
        .flat_map(|scope| scope.capabilities.iter().copied())
        .filter(|capability| !is_available(capability, account_type))
        .collect();
    if denied.is_empty() {
        return Ok(());
    }
    Err(Problem::new(Code::AccountPolicyBlocked).with(json!({"denied_capabilities": denied})))
}

fn is_available(capability: &str, account_type: AccountType) -> bool {
    match account_type {
        AccountType::Developer => true,
        AccountType::User => USER_CAPABILITIES.contains(&capability),
    }
}

fn admitted(mut tools: Vec<String>, families: Vec<String>) -> AdmittedPolicy {
    if tools.is_empty() {
        tools.push(NO_TOOLS.to_owned());
    }
    let spelled =
        canonical::to_vec(&json!({"allowed_tools": tools, "required_evidence": families}));
    let policy_hash = format!("sha256:{}", hex::encode(Sha256::digest(spelled)));
    AdmittedPolicy {
        allowed_tools: tools,
        required_evidence: families,
        policy_hash,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn ask(
        enabled: &[&str],
        requested: &[&str],
        token: &[&str],
        account_type: AccountType,
    ) -> Result<AdmittedPolicy, Problem> {
        let token = owned(token).into_iter().collect();
        DataPolicy::new(owned(enabled)).admit(&owned(requested), &token, account_type)
    }

    #[test]
    fn each_check_answers_before_the_next() {
        let library = "helix.data.research_library.read";
        let blocked = ask(&[], &["moon"], &[], AccountType::User).unwrap_err();
        assert_eq!(blocked.code, Code::AccountPolicyBlocked);
        assert_eq!(blocked.details, Some(json!({"denied_scopes": ["moon"]})));
        let unknown = ask(&["moon"], &["moon"], &[], AccountType::User).unwrap_err();
        assert_eq!(unknown.code, Code::ScopePolicyNotConfigured);
        let scope = ["research_library"];
        let lacking = ask(&scope, &scope, &[], AccountType::User).unwrap_err();
        assert_eq!(lacking.code, Code::InsufficientScope);
        assert_eq!(
            lacking.details,
            Some(json!({"denied_scopes": scope, "required_oauth_scopes": [library]}))
        );
        assert!(ask(&scope, &scope, &[library], AccountType::User).is_ok());
    }

    #[test]
    fn a_plain_user_may_use_scholarly_research_and_the_library_only() {
        for scope in scope::CATALOG {
            let outcome = ask(
                &[scope.id],
                &[scope.id],
                &[scope.oauth_scope],
                AccountType::User,
            );
            let expected = matches!(scope.id, "scholarly_research" | "research_library");
            assert_eq!(outcome.is_ok(), expected, "{}", scope.id);
            let developer = ask(
                &[scope.id],
                &[scope.id],
                &[scope.oauth_scope],
                AccountType::Developer,
            );
            assert!(developer.is_ok(), "{}", scope.id);
        }
    }

    #[test]
    fn asking_for_nothing_admits_exactly_no_tool() {
        let policy = ask(&[], &[], &[], AccountType::User).unwrap();
        assert_eq!(policy.allowed_tools, [NO_TOOLS]);
        assert!(policy.required_evidence.is_empty());
    }
}
