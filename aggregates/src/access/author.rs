//! Who did a thing, as the log records it: by id, never by name.

use serde::{Deserialize, Serialize};

use crate::ids::{AccountId, GrantId, TokenId};

/// Who wrote or made a thing that agents may make too.
///
/// A token that was rotated and an app that was consented to anew stay the same caller (`access`
/// 6.2), so the id is that of the first in their line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum Author {
    /// A person, signed in.
    Account(AccountId),
    Grant(GrantId),
    Token(TokenId),
}

/// Who made or changed what agents may only use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum Maker {
    Account(AccountId),
    /// Whoever holds the data directory; shown as `Helix (operator)` (`access` 8).
    Operator,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use uuid::Uuid;

    #[test]
    fn an_author_is_written_as_a_kind_and_an_id() {
        let id = Uuid::from_u128(1);
        for (author, kind, text) in [
            (
                Author::Account(AccountId::new(id)),
                "account",
                AccountId::new(id).to_string(),
            ),
            (
                Author::Grant(GrantId::new(id)),
                "grant",
                GrantId::new(id).to_string(),
            ),
            (
                Author::Token(TokenId::new(id)),
                "token",
                TokenId::new(id).to_string(),
            ),
        ] {
            let form = json!({ "kind": kind, "id": text });
            assert_eq!(serde_json::to_value(author).unwrap(), form);
            assert_eq!(serde_json::from_value::<Author>(form).unwrap(), author);
        }
    }

    #[test]
    fn a_maker_is_written_as_a_kind_and_an_id() {
        let account = AccountId::new(Uuid::from_u128(1));
        for (maker, form) in [
            (
                Maker::Account(account),
                json!({ "kind": "account", "id": account.to_string() }),
            ),
            (Maker::Operator, json!({ "kind": "operator" })),
        ] {
            assert_eq!(serde_json::to_value(maker).unwrap(), form);
            assert_eq!(serde_json::from_value::<Maker>(form).unwrap(), maker);
        }
    }
}
