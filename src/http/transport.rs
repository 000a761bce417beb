//! Where a request comes from and what it was addressed to (agent-api 1.11, settled 52).
//!
//! A browser can be made to send requests here from any page, and a name that the attacker owns can
//! be made to resolve to this machine. Both are refused by names: the host the request was meant
//! for and the origin that sent it. Client address and scheme come from the socket unless the peer
//! is a proxy the operator trusts (access 12).
//!
//! What stays true: names are compared whole, never by prefix or suffix; whatever is doubtful
//! (several values, user info, odd characters) is refused; a header of an untrusted peer changes
//! nothing.
//!
//! Deliberately absent: request types. The door fills a small struct of header values.

mod proxies;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::net::IpAddr;

use reqwest::Url;

pub use proxies::TrustedProxies;

/// A setting that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportSettingError {
    #[error("the public base url has no host")]
    PublicBase,
    #[error("not a host or host:port: {0:?}")]
    Host(String),
    #[error("not an origin: {0:?}")]
    Origin(String),
    #[error("not a hop count, address, network or name of one: {0:?}")]
    Proxy(String),
}

/// Why a request is not admitted. Each is a 403 without a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TransportRefusal {
    #[error("this host is not served here")]
    HostNotAllowed,
    #[error("this origin is not admitted")]
    OriginNotAllowed,
    #[error("https is required")]
    HttpsRequired,
}

/// Whether loopback names and plain HTTP are admitted for development.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Development,
    Production,
}

/// How the client reached the outermost trusted machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

/// What of a request matters here: every value of each header, as received.
#[derive(Debug, Clone, Copy)]
pub struct RequestHead<'a> {
    pub peer: IpAddr,
    /// The scheme of the connection itself.
    pub socket: Scheme,
    /// `Host`, or `:authority` of HTTP/2.
    pub hosts: &'a [&'a [u8]],
    pub origins: &'a [&'a [u8]],
    pub forwarded_for: &'a [&'a [u8]],
    pub forwarded_proto: &'a [&'a [u8]],
}

/// Who sent a request, behind the trusted proxies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender {
    pub address: IpAddr,
    pub scheme: Scheme,
}

/// The settings of one listener.
#[derive(Debug, Clone)]
pub struct TransportSettings<'a> {
    pub mode: Mode,
    /// Its host and origin are always admitted.
    pub public_base: &'a Url,
    /// Further hosts, `host` or `host:port`, comma-separated.
    pub hosts: &'a str,
    /// Further origins, comma-separated.
    pub origins: &'a str,
    pub proxies: TrustedProxies,
}

/// The admitted hosts, origins and proxies of one listener.
#[derive(Debug, Clone)]
pub struct TransportRules {
    mode: Mode,
    public_scheme: Scheme,
    hosts: BTreeSet<String>,
    origins: BTreeSet<String>,
    proxies: TrustedProxies,
}

impl TransportRules {
    pub fn new(settings: TransportSettings<'_>) -> Result<Self, TransportSettingError> {
        let TransportSettings {
            mode,
            public_base,
            hosts,
            origins,
            proxies,
        } = settings;
        let public_scheme = match public_base.scheme() {
            "https" => Scheme::Https,
            _ => Scheme::Http,
        };
        let own_origin = public_base.origin().ascii_serialization();
        let own_host = own_origin
            .split_once("://")
            .ok_or(TransportSettingError::PublicBase)?
            .1;
        let hosts = entries(hosts)
            .chain([own_host])
            .map(|entry| {
                host(entry.as_bytes(), public_scheme)
                    .map(|host| host.text)
                    .ok_or_else(|| TransportSettingError::Host(entry.to_owned()))
            })
            .collect::<Result<_, _>>()?;
        let origins = entries(origins)
            .chain([own_origin.as_str()])
            .map(|entry| {
                origin(entry.trim_end_matches('/').as_bytes())
                    .map(|origin| origin.text)
                    .ok_or_else(|| TransportSettingError::Origin(entry.to_owned()))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            mode,
            public_scheme,
            hosts,
            origins,
            proxies,
        })
    }

    /// The client's address and scheme.
    pub fn sender(&self, head: &RequestHead<'_>) -> Sender {
        self.proxies.sender(head)
    }

    /// Admits host, then origin, then scheme: the first failure answers.
    pub fn admit(&self, head: &RequestHead<'_>) -> Result<(), TransportRefusal> {
        if !self.admits_host(head.hosts) {
            return Err(TransportRefusal::HostNotAllowed);
        }
        match head.origins {
            [] | [b""] => {}
            [origin] if self.admits_origin(origin) => {}
            _ => return Err(TransportRefusal::OriginNotAllowed),
        }
        if self.mode == Mode::Production && self.sender(head).scheme == Scheme::Http {
            return Err(TransportRefusal::HttpsRequired);
        }
        Ok(())
    }

    /// Whether `value` is an admitted origin; cross-origin answers reflect only such (access 11).
    pub fn admits_origin(&self, value: &[u8]) -> bool {
        origin(value).is_some_and(|origin| {
            self.origins.contains(&origin.text) || self.is_admitted_loopback(origin.loopback)
        })
    }

    fn admits_host(&self, values: &[&[u8]]) -> bool {
        let [value] = values else { return false };
        host(value, self.public_scheme).is_some_and(|host| {
            self.hosts.contains(&host.text) || self.is_admitted_loopback(host.loopback)
        })
    }

    fn is_admitted_loopback(&self, loopback: Loopback) -> bool {
        self.mode == Mode::Development && loopback == Loopback::Yes
    }
}

fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Loopback {
    Yes,
    No,
}

/// A host or an origin in the one spelling that is compared.
struct Name {
    text: String,
    loopback: Loopback,
}

/// Reads `host[:port]`, lower-cased, without the port that `scheme` implies.
fn host(value: &[u8], scheme: Scheme) -> Option<Name> {
    let text = std::str::from_utf8(value).ok()?.to_ascii_lowercase();
    let (name, port) = match text
        .rfind(':')
        .filter(|colon| !text[*colon..].contains(']'))
    {
        Some(colon) => (&text[..colon], Some(&text[colon + 1..])),
        None => (text.as_str(), None),
    };
    let number: Option<u16> = match port {
        None => None,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse().ok()?)
        }
        Some(_) => return None,
    };
    if !is_host_name(name) {
        return None;
    }
    let implied = match scheme {
        Scheme::Http => 80,
        Scheme::Https => 443,
    };
    let text = match number {
        Some(number) if number != implied => format!("{name}:{number}"),
        _ => name.to_owned(),
    };
    let loopback = match name {
        "localhost" | "127.0.0.1" | "[::1]" => Loopback::Yes,
        _ => Loopback::No,
    };
    Some(Name { text, loopback })
}

fn is_host_name(name: &str) -> bool {
    let inner = |text: &str, also: &[u8]| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || also.contains(&byte))
    };
    match name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        Some(address) => inner(address, b":."),
        None => inner(name, b"-._"),
    }
}

/// Reads `http[s]://host[:port]`. The origin `null` is none.
fn origin(value: &[u8]) -> Option<Name> {
    let text = std::str::from_utf8(value).ok()?.to_ascii_lowercase();
    let (prefix, rest, scheme) = match text.split_once("://")? {
        ("http", rest) => ("http://", rest, Scheme::Http),
        ("https", rest) => ("https://", rest, Scheme::Https),
        _ => return None,
    };
    let host = host(rest.as_bytes(), scheme)?;
    Some(Name {
        text: format!("{prefix}{}", host.text),
        ..host
    })
}
