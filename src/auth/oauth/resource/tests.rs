use proptest::prelude::*;

use super::*;

const BASE: &str = "https://helix.example.org";

fn resources() -> Resources {
    Resources {
        issuer: BASE.to_owned(),
        agent_audience: Some(format!("{BASE}/mcp")),
        vault: Some(format!("{BASE}/vault/mcp")),
        workspace: Some(format!("{BASE}/workspace/mcp")),
    }
}

fn door_of(text: &str) -> Result<Meaning, TargetError> {
    resources().door_of(text)
}

fn named(texts: &[&str]) -> Result<Option<Door>, TargetError> {
    let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
    resources().named(&texts)
}

/// Every path that means a door.
const PATHS: [(&str, Door); 11] = [
    ("/mcp", Door::Agent),
    ("/mcp/device-check", Door::Agent),
    ("/api/v1/agent-runs", Door::Agent),
    ("/api/v1/rooms", Door::Agent),
    ("/vault/mcp", Door::Vault),
    ("/api/context", Door::Vault),
    ("/api/propose", Door::Vault),
    ("/api/subjects", Door::Vault),
    ("/api/generate", Door::Vault),
    ("/workspace/mcp", Door::Workspace),
    ("/api/v1/workspaces", Door::Workspace),
];

#[test]
fn each_path_means_its_door_whatever_the_case_of_the_host_or_the_default_port() {
    for (path, door) in PATHS {
        for origin in [
            "https://helix.example.org",
            "HTTPS://Helix.Example.ORG",
            "https://helix.example.org:443",
        ] {
            for slash in ["", "/"] {
                let text = format!("{origin}{path}{slash}");
                assert_eq!(door_of(&text), Ok(Meaning::Door(door)), "{text}");
            }
        }
    }
}

#[test]
fn the_bare_origin_names_no_door() {
    for text in [
        "https://helix.example.org",
        "https://helix.example.org/",
        "https://helix.example.org:443",
    ] {
        assert_eq!(door_of(text), Ok(Meaning::Origin), "{text}");
    }
}

#[test]
fn anything_else_is_refused() {
    for text in [
        "",
        "/mcp",
        "mcp",
        "//helix.example.org/mcp",
        "helix.example.org/mcp",
        "http://helix.example.org/mcp",
        "ftp://helix.example.org/mcp",
        "https://other.example.org/mcp",
        "https://helix.example.org.other.example.org/mcp",
        "https://me@helix.example.org/mcp",
        "https://helix.example.org@other.example.org/mcp",
        "https://helix.example.org:444/mcp",
        "https://helix.example.org:80/mcp",
        "https://helix.example.org:/mcp",
        "https://helix.example.org:0443/mcp",
        "https://helix.example.org:443:443/mcp",
        "https://helix.example.org/MCP",
        "https://helix.example.org/mcp//",
        "https://helix.example.org//mcp",
        "https://helix.example.org//",
        "https://helix.example.org/./mcp",
        "https://helix.example.org/x/../mcp",
        "https://helix.example.org/%6dcp",
        "https://helix.example.org/mcp?",
        "https://helix.example.org/mcp?x=1",
        "https://helix.example.org?x=1",
        "https://helix.example.org/mcp#",
        "https://helix.example.org/mcp#part",
        "https://helix.example.org/?",
        "https://helix.example.org/mcp/other",
        "https://helix.example.org/vault",
        "https://helix.example.org/api/context/x",
        "https://helix.example.org\\mcp",
        " https://helix.example.org/mcp",
        "https://helix.example.org/mcp ",
    ] {
        assert_eq!(door_of(text), Err(TargetError::Unknown), "{text}");
    }
}

#[test]
fn several_resources_may_name_one_door_but_not_two() {
    let mcp = "https://helix.example.org/mcp";
    let rooms = "https://helix.example.org/api/v1/rooms/";
    let vault = "https://helix.example.org/vault/mcp";
    assert_eq!(named(&[]), Ok(None));
    assert_eq!(named(&[BASE]), Ok(None));
    assert_eq!(named(&[mcp, rooms]), Ok(Some(Door::Agent)));
    assert_eq!(named(&[BASE, vault, BASE]), Ok(Some(Door::Vault)));
    assert_eq!(named(&[mcp, vault]), Err(TargetError::TwoDoors));
    assert_eq!(named(&[mcp, BASE, vault]), Err(TargetError::TwoDoors));
    assert_eq!(named(&[mcp, "/mcp"]), Err(TargetError::Unknown));
}

