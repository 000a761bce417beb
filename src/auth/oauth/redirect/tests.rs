use proptest::prelude::*;

use super::RedirectError::{
    BackSlash, Character, DotSegment, Fragment, Host, NotAbsolute, PlainHttp, Port, Scheme,
    TooLong, UserInformation, Wildcard,
};
use super::*;

fn register(text: &str) -> Result<Redirect, RedirectError> {
    Redirect::register(text, &OneWordSchemes::default())
}

fn registered(text: &str) -> Redirect {
    register(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn ordinary_redirects_are_registered_as_they_are() {
    for text in [
        "https://notes.example.org/oauth/back",
        "https://notes.example.org/oauth/back?app=1",
        "https://notes.example.org/oauth/back?next=/a/../b",
        "https://notes.example.org?app=1",
        "https://notes.example.org",
        "https://NOTES.example.org/Back",
        "https://notes.example.org:8443/back",
        "https://xn--ntes-6na.example/back",
        "https://intranet/back",
        "https://192.0.2.7/back",
        "https://[2001:db8::7]:8443/back",
        "https://notes.example.org/a/..b/.c/d./...",
        "https://notes.example.org/mail/@me",
        "https://notes.example.org/%zz%00",
        "http://127.0.0.1:7001/back",
        "http://127.0.0.1",
        "http://127.0.0.1?app=1",
        "http://localhost/back",
        "http://localhost:65535/",
        "http://[::1]:7001/back",
        "http://[::1]",
        "org.example.notes:/back",
        "org.example.notes:",
        "org.example.notes://back?app=1",
        "com.example.MyApp:/back",
        "com.example.app:12345678",
        "cursor://anysphere.cursor-deeplink/mcp/auth",
        "vscode://vscode.github-authentication/did-authenticate",
        "vscode-insiders:/back",
        "windsurf:/back",
        "zed://oauth/callback",
    ] {
        assert_eq!(registered(text).as_str(), text);
    }
}

const REFUSED: &[(&str, RedirectError)] = &[
    ("", NotAbsolute),
    ("/back", NotAbsolute),
    ("//notes.example.org/back", NotAbsolute),
    ("notes.example.org/back", NotAbsolute),
    ("notes.example.org:443/back", NotAbsolute),
    ("notes.example.org:443", NotAbsolute),
    ("notes.example.org:443?x", NotAbsolute),
    ("localhost:7001/back", Scheme),
    ("127.0.0.1:7001/back", NotAbsolute),
    (":/back", NotAbsolute),
    ("1a.b:/back", NotAbsolute),
    ("a_b.c:/back", NotAbsolute),
    ("https:notes.example.org/back", NotAbsolute),
    ("https:/notes.example.org/back", NotAbsolute),
    ("https:", NotAbsolute),
    ("https://", Host),
    ("https:///back", Host),
    ("https://?x=1", Host),
    ("https://notes.example.org/a\nb", Character),
    ("https://notes.example.org/a b", Character),
    ("java\tscript:alert(1)", Character),
    ("https://notes.example.org/\0", Character),
    ("https://notes.example.org/\u{7f}", Character),
    (" https://notes.example.org/back", Character),
    ("https://notes.example.org/back\r\n", Character),
    ("https://nötes.example.org/back", Character),
    ("https://notes.example.org/\u{202e}kcab", Character),
    ("https://notes.example.org\\@evil.example/", BackSlash),
    ("https:\\\\notes.example.org/back", BackSlash),
    ("org.example.notes:\\back", BackSlash),
    ("https://*.example.org/back", Wildcard),
    ("https://notes.example.org/*", Wildcard),
    ("http://127.0.0.1:*/back", Wildcard),
    ("https://notes.example.org/back#part", Fragment),
    ("https://notes.example.org/back#", Fragment),
    ("http://localhost/#", Fragment),
    ("org.example.notes:/back#part", Fragment),
    ("https://me:pw@notes.example.org/back", UserInformation),
    ("https://@notes.example.org/back", UserInformation),
    ("https://notes.example.org@evil.example", UserInformation),
    ("org.example.notes://me@host/back", UserInformation),
    ("https://notes.example.org/./back", DotSegment),
    ("https://notes.example.org/x/../back", DotSegment),
    ("https://notes.example.org/x/..", DotSegment),
    ("https://notes.example.org/x/..?a=1", DotSegment),
    ("https://notes.example.org/%2e%2e/back", DotSegment),
    ("https://notes.example.org/%2E/back", DotSegment),
    ("https://notes.example.org/.%2e/back", DotSegment),
    ("https://notes.example.org/x%2f..%2Fback", DotSegment),
    ("https://notes.example.org/x%5c..%5cback", DotSegment),
    ("http://127.0.0.1:7001/../back", DotSegment),
    ("org.example.notes:/../back", DotSegment),
    ("org.example.notes:..", DotSegment),
    ("https://notes.example.org:/back", Port),
    ("https://notes.example.org:0/back", Port),
    ("https://notes.example.org:0443/back", Port),
    ("https://notes.example.org:65536/back", Port),
    ("https://notes.example.org:+443/back", Port),
    ("https://notes.example.org:443:443/back", Port),
    ("https://2001:db8::7/back", Port),
    ("https://notes..example.org/back", Host),
    ("https://notes.example.org./back", Host),
    ("https://.example.org/back", Host),
    ("https://-notes.example.org/back", Host),
    ("https://notes-.example.org/back", Host),
    ("https://notes%2eexample.org/back", Host),
    ("https://notes,example.org/back", Host),
    ("https://notes.example.org;x/back", Host),
    ("https://2130706433/back", Host),
    ("https://0x7f000001/back", Host),
    ("https://127.1/back", Host),
    ("https://0177.0.0.1/back", Host),
    ("https://256.0.0.1/back", Host),
    ("https://notes.example.0x7f/back", Host),
    ("https://notes.example.0X7F/back", Host),
    ("https://0.0.0.0/back", Host),
    ("https://[::]/back", Host),
    ("https://[::1/back", Port),
    ("https://[::1]x/back", Host),
    ("https://[v1.x]/back", Host),
    ("http://notes.example.org/back", PlainHttp),
    ("http://evil", PlainHttp),
    ("http://127.0.0.1.example.org/back", PlainHttp),
    ("http://localhost.example.org/back", PlainHttp),
    ("http://localhost@evil.example/back", PlainHttp),
    ("http://127.0.0.1:7001@evil.example/back", PlainHttp),
    ("http://0.0.0.0:7001/back", PlainHttp),
    ("http://127.4.5.6/back", PlainHttp),
    ("http://127.1/back", PlainHttp),
    ("http://2130706433/back", PlainHttp),
    ("http://[::]/back", PlainHttp),
    ("http://[0:0:0:0:0:0:0:1]/back", PlainHttp),
    ("http://[::ffff:127.0.0.1]/back", PlainHttp),
    ("http://::1/back", PlainHttp),
    ("http://LOCALHOST/back", PlainHttp),
    ("http://localhost./back", PlainHttp),
    ("http://localhost:/back", PlainHttp),
    ("http://localhost:0/back", PlainHttp),
    ("http://localhost:08/back", PlainHttp),
    ("http://localhost:65536/back", PlainHttp),
    ("http:localhost/back", PlainHttp),
    ("HTTPS://notes.example.org/back", Scheme),
    ("HTTP://127.0.0.1/back", Scheme),
    ("Cursor://back", Scheme),
    ("notesapp://oauth/back", Scheme),
    ("javascript:alert(1)", Scheme),
    ("JaVaScRiPt:alert(1)", Scheme),
    ("data:text/html,hello", Scheme),
    ("vbscript:msgbox", Scheme),
    ("file:///etc/hosts", Scheme),
    ("mailto:a@example.org", Scheme),
    ("blob:https://notes.example.org/1", Scheme),
    ("ftp://notes.example.org/back", Scheme),
    ("urn:ietf:wg:oauth:2.0:oob", Scheme),
    (".:/back", NotAbsolute),
    ("a.:/back", Scheme),
    ("a..b:/back", Scheme),
];

#[test]
fn everything_else_is_refused_by_its_text() {
    for &(text, expected) in REFUSED {
        assert_eq!(register(text).map(|_| ()), Err(expected), "{text:?}");
    }
}

#[test]
fn lengths_are_bounded() {
    let path = |length: usize| format!("https://notes.example.org/{}", "x".repeat(length));
    let most = MAX_BYTES - path(0).len();
    assert!(register(&path(most)).is_ok());
    assert_eq!(register(&path(most + 1)), Err(TooLong));
    let host = |label: usize, labels: usize| {
        let host = vec!["x".repeat(label); labels].join(".");
        register(&format!("https://{host}/")).map(|_| ())
    };
    assert_eq!(host(63, 2), Ok(()));
    assert_eq!(host(64, 2), Err(Host));
    assert_eq!(host(49, 5), Ok(()));
    assert_eq!(host(63, 4), Err(Host));
    let scheme = |length: usize| register(&format!("a.{}:/", "b".repeat(length - 2))).map(|_| ());
    assert_eq!(scheme(253), Ok(()));
    assert_eq!(scheme(254), Err(NotAbsolute));
}

#[test]
fn a_presented_redirect_is_the_registered_text_except_for_a_loopback_port() {
    let back = "https://notes.example.org/oauth/back";
    let ipv4 = "http://127.0.0.1:7001/back";
    let ipv6 = "http://[::1]:7001/back";
    for (known, presented) in [
        (back, back),
        (ipv4, ipv4),
        (ipv4, "http://127.0.0.1:51999/back"),
        (ipv4, "http://127.0.0.1/back"),
        ("http://localhost/back", "http://localhost:51999/back"),
        (ipv6, "http://[::1]:51999/back"),
        ("http://127.0.0.1?x=1", "http://127.0.0.1:51999?x=1"),
        ("http://127.0.0.1", "http://127.0.0.1:51999"),
        ("org.example.notes:/back", "org.example.notes:/back"),
        ("cursor://back", "cursor://back"),
    ] {
        let found = registered(known).presented(presented).unwrap();
        assert_eq!(found.as_str(), presented);
        assert_eq!(found, registered(presented));
        assert!(registered(known).matches(presented));
    }
}

#[test]
fn any_other_presented_text_is_denied() {
    let back = "https://notes.example.org/oauth/back";
    let loopback = "http://127.0.0.1:7001/back";
    for (known, presented) in [
        (back, ""),
        (back, "https://notes.example.org/oauth/back/"),
        (back, "https://notes.example.org/oauth/Back"),
        (back, "https://NOTES.example.org/oauth/back"),
        (back, "https://notes.example.org:443/oauth/back"),
        (back, "https://notes.example.org/oauth/x/../back"),
        (back, "https://notes.example.org/oauth/x/%2e%2e/back"),
        (back, "https://notes.example.org/oauth/%62ack"),
        (back, "https://notes.example.org/oauth/back?x=1"),
        (back, "https://notes.example.org/oauth/back?"),
        (back, "https://notes.example.org/oauth/back#x"),
        (back, "http://notes.example.org/oauth/back"),
        (back, "https://notes.example.org.evil.example/oauth/back"),
        (
            back,
            "https://evil.example/?u=https://notes.example.org/oauth/back",
        ),
        (
            "https://127.0.0.1:7001/back",
            "https://127.0.0.1:51999/back",
        ),
        ("https://localhost/back", "https://localhost:51999/back"),
        (loopback, "http://localhost:7001/back"),
        (loopback, "http://[::1]:7001/back"),
        (loopback, "https://127.0.0.1:7001/back"),
        (loopback, "HTTP://127.0.0.1:7001/back"),
        (loopback, "http://127.0.0.1:51999/back/"),
        (loopback, "http://127.0.0.1:51999/back?x=1"),
        (loopback, "http://127.0.0.1:51999/back#x"),
        (loopback, "http://127.0.0.1:51999"),
        (loopback, "http://127.0.0.1:51999/x/../back"),
        (loopback, "http://127.0.0.1:51999@evil.example/back"),
        (loopback, "http://127.0.0.1:@evil.example/back"),
        (loopback, "http://me@127.0.0.1:51999/back"),
        (loopback, "http://127.0.0.1.evil.example:51999/back"),
        (loopback, "http://127.0.0.1\\.evil.example/back"),
        (loopback, "http://2130706433:51999/back"),
        (loopback, "http://127.0.0.2:7001/back"),
        (loopback, "http://127.0.0.1:0/back"),
        (loopback, "http://127.0.0.1:/back"),
        (loopback, "http://127.0.0.1:99999/back"),
        (loopback, "http://127.0.0.1: 7001/back"),
        (loopback, "http:127.0.0.1:7001/back"),
        ("org.example.notes:/back", "org.example.notes://back"),
        ("org.example.notes:/back", "ORG.example.notes:/back"),
    ] {
        assert_eq!(registered(known).presented(presented), None, "{presented}");
        assert!(!registered(known).matches(presented), "{presented}");
    }
}

#[test]
fn the_page_shows_where_the_answer_goes() {
    for (text, shown, host) in [
        (
            "https://NOTES.Example.org:8443/b",
            "notes.example.org",
            "notes.example.org",
        ),
        ("https://192.0.2.7/b", "192.0.2.7", "192.0.2.7"),
        ("https://[2001:DB8::7]/b", "[2001:db8::7]", "[2001:db8::7]"),
        (
            "http://127.0.0.1:7001/b",
            "an app on this computer",
            "127.0.0.1",
        ),
        ("http://localhost/b", "an app on this computer", "localhost"),
        ("http://[::1]/b", "an app on this computer", "[::1]"),
        (
            "https://localhost/b",
            "an app on this computer",
            "localhost",
        ),
        (
            "https://app.localhost/b",
            "an app on this computer",
            "app.localhost",
        ),
        (
            "https://127.4.5.6/b",
            "an app on this computer",
            "127.4.5.6",
        ),
        ("https://[::1]:7001/b", "an app on this computer", "[::1]"),
        ("com.example.app:/b", "com.example.app:", "com.example.app"),
        ("cursor://b", "cursor:", "cursor"),
    ] {
        let redirect = registered(text);
        assert_eq!(redirect.shown().to_string(), shown, "{text}");
        assert_eq!(redirect.host(), host, "{text}");
    }
}

#[test]
fn form_action_names_the_origin_that_is_answered() {
    for (text, origin) in [
        (
            "https://Notes.example.org/b?x=1",
            "https://notes.example.org",
        ),
        (
            "https://notes.example.org:8443/b",
            "https://notes.example.org:8443",
        ),
        ("https://192.0.2.7/b", "https:"),
        ("https://[2001:db8::7]/b", "https:"),
        ("http://127.0.0.1:7001/b", "http://127.0.0.1:7001"),
        ("http://localhost/b", "http://localhost"),
        ("http://[::1]:7001/b", "http:"),
        ("com.example.app://b", "com.example.app:"),
        ("vscode-insiders:/b", "vscode-insiders:"),
    ] {
        assert_eq!(registered(text).form_action_origin(), origin, "{text}");
    }
    let presented = registered("http://127.0.0.1:7001/b").presented("http://127.0.0.1:51999/b");
    let origin = presented.unwrap().form_action_origin();
    assert_eq!(origin, "http://127.0.0.1:51999");
}

#[test]
fn an_operator_chooses_the_one_word_schemes_but_not_dangerous_ones() {
    let parsed = OneWordSchemes::parse(" notesapp,\tzed ").unwrap();
    assert!(Redirect::register("notesapp://b", &parsed).is_ok());
    assert!(Redirect::register("zed://b", &parsed).is_ok());
    assert_eq!(Redirect::register("cursor://b", &parsed), Err(Scheme));
    let none = OneWordSchemes::parse("").unwrap();
    assert_eq!(Redirect::register("zed://b", &none), Err(Scheme));
    for word in [
        "javascript",
        "data",
        "vbscript",
        "file",
        "mailto",
        "blob",
        "http",
        "https",
    ] {
        let fault = OneWordSchemes::parse(&format!("zed {word}"));
        assert_eq!(fault, Err(SchemeFault::Never(word.to_owned())));
    }
    for word in [
        "Zed",
        "JavaScript",
        "com.example",
        "zed:",
        "1a",
        "-",
        "zed://",
    ] {
        let fault = OneWordSchemes::parse(word);
        assert_eq!(fault, Err(SchemeFault::Malformed(word.to_owned())));
    }
    let spelled = "cursor vscode vscode-insiders windsurf zed";
    assert_eq!(
        OneWordSchemes::parse(spelled),
        Ok(OneWordSchemes::default())
    );
}

/// Texts near the admitted ones.
fn near() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(vec![
        "https://",
        "http://",
        "http:",
        "org.example:",
        "cursor:",
        "javascript:",
        "localhost",
        "127.0.0.1",
        "[::1]",
        "0.0.0.0",
        "notes.example.org",
        "evil.example",
        ":7001",
        ":",
        "@",
        "/",
        "//",
        "..",
        "%2e",
        "?",
        "&",
        "=",
        "#",
        "\\",
        "*",
        " ",
        "\t",
        "\0",
        "é",
        "back",
        "1",
    ]);
    proptest::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn what_is_registered_is_plain_and_of_an_admitted_scheme(text in near()) {
        let Ok(redirect) = register(&text) else { return Ok(()) };
        prop_assert_eq!(redirect.as_str(), &text);
        prop_assert!(redirect.matches(&text));
        prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic()));
        prop_assert!(!text.contains(['\\', '*', '#']));
        let (scheme, rest) = text.split_once(':').unwrap();
        let authority = rest.strip_prefix("//").map(|rest| rest.split(['/', '?']).next().unwrap());
        prop_assert!(!authority.unwrap_or_default().contains('@'));
        match scheme {
            "https" => prop_assert!(authority.is_some_and(|text| !text.is_empty())),
            "http" => {
                let authority = authority.unwrap();
                let host = authority.strip_suffix(":7001").unwrap_or(authority);
                prop_assert!(["127.0.0.1", "[::1]", "localhost"].contains(&host));
            }
            _ => prop_assert!(scheme.contains('.') || scheme == "cursor"),
        }
        let origin = redirect.form_action_origin();
        prop_assert!(!origin.contains([' ', ';', ',', '\'']));
    }

    #[test]
    fn what_matches_could_be_registered_and_is_shown_the_same(known in near(), other in near()) {
        let Ok(redirect) = register(&known) else { return Ok(()) };
        if let Some(found) = redirect.presented(&other) {
            prop_assert_eq!(register(&other), Ok(found.clone()));
            prop_assert_eq!(found.shown(), redirect.shown());
            prop_assert!(known == other || known.starts_with("http://"));
        }
    }

    #[test]
    fn a_loopback_redirect_matches_every_port(port in 1_u16.., known in 1_u16..) {
        for host in ["127.0.0.1", "[::1]", "localhost"] {
            let redirect = registered(&format!("http://{host}:{known}/back?x=1"));
            prop_assert!(redirect.matches(&format!("http://{host}:{port}/back?x=1")), "{}", host);
        }
    }

    #[test]
    fn any_text_is_judged(text in any::<String>()) {
        if let Ok(redirect) = register(&text) {
            prop_assert_eq!(redirect.as_str(), text);
        }
    }
}
