//! The key of the model's server, and what the model reads and says, are in no file, dump or log.

use helix::testing::{ModelServer, Speech};
use serde_json::json;

use crate::canary::{MARKS, assert_clear, dump, search};
use crate::harness::Site;
use crate::harness::client::{Keyed, RUNS};
use crate::harness::database::Beside;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn key_and_conversation_of_a_model_are_in_no_file_no_dump_and_no_log() {
    let [objective, instruction, said, quote, _, key] = MARKS;
    for api in ["chat", "responses"] {
        let models = ModelServer::start().await;
        let site = Site::embedded()
            .set("HELIX_LOG_LEVEL", "trace")
            .set("HELIX_SOLVER", "openai")
            .set("HELIX_MODEL", "m-1")
            .set("HELIX_MODEL_API", api)
            .set("HELIX_MODEL_BASE_URL", models.base_url())
            .set("HELIX_MODEL_API_KEY", key);
        let sentence = format!("The {quote} ferry to Vik leaves at 21:15.");
        std::fs::write(site.library().join("ferries.txt"), &sentence).unwrap();
        let server = site.start(0).await;
        let client = server.client(&site.caller("ana").await);
        let asked = format!("When does the {quote} ferry leave? {objective}");
        let start = Keyed::start_on_library("canary-start", &asked);
        let run = client.send(&start).await.ok(201).run_id();
        let query = json!({"query": quote, "source": null, "start": null, "end": null});
        let read = Speech::call("research-library__read_document", &query);
        let product = json!({
            "quotes": [{"source": 0, "quote": sentence}],
            "claims": [{"text": format!("It leaves at 21:15, says {said}."), "quotes": [0]}],
        });
        let turns = [
            (vec![Speech::status(500); 3], "model_unavailable"),
            (vec![Speech::status(401)], "model_refused_credentials"),
            (
                vec![Speech::Text(said.to_owned()); 2],
                "model_product_unusable",
            ),
            (vec![read, Speech::submit(&product)], ""),
        ];
        let mut version = 1;
        for (script, code) in turns {
            models.says(script);
            let turn = Keyed {
                body: json!({"expected_version": version, "instruction": instruction}),
                ..Keyed::continue_run(&run, &format!("canary-turn-{version}"), version)
            };
            let done = client.send(&turn).await.ok(200);
            let failure = done.body["latest_result"]["failure_code"].as_str();
            assert_eq!(failure.unwrap_or(""), code, "{}", done.text);
            assert!(!done.text.contains(key), "{}", done.text);
            version = done.version();
        }
        let shown = client.get(&format!("{RUNS}/{run}")).await.ok(200);
        assert_eq!(shown.body["completion_status"], "completed");
        let mut beside = Beside::open(site.database()).await;
        beside.run("checkpoint").await;
        let dump = dump(&site).await;
        assert!(dump.contains("run_completed"), "the dump holds the log");
        assert_clear("the dump", dump.as_bytes());
        server.stop().await;
        search(&site.data_dir(0));
        let log = std::fs::read(site.log(0)).unwrap();
        let told = String::from_utf8_lossy(&log);
        assert!(
            told.contains("model_refused_credentials"),
            "the operator is told"
        );
        assert_clear("the server's log", &log);
    }
}
