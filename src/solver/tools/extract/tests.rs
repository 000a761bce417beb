use proptest::prelude::*;

use super::*;

fn prose(format: Format, source: &str) -> (Option<String>, Vec<(String, String)>) {
    let extracted = extract(format, source.as_bytes().to_vec(), &PdfReading::OnThread).unwrap();
    let blocks = extracted.blocks.iter().map(|block| {
        let heading = block
            .heading
            .clone()
            .map(|range| extracted.text[range].to_owned());
        (
            heading.unwrap_or_default(),
            extracted.text[block.range.clone()].to_owned(),
        )
    });
    (extracted.title, blocks.collect())
}

fn pairs(blocks: &[(&str, &str)]) -> Vec<(String, String)> {
    blocks
        .iter()
        .map(|(heading, text)| ((*heading).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn markdown_prose_stands_under_its_heading() {
    let source = "# Ferry\n\nIntro line\nwraps.\n\n## Winter\n- one\n  goes on\n- two\n\n```\ncode\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n";
    let (title, blocks) = prose(Format::Markdown, source);
    assert_eq!(title.as_deref(), Some("Ferry"));
    assert_eq!(
        blocks,
        pairs(&[
            ("Ferry", "Intro line\nwraps."),
            ("Winter", "one\n  goes on"),
            ("Winter", "two"),
            ("| a | b |", "| 1 | 2 |"),
        ])
    );
}

#[test]
fn html_gives_what_a_reader_sees() {
    let source = "<title>T  x</title><style>.a{}</style><nav>menu</nav><h1>Ferry</h1><p>One <b>two</b>\n three</p>\
                  <p hidden>secret</p><ul><li>item</li></ul><script>evil()</script>";
    let (title, blocks) = prose(Format::Html, source);
    assert_eq!(title.as_deref(), Some("T x"));
    assert_eq!(
        blocks,
        pairs(&[("Ferry", "One two three"), ("Ferry", "item")])
    );
}

#[test]
fn the_head_of_an_html_table_is_the_heading_of_its_rows() {
    let source = "<h1>Bakery</h1><table><tr><th>bread<th>price<tr><td>rye<td>3.10\
                  <tr><th>oat</th><td>2.80</td></tr></table><p>After.</p>";
    let (_, blocks) = prose(Format::Html, source);
    assert_eq!(
        blocks,
        pairs(&[
            ("bread price", "rye 3.10"),
            ("bread price", "oat 2.80"),
            ("Bakery", "After."),
        ])
    );
}

#[test]
fn a_page_nested_deeper_than_a_stack_is_read() {
    let source = format!("{}deep{}", "<div>".repeat(20_000), "</div>".repeat(20_000));
    let (_, blocks) = prose(Format::Html, &source);
    assert_eq!(blocks, pairs(&[("", "deep")]));
}

#[test]
fn text_is_cut_into_paragraphs_and_items() {
    let (title, blocks) = prose(
        Format::Text,
        "Notice\n======\n\nOne\ntwo.\n\n1. first\n2. second\n",
    );
    assert_eq!(title.as_deref(), Some("Notice"));
    assert_eq!(
        blocks,
        pairs(&[
            ("", "Notice"),
            ("", "One\ntwo."),
            ("", "1. first"),
            ("", "2. second")
        ])
    );
}

#[test]
fn nul_becomes_the_replacement_character() {
    let extracted = extract(Format::Text, b"a\0b".to_vec(), &PdfReading::OnThread).unwrap();
    assert_eq!(extracted.text, "a\u{fffd}b");
}

#[test]
fn the_sample_pdf_is_read() {
    let bytes = include_bytes!("../../../../ops/demo/library/storm-barrier.pdf").to_vec();
    let extracted = extract(Format::Pdf, bytes, &PdfReading::OnThread).unwrap();
    assert!(extracted.text.contains("four steel gates"));
    assert_eq!(
        extracted.title.as_deref(),
        Some("Storm barrier of Saltvik: inspection report")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn blocks_ascend_and_lie_on_characters(source in "(\\PC|\n|# |- |```\n|<p>|</p>|<h2>|\0|\\|){0,120}") {
        for format in [Format::Text, Format::Markdown, Format::Html] {
            let Ok(extracted) = extract(format, source.clone().into_bytes(), &PdfReading::OnThread) else { continue };
            prop_assert!(!extracted.text.contains('\0'));
            let mut last = 0;
            for block in &extracted.blocks {
                prop_assert!(block.range.start >= last && block.range.start < block.range.end);
                prop_assert!(extracted.text.get(block.range.clone()).is_some());
                last = block.range.end;
                if let Some(heading) = block.heading.clone() {
                    prop_assert!(extracted.text.get(heading).is_some());
                }
            }
        }
    }
}

#[test]
fn damaged_pdfs_are_refused_or_read_but_never_stop_the_rest() {
    let whole = include_bytes!("../../../../ops/demo/library/storm-barrier.pdf").to_vec();
    for place in (0..whole.len()).step_by(37) {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x15;
        damaged.truncate(whole.len() - place % 200);
        match extract(Format::Pdf, damaged, &PdfReading::OnThread) {
            Ok(extracted) => assert!(!extracted.blocks.is_empty()),
            Err(fault) => assert!(
                matches!(
                    fault,
                    CorpusFault::Corrupt { format: "PDF" } | CorpusFault::NoText { format: "PDF" }
                ),
                "{fault:?}"
            ),
        }
    }
}
