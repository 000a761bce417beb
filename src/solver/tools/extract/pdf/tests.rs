use std::fmt::Write as _;
use std::time::Duration;

use super::*;

const SAMPLE: &[u8] = include_bytes!("../../../../../ops/demo/library/storm-barrier.pdf");

/// A PDF file of the given objects.
fn pdf(objects: &[String]) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (place, object) in objects.iter().enumerate() {
        writeln!(table, "{:010} 00000 n ", file.len()).unwrap();
        file.extend_from_slice(format!("{} 0 obj\n{object}\nendobj\n", place + 1).as_bytes());
    }
    let start = file.len();
    let size = objects.len() + 1;
    let trailer = format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n");
    file.extend_from_slice(table.as_bytes());
    file.extend_from_slice(trailer.as_bytes());
    file
}

/// A page that draws object 4.
fn page(drawings: &[String]) -> Vec<u8> {
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R \
         /Resources << /XObject << /X 4 0 R >> >> >>"
            .to_owned(),
        drawings[0].clone(),
        "<< /Length 5 >>\nstream\n/X Do\nendstream".to_owned(),
    ];
    objects.extend_from_slice(&drawings[1..]);
    pdf(&objects)
}

fn drawing(resources: &str) -> String {
    format!(
        "<< /Type /XObject /Subtype /Form /BBox [0 0 1 1] {resources} /Length 5 >>\nstream\n/X Do\nendstream"
    )
}

fn draws(number: usize) -> String {
    drawing(&format!("/Resources << /XObject << /X {number} 0 R >> >>"))
}

#[test]
fn drawings_that_contain_themselves_are_refused() {
    for file in [
        page(&[draws(4)]),
        page(&[drawing("")]),
        page(&[draws(6), draws(7), draws(4)]),
    ] {
        assert_eq!(extract(file, &PdfReading::OnThread), Err(CORRUPT));
    }
}

#[test]
fn drawings_nested_without_end_are_refused_and_a_few_are_not() {
    let nested = |depth: usize| {
        let mut drawings = vec![draws(6)];
        drawings.extend((0..depth).map(|place| draws(place + 7)));
        let last = "<< /Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << >> /Length 1 >>\nstream\nn\nendstream";
        drawings.push(last.to_owned());
        guard::check(&page(&drawings))
    };
    assert_eq!(nested(5), Ok(()));
    assert_eq!(nested(5000), Err(CORRUPT));
}

fn shell(script: &str) -> (std::path::PathBuf, Vec<String>) {
    ("/bin/sh".into(), vec!["-c".to_owned(), script.to_owned()])
}

#[test]
fn a_child_is_judged_by_what_it_says_and_how_it_ends() {
    let long = Duration::from_secs(20);
    for (script, expected) in [
        (
            "cat > /dev/null; printf 'four gates'",
            Ok("four gates".to_owned()),
        ),
        ("printf 'half a te'; exit 1", Err(CORRUPT)),
        ("printf 'half a te'; kill -ABRT $$", Err(CORRUPT)),
        ("printf '\\377'", Err(CORRUPT)),
        ("exit 0", Ok(String::new())),
    ] {
        let (program, arguments) = shell(script);
        assert_eq!(
            child::parse(&program, &arguments, SAMPLE.to_vec(), long),
            expected,
            "{script}"
        );
    }
    let (program, arguments) = shell("exec sleep 60");
    let late = child::parse(
        &program,
        &arguments,
        SAMPLE.to_vec(),
        Duration::from_millis(50),
    );
    assert_eq!(late, Err(TOO_SLOW));
    let absent = child::parse("/no/such/program".as_ref(), &[], SAMPLE.to_vec(), long);
    assert_eq!(absent, Err(CorpusFault::Unreadable));
}

#[test]
fn the_childs_side_writes_the_text_or_fails() {
    let mut text = Vec::new();
    child::convert(SAMPLE, &mut text).unwrap();
    assert!(
        String::from_utf8(text)
            .unwrap()
            .contains("four steel gates")
    );
    let mut nothing = Vec::new();
    assert!(child::convert(&b"%PDF-1.4 nothing"[..], &mut nothing).is_err());
    assert!(nothing.is_empty());
}
