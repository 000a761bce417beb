//! The rows as one OpenAPI 3.1 document.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::objects::Object;
use super::operation::{Access, Answer, Group, Head, Need, Operation, Parameter};
use super::parameters::{ALWAYS, HEADERS};
use super::refusals::{Refusal, Shape, refusals};

const JSON: &str = "application/json";
const SCHEME: &str = "bearer";
const WORKER_SCHEME: &str = "worker";
/// Where the id in a start's answer leads (`links` of OpenAPI).
const FOLLOWED: [&str; 6] = [
    "inspectRun",
    "continueRun",
    "cancelRun",
    "listEvents",
    "fetchEvidence",
    "downloadLog",
];

/// All but the address of the server, which is known once it listens.
static DOCUMENT: LazyLock<Value> = LazyLock::new(whole);

/// The document of a server that is found at `base`.
pub fn document(base: &str) -> Value {
    let mut document = DOCUMENT.clone();
    document["servers"] = json!([{"url": base}]);
    document
}

fn whole() -> Value {
    let mut paths = Map::new();
    for operation in super::operations() {
        let described = described(operation);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        if operation.head == Head::Served {
            path["head"] = headed(&described, operation);
        }
        path[operation.method.to_lowercase()] = described;
    }
    let schemas = Object::ALL.map(|object| (object.name().to_owned(), object.schema()));
    let headers = HEADERS.map(|(name, text)| {
        let header = json!({"description": text, "schema": {"type": "string"}});
        (name.to_owned(), header)
    });
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Helix Agent API",
            "version": "1.0.0",
            "summary": "Durable, governed agent runs.",
            "description": "A run is started, continued turn by turn and read back. What it returns is an answer only \
                where terminal_authority_status is authorized.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": Group::ALL.map(|group| json!({"name": group.name(), "description": group.about()})),
        "paths": paths,
        "components": {
            "schemas": Map::from_iter(schemas),
            "headers": Map::from_iter(headers),
            "securitySchemes": {
                SCHEME: {
                    "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
                    "description": "A token of the issuer that the protected-resource metadata names.",
                },
                WORKER_SCHEME: {
                    "type": "http", "scheme": "bearer",
                    "description": "A token that the operator made with `helix worker token create`.",
                },
            },
        },
    })
}

fn described(operation: &Operation) -> Value {
    let mut responses = Map::new();
    for answer in operation.answers {
        responses.insert(answer.status.to_string(), answered(operation, answer));
    }
    for refusal in refusals(operation) {
        let response = refused(&refusal);
        responses
            .entry(refusal.status.to_string())
            .or_insert(response);
    }
    let mut described = json!({
        "operationId": operation.id,
        "tags": [operation.group.name()],
        "summary": operation.summary,
        "parameters": operation.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "responses": responses,
        "security": security(operation.access),
    });
    if !operation.description.is_empty() {
        described["description"] = Value::from(operation.description);
    }
    if let Some(body) = operation.body {
        let content = json!({"schema": body.object.reference(), "example": (body.example)()});
        described["requestBody"] = json!({"required": true, "content": {JSON: content}});
    }
    described
}

/// The same without a body, as HEAD answers it.
fn headed(described: &Value, operation: &Operation) -> Value {
    let mut headed = described.clone();
    headed["operationId"] = Value::from(format!("{}Head", operation.id));
    for response in headed["responses"]
        .as_object_mut()
        .into_iter()
        .flat_map(|all| all.values_mut())
    {
        if let Some(response) = response.as_object_mut() {
            response.remove("content");
        }
    }
    headed
}

fn security(access: Access) -> Value {
    match access {
        Access::Open | Access::Public => json!([]),
        Access::Token => json!([{SCHEME: []}]),
        Access::Worker => json!([{WORKER_SCHEME: []}]),
        Access::Scope(scope) => json!([{SCHEME: [scope]}]),
    }
}

fn parameter(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "in": parameter.place.name(),
        "required": parameter.need == Need::Required,
        "description": parameter.description,
        "schema": (parameter.schema)(),
    })
}

fn headers(names: impl IntoIterator<Item = &'static str>) -> Value {
    let references = names.into_iter().map(|name| {
        let reference = json!({"$ref": format!("#/components/headers/{name}")});
        (name.to_owned(), reference)
    });
    Value::Object(references.collect())
}

fn answered(operation: &Operation, answer: &Answer) -> Value {
    let own = answer.headers.iter().copied();
    let headers = match operation.access {
        Access::Open => headers(own),
        Access::Public | Access::Token | Access::Worker | Access::Scope(_) => {
            headers(ALWAYS.into_iter().chain(own))
        }
    };
    let mut response = json!({"description": answer.description, "headers": headers});
    if !answer.content.is_empty() {
        let content = answer.content.iter().map(|content| {
            let schema = json!({"schema": content.object.reference()});
            (content.media_type.to_owned(), schema)
        });
        response["content"] = Value::Object(content.collect());
    }
    if let Some(links) = links(operation) {
        response["links"] = links;
    }
    response
}

/// How what is answered is used in the next request.
fn links(operation: &Operation) -> Option<Value> {
    match operation.id {
        "startRun" => {
            let parameters = json!({"run_id": "$response.body#/run_id"});
            let links = FOLLOWED.map(|id| {
                let link = json!({"operationId": id, "parameters": parameters});
                (id.to_owned(), link)
            });
            Some(Value::Object(links.into_iter().collect()))
        }
        "fetchEvidence" => {
            let parameters =
                json!({"run_id": "$request.path.run_id", "ref": "$response.body#/evidence_refs/0"});
            Some(json!({"readEvidence": {"operationId": "readEvidence", "parameters": parameters}}))
        }
        _ => None,
    }
}

fn refused(refusal: &Refusal) -> Value {
    let rows = refusal.rows.iter();
    let texts: Vec<String> = rows
        .map(|row| format!("`{}`: {}", row.code, row.message))
        .collect();
    let own: &[&str] = match refusal.status {
        401 | 403 => &["WWW-Authenticate"],
        429 | 503 => &["Retry-After"],
        _ => &[],
    };
    json!({
        "description": texts.join("\n\n"),
        "headers": headers(ALWAYS.into_iter().chain(own.iter().copied())),
        "content": content(refusal.shape),
    })
}

fn content(shape: Shape) -> Value {
    let either = |other: Object| json!({"anyOf": [Object::Error.reference(), other.reference()]});
    let schema = match shape {
        Shape::RateLimited => return json!({JSON: {"schema": Object::RateLimited.reference()}}),
        Shape::Error => Object::Error.reference(),
        Shape::ErrorOrNotReady => either(Object::NotReady),
        Shape::ErrorOrJsonRpc => either(Object::JsonRpcError),
    };
    json!({
        JSON: {"schema": schema},
        "application/problem+json": {"schema": Object::Problem.reference()},
    })
}
