//! Trusted proxies: how many machines in front of this one speak the truth about the client.
//!
//! Each proxy appends what it saw to the right of the forwarding headers, so the list is read from
//! the right and only as far as trust reaches; whatever stands left of that is the client's claim.

use std::net::{IpAddr, SocketAddr};

use super::{RequestHead, Scheme, Sender, TransportSettingError, entries};

/// Farthest hop that is looked at, so that a long header costs little.
const MAX_HOPS: usize = 32;

const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1/128"];
const LINK_LOCAL: [&str; 2] = ["169.254.0.0/16", "fe80::/10"];
const UNIQUE_LOCAL: [&str; 4] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];

/// The setting `TRUST_PROXY` (agent-api 12).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TrustedProxies {
    #[default]
    None,
    /// Exactly so many proxies, whatever their addresses.
    Hops(usize),
    /// Proxies in these networks.
    Networks(Vec<Network>),
}

/// An address range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u32,
}

impl TrustedProxies {
    /// Reads a hop count of at most 32, or a comma-separated list of addresses, networks
    /// (`10.0.0.0/8`) and the names `loopback`, `linklocal` and `uniquelocal`.
    pub fn parse(setting: &str) -> Result<Self, TransportSettingError> {
        let setting = setting.trim();
        if setting.is_empty() {
            return Ok(Self::None);
        }
        if setting.bytes().all(|byte| byte.is_ascii_digit()) {
            return match setting.parse() {
                Ok(0) => Ok(Self::None),
                Ok(hops) if hops <= MAX_HOPS => Ok(Self::Hops(hops)),
                _ => Err(TransportSettingError::Proxy(setting.to_owned())),
            };
        }
        let mut networks = Vec::new();
        for entry in entries(setting) {
            let texts: &[&str] = match entry {
                "loopback" => &LOOPBACK,
                "linklocal" => &LINK_LOCAL,
                "uniquelocal" => &UNIQUE_LOCAL,
                other => &[other],
            };
            for text in texts {
                let network = Network::parse(text);
                networks.push(network.ok_or(TransportSettingError::Proxy(entry.to_owned()))?);
            }
        }
        Ok(Self::Networks(networks))
    }

    pub(super) fn sender(&self, head: &RequestHead<'_>) -> Sender {
        let peer = head.peer.to_canonical();
        let hops = self.hops(peer, head.forwarded_for);
        if hops == 0 {
            return Sender {
                address: peer,
                scheme: head.socket,
            };
        }
        // A hop that says nothing readable leaves its own neighbour as the client.
        let address = from_right(head.forwarded_for, hops)
            .and_then(address)
            .unwrap_or(peer);
        let said = from_right(head.forwarded_proto, hops);
        let scheme = match said {
            Some(said) if said.eq_ignore_ascii_case("https") => Scheme::Https,
            _ => head.socket,
        };
        Sender { address, scheme }
    }

    /// How many machines, the peer first, are trusted proxies.
    fn hops(&self, peer: IpAddr, forwarded_for: &[&[u8]]) -> usize {
        match self {
            Self::None => 0,
            Self::Hops(hops) => *hops,
            Self::Networks(networks) => {
                let trusted = |address: IpAddr| networks.iter().any(|net| net.contains(address));
                if !trusted(peer) {
                    return 0;
                }
                let further = values(forwarded_for).take(MAX_HOPS);
                1 + further
                    .take_while(|entry| address(entry).is_some_and(trusted))
                    .count()
            }
        }
    }
}

/// The comma-separated values of all header lines, the last first.
fn values<'a>(lines: &'a [&'a [u8]]) -> impl Iterator<Item = &'a str> {
    lines
        .iter()
        .rev()
        .flat_map(|line| line.rsplit(|byte| *byte == b','))
        .map(|value| std::str::from_utf8(value).unwrap_or("").trim())
}

/// The value that hop number `hops` from the right added, or the leftmost if there are fewer.
fn from_right<'a>(lines: &'a [&'a [u8]], hops: usize) -> Option<&'a str> {
    values(lines).take(hops).last()
}

/// An address, with or without a port.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(text);
    let address = bare.parse::<IpAddr>().ok();
    let address = address.or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip()));
    address.map(|address| address.to_canonical())
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => longest,
            Some(digits) => digits.parse().ok().filter(|prefix| *prefix <= longest)?,
        };
        Some(Self { address, prefix })
    }

    fn contains(self, other: IpAddr) -> bool {
        let differing = match (self.address, other) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (own.to_bits() ^ other.to_bits()).leading_zeros()
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                (own.to_bits() ^ other.to_bits()).leading_zeros()
            }
            _ => return false,
        };
        differing >= self.prefix
    }
}
