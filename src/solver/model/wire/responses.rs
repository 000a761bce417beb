//! Responses, without the server's memory: each request carries the whole conversation.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Frame, Sampling, reply, tokens};
use crate::solver::model::talk::{AnswerFault, Call, Entry, Function, Prompt, Reply, Said};

pub(super) fn encode(frame: Frame<'_>, prompt: Prompt<'_>) -> Value {
    let input: Vec<Value> = prompt.entries.iter().flat_map(items).collect();
    let tools: Vec<Value> = prompt.functions.iter().map(tool).collect();
    let mut request = json!({
        "model": frame.model,
        "instructions": prompt.system,
        "input": input,
        "tools": tools,
        "tool_choice": "auto",
        "max_output_tokens": frame.max_tokens,
        "store": false,
        "stream": false,
    });
    if frame.dialect.sampling == Sampling::Coldest {
        request["temperature"] = 0.into();
    }
    request
}

fn items(entry: &Entry) -> Vec<Value> {
    match entry {
        Entry::User(text) => vec![json!({"role": "user", "content": text})],
        Entry::Model(said) => {
            let text =
                (!said.text.is_empty()).then(|| json!({"role": "assistant", "content": said.text}));
            // Without the ids of the server's own items, which it was told to forget.
            let calls = said.calls.iter().map(|call| {
                json!({
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": call.arguments,
                })
            });
            text.into_iter().chain(calls).collect()
        }
        Entry::Answers(answers) => answers
            .iter()
            .map(|answer| {
                json!({
                    "type": "function_call_output",
                    "call_id": answer.id,
                    "output": answer.content,
                })
            })
            .collect(),
    }
}

fn tool(function: &Function) -> Value {
    json!({
        "type": "function",
        "name": function.name,
        "description": function.description,
        "parameters": function.parameters,
        "strict": false,
    })
}

#[derive(Deserialize)]
struct Response {
    status: Option<String>,
    incomplete_details: Option<Incomplete>,
    output: Vec<Item>,
    #[serde(default)]
    usage: Value,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item {
    Message {
        content: Vec<Part>,
    },
    FunctionCall {
        call_id: String,
        name: String,
        arguments: String,
    },
    /// Reasoning, and whatever else was not asked for.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    OutputText {
        text: String,
    },
    Refusal {},
    #[serde(other)]
    Other,
}

pub(super) fn decode(document: Value) -> Result<Reply, AnswerFault> {
    let response: Response =
        serde_json::from_value(document).map_err(|_| AnswerFault::WrongShape)?;
    match response.status.as_deref() {
        Some("completed") | None => {}
        Some("incomplete") => return Err(incomplete(response.incomplete_details)),
        Some(_) => return Err(AnswerFault::Unfinished),
    }
    let mut said = Said::default();
    for item in response.output {
        match item {
            Item::Message { content } => {
                for part in content {
                    match part {
                        Part::OutputText { text } => said.text.push_str(&text),
                        Part::Refusal {} => return Err(AnswerFault::Refused),
                        Part::Other => {}
                    }
                }
            }
            Item::FunctionCall {
                call_id: id,
                name,
                arguments,
            } => said.calls.push(Call {
                id,
                name,
                arguments,
            }),
            Item::Other => {}
        }
    }
    let counted = tokens(&response.usage, "input_tokens", "output_tokens");
    reply(said, counted)
}

fn incomplete(details: Option<Incomplete>) -> AnswerFault {
    match details.and_then(|details| details.reason).as_deref() {
        Some("max_output_tokens") => AnswerFault::CutOff,
        Some("content_filter") => AnswerFault::Filtered,
        Some(_) | None => AnswerFault::Unfinished,
    }
}
