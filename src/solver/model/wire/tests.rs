use serde_json::json;

use super::*;
use crate::solver::model::talk::{Answer, Entry, Function};

fn frame() -> Frame<'static> {
    Frame {
        model: "m-1",
        max_tokens: 512,
        dialect: Dialect {
            sampling: Sampling::Coldest,
            limit: LimitName::MaxTokens,
        },
    }
}

fn talk() -> (Vec<Entry>, Vec<Function>) {
    let call = Call {
        id: "c1".into(),
        name: "search".into(),
        arguments: "{\"query\":\"ferry\"}".into(),
    };
    let entries = vec![
        Entry::User("briefing".into()),
        Entry::Model(Said {
            text: String::new(),
            calls: vec![call],
        }),
        Entry::Answers(vec![Answer {
            id: "c1".into(),
            content: "found".into(),
        }]),
        Entry::Model(Said {
            text: "Done.".into(),
            calls: Vec::new(),
        }),
    ];
    let functions = vec![Function {
        name: "search".into(),
        description: "Searches".into(),
        parameters: json!({"type": "object"}),
    }];
    (entries, functions)
}

fn encoded(wire: Wire, frame: Frame<'_>) -> Value {
    let (entries, functions) = talk();
    let prompt = Prompt {
        system: "rules",
        entries: &entries,
        functions: &functions,
    };
    wire.encode(frame, prompt)
}

#[test]
fn a_conversation_is_spelled_as_chat_completions() {
    let expected = json!({
        "model": "m-1", "stream": false, "tool_choice": "auto", "temperature": 0, "max_tokens": 512,
        "messages": [
            {"role": "system", "content": "rules"},
            {"role": "user", "content": "briefing"},
            {"role": "assistant", "content": "", "tool_calls": [{
                "id": "c1", "type": "function",
                "function": {"name": "search", "arguments": "{\"query\":\"ferry\"}"},
            }]},
            {"role": "tool", "tool_call_id": "c1", "content": "found"},
            {"role": "assistant", "content": "Done."},
        ],
        "tools": [{"type": "function", "function": {
            "name": "search", "description": "Searches", "parameters": {"type": "object"},
        }}],
    });
    assert_eq!(encoded(Wire::Chat, frame()), expected);
}

#[test]
fn a_conversation_is_spelled_as_responses_that_are_not_stored() {
    let expected = json!({
        "model": "m-1", "stream": false, "store": false, "tool_choice": "auto", "temperature": 0,
        "max_output_tokens": 512, "instructions": "rules",
        "input": [
            {"role": "user", "content": "briefing"},
            {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{\"query\":\"ferry\"}"},
            {"type": "function_call_output", "call_id": "c1", "output": "found"},
            {"role": "assistant", "content": "Done."},
        ],
        "tools": [{
            "type": "function", "name": "search", "description": "Searches", "strict": false,
            "parameters": {"type": "object"},
        }],
    });
    assert_eq!(encoded(Wire::Responses, frame()), expected);
}

#[test]
fn what_a_server_refuses_is_left_out() {
    let dialect = Dialect {
        sampling: Sampling::Fixed,
        limit: LimitName::MaxCompletionTokens,
    };
    let spare = Frame { dialect, ..frame() };
    let chat = encoded(Wire::Chat, spare);
    assert!(chat.get("temperature").is_none() && chat.get("max_tokens").is_none());
    assert_eq!(chat["max_completion_tokens"], 512);
    assert!(encoded(Wire::Responses, spare).get("temperature").is_none());
}

fn chat(message: &Value, reason: &str) -> Value {
    json!({"choices": [{"index": 0, "message": message, "finish_reason": reason}]})
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "submit", "arguments": "{}"}})
}

fn response(status: &str, output: &Value) -> Value {
    json!({"status": status, "output": output})
}

fn fault(wire: Wire, body: &Value) -> AnswerFault {
    wire.decode(body.to_string().as_bytes()).unwrap_err()
}

#[test]
fn calls_and_counted_tokens_are_read_of_both_protocols() {
    let mut body = chat(
        &json!({"role": "assistant", "content": null, "tool_calls": [call("a")]}),
        "tool_calls",
    );
    body["usage"] = json!({"prompt_tokens": 7, "completion_tokens": 5});
    let reply = Wire::Chat.decode(body.to_string().as_bytes()).unwrap();
    assert_eq!((reply.said.calls.len(), reply.tokens), (1, Some(12)));

    let mut body = response(
        "completed",
        &json!([
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hidden"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "Read"}, {"type": "output_text", "text": "ing"}]},
            {"type": "function_call", "call_id": "a", "name": "submit", "arguments": "{}"},
            {"type": "web_search_call", "id": "ws_1"},
        ]),
    );
    body["usage"] = json!({"input_tokens": 7, "output_tokens": 5});
    let reply = Wire::Responses.decode(body.to_string().as_bytes()).unwrap();
    assert_eq!(
        (
            reply.said.text.as_str(),
            reply.said.calls.len(),
            reply.tokens
        ),
        ("Reading", 1, Some(12))
    );
}

