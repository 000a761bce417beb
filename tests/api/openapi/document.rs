//! The document, and answers held against it.

use std::collections::BTreeSet;
use std::sync::Mutex;

use helix::testing::TestApp;
use serde_json::{Value, json};

use crate::harness::Answer;

/// The published document, with a record of what was held against it.
pub struct Document {
    pub whole: Value,
    seen: Mutex<BTreeSet<(String, u16)>>,
}

impl Document {
    pub async fn of(app: &TestApp) -> Self {
        let answer = Answer::of(app.client().get(app.url("/openapi.json")))
            .await
            .ok(200);
        Self {
            whole: answer.body,
            seen: Mutex::default(),
        }
    }

    /// Method and path of each.
    pub fn operations(&self) -> impl Iterator<Item = (String, String)> {
        let paths = self.whole["paths"].as_object().unwrap().iter();
        paths.flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().keys();
            methods.map(|method| (method.to_uppercase(), path.clone()))
        })
    }

    pub fn operation(&self, method: &str, path: &str) -> &Value {
        let operation = &self.whole["paths"][path][method.to_lowercase()];
        assert!(operation.is_object(), "{method} {path}");
        operation
    }

    /// Operation and status of every answer that was checked.
    pub fn seen(&self) -> BTreeSet<(String, u16)> {
        self.seen.lock().unwrap().clone()
    }

    /// Asserts that status, headers, media type and body are what the operation promises.
    #[track_caller]
    pub fn check(&self, method: &str, path: &str, answer: &Answer) {
        let operation = self.operation(method, path);
        let id = operation["operationId"].as_str().unwrap();
        let response = &operation["responses"][answer.status.to_string()];
        assert!(
            response.is_object(),
            "{id} says nothing of {}: {}",
            answer.status,
            answer.text
        );
        let promised = response["headers"].as_object().unwrap();
        for name in answer.headers.keys() {
            let known = promised
                .keys()
                .any(|header| header.eq_ignore_ascii_case(name.as_str()));
            assert!(
                known || is_plumbing(name.as_str()),
                "{id} {}: {name}",
                answer.status
            );
        }
        match response["content"].as_object() {
            None => assert_eq!(answer.text, "", "{id} {}", answer.status),
            Some(content) => {
                let media = answer.header("content-type").split(';').next().unwrap();
                let schema = content
                    .get(media)
                    .unwrap_or_else(|| panic!("{id} {}: {media}", answer.status));
                // Lines of JSON and streams are texts.
                if media.ends_with("/json") || media.ends_with("+json") {
                    self.conforms(&schema["schema"], &answer.body);
                }
            }
        }
        self.seen
            .lock()
            .unwrap()
            .insert((id.to_owned(), answer.status));
    }

    /// Asserts that a value fits a schema of the document.
    #[track_caller]
    pub fn conforms(&self, schema: &Value, value: &Value) {
        let rooted = json!({"allOf": [schema], "components": self.whole["components"]});
        conforms(&rooted, value);
    }
}

/// Asserts that a value fits a schema, formats included.
#[track_caller]
pub fn conforms(schema: &Value, value: &Value) {
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .unwrap_or_else(|error| panic!("no schema: {error}"));
    let faults: Vec<String> = validator
        .iter_errors(value)
        .map(|fault| format!("{} at {}", fault, fault.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{faults:#?}\nin {value:#}");
}

/// Headers of HTTP itself and of browsers' rules, which no document of an API lists.
fn is_plumbing(name: &str) -> bool {
    [
        "connection",
        "content-type",
        "content-length",
        "transfer-encoding",
        "date",
        "pragma",
        "vary",
        "x-content-type-options",
        "x-accel-buffering",
        "referrer-policy",
        "access-control-allow-origin",
        "access-control-expose-headers",
    ]
    .contains(&name)
}
