//! Chat Completions.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Frame, LimitName, Sampling, reply, tokens};
use crate::solver::model::talk::{AnswerFault, Call, Entry, Function, Prompt, Reply, Said};

pub(super) fn encode(frame: Frame<'_>, prompt: Prompt<'_>) -> Value {
    let system = json!({"role": "system", "content": prompt.system});
    let messages: Vec<Value> = std::iter::once(system)
        .chain(prompt.entries.iter().flat_map(messages))
        .collect();
    let tools: Vec<Value> = prompt.functions.iter().map(tool).collect();
    let mut request = json!({
        "model": frame.model,
        "messages": messages,
        "tools": tools,
        "tool_choice": "auto",
        "stream": false,
    });
    let limit = match frame.dialect.limit {
        LimitName::MaxTokens => "max_tokens",
        LimitName::MaxCompletionTokens => "max_completion_tokens",
    };
    request[limit] = frame.max_tokens.into();
    if frame.dialect.sampling == Sampling::Coldest {
        request["temperature"] = 0.into();
    }
    request
}

fn messages(entry: &Entry) -> Vec<Value> {
    match entry {
        Entry::User(text) => vec![json!({"role": "user", "content": text})],
        Entry::Model(said) if said.calls.is_empty() => {
            vec![json!({"role": "assistant", "content": said.text})]
        }
        Entry::Model(said) => {
            let calls: Vec<Value> = said.calls.iter().map(call).collect();
            vec![json!({"role": "assistant", "content": said.text, "tool_calls": calls})]
        }
        Entry::Answers(answers) => answers
            .iter()
            .map(|answer| {
                json!({"role": "tool", "tool_call_id": answer.id, "content": answer.content})
            })
            .collect(),
    }
}

fn call(call: &Call) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    })
}

fn tool(function: &Function) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": function.name,
            "description": function.description,
            "parameters": function.parameters,
        },
    })
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Value,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<ToolCall>>,
}

#[derive(Deserialize)]
struct ToolCall {
    id: String,
    function: Called,
}

#[derive(Deserialize)]
struct Called {
    name: String,
    arguments: String,
}

pub(super) fn decode(document: Value) -> Result<Reply, AnswerFault> {
    let completion: Completion =
        serde_json::from_value(document).map_err(|_| AnswerFault::WrongShape)?;
    let mut choices = completion.choices;
    let choice = choices.pop().ok_or(AnswerFault::NoChoice)?;
    if !choices.is_empty() {
        return Err(AnswerFault::SeveralChoices);
    }
    match choice.finish_reason.as_deref() {
        Some("length") => return Err(AnswerFault::CutOff),
        Some("content_filter") => return Err(AnswerFault::Filtered),
        // Servers have names of their own for an ordinary end.
        Some(_) | None => {}
    }
    let message = choice.message;
    if message.refusal.is_some_and(|text| !text.is_empty()) {
        return Err(AnswerFault::Refused);
    }
    let calls = message.tool_calls.unwrap_or_default().into_iter();
    let said = Said {
        text: message.content.unwrap_or_default(),
        calls: calls
            .map(|call| Call {
                id: call.id,
                name: call.function.name,
                arguments: call.function.arguments,
            })
            .collect(),
    };
    let counted = tokens(&completion.usage, "prompt_tokens", "completion_tokens");
    reply(said, counted)
}
