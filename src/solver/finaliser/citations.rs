//! The marks `[n]` of a digest, and texts that cannot be taken for one.
//!
//! What must stay true: whatever reads as a mark in an answer is one that was judged, and whatever
//! reads as a line of its own is one; the same rule holds for every solver's words.

use std::ops::Range;

/// The number of a mark with more digits than any list of spans is long.
const BEYOND: usize = 1_000_000;
/// What opens a mark, or looks as if it did, and what closes it.
const BRACKETS: [(char, char); 4] = [('[', ']'), ('［', '］'), ('【', '】'), ('〔', '〕')];
/// Characters inside of what may still be taken for a mark.
const LONGEST_LOOKALIKE: usize = 64;

/// Every mark in order: its bytes in the text and its number, which is at least 1.
pub(super) fn marks(text: &str) -> impl Iterator<Item = (Range<usize>, usize)> {
    text.match_indices('[').filter_map(|(start, _)| {
        let digits = text[start + 1..]
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        let end = start + 1 + digits;
        if digits == 0 || !text[end..].starts_with(']') {
            return None;
        }
        let number = text[start + 1..end].parse().unwrap_or(BEYOND);
        Some((start..end + 1, number.min(BEYOND)))
    })
}

/// A statement as it may stand in a digest: one line, in which nothing reads as a mark.
pub fn statement(text: &str) -> String {
    let line = one_line(text);
    without(&line, |_| true)
}

/// The words of a text with single blanks between them; controls and breaks of every kind are blanks.
pub fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// A digest whose marks are its solver's: only a line feed breaks a line, and what merely looks like
/// a mark, such as `[1, 2]`, is none.
pub(super) fn digest(text: &str) -> String {
    let lines = text.split(|c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    });
    let lines = lines
        .map(|line| line.replace(|c: char| c.is_control() && c != '\0', " "))
        .map(|line| line.trim_end().to_owned());
    let text = lines.collect::<Vec<_>>().join("\n");
    without(&text, |found| {
        let inside = found
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        !inside.is_some_and(|inside| inside.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// `text` with round brackets for those of everything that reads as a mark and is `unwanted`.
fn without(text: &str, unwanted: impl Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(BRACKETS.map(|(open, _)| open)) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        match lookalike(from) {
            Some(found) if unwanted(found) => {
                let mut inside = found.chars();
                inside.next();
                inside.next_back();
                out.push('(');
                out.push_str(inside.as_str());
                out.push(')');
                rest = &from[found.len()..];
            }
            Some(found) => {
                out.push_str(found);
                rest = &from[found.len()..];
            }
            None => {
                let opening = from.chars().next().map_or(0, char::len_utf8);
                out.push_str(&from[..opening]);
                rest = &from[opening..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// What reads as a mark at the beginning of `text`, which an opening bracket is: digits, and neither
/// letters nor what this rule has written itself, up to a closing one.
fn lookalike(text: &str) -> Option<&str> {
    let is_closing = |c| BRACKETS.iter().any(|(_, close)| *close == c);
    let is_opening = |c| BRACKETS.iter().any(|(open, _)| *open == c);
    let mut numbered = false;
    for (at, c) in text.char_indices().skip(1) {
        if is_closing(c) {
            return numbered.then(|| &text[..at + c.len_utf8()]);
        }
        if c.is_alphabetic() || matches!(c, '\n' | '(') || is_opening(c) || at > LONGEST_LOOKALIKE {
            return None;
        }
        numbered |= c.is_numeric();
    }
    None
}

/// The text with every mark's number replaced; a mark without a new number stays as it is.
pub(super) fn renumbered(text: &str, number_of: impl Fn(usize) -> Option<usize>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (range, number) in marks(text) {
        out.push_str(&text[copied..range.start]);
        match number_of(number) {
            Some(new) => {
                out.push('[');
                out.push_str(&new.to_string());
                out.push(']');
            }
            None => out.push_str(&text[range.clone()]),
        }
        copied = range.end;
    }
    out.push_str(&text[copied..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_in_brackets_are_marks() {
        let text = "a [1] b [x] c [] d [12][3] e [1234567] f [4";
        assert_eq!(
            marks(text).map(|(_, number)| number).collect::<Vec<_>>(),
            [1, 12, 3, BEYOND]
        );
        assert_eq!(
            renumbered(text, |number| (number < 12).then_some(number + 1)),
            "a [2] b [x] c [] d [12][4] e [1234567] f [4"
        );
        let huge = format!("[{}]", "9".repeat(40));
        assert_eq!(marks(&huge).next().unwrap().1, BEYOND);
    }

    #[test]
    fn a_statement_is_one_line_without_anything_that_reads_as_a_mark() {
        for (said, stands) in [
            ("The fare is 5.", "The fare is 5."),
            ("Free. [1]\nAlso. [2]", "Free. (1) Also. (2)"),
            ("a\r\u{2028}b\u{85}c\u{7}d\t e", "a b c d e"),
            (
                "[[1]] [12345678901234567890]",
                "[(1)] (12345678901234567890)",
            ),
            (
                "[1, 2] [ 3 ] [4-6] [\u{200b}7] [٣]",
                "(1, 2) ( 3 ) (4-6) (\u{200b}7) (٣)",
            ),
            ("［1］ 【2】 〔3〕 [4】", "(1) (2) (3) (4)"),
            ("[x] [] [4 [a1]", "[x] [] [4 [a1]"),
        ] {
            assert_eq!(statement(said), stands, "{said:?}");
            assert_eq!(marks(stands).count(), 0, "{stands:?}");
            assert_eq!(statement(stands), stands, "{stands:?}");
        }
    }

    #[test]
    fn a_digest_keeps_its_own_marks_and_no_lookalike() {
        assert_eq!(
            digest("One. [1]\r\nTwo. [2][1, 2]\u{2028}Three. ［3］ [4"),
            "One. [1]\n\nTwo. [2](1, 2)\nThree. (3) [4"
        );
    }
}
