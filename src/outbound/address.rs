//! Which addresses are public: a list of what is reachable for everyone, not of what is known bad.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether `address` lies in space that is routed on the public internet.
///
/// Private, shared, loopback, link-local, multicast, reserved and documentation space is not, and
/// neither is any IPv6 form that carries an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo),
/// whose real destination is decided elsewhere.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = matches!(
        (a, b, c),
        (0 | 10 | 127 | 224.., _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 168, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let global_unicast = a & 0xE000 == 0x2000;
    let special = matches!(
        (a, b),
        // 2001:0000::/23 holds Teredo and protocol assignments.
        (0x2001, 0..=0x01FF | 0x0DB8) | (0x2002, _) | (0x3FFF, 0..=0x0FFF)
    );
    global_unicast && !special
}
