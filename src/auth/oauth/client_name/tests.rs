use proptest::prelude::*;

use super::*;

fn named(sent: &str) -> Option<String> {
    read(sent).unwrap()
}

#[test]
fn an_ordinary_name_stays_as_it_is() {
    for name in [
        "Tide Notes",
        "Your notes (beta)",
        "Youth (club)",
        "Helix",
        "Helixir (x)",
        "You",
        "Hey, you (web)",
        "Thank You (app)",
        "<b>Tide</b> & Co. \"quoted\"",
        "Заметки (бета)",
        "👩‍👩‍👧 Family",
        "( )",
    ] {
        assert_eq!(named(name).as_deref(), Some(name));
    }
}

#[test]
fn blanks_at_the_ends_are_trimmed_and_nothing_but_blanks_is_no_name() {
    assert_eq!(
        named(" \u{a0}\u{200b}\u{3164}Tide Notes \u{feff}").as_deref(),
        Some("Tide Notes")
    );
    for blank in [
        "",
        "   ",
        "\u{3000}\u{2003}",
        "\u{3164}",
        "\u{2800}\u{200b}\u{2028}",
    ] {
        assert_eq!(named(blank), None, "{blank:?}");
    }
}

#[test]
fn what_turns_a_line_around_is_removed() {
    for c in [
        '\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}',
    ] {
        assert_eq!(named(&format!("Ti{c}de")).as_deref(), Some("Tide"));
    }
}

#[test]
fn a_long_name_is_cut_at_80_characters() {
    assert_eq!(named(&"a".repeat(10_240)), Some("a".repeat(80)));
    assert_eq!(named(&"é".repeat(81)), Some("é".repeat(80)));
    // Two UTF-16 units each: the 40th is the last that fits.
    assert_eq!(named(&"👾".repeat(41)), Some("👾".repeat(40)));
    let spaced = format!("{} {}", "a".repeat(79), "b".repeat(9));
    assert_eq!(named(&spaced), Some("a".repeat(79)));
}

#[test]
fn control_characters_are_refused_wherever_they_stand() {
    for c in ('\0'..='\u{1f}').chain('\u{7f}'..='\u{9f}') {
        for name in [
            format!("Tide{c}read"),
            format!("{c}Tide"),
            format!("Tide{c}"),
            format!("{}{c}", "a".repeat(100)),
        ] {
            assert_eq!(read(&name), Err(NameError::ControlCharacter), "{name:?}");
        }
    }
}

#[test]
fn names_that_begin_like_ours_are_refused() {
    for name in [
        "You (web)",
        "you (Phone)",
        "YOU (",
        "You(web)",
        "You  (web)",
        "Y o u (web)",
        "You\u{a0}(web)",
        "You\u{200b} (web)",
        "\u{3164}You (web)",
        "\u{202e}You (web)",
        "  You (web)",
        "Ｙｏｕ （web）",
        "You ﹙web)",
        "Yοu (web)",
        "Уou (web)",
        "Y0u (web)",
        "Y\u{301}ou (web)",
        "Helix (owner)",
        "HELIX (owner)",
        "hELIX(owner)",
        "Heiix (owner)",
        "He1ix (owner)",
        "Нelix (owner)",
        "HELİX (owner)",
        "Hel\u{ad}ix\u{2003}(owner)",
    ] {
        assert_eq!(read(name), Err(NameError::Reserved), "{name:?}");
    }
}

proptest! {
    #[test]
    fn every_name_is_short_visible_and_never_ours(sent in any::<String>()) {
        if let Ok(Some(name)) = read(&sent) {
            prop_assert!((1..=80).contains(&text::utf16_len(&name)));
            prop_assert!(!name.chars().any(|c| c.is_control() || turns_direction(c)));
            prop_assert!(!name.starts_with(is_blank) && !name.ends_with(is_blank));
            let lower = name.to_lowercase();
            prop_assert!(!lower.starts_with("you (") && !lower.starts_with("helix ("));
            prop_assert_eq!(read(&name), Ok(Some(name)));
        }
    }

    #[test]
    fn blanks_do_not_hide_a_name_of_ours(
        own in prop_oneof![Just("You ("), Just("Helix (")],
        blanks in "[ \u{a0}\u{200b}\u{202e}\u{3164}\u{feff}]{0,4}",
        at in 0_usize..6,
        tail in "[a-z)]{0,8}",
    ) {
        let at = at.min(own.len());
        let name = format!("{}{blanks}{}{tail}", &own[..at], &own[at..]);
        prop_assert_eq!(read(&name), Err(NameError::Reserved));
    }
}
