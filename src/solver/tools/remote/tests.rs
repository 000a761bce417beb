use super::*;
use crate::testing::upstream::formats::{self, Paper as Told};
use crate::testing::upstream::{Manner, Reply, Upstream as Server};

const PATIENCE: Duration = Duration::from_secs(20);

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn searching(base: &str) -> Remotes {
    Remotes::new(
        RemoteConfig {
            search: Some(url(base)),
            ..RemoteConfig::default()
        },
        PdfReading::OnThread,
    )
}

/// One server behind all three indexes, under paths of their own.
fn indexes(base: &str) -> Remotes {
    let at = |name: &str| Some(url(&format!("{base}/{name}")));
    Remotes::new(
        RemoteConfig {
            openalex: at("openalex"),
            crossref: at("crossref"),
            arxiv: at("arxiv"),
            ..RemoteConfig::default()
        },
        PdfReading::OnThread,
    )
}

async fn outcome(reply: Reply) -> Result<Vec<Finding>, RemoteError> {
    let server = Server::start(move |_| reply.clone()).await;
    let remotes = searching(&server.base);
    remotes.search_web("tide", 8, PATIENCE).await
}

#[tokio::test]
async fn a_web_search_names_the_asker_and_asks_for_json_once() {
    let found = formats::searxng(&[("Tides", "https://a.example/t", "High tide is at 06:12.")]);
    let server = Server::start(move |_| Reply::json(&found)).await;
    let remotes = searching(&format!("{}/searx/", server.base));
    let found = remotes
        .search_web("tide & moon", 8, PATIENCE)
        .await
        .unwrap();
    let expected = Finding {
        title: "Tides".into(),
        locator: "https://a.example/t".into(),
        text: "High tide is at 06:12.".into(),
    };
    assert_eq!(found, [expected]);
    assert_eq!(
        server.asked(),
        ["/searx/search?q=tide+%26+moon&format=json"]
    );
    let agent = format!("user-agent: helix/{}", env!("CARGO_PKG_VERSION"));
    assert!(server.heads()[0].to_lowercase().contains(&agent));
}

#[tokio::test]
async fn hostile_results_are_dropped_or_cleaned() {
    let long = "x".repeat(900_000);
    let results = [
        ("Script", "javascript:alert(1)", "text"),
        ("No text", "https://a.example/none", "  <b></b> "),
        (
            "Nul\u{0}led \u{202e}title",
            "https://user:pw@a.example/1?token=abc#x",
            "<b>One</b><script>bad()</script> &amp; two",
        ),
        (long.as_str(), "https://a.example/2", long.as_str()),
        (
            "Secret",
            "https://a.example/3",
            "use Bearer abcdefghijklmnopqrst now",
        ),
    ];
    let found = outcome(Reply::json(&formats::searxng(&results)))
        .await
        .unwrap();
    let seen: Vec<_> = found
        .iter()
        .map(|f| (f.title.as_str(), f.locator.as_str(), f.text.as_str()))
        .collect();
    assert_eq!(
        seen[0],
        ("Nul led title", "https://a.example/1", "One & two")
    );
    assert_eq!(
        (seen[1].0.len(), seen[1].1, seen[1].2.len()),
        (200, "https://a.example/2", 4000)
    );
    assert_eq!(seen[2].2, "use [REDACTED_SECRET] now");
    assert_eq!(seen.len(), 3);
}

