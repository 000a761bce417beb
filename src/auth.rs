//! From a credential to who is asking.
//!
//! Nothing behind this module sees the text of a credential, and nothing in it prints one: errors
//! name a kind, `Debug` shows ids and scopes at most.
//!
//! Deliberately absent here: accounts, bindings and data-scope policy. A verified token says what an
//! issuer signed; whether that means anything to this server is looked up per request elsewhere.

pub mod bearer;
pub mod issued_bearer;
pub mod jwks;
pub mod oauth;
pub mod passphrase;
pub mod session;
#[cfg(test)]
pub(crate) mod test_issuer;
