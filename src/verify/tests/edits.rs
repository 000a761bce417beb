//! Ten thousand seeded edits of a log, none accepted.
//!
//! The one openly accepted edit is a plausible `exported_at`: it is no part of the chain.

use std::collections::BTreeMap;

use super::{run_id, sound};
use crate::verify::run_log::{Header, read_exact_line};
use crate::verify::{Refusal, run_log};

/// The `SplitMix64` generator: a seed names a whole series of edits.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }
}

fn lines(log: &[u8]) -> Vec<Vec<u8>> {
    log.split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

fn edit_bytes(log: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut log = log.to_vec();
    for _ in 0..=dice.below(3) {
        let at = dice.below(log.len());
        let byte = u8::try_from(dice.below(256)).unwrap();
        match dice.below(6) {
            0 => log[at] ^= 1 << dice.below(8),
            1 => log[at] = byte,
            2 => log.insert(at, byte),
            3 => drop(log.remove(at)),
            4 => log.truncate(at.max(1)),
            _ => log.extend((0..=dice.below(40)).map(|_| byte)),
        }
    }
    log
}

fn edit_lines(log: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut lines = lines(log);
    let (at, other) = (dice.below(lines.len()), dice.below(lines.len()));
    match dice.below(6) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(other, lines[at].clone()),
        2 => lines.swap(at, other),
        3 => lines.truncate(at),
        4 => lines.insert(at, b"\n".to_vec()),
        _ => lines[at..].reverse(),
    }
    lines.concat()
}

type Object = serde_json::Map<String, serde_json::Value>;

/// Edits that leave every line valid JSON, most of them of the right shape.
fn edit_fields(log: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut lines = lines(log);
    let (at, other) = (dice.below(lines.len()), dice.below(lines.len()));
    let mut object: Object = serde_json::from_slice(&lines[at]).unwrap();
    let donor: Object = serde_json::from_slice(&lines[other]).unwrap();
    let keys: Vec<String> = object.keys().cloned().collect();
    let key = &keys[dice.below(keys.len())];
    match dice.below(5) {
        0 => drop(object.remove(key)),
        1 => drop(object.insert("extra".into(), true.into())),
        2 => {
            if let Some(value) = donor.get(key) {
                object[key] = value.clone();
            }
        }
        3 => object[key] = serde_json::Value::Null,
        _ => object[key] = altered(&object[key], dice),
    }
    // Written back in the order of the format wherever it knows the key.
    lines[at] = respelled(&lines[at], &keys, &object, dice);
    lines.concat()
}

fn altered(value: &serde_json::Value, dice: &mut Dice) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Number(number) => (number.as_u64().unwrap() + 1 + dice.next() % 3).into(),
        Value::String(text) => {
            let mut chars: Vec<char> = text.chars().collect();
            let at = dice.below(chars.len());
            match dice.below(4) {
                0 => chars[at] = b"0123456789abcdefgzAQ="[dice.below(21)].into(),
                1 => chars.swap(at, 0),
                2 => drop(chars.remove(at)),
                _ => chars[at] = chars[at].to_ascii_uppercase(),
            }
            chars.into_iter().collect::<String>().into()
        }
        Value::Object(object) => {
            let mut object = object.clone();
            let key = object.keys().nth(dice.below(object.len())).unwrap().clone();
            object[&key] = altered(&object[&key], dice);
            object.into()
        }
        Value::Array(_) | Value::Bool(_) | Value::Null => "other".into(),
    }
}

fn respelled(line: &[u8], keys: &[String], object: &Object, dice: &mut Dice) -> Vec<u8> {
    let text = std::str::from_utf8(line).unwrap();
    let mut order: Vec<&String> = object.keys().collect();
    let place = |key: &String| text.find(&format!("\"{key}\":")).unwrap_or(usize::MAX);
    order.sort_by_key(|key| {
        if keys.contains(key) {
            place(key)
        } else {
            usize::MAX
        }
    });
    if dice.below(8) == 0 {
        order.reverse();
    }
    let blank = if dice.below(8) == 0 { " " } else { "" };
    let members: Vec<String> = order
        .iter()
        .map(|key| format!("\"{key}\":{blank}{}", spelled(&object[*key], line)))
        .collect();
    format!("{{{}}}\n", members.join(",")).into_bytes()
}

/// The header's `head` keeps its own order of keys.
fn spelled(value: &serde_json::Value, line: &[u8]) -> String {
    match (value["seq"].as_u64(), value["hash"].as_str()) {
        (Some(seq), Some(hash)) if line.starts_with(b"{\"schema\"") => {
            format!("{{\"seq\":{seq},\"hash\":\"{hash}\"}}")
        }
        _ => value.to_string(),
    }
}

/// `true` when the edit did nothing but give the header another time of export.
fn differs_in_export_time_only(log: &[u8], edited: &[u8]) -> bool {
    let header =
        |lines: &[Vec<u8>]| read_exact_line::<Header>(lines[0].strip_suffix(b"\n").unwrap());
    let (before, after) = (lines(log), lines(edited));
    let (Some(old), Some(mut new)) = (header(&before), header(&after)) else {
        return false;
    };
    let moved = new.exported_at != old.exported_at;
    new.exported_at = old.exported_at;
    moved && new == old && new.run_id == run_id() && before[1..] == after[1..]
}

#[test]
fn ten_thousand_seeded_edits_of_a_log_are_never_accepted() {
    let log = sound(12);
    assert!(run_log(log.as_slice(), None).is_ok());
    let (mut tried, mut export_times, mut dice) = (0, 0, Dice(20_261_130));
    let mut found: BTreeMap<&str, u32> = BTreeMap::new();
    while tried < 10_000 {
        let edited = match dice.below(3) {
            0 => edit_bytes(&log, &mut dice),
            1 => edit_lines(&log, &mut dice),
            _ => edit_fields(&log, &mut dice),
        };
        if edited == log {
            continue;
        }
        match run_log(edited.as_slice(), None) {
            Err(Refusal::Broken { damage, .. }) => *found.entry(damage.code()).or_default() += 1,
            Err(Refusal::Unusable(_)) => *found.entry("unusable").or_default() += 1,
            Err(Refusal::Unchecked(reason)) => panic!("no checkpoint was given: {reason}"),
            Ok(_) => {
                let text = String::from_utf8_lossy(&edited);
                assert!(
                    differs_in_export_time_only(&log, &edited),
                    "accepted: {text}"
                );
                export_times += 1;
                continue;
            }
        }
        tried += 1;
    }
    assert!(
        export_times < 100,
        "{export_times} edits hit nothing but the time of export"
    );
    // The edits must get past the spelling often enough to try every other rule.
    for code in [
        "altered",
        "head",
        "missing",
        "order",
        "predecessor",
        "stream",
    ] {
        assert!(
            found.get(code).is_some_and(|count| *count >= 20),
            "{code}: {found:?}"
        );
    }
}

#[test]
fn a_letter_altered_anywhere_is_found() {
    let log = sound(2);
    let header = log.iter().position(|byte| *byte == b'\n').unwrap();
    for at in header..log.len() {
        for bit in 0..8 {
            let mut edited = log.clone();
            edited[at] ^= 1 << bit;
            assert!(
                run_log(edited.as_slice(), None).is_err(),
                "byte {at} bit {bit}"
            );
        }
    }
}
