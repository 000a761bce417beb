use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::Mutex as StdMutex;

use super::*;

fn silent(_: LoadStep) {}

fn library(root: &std::path::Path) -> CorporaConfig {
    CorporaConfig {
        libraries: vec![root.to_owned()],
        repository: None,
        ..Default::default()
    }
}

fn faults(corpora: &Corpora) -> Vec<(String, CorpusFault)> {
    corpora
        .warnings()
        .into_iter()
        .map(|warning| (warning.locator, warning.fault))
        .collect()
}

fn locators(corpora: &Corpora, scope: &str) -> Vec<String> {
    let corpus = corpora.snapshot().corpus(scope).unwrap();
    corpus
        .documents()
        .iter()
        .map(|document| document.locator.clone())
        .collect()
}

#[test]
fn bad_files_are_named_and_the_rest_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("good.txt", b"The ferry leaves at noon.");
    write("latin.txt", b"Caf\xe9 at the quay.");
    write("broken.pdf", b"%PDF-1.4\nnot really");
    write("fake.pdf", b"MZ");
    write(
        "empty.html",
        b"<html><body><script>1</script></body></html>",
    );
    write("binary.html", b"<html>\0\0\0</html>");
    write("big.txt", &vec![b'a'; (4 << 20) + 1]);
    write("ignored.xlsx", b"PK");
    std::fs::write(outside.path().join("secret.txt"), b"secret").unwrap();
    symlink(
        outside.path().join("secret.txt"),
        folder.path().join("link.txt"),
    )
    .unwrap();
    symlink(outside.path(), folder.path().join("folder")).unwrap();
    let corpora = Corpora::open(library(folder.path()), &silent);
    assert_eq!(locators(&corpora, LIBRARY_SCOPE), ["good.txt"]);
    let mut found = faults(&corpora);
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [
        ("big.txt", CorpusFault::TooLarge { limit: 4 << 20 }),
        ("binary.html", CorpusFault::Corrupt { format: "HTML" }),
        ("broken.pdf", CorpusFault::Corrupt { format: "PDF" }),
        ("empty.html", CorpusFault::NoText { format: "HTML" }),
        ("fake.pdf", CorpusFault::Corrupt { format: "PDF" }),
        ("folder", CorpusFault::Link),
        ("latin.txt", CorpusFault::NotUtf8),
        ("link.txt", CorpusFault::Link),
    ];
    assert_eq!(
        found,
        expected.map(|(locator, fault)| (locator.to_owned(), fault))
    );
    assert!(
        corpora.warnings()[0]
            .to_string()
            .starts_with("research_library: ")
    );
}

#[test]
fn missing_and_wrong_folders_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file.txt");
    std::fs::write(&file, b"text").unwrap();
    let config = CorporaConfig {
        libraries: vec![folder.path().join("none"), file],
        repository: Some(folder.path().to_owned()),
        ..Default::default()
    };
    let corpora = Corpora::open(config, &silent);
    let found: Vec<CorpusFault> = faults(&corpora)
        .into_iter()
        .map(|(_, fault)| fault)
        .collect();
    assert_eq!(
        found,
        [
            CorpusFault::MissingFolder,
            CorpusFault::NotAFolder,
            CorpusFault::NotARepository
        ]
    );
    assert!(
        corpora
            .summary()
            .iter()
            .all(|summary| summary.documents == 0)
    );
}

#[test]
fn files_of_several_folders_keep_apart() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (folder, text) in [(&one, "one"), (&two, "two")] {
        std::fs::write(folder.path().join("same.txt"), text).unwrap();
    }
    let config = CorporaConfig {
        libraries: vec![one.path().to_owned(), two.path().to_owned()],
        repository: None,
        ..Default::default()
    };
    let corpora = Corpora::open(config, &silent);
    let names = locators(&corpora, LIBRARY_SCOPE);
    assert_eq!(names.len(), 2);
    assert_ne!(names[0], names[1]);
}

#[test]
fn a_refresh_replaces_the_snapshot_and_leaves_the_held_one_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    std::fs::write(&path, b"The ferry leaves at noon.").unwrap();
    std::fs::write(folder.path().join("b.txt"), b"The gate is blue.").unwrap();
    let corpora = Corpora::open(library(folder.path()), &silent);
    let held = corpora.snapshot();
    std::fs::write(&path, b"The ferry leaves in the evening.").unwrap();
    std::fs::write(folder.path().join("c.txt"), b"A third.").unwrap();
    corpora.refresh(&silent);
    let text = |snapshot: &Snapshot, ordinal: usize| {
        snapshot.corpus(LIBRARY_SCOPE).unwrap().documents()[ordinal]
            .text
            .clone()
    };
    assert_eq!(text(&held, 0), "The ferry leaves at noon.");
    assert_eq!(
        text(&corpora.snapshot(), 0),
        "The ferry leaves in the evening."
    );
    let (before, after) = (
        held.corpus(LIBRARY_SCOPE).unwrap(),
        corpora.snapshot().corpus(LIBRARY_SCOPE).unwrap(),
    );
    // What has not changed was not read again.
    assert!(Arc::ptr_eq(&before.documents()[1], &after.documents()[1]));
    assert_eq!(corpora.summary()[0].documents, 3);
    corpora.refresh(&silent);
    let again = corpora.snapshot().corpus(LIBRARY_SCOPE).unwrap();
    assert!(std::ptr::eq(again.index(), after.index()));
}

