//! Bad documents: the server starts, names them, and reads the rest.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::time::Duration;

use crate::harness::Site;
use crate::harness::client::Keyed;
use crate::harness::process::Server;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_documents_are_named_and_the_rest_is_read() {
    let site = Site::shared_database().await;
    let library = site.library();
    let put = |name: &str, bytes: &[u8]| std::fs::write(library.join(name), bytes).unwrap();
    put(
        "ferries.txt",
        b"The last ferry to Vik leaves at 21:15 on weekdays.\n",
    );
    put("latin.txt", b"Caf\xe9 by the harbour\n");
    put(
        "broken.pdf",
        b"%PDF-1.7\n1 0 obj <</Type /Catalog /Pages 2 0 R>>\nendobj\nxref\n0 9999999999\ntrailer<<",
    );
    put("empty.pdf", b"");
    // Neither a link to nowhere nor a pipe, which nobody would ever write to, holds up a start.
    symlink("/nowhere/at/all.txt", library.join("astray.txt")).unwrap();
    let pipe = Command::new("mkfifo")
        .arg(library.join("pipe.txt"))
        .status()
        .unwrap();
    assert!(pipe.success());
    let missing = site.path().join("no such folder");
    let site = site.set(
        "HELIX_LIBRARY",
        format!("{}:{}", library.display(), missing.display()),
    );
    let server = site.start(0).await;
    let told = std::fs::read_to_string(site.log(0)).unwrap();
    for name in [
        "latin.txt",
        "broken.pdf",
        "empty.pdf",
        "astray.txt",
        "pipe.txt",
        "no such folder",
    ] {
        let named = told
            .lines()
            .any(|line| line.contains("warning") && line.contains(name));
        assert!(named, "{name} is named: {told}");
    }
    assert!(
        !told.contains("warning: research_library: library/ferries.txt"),
        "{told}"
    );
    let ana = site.caller("ana").await;
    let client = server.client(&ana);
    let start = Keyed::start_on_library("ferries-0001", "When does the last ferry to Vik leave?");
    let run = client.send(&start).await.ok(201).run_id();
    let done = client
        .send(&Keyed::continue_run(&run, "ferries-turn", 1))
        .await
        .ok(200);
    assert_eq!(done.body["completion_status"], "completed", "{}", done.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_its_user_may_not_read_is_named() {
    let site = Site::shared_database().await;
    let locked = site.library().join("locked.txt");
    std::fs::write(&locked, "nobody may read this\n").unwrap();
    std::fs::write(site.library().join("open.txt"), "Anybody may read this.\n").unwrap();
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o0)).unwrap();
    // Root reads everything; in this namespace the same user is a plain one.
    let mut command = Command::new("unshare");
    command
        .current_dir(site.path())
        .env_clear()
        .envs(site.variables(0));
    command.args([
        "--user",
        "--map-user=1000",
        "--map-group=1000",
        env!("CARGO_BIN_EXE_helix"),
    ]);
    let server = Server::spawn(command, site.log(0), Duration::from_secs(60)).await;
    let told = std::fs::read_to_string(site.log(0)).unwrap();
    let named = |name: &str| {
        told.lines()
            .any(|line| line.contains("warning") && line.contains(name))
    };
    assert!(named("locked.txt") && !named("open.txt"), "{told}");
    server.stop().await;
}
