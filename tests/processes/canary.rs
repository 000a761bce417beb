//! Texts of callers and documents are in no file, dump or log.

use std::path::Path;
use std::sync::LazyLock;

use regex::bytes::Regex;
use serde_json::json;

use crate::harness::Site;
use crate::harness::client::{Keyed, RUNS};
use crate::harness::database::Beside;
use crate::harness::process;

/// Each is one word, so that no index or stemmer may split it.
pub const MARKS: [&str; 6] = [
    "Zebrawoodobjective",
    "Kestrelinstruction",
    "Oystercatcheranswer",
    "Periwinklequote",
    "Sandpiperreason",
    "Merganserkey",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_are_in_no_file_of_the_data_directory_no_dump_and_no_log() {
    let site = Site::embedded().set("HELIX_LOG_LEVEL", "debug");
    let document = format!(
        "The {} ferry to Vik leaves at 21:15 on weekdays.\n",
        MARKS[3]
    );
    std::fs::write(site.library().join("ferries.txt"), document).unwrap();
    let server = site.start(0).await;
    let ana = site.caller("ana").await;
    let client = server.client(&ana);
    let objective = format!(
        "When does the {} ferry to Vik leave? {}",
        MARKS[3], MARKS[0]
    );
    let run = client
        .send(&Keyed::start_on_library("canary-start", &objective))
        .await
        .ok(201)
        .run_id();
    let turn = Keyed::continue_run(&run, "canary-turn", 1);
    let turn = Keyed {
        body: json!({"expected_version": 1, "instruction": MARKS[1]}),
        ..turn
    };
    let done = client.send(&turn).await.ok(200);
    let first = done.body["evidence"]["evidence_refs"][0]
        .as_str()
        .expect("a quote was found");
    let item = client
        .get(&format!(
            "{RUNS}/{run}/evidence/{}",
            first.replace(':', "%3A")
        ))
        .await
        .ok(200);
    assert!(
        item.text.contains(MARKS[3]),
        "the quote can be read back: {}",
        item.text
    );
    // A second run is asked about nothing, answers its question, and is cancelled.
    let other = client
        .send(&Keyed::start_on_library(
            "canary-other",
            &format!("{} unheard of", MARKS[0]),
        ))
        .await
        .ok(201)
        .run_id();
    let asked = client
        .send(&Keyed::continue_run(&other, "canary-asked", 1))
        .await
        .ok(200);
    let question = &asked.body["pending_questions"][0]["question_id"];
    if question.is_string() {
        let body = json!({"expected_version": asked.version(), "answers": [{"question_id": question, "value": MARKS[2]}]});
        let answer = Keyed {
            body,
            ..Keyed::continue_run(&other, "canary-answer", 0)
        };
        client.send(&answer).await.ok(200);
    }
    assert!(question.is_string(), "the solver asked: {}", asked.text);
    let third = client
        .send(&Keyed::start("canary-third", MARKS[0]))
        .await
        .ok(201)
        .run_id();
    let cancel = Keyed::cancel(&third, "canary-cancel", 1);
    let cancel = Keyed {
        body: json!({"expected_version": 1, "reason": MARKS[4]}),
        ..cancel
    };
    client.send(&cancel).await.ok(200);
    // A body that is refused must not be told to the log either.
    let bad = Keyed {
        body: json!({"objective": MARKS[0], MARKS[1]: MARKS[2]}),
        ..Keyed::start("canary-bad-1", "")
    };
    client.send(&bad).await.expect(400, "invalid_request");

    let mut beside = Beside::open(site.database()).await;
    beside.run("checkpoint").await;
    let dump = dump(&site).await;
    assert!(dump.contains("run_started"), "the dump holds the log");
    assert_clear("the dump", dump.as_bytes());
    assert!(
        search(&site.data_dir(0)) > 100,
        "the cluster's files were read"
    );
    server.stop().await;
    search(&site.data_dir(0));
    let log = std::fs::read(site.log(0)).unwrap();
    assert!(!log.is_empty());
    assert_clear("the server's log", &log);
}

pub async fn dump(site: &Site) -> String {
    let endpoint = helix_postgres::Cluster::attach(&site.data_dir(0))
        .unwrap()
        .unwrap();
    let search = helix_postgres::Search::new(site.data_dir(0).join("cache"));
    let programs = tokio::task::spawn_blocking(move || search.find())
        .await
        .unwrap()
        .unwrap();
    let mut command = std::process::Command::new(programs.bin.join("pg_dump"));
    command.args(["--inserts", "--dbname", &endpoint.url("helix")]);
    process::run(command, "").await.expect(0).out
}

/// Every file below a folder, byte by byte; returns how many there were.
pub fn search(folder: &Path) -> usize {
    let mut count = 0;
    for entry in walkdir::WalkDir::new(folder) {
        let Ok(entry) = entry else { continue };
        // A file that has gone since the folder was read holds nothing.
        if entry.file_type().is_file()
            && let Ok(bytes) = std::fs::read(entry.path())
        {
            count += 1;
            assert_clear(&entry.path().display().to_string(), &bytes);
        }
    }
    count
}

/// Neither as text nor in the forms that a dump or an escape gives it.
pub fn assert_clear(place: &str, bytes: &[u8]) {
    static FORMS: LazyLock<Regex> = LazyLock::new(|| {
        let forms = MARKS.iter().flat_map(|mark| {
            let wide = mark
                .chars()
                .map(String::from)
                .collect::<Vec<_>>()
                .join(r"\x00");
            [(*mark).to_owned(), hex::encode(mark), wide]
        });
        let forms: Vec<String> = forms.collect();
        Regex::new(&format!("(?i-u:{})", forms.join("|"))).unwrap()
    });
    let found = FORMS.find(bytes);
    assert!(
        found.is_none(),
        "{place} holds {:?}",
        found.map(|found| found.as_bytes())
    );
}
