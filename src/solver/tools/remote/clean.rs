//! From what a server said to what may be kept: prose without markup, titles on one line,
//! addresses without secrets.

use std::borrow::Cow;

use reqwest::Url;
use scraper::{Html, Node};

use crate::app::redaction::{redact_text, text_is_protected};

/// Characters of a title.
const TITLE: usize = 200;
/// Bytes of an address.
const LOCATOR: usize = 1000;
/// Markup longer than this is cut before it is read: it can be written so that reading takes time
/// in the square of its length.
const MARKUP: usize = 32 << 10;
/// Bytes of markup that one character of a text may take.
const MARKUP_OF_A_CHARACTER: usize = 8;
const BLOCKS: &[&str] = &[
    "p",
    "br",
    "div",
    "li",
    "ul",
    "ol",
    "table",
    "tr",
    "h1",
    "h2",
    "h3",
    "h4",
    "title",
    "sec",
    "list",
    "list-item",
    "jats:p",
    "jats:title",
    "jats:sec",
    "jats:list-item",
];

/// Prose of at most `most` characters, without markup.
pub(super) fn markup(raw: &str, most: usize) -> String {
    let looked_at = MARKUP.min(most * MARKUP_OF_A_CHARACTER);
    let raw = &raw[..crate::solver::corpora::floor_boundary(raw, looked_at)];
    if !raw.contains(['<', '&']) {
        return prose(raw, most);
    }
    prose(&visible(raw), most)
}

/// The text of markup, its blocks on lines of their own.
fn visible(raw: &str) -> String {
    let html = Html::parse_fragment(raw);
    let mut text = String::new();
    // A flat walk: hostile markup nests deeper than a stack is.
    let mut node = html.tree.root();
    'walk: loop {
        if let Node::Text(part) = node.value() {
            text.push_str(part);
        }
        if is_block(node.value()) {
            text.push('\n');
        }
        if !is_hidden(node.value())
            && let Some(child) = node.first_child()
        {
            node = child;
            continue;
        }
        loop {
            if is_block(node.value()) {
                text.push('\n');
            }
            if let Some(next) = node.next_sibling() {
                node = next;
                break;
            }
            let Some(parent) = node.parent() else {
                break 'walk text;
            };
            node = parent;
        }
    }
}

fn is_block(node: &Node) -> bool {
    matches!(node, Node::Element(element) if BLOCKS.contains(&element.name()))
}

fn is_hidden(node: &Node) -> bool {
    const HIDDEN: &[&str] = &["script", "style", "template", "noscript"];
    matches!(node, Node::Element(element) if HIDDEN.contains(&element.name()))
}

/// Paragraphs of at most `most` characters: controls gone, blanks single, credential shapes
/// replaced.
pub(super) fn prose(raw: &str, most: usize) -> String {
    let lines = raw.lines().map(line).filter(|line| !line.is_empty());
    let joined: Vec<String> = lines.collect();
    let cut: String = joined.join("\n").chars().take(most).collect();
    match redact_text(cut.trim_end()) {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(text) => text,
    }
}

/// A title on one line; `None` when nothing of it is left.
pub(super) fn title(raw: &str) -> Option<String> {
    let text = markup(raw, TITLE * 4).replace('\n', " ");
    let cut: String = text.chars().take(TITLE).collect();
    let cut = cut.trim();
    (!cut.is_empty()).then(|| cut.to_owned())
}

fn line(raw: &str) -> String {
    let seen: String = raw
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .filter(|c| !is_unseen(*c))
        .collect();
    let words: Vec<&str> = seen.split_whitespace().collect();
    words.join(" ")
}

/// Characters that are not seen and change how others are.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// An address of the web as it may be kept: no user, no fragment, no credential, no control.
pub(super) fn locator(raw: &str) -> Option<String> {
    if raw.len() > 16 * LOCATOR {
        return None;
    }
    let mut url = Url::parse(raw.trim()).ok()?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return None;
    }
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    url.set_fragment(None);
    if holds_secret(&url) || url.as_str().len() > LOCATOR {
        url.set_query(None);
    }
    let kept = url.as_str().len() <= LOCATOR && !text_is_protected(url.as_str());
    kept.then(|| url.into())
}

/// Names of parameters, or of their last part, that hold something to be kept.
const SECRETS: &[&str] = &["key", "auth", "sig", "sid", "jwt", "session"];
/// What such a name may end with, its parts run together: `accessToken`.
const SECRET_ENDINGS: &[&str] = &[
    "token",
    "apikey",
    "accesskey",
    "secret",
    "password",
    "passwd",
    "signature",
    "credential",
    "sessionid",
];

