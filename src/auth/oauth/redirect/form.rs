//! The text of a redirect, piece by piece.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{MAX_BYTES, RedirectError};

/// Longest host name, and longest scheme, which is a domain in reverse.
const MAX_NAME_BYTES: usize = 253;

const MAX_LABEL_BYTES: usize = 63;

const LOOPBACK_HOSTS: [&str; 3] = ["127.0.0.1", "[::1]", "localhost"];

/// Rules on single characters, whatever the scheme.
pub(super) fn check_characters(text: &str) -> Result<(), RedirectError> {
    if text.len() > MAX_BYTES {
        return Err(RedirectError::TooLong);
    }
    if text.bytes().any(|byte| !byte.is_ascii_graphic()) {
        return Err(RedirectError::Character);
    }
    for (refused, error) in [
        ('\\', RedirectError::BackSlash),
        ('*', RedirectError::Wildcard),
        ('#', RedirectError::Fragment),
    ] {
        if text.contains(refused) {
            return Err(error);
        }
    }
    Ok(())
}

pub(super) fn is_scheme(text: &str) -> bool {
    text.len() <= MAX_NAME_BYTES
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

pub(super) fn is_reverse_domain(scheme: &str) -> bool {
    scheme.contains('.') && scheme.split('.').all(|label| !label.is_empty())
}

/// No segment of the path is `.` or `..`, its dots, slashes and back slashes encoded or not.
pub(super) fn check_segments(rest: &str) -> Result<(), RedirectError> {
    let path = rest.split('?').next().unwrap_or_default();
    let path = path.to_ascii_lowercase().replace("%2e", ".");
    let path = path.replace("%2f", "/").replace("%5c", "/");
    if path.split('/').any(|segment| matches!(segment, "." | "..")) {
        Err(RedirectError::DotSegment)
    } else {
        Ok(())
    }
}

/// What follows the scheme of an app: no user information, and no port, since `example.org:443/back`
/// is a host whose scheme was forgotten.
pub(super) fn check_app_target(rest: &str) -> Result<(), RedirectError> {
    let Some(hierarchical) = rest.strip_prefix("//") else {
        let (start, _) = split_authority(rest);
        return match parse_port(start) {
            Some(_) => Err(RedirectError::NotAbsolute),
            None => Ok(()),
        };
    };
    let (authority, _) = split_authority(hierarchical);
    if authority.contains('@') {
        return Err(RedirectError::UserInformation);
    }
    Ok(())
}

/// Host and port of an https redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Authority {
    /// In lower case, in which no capital I passes for an l.
    host: String,
    port: Option<u16>,
}

impl Authority {
    pub(super) fn of_https(rest: &str) -> Result<Self, RedirectError> {
        let rest = rest.strip_prefix("//").ok_or(RedirectError::NotAbsolute)?;
        let (authority, _) = split_authority(rest);
        if authority.contains('@') {
            return Err(RedirectError::UserInformation);
        }
        let end_of_address = authority.find(']').map_or(0, |at| at + 1);
        let colon = authority[end_of_address..].find(':');
        let (host, port) = match colon.map(|at| authority.split_at(end_of_address + at)) {
            Some((host, port)) => (
                host,
                Some(parse_port(&port[1..]).ok_or(RedirectError::Port)?),
            ),
            None => (authority, None),
        };
        if !is_host(host) {
            return Err(RedirectError::Host);
        }
        Ok(Self {
            host: host.to_ascii_lowercase(),
            port,
        })
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn is_loopback(&self) -> bool {
        let bare = self.host.trim_matches(['[', ']']);
        self.host == "localhost"
            || self.host.ends_with(".localhost")
            || self.host.parse().is_ok_and(|ip: Ipv4Addr| ip.is_loopback())
            || bare.parse().is_ok_and(|ip: Ipv6Addr| ip.is_loopback())
    }

    pub(super) fn form_action(&self, scheme: &str) -> String {
        form_action(scheme, &self.host, self.port)
    }
}

/// A redirect to an app on this computer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loopback {
    host: &'static str,
    port: Option<u16>,
    /// Path and query.
    tail: String,
}

impl Loopback {
    /// Reads what follows `http:`, if it is one of the three hosts literally.
    pub(super) fn of_http(rest: &str) -> Option<Self> {
        let (authority, tail) = split_authority(rest.strip_prefix("//")?);
        let mut hosts = LOOPBACK_HOSTS.into_iter();
        let (host, after) =
            hosts.find_map(|host| authority.strip_prefix(host).map(|after| (host, after)))?;
        let port = match after {
            "" => None,
            _ => Some(parse_port(after.strip_prefix(':')?)?),
        };
        let tail = tail.to_owned();
        Some(Self { host, port, tail })
    }

    pub(super) fn differs_only_in_port(&self, other: &Self) -> bool {
        self.host == other.host && self.tail == other.tail
    }

    pub(super) fn host(&self) -> &'static str {
        self.host
    }

    pub(super) fn form_action(&self) -> String {
        form_action("http", self.host, self.port)
    }
}

/// Parts an authority from path and query.
fn split_authority(text: &str) -> (&str, &str) {
    text.split_at(text.find(['/', '?']).unwrap_or(text.len()))
}

/// 1 to 65535 in plain digits without a leading zero.
fn parse_port(text: &str) -> Option<u16> {
    let plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// A host name, or an address in its usual spelling. Numbers that browsers would read as an address
/// are refused, since nobody sees where they lead; so is the address of no host.
fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[') {
        let address = address.strip_suffix(']').map(str::parse::<Ipv6Addr>);
        return address.is_some_and(|parsed| parsed.is_ok_and(|ip| !ip.is_unspecified()));
    }
    let last = host.rsplit('.').next().unwrap_or_default();
    let numeric = last.bytes().all(|byte| byte.is_ascii_digit())
        || last.starts_with("0x")
        || last.starts_with("0X");
    if numeric {
        return host.parse().is_ok_and(|ip: Ipv4Addr| !ip.is_unspecified());
    }
    host.len() <= MAX_NAME_BYTES && host.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    (1..=MAX_LABEL_BYTES).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn form_action(scheme: &str, host: &str, port: Option<u16>) -> String {
    let unmatched =
        host.starts_with('[') || (host != "127.0.0.1" && host.parse::<Ipv4Addr>().is_ok());
    match port {
        _ if unmatched => format!("{scheme}:"),
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    }
}
