//! The product as a model hands it in: read strictly, believed nothing.
//!
//! What must stay true: a member that is not part of a product is a fault, so nothing that looks
//! like a ref, a status or an authority passes unseen; lists are bounded before anything walks
//! them. A list that is left out is empty: models leave out what they have nothing for.

use serde::Deserialize;
use serde_json::Value;

use crate::strict_json;

/// Items of one list.
const ITEM_LIMIT: usize = 128;
/// Bytes of the whole product.
const PRODUCT_BYTES: usize = 256 << 10;
/// Bytes of what a fault tells the model.
const DETAIL_BYTES: usize = 300;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Product {
    #[serde(default)]
    pub quotes: Vec<Quote>,
    #[serde(default)]
    pub claims: Vec<Statement>,
    #[serde(default)]
    pub contradicted_claims: Vec<Statement>,
    #[serde(default)]
    pub conflicts: Vec<Statement>,
    #[serde(default)]
    pub fields: Vec<Field>,
    #[serde(default)]
    pub unresolved: Vec<String>,
    #[serde(default)]
    pub settled_requirements: Vec<usize>,
    #[serde(default)]
    pub settled_contradictions: Vec<usize>,
    #[serde(default)]
    pub questions: Vec<Asked>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quote {
    pub source: u32,
    pub quote: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Statement {
    pub text: String,
    #[serde(default)]
    pub quotes: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Field {
    #[serde(rename = "field")]
    pub name: String,
    pub value: String,
    #[serde(default)]
    pub quotes: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    pub question_id: String,
    pub prompt: String,
    #[serde(default)]
    pub options: Vec<Choice>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Choice {
    pub value: String,
    pub label: String,
}

/// Why a product cannot be read. Its text may repeat the product's: it is for the model alone.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Malformed(pub String);

impl Product {
    pub fn read(arguments: &str) -> Result<Self, Malformed> {
        if arguments.len() > PRODUCT_BYTES {
            return Err(Malformed("it is too long".to_owned()));
        }
        let document = strict_json::read(arguments.as_bytes())
            .map_err(|error| Malformed(error.to_string()))?;
        if !is_of_objects(&document) {
            return Err(Malformed(
                "an object is wanted where something else is".to_owned(),
            ));
        }
        let product: Self = serde_json::from_value(document).map_err(|error| {
            let mut detail = error.to_string();
            let end = crate::solver::corpora::floor_boundary(&detail, DETAIL_BYTES);
            detail.truncate(end);
            Malformed(detail)
        })?;
        if product.longest_list() > ITEM_LIMIT {
            return Err(Malformed(format!(
                "a list holds more than {ITEM_LIMIT} items"
            )));
        }
        Ok(product)
    }

    fn longest_list(&self) -> usize {
        let statements = [&self.claims, &self.contradicted_claims, &self.conflicts];
        let own = [
            self.quotes.len(),
            self.fields.len(),
            self.unresolved.len(),
            self.settled_requirements.len(),
            self.settled_contradictions.len(),
            self.questions.len(),
        ];
        let of_statements = statements.iter().flat_map(|list| {
            let inner = list.iter().map(|statement| statement.quotes.len());
            inner.chain(std::iter::once(list.len()))
        });
        let of_fields = self.fields.iter().map(|field| field.quotes.len());
        let of_questions = self.questions.iter().map(|question| question.options.len());
        own.into_iter()
            .chain(of_statements)
            .chain(of_fields)
            .chain(of_questions)
            .max()
            .unwrap_or(0)
    }
}

/// Deriving would read an array as an object whose members have lost their names.
fn is_of_objects(document: &Value) -> bool {
    const LISTS: [&str; 6] = [
        "quotes",
        "claims",
        "contradicted_claims",
        "conflicts",
        "fields",
        "questions",
    ];
    fn items<'a>(list: &'a Value, name: &str) -> &'a [Value] {
        list[name].as_array().map_or(&[], Vec::as_slice)
    }
    let listed = LISTS.iter().flat_map(|name| items(document, name));
    let options = items(document, "questions")
        .iter()
        .flat_map(|question| items(question, "options"));
    document.is_object() && listed.chain(options).all(Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(arguments: &str) -> String {
        Product::read(arguments).err().expect("a fault").0
    }

    #[test]
    fn what_has_nothing_to_say_may_be_left_out() {
        let product = Product::read(r#"{"unresolved":["Nothing is said about tides."]}"#);
        let product = product.ok().expect("a product");
        assert_eq!(product.unresolved.len(), 1);
        assert!(product.quotes.is_empty() && product.claims.is_empty());
    }

    #[test]
    fn what_is_no_part_of_a_product_is_refused_wherever_it_stands() {
        for arguments in [
            r#"{"evidence_refs":["evidence:x:1"]}"#,
            r#"{"terminal_authority_status":"authorized"}"#,
            r#"{"claims":[{"text":"a","quotes":[0],"evidence_ref":"evidence:x:1"}]}"#,
            r#"{"quotes":[{"source":0,"quote":"a","receipt_ref":"receipt:x:1"}]}"#,
            r#"{"quotes":[{"source":0,"quote":"a","span":{"start":0,"end":1}}]}"#,
        ] {
            assert!(fault(arguments).contains("unknown field"), "{arguments}");
        }
    }

    #[test]
    fn doubtful_or_misshapen_json_is_refused() {
        for arguments in [
            "",
            "{",
            "[]",
            "null",
            "{}{}",
            r#"{"claims":[],"claims":[]}"#,
            r#"{"quotes":[{"source":-1,"quote":"a"}]}"#,
            r#"{"quotes":[{"source":"0","quote":"a"}]}"#,
            r#"{"quotes":[{"source":4294967296,"quote":"a"}]}"#,
            r#"{"claims":{"text":"a"}}"#,
            r#"{"quotes":[[0,"a"]]}"#,
            r#"{"questions":[{"question_id":"q","prompt":"p","options":[["a","b"]]}]}"#,
            r#"{"claims":[{"text":"a","quotes":[-1]}]}"#,
            "{\"claims\":[{\"text\":\"\\ud800\"}]}",
        ] {
            assert!(Product::read(arguments).is_err(), "{arguments}");
        }
    }

    #[test]
    fn lists_and_the_whole_are_bounded() {
        let many =
            |items: usize| format!(r#"{{"unresolved":[{}]}}"#, vec![r#""a""#; items].join(","));
        assert!(Product::read(&many(ITEM_LIMIT)).is_ok());
        assert!(fault(&many(ITEM_LIMIT + 1)).contains("more than"));
        let inner = vec!["0"; ITEM_LIMIT + 1].join(",");
        assert!(
            fault(&format!(
                r#"{{"claims":[{{"text":"a","quotes":[{inner}]}}]}}"#
            ))
            .contains("more than")
        );
        let long = format!(r#"{{"unresolved":["{}"]}}"#, "a".repeat(PRODUCT_BYTES));
        assert!(fault(&long).contains("too long"));
        let named = format!(r#"{{"{}":1}}"#, "å".repeat(5_000));
        assert!(fault(&named).len() <= DETAIL_BYTES);
    }
}
