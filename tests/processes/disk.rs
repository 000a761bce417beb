//! A full disk is an error, not damage.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::harness::client::{Answer, Client, Keyed};
use crate::harness::process::Server;
use crate::harness::{Site, until};

const LIMIT: Duration = Duration::from_secs(90);

/// The server of a site whose data directory is a small file system, in a mount namespace of its
/// own: neither root nor a device is needed.
async fn on_a_small_disk(site: &Site) -> Server {
    let data = site.data_dir(0);
    std::fs::create_dir(&data).unwrap();
    let mut command = Command::new("unshare");
    command
        .current_dir(site.path())
        .env_clear()
        .envs(site.variables(0));
    let script =
        r#"mount -t tmpfs -o size=160m,mode=0700 tmpfs "$HELIX_DATA_DIR" && exec "$0" "$@""#;
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
    command.arg(env!("CARGO_BIN_EXE_helix"));
    Server::spawn(command, site.log(0), Duration::from_secs(60)).await
}

/// Sends long texts until `refusals` of them were refused; the acknowledged ones. What is small
/// may still find room in pages that have some.
async fn until_refused(client: &Client, refusals: usize) -> Vec<(Keyed, Answer)> {
    let mut acknowledged = Vec::new();
    let mut refused = 0;
    let padding = "ferry ".repeat(3_000);
    for number in 0.. {
        let request = Keyed::start(&format!("in-the-flood-{number:04}"), &padding);
        let answer = client.send(&request).await;
        if answer.is_ok() {
            acknowledged.push((request, answer));
            continue;
        }
        typed(&answer);
        client.get("/healthz").await.ok(200);
        refused += 1;
        if refused == refusals {
            break;
        }
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_in_a_typed_way_and_loses_nothing() {
    let site = Site::embedded();
    let mut server = on_a_small_disk(&site).await;
    let ana = caller(&site, &server).await;
    let client = server.client(&ana);
    let before = client
        .send(&Keyed::start("before-the-flood", "List the ferries"))
        .await
        .ok(201);
    // Seen from outside, the server's disk is below its root.
    let pid = server.pid().as_raw_nonzero();
    let disk = PathBuf::from(format!("/proc/{pid}/root{}", site.data_dir(0).display()));
    let flood = disk.join("flood");
    fill(&flood);
    let acknowledged = until_refused(&client, 40).await;
    assert!(server.is_running());
    std::fs::remove_file(&flood).unwrap();
    until("starts succeed again", LIMIT, async || {
        let answer = client
            .send(&Keyed::start("after-the-flood", "List the ferries"))
            .await;
        answer.is_ok().then_some(())
    })
    .await;
    assert_eq!(client.inspect(&before.run_id()).await.body, before.body);
    for (request, answer) in acknowledged {
        assert_eq!(client.send(&request).await.ok(201).text, answer.text);
    }
    server.stop().await;
}

#[track_caller]
fn typed(answer: &Answer) {
    assert_eq!(
        (answer.status, answer.code()),
        (503, "internal_error"),
        "{}",
        answer.text
    );
    assert!(!answer.header("retry-after").is_empty());
}

/// Takes all room there is.
fn fill(path: &std::path::Path) {
    use std::io::Write;
    let mut file = std::fs::File::create(path).unwrap();
    let block = vec![0_u8; 1 << 16];
    while file.write_all(&block).is_ok() {}
    while file.write_all(&block[..512]).is_ok() {}
}

/// An operator's commands need to see the server's disk, so they run in its namespaces.
async fn caller(site: &Site, server: &Server) -> crate::harness::Caller {
    site.caller_within("ana", server).await
}
