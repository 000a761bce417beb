use super::*;
use crate::bench::slice::Work;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_name_is_measured_and_reported_in_the_order_asked() {
    let order = Order {
        ratios: Ratio::all().collect(),
        pace: Pace::TINY,
        search: Search::new(std::env::temp_dir().join("helix-postgres")),
        folder: PathBuf::from("."),
    };
    let report = run(&order, &Progress::default()).await.unwrap();
    let object = serde_json::to_value(&report).unwrap();
    let names: Vec<&str> = object["ratios"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, Ratio::all().map(Ratio::name).collect::<Vec<_>>());
    for row in object["ratios"].as_array().unwrap() {
        let ratio = Ratio::named(row["name"].as_str().unwrap()).unwrap();
        assert_eq!(
            row["target"].as_f64().unwrap().to_bits(),
            ratio.target().bound().to_bits()
        );
        assert!(row["ok"].is_boolean(), "{row}");
        // What must never happen is independent of speed, so even the tiniest run judges it.
        if ratio.target() == Target::AtMost(0.0) {
            assert_eq!(
                (row["value"].as_f64(), row["ok"].as_bool()),
                (Some(0.0), Some(true)),
                "{row}"
            );
        } else {
            assert!(row["value"].as_f64().unwrap() > 0.0, "{row}");
        }
    }
    for text in ["commit", "machine"] {
        assert!(!object[text].as_str().unwrap().is_empty());
    }
    for row in object["absolute"].as_array().unwrap() {
        assert!(row["name"].is_string() && row["unit"].is_string(), "{row}");
        // So few clients may all find a place.
        let refusals = row["unit"] == "refused/s";
        assert!(row["value"].as_f64().unwrap() > 0.0 || refusals, "{row}");
    }
}

struct Refuses;

impl Work for Refuses {
    type Hand = ();

    fn hand(&self, _number: usize) {}

    async fn once(&self, (): &mut ()) -> Result<(), BenchError> {
        Err(BenchError::Stopped)
    }
}

#[tokio::test]
async fn a_contender_that_fails_has_no_speed() {
    let span = std::time::Duration::from_secs(5);
    let outcome = slice::drive(&Arc::new(Refuses), 4, span).await;
    assert!(matches!(outcome, Err(BenchError::Stopped)), "{outcome:?}");
}
