//! The published document against the server: routes, and real answers of every kind.

mod document;
mod tour;

use std::collections::BTreeSet;

use helix::testing::{TestApp, registered_routes};
use serde_json::Value;

use document::Document;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_is_in_the_document_and_nothing_else_is() {
    let app = TestApp::start().await;
    let document = Document::of(&app).await;
    let described: BTreeSet<(String, String)> = document.operations().collect();
    let served: BTreeSet<(String, String)> = registered_routes()
        .into_iter()
        .map(|(method, path)| (method.to_owned(), path))
        .collect();
    assert_eq!(described, served);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_is_whole_in_itself() {
    let app = TestApp::start().await;
    let document = Document::of(&app).await;
    assert_eq!(document.whole["openapi"], "3.1.0");
    assert_eq!(document.whole["servers"][0]["url"], app.url(""));
    let mut references = Vec::new();
    collect(&document.whole, &mut references);
    assert!(references.len() > 100);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.whole.pointer(pointer).is_some(), "{reference}");
    }
    let mut ids = BTreeSet::new();
    for (method, path) in document.operations() {
        let operation = document.operation(&method, &path);
        let id = operation["operationId"].as_str().unwrap();
        assert!(ids.insert(id.to_owned()), "{id} twice");
        assert!(!operation["summary"].as_str().unwrap().is_empty(), "{id}");
        let named: BTreeSet<&str> = operation["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|parameter| parameter["in"] == "path")
            .map(|parameter| parameter["name"].as_str().unwrap())
            .collect();
        let in_path: BTreeSet<&str> = path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            .collect();
        assert_eq!(named, in_path, "{id}");
    }
    for (name, schema) in document.whole["components"]["schemas"].as_object().unwrap() {
        jsonschema::meta::validate(schema).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    app.finish().await;
}

fn collect<'d>(value: &'d Value, references: &mut Vec<&'d str>) {
    match value {
        Value::Object(members) => {
            references.extend(members.get("$ref").and_then(Value::as_str));
            members
                .values()
                .for_each(|member| collect(member, references));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
