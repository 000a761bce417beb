//! The cookie of a signed-in browser (`access` 1.2).
//!
//! What must stay true: the name is the prefixed one wherever the address is https, so that no
//! neighbour on the host can set it; a text with a bad checksum never reaches the database.

use actix_web::cookie::time::Duration;
use actix_web::cookie::{Cookie, SameSite};
use secrecy::{ExposeSecret, SecretString};

use crate::app::redaction::issued_token;
use crate::config::BaseUrl;

/// The kind in a session's text (`access` 1.1).
pub const KIND: &str = "ss";
/// A session's life from sign-in.
pub const LIFE_MS: i64 = 7 * 86_400_000;

const PREFIXED: &str = "__Host-helix_session";
const PLAIN: &str = "helix_session";
const KNOWN: &str = "helix_known";

/// The cookie's name at a public address.
pub fn name(base: &BaseUrl) -> &'static str {
    if base.is_https() { PREFIXED } else { PLAIN }
}

/// What hands a browser its session.
pub fn cookie(base: &BaseUrl, token: &SecretString) -> Cookie<'static> {
    let life = Duration::milliseconds(LIFE_MS);
    made(base, token.expose_secret().to_owned(), life)
}

/// What takes the session from a browser.
pub fn cleared(base: &BaseUrl) -> Cookie<'static> {
    made(base, String::new(), Duration::ZERO)
}

fn made(base: &BaseUrl, value: String, life: Duration) -> Cookie<'static> {
    Cookie::build(name(base), value)
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(base.is_https())
        .max_age(life)
        .finish()
}

/// Remembers that this browser signed in to an account, so that a flood of wrong passphrases from
/// elsewhere does not make its owner wait. It lets nobody in.
pub fn known(base: &BaseUrl, mark: String) -> Cookie<'static> {
    let mut cookie = made(base, mark, Duration::days(365));
    cookie.set_name(KNOWN);
    cookie.set_path("/");
    cookie
}

/// Whether one of the cookies is that mark.
pub fn is_known(headers: &[&[u8]], mark: &str) -> bool {
    pairs(headers).any(|(name, value)| name == KNOWN && value == mark)
}

fn pairs<'h>(headers: &[&'h [u8]]) -> impl Iterator<Item = (&'h str, &'h str)> {
    headers
        .iter()
        .filter_map(|header| std::str::from_utf8(header).ok())
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
}

/// The hash of the one session in the `Cookie` headers of a request. Two cookies of the name are none:
/// one of them is somebody else's.
pub fn presented(base: &BaseUrl, headers: &[&[u8]]) -> Option<[u8; 32]> {
    let wanted = name(base);
    let mut found = pairs(headers)
        .filter(|(name, _)| *name == wanted)
        .map(|(_, value)| value);
    let token = found.next().filter(|_| found.next().is_none())?;
    issued_token::is_spelled(token, KIND).then(|| issued_token::hash(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(url: &str) -> BaseUrl {
        BaseUrl::new(&reqwest::Url::parse(url).unwrap())
    }

    #[test]
    fn one_well_formed_cookie_of_the_right_name_is_taken() {
        let (plain, https) = (
            base("http://127.0.0.1:8787"),
            base("https://helix.example.org"),
        );
        let token = issued_token::spell(KIND, &[7; 32]);
        let hash = issued_token::hash(&token);
        let read = |base, text: String| presented(base, &[text.as_bytes()]);
        assert_eq!(
            read(&plain, format!("a=b; helix_session={token}")),
            Some(hash)
        );
        assert_eq!(
            read(&https, format!("__Host-helix_session={token}")),
            Some(hash)
        );
        assert_eq!(read(&https, format!("helix_session={token}")), None);
        assert_eq!(read(&plain, format!("__Host-helix_session={token}")), None);
        let twice = format!("helix_session={token}; helix_session={token}");
        assert_eq!(read(&plain, twice), None);
        let other = issued_token::spell("at", &[7; 32]);
        assert_eq!(read(&plain, format!("helix_session={other}")), None);
        assert_eq!(read(&plain, format!("helix_session={token}x")), None);
    }

    #[test]
    fn the_cookie_stays_out_of_scripts_and_other_sites() {
        let token = SecretString::from("t");
        let https = cookie(&base("https://helix.example.org"), &token).to_string();
        for part in [
            "__Host-helix_session=t",
            "HttpOnly",
            "SameSite=Lax",
            "Secure",
            "Path=/",
            "Max-Age=604800",
        ] {
            assert!(https.contains(part), "{part}");
        }
        let plain = cookie(&base("http://127.0.0.1:8787"), &token).to_string();
        assert!(plain.starts_with("helix_session=t") && !plain.contains("Secure"));
    }
}