#[test]
fn tokens_that_are_not_counted_soundly_are_not_counted() {
    for usage in [
        json!(null),
        json!({}),
        json!({"prompt_tokens": -1, "completion_tokens": 5}),
        json!({"prompt_tokens": "7", "completion_tokens": 5}),
        json!([]),
    ] {
        let mut body = chat(&json!({"content": "Hm."}), "stop");
        body["usage"] = usage;
        let reply = Wire::Chat.decode(body.to_string().as_bytes()).unwrap();
        assert_eq!(reply.tokens, None);
    }
}

#[test]
fn an_unusable_chat_completion_says_why() {
    let text = json!({"role": "assistant", "content": "Hm."});
    let many: Vec<Value> = (0..=CALL_LIMIT).map(|n| call(&n.to_string())).collect();
    let calls = |calls: Value| chat(&json!({"content": null, "tool_calls": calls}), "tool_calls");
    let choice = chat(&text, "stop")["choices"][0].clone();
    let two = json!({"choices": [choice, choice]});
    let cases = [
        (json!({"choices": []}), AnswerFault::NoChoice),
        (json!({"error": {"message": "no"}}), AnswerFault::WrongShape),
        (json!([]), AnswerFault::WrongShape),
        (two, AnswerFault::SeveralChoices),
        (chat(&text, "length"), AnswerFault::CutOff),
        (chat(&text, "content_filter"), AnswerFault::Filtered),
        (
            chat(&json!({"content": null, "refusal": "I can't."}), "stop"),
            AnswerFault::Refused,
        ),
        (chat(&json!({"content": " \n"}), "stop"), AnswerFault::Empty),
        (chat(&json!({"content": null}), "stop"), AnswerFault::Empty),
        (calls(json!([])), AnswerFault::Empty),
        (
            calls(json!([call("a"), call("b"), call("a")])),
            AnswerFault::RepeatedCall,
        ),
        (calls(json!(many)), AnswerFault::TooManyCalls),
        (calls(json!([call("")])), AnswerFault::WrongShape),
        (
            calls(json!([call(&"a".repeat(ID_BYTES + 1))])),
            AnswerFault::WrongShape,
        ),
        (
            calls(json!([{"id": "a", "function": {"name": "submit", "arguments": {}}}])),
            AnswerFault::WrongShape,
        ),
        (calls(json!({"id": "a"})), AnswerFault::WrongShape),
        (
            chat(&json!({"content": 5}), "stop"),
            AnswerFault::WrongShape,
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(fault(Wire::Chat, &body), expected, "{body}");
    }
}

#[test]
fn an_unusable_response_says_why() {
    let message = |part: Value| json!([{"type": "message", "content": [part]}]);
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "submit", "arguments": "{}"});
    let text = message(json!({"type": "output_text", "text": "Hm."}));
    let incomplete = |reason: &str| {
        let mut body = response("incomplete", &text);
        body["incomplete_details"] = json!({"reason": reason});
        body
    };
    let cases = [
        (incomplete("max_output_tokens"), AnswerFault::CutOff),
        (incomplete("content_filter"), AnswerFault::Filtered),
        (incomplete("else"), AnswerFault::Unfinished),
        (response("failed", &json!([])), AnswerFault::Unfinished),
        (response("in_progress", &text), AnswerFault::Unfinished),
        (response("completed", &json!([])), AnswerFault::Empty),
        (
            response(
                "completed",
                &message(json!({"type": "refusal", "refusal": "I can't."})),
            ),
            AnswerFault::Refused,
        ),
        (
            response("completed", &json!([call("a"), call("a")])),
            AnswerFault::RepeatedCall,
        ),
        (
            response(
                "completed",
                &json!([{"type": "function_call", "name": "submit"}]),
            ),
            AnswerFault::WrongShape,
        ),
        (
            response("completed", &json!([{"type": "reasoning"}])),
            AnswerFault::Empty,
        ),
        (json!({"status": "completed"}), AnswerFault::WrongShape),
    ];
    for (body, expected) in cases {
        assert_eq!(fault(Wire::Responses, &body), expected, "{body}");
    }
}

#[test]
fn bytes_that_are_not_sound_json_are_refused() {
    let cases: [&[u8]; 6] = [
        b"",
        b"<html><body>Bad gateway</body></html>",
        b"{\"choices\":[",
        b"{\"choices\":[],\"choices\":[]}",
        b"{\"choices\":[{\"message\":{\"content\":\"\xff\"}}]}",
        b"data: {\"choices\":[]}\n\n",
    ];
    for body in cases {
        for wire in [Wire::Chat, Wire::Responses] {
            assert_eq!(wire.decode(body).unwrap_err(), AnswerFault::NotJson);
        }
    }
}
