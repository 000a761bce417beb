use serde_json::json;

use crate::Shell;
use crate::fake::{Fake, Reply};

#[test]
fn a_closed_port_is_unavailable() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let shell = Shell::new();
    let ended = shell
        .helix(&["health", "--url", &format!("http://{port}")])
        .expect(4);
    assert!(
        ended.err.starts_with("error[unreachable]: "),
        "{}",
        ended.err
    );
    let listen = port.to_string();
    let ended = shell
        .helix(&["health", "--listen", &listen, "--json"])
        .expect(4);
    assert_eq!(ended.object()["error"]["code"], "unreachable");
}

#[test]
fn ready_and_migrating_are_told_apart() {
    let ready = Fake::start(|request| match request.path() {
        "/healthz" | "/readyz" => Reply::json(200, &json!({ "status": "ready" })),
        _ => Reply::json(404, &json!({})),
    });
    let object = Shell::new()
        .variable("HELIX_TOKEN", "t")
        .helix(&["health", "--url", &ready.url, "--json"])
        .expect(0)
        .object();
    assert_eq!(
        (&object["alive"], &object["ready"]),
        (&json!(true), &json!(true))
    );
    let sent = ready.requests();
    assert!(
        sent.iter()
            .all(|request| request.header("authorization").is_none()),
        "public routes"
    );
    let migrating = Fake::start(|request| match request.path() {
        "/healthz" => Reply::json(200, &json!({})),
        _ => Reply::json(503, &json!({ "status": "migrating" })),
    });
    let ended = Shell::new()
        .helix(&["health", "--url", &migrating.url])
        .expect(1);
    assert!(ended.out.ends_with("migrating\n"), "{}", ended.out);
}