#[tokio::test]
async fn each_way_in_which_a_server_fails_has_its_type() {
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let json = "application/json";
    for (reply, error) in [
        (Reply::of(json, "{\"results\": ["), RemoteError::Malformed),
        (
            Reply::of(json, "{\"results\": \"none\"}"),
            RemoteError::Malformed,
        ),
        (Reply::of(json, "{}"), RemoteError::Malformed),
        (
            Reply::of(json, format!("{{\"results\": {deep}}}")),
            RemoteError::Malformed,
        ),
        (
            Reply::of(json, b"{\"results\": [{\"url\": \"\xff\"}]}".to_vec()),
            RemoteError::Malformed,
        ),
        (
            Reply::of("text/html", "<p>Enable JavaScript</p>"),
            RemoteError::WrongType,
        ),
        (Reply::status(429), RemoteError::Status(429)),
        (Reply::status(500), RemoteError::Status(500)),
        (
            Reply::of(json, "{").in_manner(Manner::Endless),
            RemoteError::TooLong,
        ),
        (
            Reply::of(json, "{").in_manner(Manner::Broken),
            RemoteError::Unreachable,
        ),
        (Reply::redirect("/search"), RemoteError::RedirectLoop),
        (
            Reply::redirect("http://169.254.169.254/latest/meta-data"),
            RemoteError::NotAdmitted,
        ),
        (
            Reply::redirect("https://a.example/"),
            RemoteError::NotAdmitted,
        ),
        (
            Reply::redirect("file:///etc/passwd"),
            RemoteError::NotAdmitted,
        ),
    ] {
        let asked = format!("{reply:?}");
        assert_eq!(
            outcome(reply).await,
            Err(error),
            "{}",
            &asked[..asked.len().min(200)]
        );
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_slow() {
    let silent = Reply::status(200).in_manner(Manner::Silent);
    let server = Server::start(move |_| silent.clone()).await;
    let remotes = searching(&server.base);
    let found = remotes
        .search_web("tide", 8, Duration::from_millis(100))
        .await;
    assert_eq!(found, Err(RemoteError::Slow));
}

#[tokio::test]
async fn a_redirect_is_followed_on_the_same_server_and_to_no_other() {
    let inside = Server::start(|_| Reply::status(200)).await;
    let to = inside.base.clone();
    let found = formats::searxng(&[("T", "https://a.example/t", "text")]);
    let server = Server::start(move |path| match path.split('?').next() {
        Some("/old/search") => Reply::redirect("/new/search"),
        Some("/new/search") => Reply::json(&found),
        _ => Reply::redirect(format!("{to}/search")),
    })
    .await;
    let moved = searching(&format!("{}/old", server.base));
    assert_eq!(moved.search_web("q", 8, PATIENCE).await.unwrap().len(), 1);
    let led_away = searching(&format!("{}/away", server.base));
    assert_eq!(
        led_away.search_web("q", 8, PATIENCE).await,
        Err(RemoteError::NotAdmitted)
    );
    assert_eq!(inside.asked(), Vec::<String>::new());
}

fn paper(full_text: Url) -> Paper {
    Paper {
        title: "T".into(),
        locator: "https://doi.org/10.1/x".into(),
        doi: None,
        year: None,
        authors: Vec::new(),
        abstract_text: None,
        full_text: Some(full_text),
    }
}

const TIDE: Told = Told {
    title: "Tides of the <i>inner</i> harbour",
    doi: "10.1000/tide",
    year: 2019,
    text: "The tide rises 2.4 m and the tide falls.",
    pdf: "",
};

fn literature(path: &str) -> Reply {
    let wind = Told {
        title: "Wind & waves",
        doi: "",
        year: 2024,
        text: "Waves follow\n   the wind & pressure.",
        pdf: "",
    };
    let plain = Told { text: "", ..TIDE };
    match path.split('?').next() {
        Some("/openalex/works") => Reply::json(&formats::openalex(&[plain])),
        Some("/crossref/works") => Reply::json(&formats::crossref(&[TIDE])),
        Some("/arxiv/api/query") => Reply::atom(formats::arxiv(&[wind, TIDE])),
        Some("/arxiv/pdf/2401.00001v1") => {
            Reply::of("text/html", "<h1>Waves</h1><p>Waves reach 3 m.</p>")
        }
        _ => Reply::status(404),
    }
}

#[tokio::test]
async fn a_paper_of_three_indexes_is_one_with_what_each_knows() {
    let server = Server::start(literature).await;
    let found = indexes(&server.base)
        .lookup("harbour tide", 8, PATIENCE)
        .await;
    assert_eq!(found.unreached, []);
    assert_eq!(found.reached.len(), 3);
    let [tide, wind] = found.papers.as_slice() else {
        panic!("{:?}", found.papers)
    };
    assert_eq!(tide.title, "Tides of the inner harbour");
    assert_eq!(tide.locator, "https://doi.org/10.1000/tide");
    assert_eq!(
        tide.abstract_text.as_deref(),
        Some("Abstract\nThe tide rises 2.4 m and the tide falls.")
    );
    assert_eq!(
        (tide.year, tide.authors[0].as_str()),
        (Some(2019), "Ada Strand")
    );
    let text = format!("{}/arxiv/pdf/2401.00002v1", server.base);
    assert_eq!(
        tide.full_text.as_ref().map(Url::as_str),
        Some(text.as_str())
    );
    assert_eq!(
        (wind.title.as_str(), wind.doi.as_ref()),
        ("Wind & waves", None)
    );
    assert_eq!(wind.locator, "http://arxiv.org/abs/2401.00001v1");
    assert_eq!(
        wind.abstract_text.as_deref(),
        Some("Waves follow the wind & pressure.")
    );
    assert!(server.asked().iter().any(|path| {
        path.starts_with("/arxiv/api/query?search_query=all%3Aharbour+OR+all%3Atide&")
    }));
}

#[tokio::test]
async fn a_text_that_cannot_be_fetched_hides_none_that_can() {
    let elsewhere = Told {
        pdf: "https://publisher.example/tide.pdf",
        ..TIDE
    };
    let server = Server::start(move |path| {
        if path.starts_with("/openalex/") {
            Reply::json(&formats::openalex(&[elsewhere]))
        } else {
            literature(path)
        }
    })
    .await;
    let found = indexes(&server.base).lookup("tide", 8, PATIENCE).await;
    let text = format!("{}/arxiv/pdf/2401.00002v1", server.base);
    let there = found.papers[0].full_text.as_ref().map(Url::as_str);
    assert_eq!(there, Some(text.as_str()));
}

#[tokio::test]
async fn a_full_text_lies_below_the_base_of_an_index() {
    let server = Server::start(|_| Reply::of("text/plain", "secret of the inside")).await;
    let at = |path: &str| url(&format!("{}{path}", server.base));
    let config = RemoteConfig {
        search: Some(at("/searx/")),
        openalex: Some(at("/openalex/")),
        arxiv: Some(at("/arxiv")),
        ..RemoteConfig::default()
    };
    let remotes = Remotes::new(config, PdfReading::OnThread);
    for path in [
        "/admin",
        "/arxiv",
        "/arxiv-admin",
        "/arxiv/../admin",
        "/arxiv/%2e%2e/admin",
        "/searx/config",
    ] {
        let refused = remotes.full_text(&paper(at(path)), PATIENCE).await;
        assert_eq!(refused.unwrap_err(), RemoteError::NotAdmitted, "{path}");
    }
    assert_eq!(server.asked(), Vec::<String>::new());
    for path in ["/arxiv/pdf/1", "/openalex/x"] {
        assert!(remotes.full_text(&paper(at(path)), PATIENCE).await.is_ok());
    }
}

#[tokio::test]
async fn an_abstract_is_put_together_from_its_inverted_index() {
    let server = Server::start(|path| {
        if path.starts_with("/openalex/") {
            Reply::json(&formats::openalex(&[TIDE]))
        } else {
            Reply::status(503)
        }
    })
    .await;
    let found = indexes(&server.base).lookup("tide", 8, PATIENCE).await;
    assert_eq!(found.papers[0].abstract_text.as_deref(), Some(TIDE.text));
    let unreached: Vec<_> = found
        .unreached
        .iter()
        .map(|u| (u.upstream, u.error))
        .collect();
    let down = RemoteError::Status(503);
    assert_eq!(
        unreached,
        [(Upstream::Crossref, down), (Upstream::Arxiv, down)]
    );
    assert_eq!(
        found.unreached[0].to_string(),
        "The scope scholarly_research was not read in full: Crossref gave no usable answer, \
         because it answered with status 503."
    );
}

#[tokio::test]
async fn xml_that_declares_entities_nests_or_breaks_is_refused() {
    let bomb = "<!DOCTYPE feed [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]><feed><entry><title>&b;</title></entry></feed>";
    let outside = "<!DOCTYPE feed [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><feed><entry><title>&x;</title></entry></feed>";
    let deep = format!("<feed>{}{}</feed>", "<a>".repeat(5000), "</a>".repeat(5000));
    for body in [
        bomb,
        outside,
        deep.as_str(),
        "<feed><entry><title>&undeclared;</title></entry></feed>",
        "<feed><entry>",
        "<feed></entry>",
        "<feed>\u{0}<",
    ] {
        let body = body.to_owned();
        let server = Server::start(move |path| {
            if path.starts_with("/arxiv/") {
                Reply::atom(body.clone())
            } else {
                Reply::json(&formats::openalex(&[]))
            }
        })
        .await;
        let remotes = Remotes::new(
            RemoteConfig {
                arxiv: Some(url(&format!("{}/arxiv", server.base))),
                ..RemoteConfig::default()
            },
            PdfReading::OnThread,
        );
        let found = remotes.lookup("tide", 8, PATIENCE).await;
        assert_eq!(found.unreached[0].error, RemoteError::Malformed);
    }
}

#[tokio::test]
async fn a_full_text_keeps_the_bytes_it_was_made_from() {
    let server = Server::start(literature).await;
    let remotes = indexes(&server.base);
    let found = remotes.lookup("wind", 8, PATIENCE).await;
    let document = remotes.full_text(&found.papers[1], PATIENCE).await.unwrap();
    assert_eq!(document.title, "Wind & waves");
    assert_eq!(
        document.locator,
        format!("{}/arxiv/pdf/2401.00001v1", server.base)
    );
    assert!(document.text.contains("Waves reach 3 m."));
    let missing = remotes.full_text(&found.papers[0], PATIENCE).await;
    assert_eq!(missing.unwrap_err(), RemoteError::Status(404));
}

#[tokio::test]
async fn a_full_text_elsewhere_is_not_fetched_unless_its_host_is_listed() {
    let inside = Server::start(|_| Reply::of("text/plain", "secret of the inside")).await;
    let targets = [
        format!("{}/paper.pdf", inside.base),
        "https://papers.example/1.pdf".to_owned(),
        "http://papers.example/1.pdf".to_owned(),
        "https://user:pw@papers.example/1.pdf".to_owned(),
        "file:///etc/passwd".to_owned(),
    ];
    let told = targets.clone();
    let server = Server::start(move |_| {
        let papers: Vec<Told> = told
            .iter()
            .zip(["10.1/a", "10.1/b", "10.1/c", "10.1/d", "10.1/e"])
            .map(|(pdf, doi)| Told { doi, pdf, ..TIDE })
            .collect();
        Reply::json(&formats::openalex(&papers))
    })
    .await;
    let config = RemoteConfig {
        openalex: Some(url(&server.base)),
        full_text_hosts: vec!["papers.example".into()],
        ..RemoteConfig::default()
    };
    let remotes = Remotes::new(config, PdfReading::OnThread);
    let found = remotes.lookup("tide", 8, PATIENCE).await.papers;
    let can_be_had: Vec<bool> = found
        .iter()
        .map(|paper| paper.full_text.is_some())
        .collect();
    assert_eq!(can_be_had, [false, true, false, false, false]);
    let mut forced = found[0].clone();
    forced.full_text = Some(url(&targets[0]));
    let refused = remotes.full_text(&forced, PATIENCE).await;
    assert_eq!(refused.unwrap_err(), RemoteError::NotAdmitted);
    assert_eq!(inside.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn a_full_text_is_pdf_html_or_text_and_names_no_credential() {
    let pdf = include_bytes!("../../../../ops/demo/library/storm-barrier.pdf");
    let server = Server::start(|path| match path {
        "/pdf" => Reply::of("application/pdf", pdf.to_vec()),
        "/text" => Reply::of(
            "text/plain; charset=utf-8",
            "Tide table.\n\nsend Bearer abcdefghijklmnopqrst to us",
        ),
        "/broken" => Reply::of("application/pdf", "%PDF-1.4 nonsense"),
        "/image" => Reply::of("image/png", "x"),
        "/vast" => Reply::of("text/html", "<p>x</p>".repeat(1 << 20)),
        _ => Reply::redirect("http://127.0.0.1:1/"),
    })
    .await;
    let config = RemoteConfig {
        arxiv: Some(url(&server.base)),
        ..RemoteConfig::default()
    };
    let remotes = Remotes::new(config, PdfReading::OnThread);
    let paper = |path: &str| paper(url(&format!("{}{path}", server.base)));
    assert!(
        remotes
            .full_text(&paper("/pdf"), PATIENCE)
            .await
            .unwrap()
            .text
            .len()
            > 100
    );
    let text = remotes.full_text(&paper("/text"), PATIENCE).await.unwrap();
    assert_eq!(text.text, "Tide table.\n\nsend [REDACTED_SECRET] to us");
    for (path, error) in [
        ("/broken", RemoteError::Malformed),
        ("/image", RemoteError::WrongType),
        ("/vast", RemoteError::TooLong),
        ("/elsewhere", RemoteError::NotAdmitted),
    ] {
        let failed = remotes.full_text(&paper(path), PATIENCE).await;
        assert_eq!(failed.unwrap_err(), error, "{path}");
    }
}

#[tokio::test]
async fn a_probe_says_of_each_configured_server_whether_it_answers() {
    let server = Server::start(literature).await;
    let seen = indexes(&server.base).probe().await;
    let ok: Vec<_> = seen
        .iter()
        .map(|(upstream, answer)| (*upstream, answer.is_ok()))
        .collect();
    assert_eq!(
        ok,
        [
            (Upstream::OpenAlex, true),
            (Upstream::Crossref, true),
            (Upstream::Arxiv, true)
        ]
    );
    let gone = searching("http://127.0.0.1:1");
    assert_eq!(
        gone.probe().await,
        [(Upstream::Search, Err(RemoteError::Unreachable))]
    );
    assert!(Remotes::default().probe().await.is_empty());
}

#[tokio::test]
async fn what_an_index_leaves_out_stops_nothing_and_a_report_of_an_error_is_no_paper() {
    let error = "<feed><entry><id>https://arxiv.org/api/errors#bad</id><title>Error</title>\
                 <summary>malformed</summary></entry></feed>";
    let server = Server::start(move |path| match path.split('?').next() {
        Some("/openalex/works") => Reply::json(&serde_json::json!({"results": [
            {"id": "https://openalex.org/W1", "display_name": "Bare", "authorships": null},
            {"id": null, "display_name": "Nowhere"}, {"id": "https://openalex.org/W2"},
            {"id": "https://openalex.org/W3", "display_name": "Wide",
                "abstract_inverted_index": {"x".repeat(1000): [0, 2], "short": [1]}},
        ]})),
        Some("/crossref/works") => Reply::json(&serde_json::json!({"message": {"items": [
            {"DOI": "10.1/a", "title": null, "author": null, "link": null},
            {"DOI": "10.1/b", "title": ["Dateless"], "issued": {"date-parts": [[null]]}},
        ]}})),
        _ => Reply::atom(error),
    })
    .await;
    let found = indexes(&server.base).lookup("tide", 8, PATIENCE).await;
    assert_eq!(found.unreached, []);
    let titles: Vec<&str> = found
        .papers
        .iter()
        .map(|paper| paper.title.as_str())
        .collect();
    assert_eq!(titles, ["Bare", "Dateless", "Wide"]);
    assert_eq!(found.papers[2].abstract_text.as_deref(), Some("short"));
}
