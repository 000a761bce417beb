//! `/docs`: every operation to read, from the rows that make the OpenAPI document.

mod fields;

use std::sync::LazyLock;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;

use super::{Frame, html};
use crate::app::problem::{Code, Problem, Row};
use crate::http::discovery::GUIDE;
use crate::http::door::Doors;
use crate::http::openapi::{self, Access, Answer, Group, Need, Object, Operation, refusals};
use crate::mcp::{TOOLS, Tool};
use fields::Field;

/// Objects that have a section; the rest is plain text or JSON-RPC's own.
const OBJECTS: [Object; 9] = [
    Object::Run,
    Object::RunList,
    Object::EventsPage,
    Object::Event,
    Object::EvidenceBundle,
    Object::EvidenceItem,
    Object::Error,
    Object::Problem,
    Object::RateLimited,
];

#[derive(Template)]
#[template(path = "browser/docs.html", config = ".askama.toml")]
struct Docs<'a> {
    frame: Frame<'a>,
    base: &'a str,
    guide: &'static str,
    content: &'static Content,
    tools: &'static [Tool],
}

/// The page as it was made for this server.
#[derive(Template)]
#[template(source = "{{ text|safe }}", ext = "html")]
struct Rendered<'a> {
    text: &'a str,
}

/// What does not depend on the server's address; made once.
struct Content {
    groups: Vec<Section>,
    objects: Vec<(&'static str, Vec<Field>)>,
}

static CONTENT: LazyLock<Content> = LazyLock::new(|| Content {
    groups: Group::ALL.map(Section::of).into_iter().collect(),
    objects: OBJECTS
        .map(|object| (object.name(), fields::of(&object.schema())))
        .into_iter()
        .collect(),
});

struct Section {
    group: Group,
    operations: Vec<Shown>,
}

impl Section {
    fn of(group: Group) -> Self {
        let all = openapi::operations().filter(|operation| operation.group == group);
        Self {
            group,
            operations: all.map(Shown::of).collect(),
        }
    }
}

/// An operation as the page shows it.
struct Shown {
    operation: &'static Operation,
    access: String,
    parameters: Vec<Field>,
    body: Option<Sent>,
    answers: Vec<Told>,
    refusals: Vec<Row>,
    /// A command that sends it; the base stands apart because it is known late.
    command: Command,
}

struct Sent {
    fields: Vec<Field>,
    example: String,
}

struct Told {
    answer: &'static Answer,
    /// Media type and the object's name.
    content: Vec<(&'static str, &'static str)>,
}

impl Told {
    /// Whether the object has a section here.
    fn links(name: &str) -> bool {
        OBJECTS.iter().any(|object| object.name() == name)
    }
}

/// The parts of a curl command, before and after the server's address.
struct Command {
    before: &'static str,
    after: String,
}

impl Shown {
    fn of(operation: &'static Operation) -> Self {
        let parameters = operation.parameters.iter().map(|parameter| {
            let need = match parameter.need {
                Need::Required => "required",
                Need::Optional => "optional",
            };
            Field {
                name: parameter.name.to_owned(),
                kind: fields::kind(&(parameter.schema)()),
                need: format!("{}, {need}", parameter.place.name()),
                about: parameter.description.to_owned(),
            }
        });
        let answers = operation.answers.iter().map(|answer| Told {
            answer,
            content: answer
                .content
                .iter()
                .map(|content| (content.media_type, content.object.name()))
                .collect(),
        });
        Self {
            operation,
            access: access(operation.access),
            parameters: parameters.collect(),
            body: operation.body.map(|body| Sent {
                fields: fields::of(&body.object.schema()),
                example: format!("{:#}", (body.example)()),
            }),
            answers: answers.collect(),
            refusals: refusals(operation)
                .into_iter()
                .flat_map(|refusal| refusal.rows)
                .collect(),
            command: command(operation),
        }
    }
}

fn access(access: Access) -> String {
    match access {
        Access::Open | Access::Public => "no token".to_owned(),
        Access::Token => "a token".to_owned(),
        Access::Worker => "the token of a worker".to_owned(),
        Access::Scope(scope) => format!("a token with the scope {scope}"),
    }
}

fn command(operation: &Operation) -> Command {
    let before = match operation.method {
        "OPTIONS" => "curl -si -X OPTIONS ",
        _ => "curl -s ",
    };
    let path = operation
        .path
        .replace("{run_id}", "$RUN")
        .replace("{ref}", "$REF");
    let mut after = path.replace("{code}", "run_busy");
    if !matches!(operation.access, Access::Open | Access::Public) {
        after.push_str(" \\\n  -H \"Authorization: Bearer $HELIX_TOKEN\"");
    }
    if let Some(body) = operation.body {
        if operation
            .parameters
            .iter()
            .any(|parameter| parameter.name == "Idempotency-Key")
        {
            after.push_str(" \\\n  -H 'Idempotency-Key: ferry-plan-0001'");
        }
        after.push_str(" \\\n  -H 'Content-Type: application/json' \\\n  -d '");
        after.push_str(&(body.example)().to_string());
        after.push('\'');
    }
    Command { before, after }
}

pub fn page(door: &Doors, _: &HttpRequest) -> Result<HttpResponse, Problem> {
    if let Some(text) = door.documents.docs.get() {
        return html(StatusCode::OK, &Rendered { text });
    }
    let page = Docs {
        frame: Frame::of(&door.base, "/docs"),
        base: door.base.as_str(),
        guide: GUIDE,
        content: &CONTENT,
        tools: &TOOLS,
    };
    let text = page
        .render()
        .map_err(|error| Problem::new(Code::Internal).because(error))?;
    let text = door.documents.docs.get_or_init(|| text);
    html(StatusCode::OK, &Rendered { text })
}
