//! Two callers live the same life: one over REST, the other by tools. Whatever is generated, bodies,
//! codes and what is stored afterwards are the same, and a key used through one face replays through
//! the other.

use std::collections::HashMap;

use helix::testing::{Script, TestApp};
use serde_json::{Map, Value, json};

use super::client::call;
use crate::harness::{Answer, Client, RUNS};

const CASES: usize = 400;
const NOBODYS: &str = "run_00000000-0000-0000-0000-000000000000";

/// A sequence of choices that is the same every time.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        // SplitMix64: a few lines, and every seed is as good as any other.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % sides as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.throw(among.len())]
    }
}

/// One call, spelled for neither face.
#[derive(Debug, Clone)]
struct Case {
    operation: &'static str,
    /// Which of the caller's runs; beyond them, one that nobody has.
    run: usize,
    key: String,
    body: Value,
    query: Map<String, Value>,
}

fn case(dice: &mut Dice, used: &[Case], versions: &[u64]) -> Case {
    let version = |run: usize| versions.get(run).copied().unwrap_or(1);
    let number = dice.throw(usize::MAX);
    let operation = *dice.pick(&[
        "start", "start", "continue", "continue", "continue", "cancel", "inspect", "evidence",
        "events",
    ]);
    let run = dice.throw(versions.len() + 1);
    let key = match dice.throw(16) {
        0 => "short".to_owned(),
        3 => "k".repeat(201),
        _ => format!("twin-key-{number:020}"),
    };
    let expected = match dice.throw(6) {
        0 => json!(version(run) + 7),
        1 => json!(version(run).to_string()),
        _ => json!(version(run)),
    };
    let mut body = match operation {
        "start" => json!({
            "objective": *dice.pick(&["List the ferries", " Find the tide table ", "ärger 🦀"]),
            "constraints": ["by sea", "by sea"],
            "completion_contract": {"min_evidence_refs": dice.throw(3), "require_terminal_authority": dice.throw(2) == 0},
            "budget": {"max_steps": 1 + dice.throw(3)},
        }),
        "continue" => json!({"expected_version": expected, "instruction": "go on"}),
        "cancel" => json!({"expected_version": expected, "reason": "enough"}),
        _ => Value::Null,
    };
    if operation == "continue" && dice.throw(3) == 0 {
        body["answers"] =
            json!([{"question_id": *dice.pick(&["q1", "q2"]), "value": {"any": [1, null]}}]);
    }
    if body.is_object() && dice.throw(4) == 0 {
        spoil(dice, &mut body);
    }
    // A key that was used before, as likely as not with other input.
    let again: Vec<&Case> = used
        .iter()
        .filter(|case| case.operation == operation)
        .collect();
    let (run, key) = if !again.is_empty() && dice.throw(6) == 0 {
        let before = dice.pick(&again);
        (before.run, before.key.clone())
    } else {
        (run, key)
    };
    let mut query = Map::new();
    if operation == "events" {
        for (name, values) in [
            ("after_seq", [0_u64, 1, 3, 1 << 53]),
            ("limit", [1, 2, 200, 201]),
        ] {
            if dice.throw(2) == 0 {
                query.insert(name.to_owned(), json!(*dice.pick(&values)));
            }
        }
    }
    Case {
        operation,
        run,
        key,
        body,
        query,
    }
}

/// Makes something of a body wrong, or at least unusual.
fn spoil(dice: &mut Dice, body: &mut Value) {
    let strange = [
        json!(null),
        json!(-1),
        json!(0),
        json!(65),
        json!(1.5),
        json!("   "),
        json!("x".repeat(20_001)),
        json!([1]),
        json!({"more": true}),
        json!(true),
        json!([]),
        json!(["a", "a", " b "]),
    ];
    let value = dice.pick(&strange).clone();
    let members = body.as_object_mut().unwrap();
    let names: Vec<String> = members.keys().cloned().collect();
    let name = dice.pick(&names).clone();
    match dice.throw(4) {
        0 => {
            members.remove(&name);
        }
        1 => {
            members.insert("unheard_of".to_owned(), value);
        }
        2 if members[&name].is_object() => {
            let inner = members[&name].as_object_mut().unwrap();
            inner.insert("max_steps".to_owned(), value);
        }
        _ => {
            members.insert(name, value);
        }
    }
}

