mod edits;

use helix_aggregates::chain::Hash;
use helix_aggregates::ids::{EventId, RunId};
use helix_aggregates::time::Timestamp;
use serde_json::json;
use uuid::Uuid;

use super::run_log::{Entry, Head, Header, MAX_LINE, StoredBytes};
use super::served::Compared;
use super::*;

fn run_id() -> RunId {
    RunId::new(Uuid::from_u128(0x0193_7f2a_0000_7000_8000_0000_0000_0001))
}

fn entries(count: u64) -> Vec<Entry> {
    let mut prev = Hash::ZERO;
    (1..=count)
        .map(|seq| {
            let public = json!({ "version": seq, "note": "é\u{1f98a}".repeat(usize::try_from(seq).unwrap()) });
            let reason = json!({ "$sealed": format!("c2VhbGVk{seq}") });
            let payload = json!({ "public": { "at": public, "reason": reason }, "state": {} });
            let mut entry = Entry {
                seq,
                kind: if seq == 1 { "run_started" } else { "continuation_received" }.to_owned(),
                ver: 1,
                at: Timestamp::from_millis(1_796_040_000_000 + i64::try_from(seq / 2).unwrap()),
                payload: StoredBytes(payload.to_string().into_bytes()),
                meta: StoredBytes(format!("{{\"n\":{seq}}}").into_bytes()),
                prev,
                hash: Hash::ZERO,
            };
            entry.hash = entry.computed_hash(run_id().uuid());
            prev = entry.hash;
            entry
        })
        .collect()
}

fn head_of(entries: &[Entry]) -> Head {
    entries.last().map_or(
        Head {
            seq: 0,
            hash: Hash::ZERO,
        },
        |last| Head {
            seq: last.seq,
            hash: last.hash,
        },
    )
}

fn log(head: Head, entries: &[Entry]) -> Vec<u8> {
    let exported_at = Timestamp::from_millis(1_796_040_100_000);
    let mut log = Header::new(run_id(), exported_at, head).to_line().unwrap();
    log.extend(entries.iter().flat_map(|entry| entry.to_line().unwrap()));
    log
}

fn sound(count: u64) -> Vec<u8> {
    let entries = entries(count);
    log(head_of(&entries), &entries)
}

fn broken(log: &[u8], checkpoint: Option<Head>) -> (u64, Damage) {
    match run_log(log, checkpoint).unwrap_err() {
        Refusal::Broken { at, damage } => (at, damage),
        other @ (Refusal::Unchecked(_) | Refusal::Unusable(_)) => panic!("{other}"),
    }
}

#[test]
fn a_sound_log_is_verified_to_its_head() {
    let verified = run_log(sound(9).as_slice(), None).unwrap();
    assert_eq!((verified.entries, verified.head), (9, head_of(&entries(9))));
    assert_eq!(verified.run_id, run_id().to_string());
}

#[test]
fn the_published_vector_passes_the_self_test() {
    self_test::run().unwrap();
}

#[test]
fn every_kind_of_damage_is_named_with_its_place() {
    let all = entries(6);
    let head = head_of(&all);
    let without = |gone: usize| {
        let mut kept = all.clone();
        kept.remove(gone);
        kept
    };
    assert_eq!(broken(&log(head, &without(2)), None), (3, Damage::Missing));
    assert_eq!(broken(&log(head, &without(5)), None), (5, Damage::Head));
    assert_eq!(broken(&log(head, &[]), None), (0, Damage::Head));
    let mut doubled = all.clone();
    doubled.insert(3, all[2].clone());
    assert_eq!(broken(&log(head, &doubled), None), (4, Damage::Order));
    let mut swapped = all.clone();
    swapped.swap(1, 2);
    assert_eq!(broken(&log(head, &swapped), None), (2, Damage::Missing));
    let mut altered = all.clone();
    altered[4].kind = "run_completed".into();
    assert_eq!(broken(&log(head, &altered), None), (5, Damage::Altered));
    altered[4].hash = altered[4].computed_hash(run_id().uuid());
    assert_eq!(broken(&log(head, &altered), None), (6, Damage::Predecessor));
    assert_eq!(
        broken(&log(head_of(&all[..5]), &all), None),
        (6, Damage::Head)
    );
}

#[test]
fn entries_never_go_back_in_time() {
    let mut all = entries(2);
    all[1].at = Timestamp::from_millis(all[0].at.millis() - 1);
    all[1].hash = all[1].computed_hash(run_id().uuid());
    assert_eq!(broken(&log(head_of(&all), &all), None), (2, Damage::Time));
}

#[test]
fn an_export_is_not_older_than_its_last_entry() {
    let all = entries(2);
    let mut text = Header::new(run_id(), Timestamp::from_millis(1), head_of(&all))
        .to_line()
        .unwrap();
    text.extend(all.iter().flat_map(|entry| entry.to_line().unwrap()));
    assert_eq!(broken(&text, None), (0, Damage::ExportTime));
}

#[test]
fn a_head_kept_elsewhere_finds_a_cut_tail_and_a_rewritten_log() {
    let all = entries(6);
    let cut = log(head_of(&all[..4]), &all[..4]);
    assert!(
        run_log(cut.as_slice(), None).is_ok(),
        "a cut tail cannot be seen without a head"
    );
    assert!(matches!(
        run_log(cut.as_slice(), Some(head_of(&all))),
        Err(Refusal::Unchecked(_))
    ));
    let whole = log(head_of(&all), &all);
    assert!(run_log(whole.as_slice(), Some(head_of(&all))).is_ok());
    assert!(run_log(whole.as_slice(), Some(head_of(&all[..4]))).is_ok());
    let other = Head {
        seq: 4,
        hash: Hash::from_bytes([7; 32]),
    };
    assert_eq!(broken(&whole, Some(other)), (4, Damage::Checkpoint));
}

