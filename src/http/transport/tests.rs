use super::*;

const PUBLIC: &str = "https://helix.example.org/base";

fn rules(mode: Mode, proxies: &str) -> TransportRules {
    let settings = TransportSettings {
        mode,
        public_base: &PUBLIC.parse().unwrap(),
        hosts: "Door.example.org, alt.example.org:8443",
        origins: "https://app.example.org,http://tool.example.org:3000/",
        proxies: TrustedProxies::parse(proxies).unwrap(),
    };
    TransportRules::new(settings).unwrap()
}

fn head<'a>(hosts: &'a [&'a [u8]], origins: &'a [&'a [u8]]) -> RequestHead<'a> {
    RequestHead {
        peer: "198.51.100.7".parse().unwrap(),
        socket: Scheme::Https,
        hosts,
        origins,
        forwarded_for: &[],
        forwarded_proto: &[],
    }
}

fn admit(mode: Mode, host: &str, origin: Option<&str>) -> Result<(), TransportRefusal> {
    let origins: Vec<&[u8]> = origin.iter().map(|origin| origin.as_bytes()).collect();
    rules(mode, "").admit(&head(&[host.as_bytes()], &origins))
}

#[test]
fn configured_and_public_hosts_are_admitted_whole() {
    for host in [
        "helix.example.org",
        "HELIX.example.org",
        "helix.example.org:443",
        "door.example.org",
        "alt.example.org:8443",
    ] {
        assert_eq!(admit(Mode::Production, host, None), Ok(()), "{host}");
    }
    for host in [
        "",
        "evil.example",
        "helix.example.org.evil.example",
        "evil.helix.example.org",
        "helix.example.org.",
        "helix.example.org:8443",
        "helix.example.org:80",
        "helix.example.org:",
        "helix.example.org:443:443",
        "alt.example.org",
        "user@helix.example.org",
        "helix.example.org/x",
        "helix.example.org,evil.example",
        "helix.example.org ",
        "localhost",
        "127.0.0.1:8787",
        "[::1]",
    ] {
        for mode in [Mode::Production, Mode::Development] {
            let loopback = matches!(host, "localhost" | "127.0.0.1:8787" | "[::1]");
            let expected = if loopback && mode == Mode::Development {
                Ok(())
            } else {
                Err(TransportRefusal::HostNotAllowed)
            };
            assert_eq!(admit(mode, host, None), expected, "{host:?} {mode:?}");
        }
    }
}

#[test]
fn a_missing_doubled_or_unreadable_host_is_refused() {
    let rules = rules(Mode::Development, "");
    let refused = Err(TransportRefusal::HostNotAllowed);
    assert_eq!(rules.admit(&head(&[], &[])), refused);
    assert_eq!(
        rules.admit(&head(&[b"helix.example.org", b"helix.example.org"], &[])),
        refused
    );
    assert_eq!(
        rules.admit(&head(&[b"helix.example.org\xff"], &[])),
        refused
    );
}

#[test]
fn loopback_names_with_any_port_are_admitted_outside_production_only() {
    for host in [
        "localhost",
        "LOCALHOST:1",
        "127.0.0.1",
        "127.0.0.1:65535",
        "[::1]",
        "[::1]:8787",
    ] {
        assert_eq!(admit(Mode::Development, host, None), Ok(()), "{host}");
        let origin = format!("http://{host}");
        assert_eq!(
            admit(Mode::Development, host, Some(&origin)),
            Ok(()),
            "{origin}"
        );
        let outcome = admit(Mode::Production, "helix.example.org", Some(&origin));
        assert_eq!(outcome, Err(TransportRefusal::OriginNotAllowed), "{origin}");
    }
    for host in [
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.2",
        "0.0.0.0",
        "::1",
        "[::2]",
        "localhost:65536",
    ] {
        let refused = Err(TransportRefusal::HostNotAllowed);
        assert_eq!(admit(Mode::Development, host, None), refused, "{host}");
    }
}

#[test]
fn configured_and_own_origins_are_admitted_whole() {
    let admit = |origin| admit(Mode::Production, "helix.example.org", Some(origin));
    for origin in [
        "",
        "https://helix.example.org",
        "HTTPS://Helix.example.org:443",
        "https://app.example.org",
        "http://tool.example.org:3000",
    ] {
        assert_eq!(admit(origin), Ok(()), "{origin}");
    }
    for origin in [
        "null",
        "NULL",
        "*",
        "http://helix.example.org",
        "https://helix.example.org:8443",
        "https://helix.example.org.evil.example",
        "https://helix.example.org/base",
        "https://user@helix.example.org",
        "https://evil.example",
        "http://tool.example.org",
        "http://127.0.0.1:5173",
        "file://",
        "chrome-extension://abcdef",
        "helix.example.org",
    ] {
        assert_eq!(
            admit(origin),
            Err(TransportRefusal::OriginNotAllowed),
            "{origin}"
        );
    }
    let two: [&[u8]; 2] = [b"https://app.example.org", b"https://app.example.org"];
    let outcome = rules(Mode::Production, "").admit(&head(&[b"helix.example.org"], &two));
    assert_eq!(outcome, Err(TransportRefusal::OriginNotAllowed));
}

#[test]
fn host_comes_before_origin_before_https() {
    let rules = rules(Mode::Production, "");
    let plain = |hosts, origins| RequestHead {
        socket: Scheme::Http,
        ..head(hosts, origins)
    };
    let outcome = rules.admit(&plain(&[b"evil.example"], &[b"null"]));
    assert_eq!(outcome, Err(TransportRefusal::HostNotAllowed));
    let outcome = rules.admit(&plain(&[b"helix.example.org"], &[b"null"]));
    assert_eq!(outcome, Err(TransportRefusal::OriginNotAllowed));
    let outcome = rules.admit(&plain(&[b"helix.example.org"], &[]));
    assert_eq!(outcome, Err(TransportRefusal::HttpsRequired));
    let outcome = self::rules(Mode::Development, "").admit(&plain(&[b"helix.example.org"], &[]));
    assert_eq!(outcome, Ok(()));
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    let new = |base: &str, hosts, origins| {
        let public_base = &base.parse().unwrap();
        let (mode, proxies) = (Mode::Production, TrustedProxies::None);
        let settings = TransportSettings {
            mode,
            public_base,
            hosts,
            origins,
            proxies,
        };
        TransportRules::new(settings).map(|_| ()).unwrap_err()
    };
    let host = |text: &str| TransportSettingError::Host(text.to_owned());
    let origin = |text: &str| TransportSettingError::Origin(text.to_owned());
    assert_eq!(
        new(PUBLIC, "https://a.example", ""),
        host("https://a.example")
    );
    assert_eq!(new(PUBLIC, "", "null"), origin("null"));
    assert_eq!(
        new(PUBLIC, "", "https://a.example/path"),
        origin("https://a.example/path")
    );
    assert_eq!(new("data:,x", "", ""), TransportSettingError::PublicBase);
}

/// The sender of a request whose forwarding headers are these lines.
fn sender(proxies: &str, peer: &str, forwarded_for: &[&str], proto: &[&str]) -> (String, Scheme) {
    let forwarded_for: Vec<&[u8]> = forwarded_for.iter().map(|line| line.as_bytes()).collect();
    let forwarded_proto: Vec<&[u8]> = proto.iter().map(|line| line.as_bytes()).collect();
    let head = RequestHead {
        peer: peer.parse().unwrap(),
        socket: Scheme::Http,
        hosts: &[],
        origins: &[],
        forwarded_for: &forwarded_for,
        forwarded_proto: &forwarded_proto,
    };
    let sender = rules(Mode::Production, proxies).sender(&head);
    (sender.address.to_string(), sender.scheme)
}

fn is(address: &str, scheme: Scheme) -> (String, Scheme) {
    (address.to_owned(), scheme)
}

#[test]
fn headers_of_an_untrusted_peer_change_nothing() {
    let claimed = ["203.0.113.9"];
    for proxies in ["", "0", "10.0.0.0/8", "loopback"] {
        let found = sender(proxies, "198.51.100.7", &claimed, &["https"]);
        assert_eq!(found, is("198.51.100.7", Scheme::Http), "{proxies}");
    }
}

#[test]
fn a_hop_count_reads_so_many_values_from_the_right() {
    let (peer, lines) = ("10.0.0.1", ["6.6.6.6, 203.0.113.9", "10.0.0.2"]);
    let proto = ["https, http"];
    assert_eq!(
        sender("1", peer, &lines, &proto),
        is("10.0.0.2", Scheme::Http)
    );
    assert_eq!(
        sender("2", peer, &lines, &proto),
        is("203.0.113.9", Scheme::Https)
    );
    assert_eq!(
        sender("9", peer, &lines, &["HTTPS"]),
        is("6.6.6.6", Scheme::Https)
    );
    assert_eq!(sender("1", peer, &[], &[]), is("10.0.0.1", Scheme::Http));
    assert_eq!(
        sender("1", peer, &["6.6.6.6, unknown"], &["httpss"]),
        is(peer, Scheme::Http)
    );
}

#[test]
fn a_topology_reads_until_the_first_address_outside_it() {
    let proxies = "loopback, 10.0.0.0/8, 2001:db8::/32";
    let found = sender(
        proxies,
        "127.0.0.1",
        &["6.6.6.6, 203.0.113.9, 10.0.0.2"],
        &["https"],
    );
    assert_eq!(found, is("203.0.113.9", Scheme::Https));
    let found = sender(
        proxies,
        "::ffff:10.9.9.9",
        &["203.0.113.9:4711"],
        &["https"],
    );
    assert_eq!(found, is("203.0.113.9", Scheme::Https));
    let found = sender(proxies, "2001:db8::1", &["[2a00::1]:443"], &["https"]);
    assert_eq!(found, is("2a00::1", Scheme::Https));
    let found = sender(proxies, "127.0.0.1", &["10.0.0.3, 10.0.0.2"], &["http"]);
    assert_eq!(found, is("10.0.0.3", Scheme::Http));
    let found = sender(
        proxies,
        "127.0.0.1",
        &["6.6.6.6, garbage"],
        &["https, http"],
    );
    assert_eq!(found, is("127.0.0.1", Scheme::Http));
}

#[test]
fn a_network_ends_at_its_prefix() {
    for (network, peer, trusted) in [
        ("10.0.0.0/8", "10.255.0.1", true),
        ("10.0.0.0/8", "10.128.0.1", true),
        ("10.0.0.0/8", "11.0.0.1", false),
        ("10.0.0.0/9", "10.128.0.1", false),
        ("2001:db8::/32", "2001:db8:8000::1", true),
        ("2001:db8::/32", "2001:db9::1", false),
        ("0.0.0.0/0", "2001:db8::1", false),
    ] {
        let expected = if trusted { "203.0.113.9" } else { peer };
        let found = sender(network, peer, &["203.0.113.9"], &[]);
        assert_eq!(found, is(expected, Scheme::Http), "{network} {peer}");
    }
}

#[test]
fn trust_is_a_count_or_a_topology_and_nothing_else() {
    for setting in [
        "true",
        "33",
        "-1",
        "1.5",
        "10.0.0.0/33",
        "::/129",
        "10.0.0.0/x",
        "proxy.example",
    ] {
        let error = TransportSettingError::Proxy(setting.to_owned());
        assert_eq!(TrustedProxies::parse(setting), Err(error), "{setting}");
    }
    assert_eq!(TrustedProxies::parse(" 2 "), Ok(TrustedProxies::Hops(2)));
    assert_eq!(TrustedProxies::parse(""), Ok(TrustedProxies::None));
    assert_eq!(
        sender("0.0.0.0/0", "1.2.3.4", &["5.6.7.8"], &[]),
        is("5.6.7.8", Scheme::Http)
    );
    assert_eq!(
        sender("1.2.3.4", "1.2.3.5", &["5.6.7.8"], &[]),
        is("1.2.3.5", Scheme::Http)
    );
}

#[test]
fn a_trusted_proxy_that_terminated_tls_satisfies_production() {
    let rules = rules(Mode::Production, "1");
    let head = RequestHead {
        socket: Scheme::Http,
        forwarded_proto: &[b"https"],
        ..head(&[b"helix.example.org"], &[])
    };
    assert_eq!(rules.admit(&head), Ok(()));
}