#[test]
fn a_change_that_size_and_time_do_not_show_is_found_when_stamps_are_distrusted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    std::fs::write(&path, b"noon").unwrap();
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    let corpora = Corpora::open(library(folder.path()), &silent);
    std::fs::write(&path, b"dusk").unwrap();
    std::fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(modified)
        .unwrap();
    let text = || {
        corpora
            .snapshot()
            .corpus(LIBRARY_SCOPE)
            .unwrap()
            .documents()[0]
            .text
            .clone()
    };
    corpora.refresh(&silent);
    assert_eq!(text(), "noon");
    corpora.distrust_stamps();
    corpora.refresh(&silent);
    assert_eq!(text(), "dusk");
    assert!(!corpora.is_distrusted());
}

#[test]
fn progress_is_told_in_order() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.txt", "b.txt"] {
        std::fs::write(folder.path().join(name), b"text").unwrap();
    }
    let steps = StdMutex::new(Vec::new());
    Corpora::open(library(folder.path()), &|step: LoadStep| {
        steps.lock().unwrap().push(step);
    });
    let scope = LIBRARY_SCOPE;
    assert_eq!(
        steps.into_inner().unwrap(),
        [
            LoadStep::Reading {
                scope,
                done: 0,
                total: 2
            },
            LoadStep::Reading {
                scope,
                done: 1,
                total: 2
            },
            LoadStep::Indexing {
                scope,
                documents: 2
            },
            LoadStep::Done {
                scope,
                documents: 2
            },
        ]
    );
}

fn git(root: &std::path::Path, arguments: &[&str]) {
    let done = Command::new("git")
        .arg("-C")
        .arg(root)
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

#[test]
fn a_working_tree_gives_its_text_files_and_its_commit() {
    let tree = tempfile::tempdir().unwrap();
    let root = tree.path();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.rs"), b"secret").unwrap();
    git(root, &["init", "-q"]);
    std::fs::create_dir(root.join("src")).unwrap();
    for (name, bytes) in [
        ("src/lib.rs", &b"fn depart() {}"[..]),
        ("README.md", b"# Ferry"),
        ("logo.png", b"\x89PNG\0\0"),
        ("latin.c", b"// caf\xe9"),
        (".gitignore", b"target\n"),
        ("gone.txt", b"gone"),
        ("target", b"ignored"),
    ] {
        std::fs::write(root.join(name), bytes).unwrap();
    }
    symlink(outside.path().join("secret.rs"), root.join("link.rs")).unwrap();
    git(root, &["add", "."]);
    git(root, &["commit", "-q", "-m", "first"]);
    std::fs::remove_file(root.join("gone.txt")).unwrap();
    std::fs::write(root.join("new.txt"), b"untracked").unwrap();
    let config = CorporaConfig {
        libraries: Vec::new(),
        repository: Some(root.to_owned()),
        ..Default::default()
    };
    let corpora = Corpora::open(config, &silent);
    assert_eq!(
        locators(&corpora, REPOSITORY_SCOPE),
        [".gitignore", "README.md", "new.txt", "src/lib.rs"]
    );
    assert_eq!(
        faults(&corpora),
        [
            ("link.rs".to_owned(), CorpusFault::Link),
            ("latin.c".to_owned(), CorpusFault::NotUtf8)
        ]
    );
    assert_eq!(
        corpora.summary()[0].revision.as_ref().map(String::len),
        Some(40)
    );
}

#[test]
fn a_repository_cannot_make_git_run_a_program() {
    let tree = tempfile::tempdir().unwrap();
    let root = tree.path();
    let mark = root.join("ran");
    let program = root.join("program.sh");
    std::fs::write(&program, format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
    std::fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    git(root, &["init", "-q"]);
    git(
        root,
        &["config", "core.fsmonitor", program.to_str().unwrap()],
    );
    let config = CorporaConfig {
        libraries: Vec::new(),
        repository: Some(root.to_owned()),
        ..Default::default()
    };
    let corpora = Corpora::open(config, &silent);
    assert_eq!(locators(&corpora, REPOSITORY_SCOPE), ["program.sh"]);
    assert!(!mark.exists());
}

#[test]
fn the_index_orders_ties_by_document() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..40 {
        std::fs::write(
            folder.path().join(format!("{number:02}.txt")),
            b"The ferry leaves at noon.",
        )
        .unwrap();
    }
    let corpora = Corpora::open(library(folder.path()), &silent);
    let corpus = corpora.snapshot().corpus(LIBRARY_SCOPE).unwrap();
    let terms = [WeightedTerm {
        stem: "ferry".into(),
        weight: 1.0,
    }];
    let found: Vec<usize> = corpus
        .index()
        .search(&terms, 10)
        .unwrap()
        .iter()
        .map(|hit| hit.document)
        .collect();
    assert_eq!(found, (0..10).collect::<Vec<_>>());
    assert_eq!(corpus.index().passages_with("ferry"), 40);
}