#[test]
fn what_is_no_run_log_is_unusable() {
    let picture = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', 0, 0];
    let other = br#"{"schema":"helix.vault_export.v1"}"#;
    let newer = String::from_utf8(sound(1))
        .unwrap()
        .replacen("es1", "es2", 1);
    let long = vec![b'{'; 1 << 20];
    for text in [
        &b""[..],
        &picture,
        other,
        b"\n",
        b"{}\n",
        newer.as_bytes(),
        &long,
    ] {
        assert!(matches!(run_log(text, None), Err(Refusal::Unusable(_))));
    }
}

#[test]
fn the_format_is_exact_bytes() {
    let text = String::from_utf8(sound(3)).unwrap();
    for (edited, at) in [
        (
            text.replacen("\"seq\":2,\"kind\"", "\"seq\": 2,\"kind\"", 1),
            2,
        ),
        (
            text.replacen("\"seq\":2,\"kind\"", "\"seq\":2,\"seq\":2,\"kind\"", 1),
            2,
        ),
        (text.replacen("\"ver\":1", "\"ver\":1.0", 1), 1),
        (text.replacen("run_started", "run_start\\u0065d", 1), 1),
        (text.replacen("\"ver\":1", "\"extra\":null,\"ver\":1", 1), 1),
        (text.replacen("\n{\"seq\":3", "\r\n{\"seq\":3", 1), 2),
        (text.replacen("\n{\"seq\":3", "\n\n{\"seq\":3", 1), 3),
        (format!("{text}\n"), 4),
        (format!("{text} \n"), 4),
    ] {
        assert_eq!(
            broken(edited.as_bytes(), None),
            (at, Damage::Spelling),
            "{edited}"
        );
    }
    assert_eq!(
        broken(&text.as_bytes()[..text.len() - 1], None),
        (3, Damage::CutLine)
    );
    assert_eq!(
        broken(format!("{text}x").as_bytes(), None),
        (4, Damage::CutLine)
    );
}

#[test]
fn base64_has_one_spelling() {
    let text = String::from_utf8(sound(1)).unwrap();
    let meta = "\"meta\":\"eyJuIjoxfQ==\"";
    assert!(text.contains(meta));
    // The same bytes: without padding, in another alphabet's padding, with stray trailing bits.
    for other in [
        "\"meta\":\"eyJuIjoxfQ\"",
        "\"meta\":\"eyJuIjoxfQ=\"",
        "\"meta\":\"eyJuIjoxfR==\"",
    ] {
        let edited = text.replacen(meta, other, 1);
        assert_eq!(
            broken(edited.as_bytes(), None),
            (1, Damage::Spelling),
            "{other}"
        );
    }
}

#[test]
fn a_line_without_end_is_refused_at_the_cap() {
    let mut text = sound(1);
    text.extend(std::iter::repeat_n(b'x', MAX_LINE + 10));
    assert_eq!(broken(&text, None), (2, Damage::Oversize));
}

#[test]
fn heads_are_written_and_read_alike() {
    let head = head_of(&entries(3));
    assert_eq!(head.to_string().parse(), Ok(head));
    let upper = head.to_string().to_uppercase();
    for text in [
        "",
        "3",
        "3:",
        ":ab",
        upper.as_str(),
        &head.to_string().replacen('3', "0", 1),
    ] {
        assert!(text.parse::<Head>().is_err(), "{text}");
    }
}

fn event(entry: &Entry) -> serde_json::Value {
    let stored: serde_json::Value = serde_json::from_slice(&entry.payload.0).unwrap();
    let mut payload = stored["public"].clone();
    payload["reason"] = "what the sealed text says".into();
    json!({
        "schema": "helix.agent_run.event.v1",
        "event_id": EventId::of(run_id().uuid(), entry.seq),
        "run_id": run_id(), "seq": entry.seq, "event_type": entry.kind, "payload": payload,
        "created_at": entry.at, "answer_authority": false, "assistant_answer": false,
        "terminal_eligible": false, "raw_content_included": false,
    })
}

#[test]
fn what_is_served_must_equal_every_clear_field() {
    let all = entries(3);
    let served: Vec<_> = all.iter().map(event).collect();
    let mut compared = Compared::default();
    served::compare(run_id(), &all, &served, &mut compared).unwrap();
    assert_eq!(compared.sealed, 3);
    for (pointer, value) in [
        ("/event_type", json!("run_completed")),
        ("/created_at", json!("2026-11-30T12:00:09.000Z")),
        ("/event_id", json!(EventId::of(run_id().uuid(), 9))),
        ("/payload/at/version", json!(7)),
        ("/payload/at", json!({ "version": 2 })),
        ("/answer_authority", json!(true)),
    ] {
        let mut other = served.clone();
        *other[1].pointer_mut(pointer).unwrap() = value;
        let refusal = served::compare(run_id(), &all, &other, &mut compared).unwrap_err();
        assert!(
            matches!(
                refusal,
                Refusal::Broken {
                    at: 2,
                    damage: Damage::Served(_)
                }
            ),
            "{pointer}"
        );
    }
    let refusal = served::compare(run_id(), &all, &served[..2], &mut compared).unwrap_err();
    assert!(matches!(
        refusal,
        Refusal::Broken {
            at: 3,
            damage: Damage::Served(_)
        }
    ));
}
