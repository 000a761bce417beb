//! The marks `[n]` of a digest.

use std::ops::Range;

/// Every mark in order: its bytes in the text and its number, which is at least 1.
pub(super) fn marks(text: &str) -> impl Iterator<Item = (Range<usize>, usize)> {
    text.match_indices('[').filter_map(|(start, _)| {
        let digits = text[start + 1..]
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        let end = start + 1 + digits;
        let closed = text[end..].starts_with(']');
        // More digits than any list of spans is long cannot be a mark.
        if !closed || digits == 0 || digits > 6 {
            return None;
        }
        text[start + 1..end]
            .parse()
            .ok()
            .map(|number| (start..end + 1, number))
    })
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
            [1, 12, 3]
        );
        assert_eq!(
            renumbered(text, |number| (number != 12).then_some(number + 1)),
            "a [2] b [x] c [] d [12][4] e [1234567] f [4"
        );
    }
}
