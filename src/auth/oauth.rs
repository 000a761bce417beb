//! The rules of the built-in authorization server (`access` 3), apart from everything they are
//! applied to.
//!
//! A client cannot be asked back and an owner reads a consent page once, so each rule stands here as
//! a function of texts, counts and ages that a table can try out.
//!
//! What stays true: rules on redirects run on the text as it was sent, never on a parsed URL; nobody
//! is redirected before client and redirect are known to belong together; no error and no `Debug`
//! shows a code, a token, a verifier or anything else a caller sent.
//!
//! Deliberately absent: requests, rows, clocks, randomness and the wording of pages. The doors decode
//! and render, the use cases look up and store.

pub mod authorize;
pub mod client_auth;
pub mod client_name;
pub mod error_code;
pub mod parameters;
pub mod pkce;
pub mod redirect;
pub mod registration;
pub mod resource;
pub mod rotation;
pub mod scope;
pub mod throttle;
pub mod token_error;
pub mod token_request;
