//! Canonical JSON (RFC 8785): one spelling for every value that is hashed.
//!
//! Keys are sorted by UTF-16 code unit, numbers are spelled as ECMAScript spells them, strings
//! escape only what JSON requires. Written here rather than left to the serialiser because
//! `serde_json` sorts by bytes or not at all, depending on features other crates switch on.

use serde::Serialize;
use serde_json::Value;

/// The canonical bytes of a value.
pub fn to_vec(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    write(value, &mut out);
    out
}

/// Serialises `value`, then writes it canonically.
pub fn of<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_value(value).map(|value| to_vec(&value))
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by(|(a, _), (b, _)| compare_utf16(a, b));
            out.push(b'{');
            for (index, (key, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_string(key, out);
                out.push(b':');
                write(member, out);
            }
            out.push(b'}');
        }
    }
}

fn compare_utf16(a: &str, b: &str) -> std::cmp::Ordering {
    if a.is_ascii() && b.is_ascii() {
        return a.cmp(b);
    }
    a.encode_utf16().cmp(b.encode_utf16())
}

fn write_number(number: &serde_json::Number, out: &mut Vec<u8>) {
    // Integers a double holds exactly are spelled the same by both rules.
    const EXACT: i64 = 1 << 53;
    match number.as_i64() {
        Some(integer) if (-EXACT..=EXACT).contains(&integer) => {
            out.extend_from_slice(integer.to_string().as_bytes());
        }
        _ => {
            let double = number.as_f64().unwrap_or(0.0);
            out.extend_from_slice(ryu_js::Buffer::new().format(double).as_bytes());
        }
    }
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut clean_from = 0;
    for (index, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&text.as_bytes()[clean_from..index]);
        clean_from = index + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            control => out.extend_from_slice(format!("\\u{control:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(&text.as_bytes()[clean_from..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(raw: &str) -> String {
        String::from_utf8(to_vec(&serde_json::from_str(raw).unwrap())).unwrap()
    }

    #[test]
    fn numbers_are_spelled_as_ecmascript_spells_them() {
        for (raw, canonical) in [
            (r#"{"y":20.0,"x":-0.0}"#, r#"{"x":0,"y":20}"#),
            (
                r#"{"t":1e21,"s":1e20,"r":0.000001,"q":0.0000001}"#,
                r#"{"q":1e-7,"r":0.000001,"s":100000000000000000000,"t":1e+21}"#,
            ),
            (
                r#"{"v":0.1,"w":0.30000000000000004,"u":5e-324}"#,
                r#"{"u":5e-324,"v":0.1,"w":0.30000000000000004}"#,
            ),
            (r#"{"n":9007199254740993}"#, r#"{"n":9007199254740992}"#),
        ] {
            assert_eq!(spelled(raw), canonical);
        }
    }

    #[test]
    fn keys_are_sorted_by_utf16_code_unit() {
        assert_eq!(
            spelled("{\"\u{ff5e}\":1,\"\u{1f98a}\":2}"),
            "{\"\u{1f98a}\":2,\"\u{ff5e}\":1}"
        );
        assert_eq!(
            spelled(r#"{"z10":1,"z9":2,"Z":3,"_":4}"#),
            r#"{"Z":3,"_":4,"z10":1,"z9":2}"#
        );
    }

    #[test]
    fn strings_escape_only_what_json_requires() {
        assert_eq!(
            spelled(r#"{"text":"line\nquote\"slash\/ \u2028 \u007f \u0001"}"#),
            "{\"text\":\"line\\nquote\\\"slash/ \u{2028} \u{7f} \\u0001\"}"
        );
    }
}