/// What a face says, without what only names the caller's own things.
#[derive(Debug, PartialEq)]
struct Said {
    failed: bool,
    replayed: Option<bool>,
    value: Value,
}

/// Names of one world, numbered as they appear.
#[derive(Default)]
struct Names(HashMap<String, usize>);

impl Names {
    fn plain(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.plain(item)).collect(),
            Value::Object(members) => {
                let plain = members
                    .iter()
                    .map(|(name, member)| (name.clone(), self.plain(member)));
                Value::Object(plain.collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// Ids and digests, which differ from world to world, become numbers.
    fn text(&mut self, text: &str) -> String {
        let own = |part: &str| {
            let hex = part.chars().filter(char::is_ascii_hexdigit).count();
            hex >= 20 && part.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
        };
        let parts = text.split_inclusive([':', '_', '/', '"']).map(|part| {
            let bare = part.trim_end_matches([':', '_', '/', '"']);
            if own(bare) {
                let next = self.0.len();
                let number = *self.0.entry(bare.to_owned()).or_insert(next);
                part.replace(bare, &format!("#{number}"))
            } else {
                part.to_owned()
            }
        });
        parts.collect()
    }
}

/// The public error without its place: a tool has its body one level down.
fn error_of(body: &Value) -> Value {
    let mut error = body.clone();
    error["request_id"] = Value::Null;
    let issues = error
        .pointer_mut("/details/issues")
        .and_then(Value::as_array_mut);
    for issue in issues.into_iter().flatten() {
        let path = issue["path"].as_array_mut().expect("a path");
        if path.first() == Some(&json!("request")) {
            path.remove(0);
        }
    }
    error
}

async fn over_rest(client: &Client<'_>, case: &Case, run: &str) -> Said {
    let answer = match case.operation {
        "start" => client.start(&case.key, &case.body).await,
        "continue" => client.continue_run(run, &case.key, &case.body).await,
        "cancel" => client.cancel(run, &case.key, &case.body).await,
        "inspect" => client.inspect(run).await,
        "evidence" => client.get(&format!("{RUNS}/{run}/evidence")).await,
        _ => {
            let pairs = case
                .query
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            let query = pairs.collect::<Vec<_>>().join("&");
            client.get(&format!("{RUNS}/{run}/events?{query}")).await
        }
    };
    of_rest(&answer)
}

fn of_rest(answer: &Answer) -> Said {
    let failed = answer.status >= 400;
    Said {
        failed,
        replayed: match answer.header("idempotency-replayed") {
            "" => None,
            text => Some(text == "true"),
        },
        value: if failed {
            error_of(&answer.body)
        } else {
            answer.body.clone()
        },
    }
}

async fn by_tool(client: &Client<'_>, case: &Case, run: &str) -> Said {
    let (tool, part) = match case.operation {
        "start" => ("helix_run_start", "run"),
        "continue" => ("helix_run_continue", "run"),
        "cancel" => ("helix_run_cancel", "run"),
        "inspect" => ("helix_run_inspect", "run"),
        "evidence" => ("helix_run_fetch_evidence", "evidence"),
        _ => ("helix_run_list_events", "page"),
    };
    let mut arguments = case.query.clone();
    if case.operation != "start" {
        arguments.insert("run_id".to_owned(), json!(run));
    }
    if case.body.is_object() {
        arguments.insert("idempotency_key".to_owned(), json!(case.key));
        arguments.insert("request".to_owned(), case.body.clone());
    }
    let result = call(client, tool, &Value::Object(arguments)).await;
    let value = &result["structuredContent"];
    let failed = result["isError"] == true;
    Said {
        failed,
        replayed: value["idempotency_replayed"].as_bool(),
        value: if failed {
            error_of(value)
        } else {
            value[part].clone()
        },
    }
}

/// A turn's result, the same for both twins.
fn turn(dice: &mut Dice) -> Value {
    match dice.throw(5) {
        0 => Script::success(),
        1 => json!({"needs_input": true, "pending_questions": [
            {"question_id": "q1", "prompt": "Which ferry?", "required_fields": [], "options": []}]}),
        2 => json!({"ok": false, "status_code": 500, "failure_code": "helix_ask_executor_failed"}),
        3 => {
            json!({"contradictions": ["two timetables differ"], "evidence_refs": ["evidence:test:1"]})
        }
        _ => Script::nothing(),
    }
}

async fn versions(client: &Client<'_>, runs: &[String]) -> Vec<u64> {
    let mut versions = Vec::new();
    for run in runs {
        versions.push(client.inspect(run).await.ok(200).version());
    }
    versions
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_asked_both_faces_say_and_store_the_same() {
    let app = TestApp::start().await;
    app.freeze().await;
    let rest = Client::new(&app, &app.caller("ana").await);
    let tool = Client::new(&app, &app.caller("ben").await);
    let mut dice = Dice(20_261_201);
    let (mut runs, mut names) = (
        [Vec::new(), Vec::new()],
        [Names::default(), Names::default()],
    );
    let mut used = Vec::new();
    let mut codes: HashMap<String, usize> = HashMap::new();
    for number in 0..CASES {
        let known = versions(&rest, &runs[0]).await;
        let case = case(&mut dice, &used, &known);
        let of = |world: &Vec<String>| world.get(case.run).cloned().unwrap_or(NOBODYS.to_owned());
        let result = turn(&mut dice);
        let begun = app.script.turns();
        app.script.answer(&result);
        let one = over_rest(&rest, &case, &of(&runs[0])).await;
        if app.script.turns() > begun {
            app.script.answer(&result);
        }
        let other = by_tool(&tool, &case, &of(&runs[1])).await;
        assert_eq!(
            (one.failed, one.replayed, names[0].plain(&one.value)),
            (other.failed, other.replayed, names[1].plain(&other.value)),
            "case {number}: {case:?}"
        );
        // A script's answer that neither took would meet the next turn.
        app.script.clear();
        let code = one.value["error"].as_str().unwrap_or(case.operation);
        *codes.entry(code.to_owned()).or_default() += 1;
        if one.failed {
            continue;
        }
        if case.operation == "start" && one.replayed == Some(false) {
            runs[0].push(one.value["run_id"].as_str().unwrap().to_owned());
            runs[1].push(other.value["run_id"].as_str().unwrap().to_owned());
        }
        if case.body.is_object() {
            // Through the other face, the key tells of the first time.
            let run = |world: usize| of(&runs[world]);
            let crossed = by_tool(&rest, &case, &run(0)).await;
            assert_eq!((crossed.replayed, &crossed.value), (Some(true), &one.value));
            let crossed = over_rest(&tool, &case, &run(1)).await;
            assert_eq!(
                (crossed.replayed, &crossed.value),
                (Some(true), &other.value)
            );
            used.push(case);
        }
    }
    for (one, other) in runs[0].iter().zip(&runs[1]) {
        for part in ["", "/evidence", "/events?limit=200"] {
            let one = rest.get(&format!("{RUNS}/{one}{part}")).await.ok(200);
            let other = tool.get(&format!("{RUNS}/{other}{part}")).await.ok(200);
            assert_eq!(
                names[0].plain(&one.body),
                names[1].plain(&other.body),
                "{part}"
            );
        }
    }
    // The cases reach what they are meant to reach.
    for code in [
        "start",
        "continue",
        "cancel",
        "inspect",
        "evidence",
        "events",
        "invalid_request",
        "not_found",
        "version_conflict",
        "run_not_resumable",
        "idempotency_conflict",
    ] {
        assert!(
            codes.get(code).is_some_and(|count| *count > 1),
            "{code}: {codes:?}"
        );
    }
    app.finish().await;
}