fn holds_secret(url: &Url) -> bool {
    let named = url.query_pairs().any(|(name, _)| {
        let name = name.to_ascii_lowercase();
        let last = name.rsplit(['_', '-', '.']).next().unwrap_or_default();
        SECRETS.contains(&last) || SECRET_ENDINGS.iter().any(|end| last.ends_with(end))
    });
    named || text_is_protected(url.as_str())
}

/// A DOI in the one spelling that is compared.
pub(super) fn doi(raw: &str) -> Option<String> {
    let lower = raw.trim().to_ascii_lowercase();
    let bare = [
        "https://doi.org/",
        "http://doi.org/",
        "https://dx.doi.org/",
        "http://dx.doi.org/",
        "doi:",
    ]
    .iter()
    .find_map(|prefix| lower.strip_prefix(prefix))
    .unwrap_or(&lower);
    let sound = bare.len() <= 200
        && bare.starts_with("10.")
        && bare.contains('/')
        && bare.bytes().all(|byte| byte.is_ascii_graphic())
        && !text_is_protected(bare);
    sound.then(|| bare.to_owned())
}

/// Where a DOI leads.
pub(super) fn doi_locator(doi: &str) -> Option<String> {
    let mut url = Url::parse("https://doi.org/").ok()?;
    url.set_path(doi);
    locator(url.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_the_text_a_reader_sees() {
        for (raw, text) in [
            ("plain\u{0} text", "plain text"),
            (
                "<p>One</p><p>two &amp; <i>three</i></p>",
                "One\ntwo & three",
            ),
            (
                "<jats:title>Abstract</jats:title><jats:p>H<jats:sub>2</jats:sub>O</jats:p>",
                "Abstract\nH2O",
            ),
            ("a<script>steal()</script>b", "ab"),
            ("p < 0.05 and x", "p < 0.05 and x"),
            ("left\u{202e}thgir", "leftthgir"),
        ] {
            assert_eq!(markup(raw, 1000), text, "{raw}");
        }
        let long = "<b>".repeat(20_000) + &"x".repeat(1 << 20);
        assert!(title(&long).unwrap_or_default().chars().count() <= TITLE);
        assert!(prose("go Bearer abcdefghijklmnop", 100).contains("[REDACTED_SECRET]"));
    }

    #[test]
    fn an_address_keeps_neither_credentials_nor_anything_but_the_web() {
        for (raw, kept) in [
            (
                "https://a.example/x?q=1#part",
                Some("https://a.example/x?q=1"),
            ),
            ("https://user:pw@a.example/x", Some("https://a.example/x")),
            (
                "https://a.example/x?access_token=abc&q=1",
                Some("https://a.example/x"),
            ),
            (
                "https://a.example/x?api_key=abc",
                Some("https://a.example/x"),
            ),
            (
                "https://a.example/x?accessToken=abc",
                Some("https://a.example/x"),
            ),
            (
                "https://a.example/x?monkey=1",
                Some("https://a.example/x?monkey=1"),
            ),
            ("https://a.example/a\u{0}b", Some("https://a.example/a%00b")),
            ("https://a.example/helix_room_src_abcdef", None),
            ("javascript:alert(1)", None),
            ("data:text/html,x", None),
            ("file:///etc/passwd", None),
            ("", None),
        ] {
            assert_eq!(locator(raw).as_deref(), kept, "{raw}");
        }
        let long = format!("https://a.example/x?q={}", "y".repeat(2000));
        assert_eq!(locator(&long).as_deref(), Some("https://a.example/x"));
        assert_eq!(
            locator(&format!("https://a.example/{}", "y".repeat(2000))),
            None
        );
    }

    #[test]
    fn a_doi_has_one_spelling() {
        assert_eq!(
            doi("https://doi.org/10.1000/ABC").as_deref(),
            Some("10.1000/abc")
        );
        assert_eq!(doi("doi:10.1000/abc"), doi("10.1000/abc"));
        assert_eq!(
            (doi("11.1/x"), doi("10.1"), doi("10.1/a b")),
            (None, None, None)
        );
        assert_eq!(
            doi_locator("10.1000/a?b#c").as_deref(),
            Some("https://doi.org/10.1000/a%3Fb%23c")
        );
    }
}
