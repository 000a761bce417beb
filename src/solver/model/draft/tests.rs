use helix_aggregates::agent::evidence::item::Span;

use super::*;

fn span(start: u64) -> QuotedSpan {
    QuotedSpan {
        source: SourceHandle(0),
        span: Span {
            start,
            end: start + 5,
        },
        quote: "ferry".into(),
        why: String::new(),
    }
}

#[test]
fn a_digest_has_a_line_a_statement_and_each_line_its_marks() {
    let claim = |text: &str, spans: &[usize]| Claim {
        text: text.into(),
        spans: spans.to_vec(),
    };
    let draft = Draft {
        spans: vec![span(0), span(9), span(20)],
        claims: vec![claim("It carries cars [9].", &[2])],
        contradicted_claims: vec![claim("It leaves at 06:40.", &[0])],
        conflicts: vec![Conflict {
            text: "06:40 or 07:10".into(),
            spans: vec![0, 1],
        }],
        ..Draft::default()
    };
    assert_eq!(
        digest(&draft),
        "Sources disagree: 06:40 or 07:10 [1][2]\n\
         Contradicted: It leaves at 06:40. [1]\n\
         It carries cars (9). [3]"
    );
}
