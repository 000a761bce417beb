//! The steps of a review: the second-level headings of the reviewed text (`access` 6.1).

use helix_aggregates::access::review::STEPS_LIMIT;
use helix_aggregates::text::prefix;
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

/// UTF-16 code units of a step's title.
const TITLE: usize = 200;

/// Titles in the order of the text, at most [`STEPS_LIMIT`]: the last step reaches to the end. A text
/// without such a heading is one step, called `whole`.
pub(super) fn steps(text: &str, whole: &str) -> Vec<String> {
    let mut titles: Vec<String> = Vec::new();
    let mut heading: Option<String> = None;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Heading {
                level: HeadingLevel::H2,
                ..
            }) => {
                if titles.len() == STEPS_LIMIT {
                    break;
                }
                heading = Some(String::new());
            }
            Event::End(TagEnd::Heading(HeadingLevel::H2)) => {
                titles.extend(heading.take().map(|title| named(&title, titles.len())));
            }
            Event::Text(piece) | Event::Code(piece) => {
                if let Some(title) = &mut heading {
                    title.push_str(&piece);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(title) = &mut heading {
                    title.push(' ');
                }
            }
            Event::Start(_)
            | Event::End(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }
    if titles.is_empty() {
        titles.push(named(whole, 0));
    }
    titles
}

/// One line of a bounded length, whatever the heading holds.
fn named(title: &str, index: usize) -> String {
    let line: String = title.chars().filter(|c| !c.is_control()).collect();
    let line = prefix(line.trim(), TITLE).trim_end();
    if line.is_empty() {
        format!("Step {}", index + 1)
    } else {
        line.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_level_headings_are_steps_and_code_is_none() {
        let text = "# Tides\n\n## Spring *tide*\n\n```\n## not a heading\n```\n\nNeap\n----\n\n### Deeper\n\n##\n";
        assert_eq!(steps(text, "Tides"), ["Spring tide", "Neap", "Step 3"]);
    }

    #[test]
    fn a_text_without_headings_is_one_step() {
        assert_eq!(steps("Only text.", "Tides"), ["Tides"]);
        assert_eq!(steps("", "\u{7}"), ["Step 1"]);
    }

    #[test]
    fn there_are_at_most_thirty_two_and_titles_have_an_end() {
        let long = "x".repeat(900);
        let text = format!("## {long}\n\n").repeat(40);
        let found = steps(&text, "Tides");
        assert_eq!(found.len(), 32);
        assert!(found.iter().all(|title| title.len() == 200));
    }
}
