//! What an app may call itself (`access` 3.3, `vault` 2.7).
//!
//! Names stand in consent pages and in the audit log beside the owner's own, `You (…)` and
//! `Helix (…)`, so no app may begin like one of them, also not with letters that only look alike. For
//! all other look-alikes the page shows the redirect's host larger.
//!
//! What stays true: a name has 1 to 80 characters as every contract counts them (UTF-16), no control
//! character and none that turns the direction of a line around. Deliberately absent: escaping.

#[cfg(test)]
mod tests;

use helix_aggregates::text;

pub const MAX_CHARACTERS: usize = 80;

/// Why a name is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("client_name holds a control character")]
    ControlCharacter,
    #[error("client_name begins like a name of this server")]
    Reserved,
}

/// The name to show for what a client sent; none when only blanks are left of it.
pub fn read(sent: &str) -> Result<Option<String>, NameError> {
    if sent.chars().any(char::is_control) {
        return Err(NameError::ControlCharacter);
    }
    let shown: String = sent.chars().filter(|&c| !turns_direction(c)).collect();
    let name = shorten(shown.trim_matches(is_blank));
    let begins_like_ours = ["you(", "helix("]
        .into_iter()
        .any(|own| look(name).take(own.len()).eq(look(own)));
    if begins_like_ours {
        return Err(NameError::Reserved);
    }
    Ok((!name.is_empty()).then(|| name.to_owned()))
}

/// Cuts a name to its bound.
pub fn shorten(name: &str) -> &str {
    text::prefix(name, MAX_CHARACTERS).trim_end_matches(is_blank)
}

fn turns_direction(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// White space, and what shows as nothing or as a blank.
fn is_blank(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// How a name looks, roughly: without blanks and accents, with one letter for those of one shape.
fn look(name: &str) -> impl Iterator<Item = char> {
    name.chars()
        .filter(|&c| !is_blank(c))
        .map(shape)
        .flat_map(char::to_lowercase)
        .map(shape)
        .filter(|c| !matches!(c, '\u{300}'..='\u{36f}'))
}

/// The letter of `you(` and `helix(` that `c` looks like, in the Greek, Cyrillic, Armenian and
/// full-width scripts too; otherwise `c`.
fn shape(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => half_width(c),
        'Υ' | 'Ү' | 'ү' | 'У' | 'у' | 'γ' => 'y',
        '0' | 'Ο' | 'ο' | 'О' | 'о' | 'Օ' | 'օ' => 'o',
        'υ' | 'ս' => 'u',
        'Η' | 'Н' | 'н' | 'Һ' | 'һ' | 'հ' => 'h',
        'Ε' | 'Е' | 'е' => 'e',
        'i' | 'I' | '1' | '|' | 'ı' | 'Ι' | 'ι' | 'І' | 'і' | 'Ӏ' | 'ӏ' | 'Ⅰ' | 'ⅰ' | 'Ⅼ' | 'ⅼ' => {
            'l'
        }
        'Χ' | 'χ' | 'Х' | 'х' | '×' | 'Ⅹ' | 'ⅹ' => 'x',
        '⁽' | '₍' | '❨' | '❪' | '⟮' | '⦅' | '﹙' => '(',
        other => other,
    }
}

/// The ASCII character of a full-width one.
fn half_width(c: char) -> char {
    let ascii = u32::from(c).saturating_sub(0xfee0);
    char::from_u32(ascii).unwrap_or(c)
}
