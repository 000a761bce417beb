//! The last four of 100 header fields.
//!
//! The contract admits 100 (`access` 12), actix-http answers a head of more than 96 with a bare 431.
//! So the last fields of such a head travel as the value of a single one, and are fields again before
//! anybody in actix-web sees the request. Nobody else may send that one, and those by which
//! actix-http itself goes stay where they are.

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// As many fields as actix-http takes.
const TAKEN: usize = 96;
/// The most fields that stay as they are when others travel.
pub const STAYING: usize = TAKEN - 1;
/// What the surplus travels as.
pub const NAME: &str = "x-helix-surplus-fields";
/// Read by actix-http, to find the end of a request and what becomes of the connection.
const READ_BELOW: [&str; 6] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
    "expect",
];

/// Whether actix-http goes by a field of this name.
pub fn is_read_below(name: &[u8]) -> bool {
    READ_BELOW
        .iter()
        .any(|read| name.eq_ignore_ascii_case(read.as_bytes()))
}

/// The same head in no more fields than actix-http takes, if this one has more. At most
/// [`STAYING`] fields of a head may be such as actix-http reads.
pub fn packed(head: &[u8], fields: usize) -> Option<Vec<u8>> {
    if fields <= TAKEN {
        return None;
    }
    let mut lines: Vec<&[u8]> = head.split_inclusive(|byte| *byte == b'\n').collect();
    let end = lines.pop()?;
    let mut surplus = Vec::new();
    let mut place = lines.len();
    while lines.len() > 1 + STAYING && place > 1 {
        place -= 1;
        let name = lines[place].split(|byte| *byte == b':').next()?;
        if !is_read_below(name) {
            surplus.push(lines.remove(place));
        }
    }
    surplus.reverse();
    let packed = STANDARD_NO_PAD.encode(surplus.concat());
    let line = format!("{NAME}: {packed}\r\n");
    Some([&lines.concat(), line.as_bytes(), end].concat())
}

/// Makes fields of the surplus again.
pub fn unpack(headers: &mut HeaderMap) {
    if !headers.contains_key(NAME) {
        return;
    }
    let packed: Vec<HeaderValue> = headers.remove(NAME).collect();
    let lines = packed
        .iter()
        .filter_map(|value| STANDARD_NO_PAD.decode(value).ok());
    for lines in lines {
        for (name, value) in lines.split(|byte| *byte == b'\n').filter_map(field) {
            headers.append(name, value);
        }
    }
}

fn field(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = line.split_at(colon);
    let name = HeaderName::from_bytes(name).ok()?;
    let value = HeaderValue::from_bytes(value[1..].trim_ascii()).ok()?;
    Some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A head of `count` fields, `Host` and two of one name at its end among them.
    fn head(count: usize) -> String {
        let numbered: Vec<String> = (4..count).map(|n| format!("x-{n}: {n}\r\n")).collect();
        let numbered = numbered.concat();
        let last = "twice: one\r\nHost: h\r\ntwice:\ttwo \r\nempty:\r\n";
        format!("GET / HTTP/1.1\r\n{numbered}{last}\r\n")
    }

    fn map(head: &[u8]) -> HeaderMap {
        let fields = head.split(|byte| *byte == b'\n').skip(1).filter_map(field);
        fields.collect()
    }

    fn sorted(map: &HeaderMap) -> Vec<(&str, &[u8])> {
        let mut all: Vec<_> = map
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect();
        // Stable: values of one name keep their order.
        all.sort_by_key(|(name, _)| *name);
        all
    }

    #[test]
    fn a_head_that_actix_http_takes_stays_as_it_is() {
        assert_eq!(packed(head(TAKEN).as_bytes(), TAKEN), None);
    }

    #[test]
    fn a_packed_head_has_96_fields_and_unpacks_to_what_it_was() {
        for count in TAKEN + 1..=100 {
            let head = head(count);
            let packed = packed(head.as_bytes(), count).unwrap();
            let text = String::from_utf8(packed.clone()).unwrap();
            assert_eq!(text.matches("\r\n").count(), TAKEN + 2, "{text}");
            assert!(text.ends_with("\r\n\r\n") && text.contains("\r\nHost: h\r\n"));
            let mut unpacked = map(&packed);
            unpack(&mut unpacked);
            assert_eq!(sorted(&unpacked), sorted(&map(head.as_bytes())));
        }
    }
}
