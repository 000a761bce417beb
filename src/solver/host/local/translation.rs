//! Translations of a document: files that differ from it by a language code in name or folder.

use serde_json::json;

use super::Open;
use crate::solver::corpora::Corpus;
use crate::solver::host::ToolHost;
use crate::solver::host::arguments::Arguments;
use crate::solver::host::call::Answered;

/// Languages named of one document.
const LANGUAGES: usize = 64;

impl ToolHost {
    pub(super) fn translation(
        &self,
        corpus: &Corpus,
        open: &Open,
        arguments: &Arguments,
    ) -> Answered {
        let wanted = arguments.text("language").unwrap_or_default();
        let original = without_language(&open.document.locator);
        let mut languages = Vec::new();
        for (ordinal, document) in corpus.documents().iter().enumerate() {
            let Some(language) = language_of(original.as_str(), &document.locator) else {
                continue;
            };
            if language.eq_ignore_ascii_case(wanted) {
                let source = self.ledger().name(corpus.scope().id, ordinal, document);
                let translated = Open {
                    source,
                    document: document.clone(),
                };
                let mut answered = self.text_of(&translated, arguments);
                answered.body["language"] = language.into();
                return answered;
            }
            if languages.len() < LANGUAGES {
                languages.push(language);
            }
        }
        let mut body = self.head(open.source);
        body["languages"] = json!(languages);
        Answered {
            body,
            handed: Vec::new(),
        }
    }
}

/// `guide.nb.md` is a translation of `guide.md`.
fn without_language(locator: &str) -> String {
    let (stem, ending) = locator.rsplit_once('.').unwrap_or((locator, ""));
    match stem.rsplit_once('.') {
        Some((original, code)) if is_code(code) => format!("{original}.{ending}"),
        _ => locator.to_owned(),
    }
}

/// The language by which a locator differs from the original's.
fn language_of(original: &str, locator: &str) -> Option<String> {
    let (folder, name) = split(original);
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let (other_folder, other_name) = split(locator);
    let code = if other_folder == folder {
        let rest = other_name.strip_prefix(stem)?.strip_prefix('.')?;
        rest.strip_suffix(ending)?.strip_suffix('.')?
    } else if other_name == name {
        let inner = other_folder.strip_prefix(folder)?;
        let code = inner.strip_prefix('/').unwrap_or(inner);
        // Folders of three letters are `src` and `lib` more often than a language.
        code.split('-')
            .next()
            .filter(|language| language.len() == 2)?;
        code
    } else {
        return None;
    };
    is_code(code).then(|| code.to_owned())
}

fn split(locator: &str) -> (&str, &str) {
    locator.rsplit_once('/').unwrap_or(("", locator))
}

/// Two or three letters, with a region or script after a hyphen perhaps.
fn is_code(text: &str) -> bool {
    let (language, region) = text.split_once('-').unwrap_or((text, "xx"));
    let letters = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphabetic());
    (2..=3).contains(&language.len())
        && letters(language)
        && (2..=4).contains(&region.len())
        && letters(region)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_translation_differs_by_a_language_code_alone() {
        for (original, locator, language) in [
            ("docs/guide.md", "docs/guide.nb.md", Some("nb")),
            ("docs/guide.md", "docs/pt-br/guide.md", Some("pt-br")),
            ("guide.md", "de/guide.md", Some("de")),
            ("guide.md", "guide.md", None),
            ("guide.md", "docs/guide.md", None),
            ("guide.md", "src/guide.md", None),
            ("guide.md", "guide.old.v2.md", None),
            ("guide.md", "guidebook.md", None),
            ("docs/guide.md", "other/guide.md", None),
        ] {
            assert_eq!(
                language_of(original, locator).as_deref(),
                language,
                "{locator}"
            );
        }
        assert_eq!(without_language("docs/guide.nb.md"), "docs/guide.md");
        assert_eq!(without_language("docs/guide.md"), "docs/guide.md");
    }
}
