//! Addresses as the server sees them: its own public one, and those of the proxies it believes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;

/// The address clients use, or the promise to derive it once the listener is bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublicUrl {
    Given(BaseUrl),
    /// `http://<listen>` (settled question 78); the port may be known only after binding.
    FromListener,
}

impl PublicUrl {
    /// The base of every link, given the address that was really bound.
    pub fn base(&self, bound: SocketAddr) -> BaseUrl {
        match self {
            Self::Given(base) => base.clone(),
            Self::FromListener => BaseUrl::of_listener(bound),
        }
    }
}

/// An absolute http(s) address without credentials, query, fragment or trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    text: String,
    origin: String,
    authority: String,
}

impl BaseUrl {
    pub(crate) fn new(url: &Url) -> Self {
        let origin = url.origin().ascii_serialization();
        let authority = origin
            .split_once("://")
            .map_or("", |(_, rest)| rest)
            .to_owned();
        let text = url.as_str().trim_end_matches('/').to_owned();
        Self {
            text,
            origin,
            authority,
        }
    }

    pub(super) fn of_listener(bound: SocketAddr) -> Self {
        let authority = reachable(bound).to_string();
        let authority = authority
            .strip_suffix(":80")
            .unwrap_or(&authority)
            .to_owned();
        let origin = format!("http://{authority}");
        Self {
            text: origin.clone(),
            origin,
            authority,
        }
    }

    /// As configured, trailing slashes dropped; a path may follow the host.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Scheme, host and port as browsers write `Origin`.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// `host[:port]`, lower-case, the default port dropped.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    pub fn is_https(&self) -> bool {
        self.origin.starts_with("https://")
    }
}

/// An unspecified address is reached over loopback.
pub(super) fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}