#[test]
fn a_resource_sent_with_a_code_names_the_door_of_the_grant_or_none() {
    let agree = |texts: &[&str], door| {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        resources().agree(&texts, door)
    };
    let context = "https://helix.example.org/api/context";
    assert_eq!(agree(&[], Door::Workspace), Ok(()));
    assert_eq!(agree(&[BASE], Door::Workspace), Ok(()));
    assert_eq!(agree(&[context], Door::Vault), Ok(()));
    for door in [Door::Agent, Door::Workspace] {
        assert_eq!(agree(&[context], door), Err(TargetError::OtherDoor));
    }
    assert_eq!(
        agree(&["https://other.example.org/mcp"], Door::Agent),
        Err(TargetError::Unknown)
    );
}

#[test]
fn a_door_the_issuer_does_not_open_has_no_resource() {
    let vault_url = "http://127.0.0.1:8790";
    let listener = Resources {
        issuer: vault_url.to_owned(),
        agent_audience: None,
        vault: Some(format!("{vault_url}/mcp")),
        workspace: None,
    };
    for path in ["/mcp", "/mcp/", "/api/context"] {
        let found = listener.door_of(&format!("{vault_url}{path}"));
        assert_eq!(found, Ok(Meaning::Door(Door::Vault)), "{path}");
    }
    for path in [
        "/vault/mcp",
        "/mcp/device-check",
        "/api/v1/agent-runs",
        "/api/v1/workspaces",
    ] {
        let found = listener.door_of(&format!("{vault_url}{path}"));
        assert_eq!(found, Err(TargetError::Unknown), "{path}");
    }
    assert_eq!(listener.canonical(Door::Agent), None);
}

#[test]
fn the_default_port_is_that_of_the_scheme() {
    let plain = Resources {
        issuer: "http://helix.internal".to_owned(),
        agent_audience: Some("http://helix.internal:80/mcp".to_owned()),
        vault: None,
        workspace: None,
    };
    for text in ["http://helix.internal/mcp", "http://helix.internal:80/mcp"] {
        assert_eq!(plain.door_of(text), Ok(Meaning::Door(Door::Agent)));
    }
    for text in [
        "http://helix.internal:443/mcp",
        "https://helix.internal/mcp",
    ] {
        assert_eq!(plain.door_of(text), Err(TargetError::Unknown), "{text}");
    }
}

#[test]
fn a_configured_audience_replaces_the_mcp_address() {
    let of = |audience: &str| Resources {
        agent_audience: Some(audience.to_owned()),
        ..resources()
    };
    let elsewhere = of("https://agents.example.org/helix/");
    for text in [
        "https://agents.example.org/helix",
        "https://agents.example.org/helix/",
        "https://helix.example.org/api/v1/rooms",
    ] {
        assert_eq!(elsewhere.door_of(text), Ok(Meaning::Door(Door::Agent)));
    }
    let replaced = elsewhere.door_of("https://helix.example.org/mcp");
    assert_eq!(replaced, Err(TargetError::Unknown));
    assert_eq!(of(BASE).door_of(BASE), Ok(Meaning::Door(Door::Agent)));
}

proptest! {
    #[test]
    fn no_other_text_under_the_origin_means_a_door(tail in "[ -~]{0,24}") {
        let path = tail.strip_suffix('/').unwrap_or(&tail);
        let expected = PATHS.iter().find(|(known, _)| *known == path).map(|&(_, door)| door);
        let found = door_of(&format!("{BASE}{tail}")).ok();
        match expected {
            Some(door) => prop_assert_eq!(found, Some(Meaning::Door(door))),
            None => prop_assert!(!matches!(found, Some(Meaning::Door(_)))),
        }
    }

    #[test]
    fn any_text_is_judged(text in any::<String>()) {
        prop_assert_eq!(door_of(&text), Err(TargetError::Unknown));
    }
}
