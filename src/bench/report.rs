//! What a run found out: ratios, each judged, and the absolute figures they were made of.
//!
//! Absolute figures explain a ratio and belong to their run alone. Deliberately absent: stored
//! baselines. Figures of two runs on a shared machine say nothing about the code between them.

use serde::Serialize;

use super::targets::{Ratio, Target};

/// The object of `helix bench --json` (`operations` 3).
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub commit: String,
    pub machine: String,
    pub ratios: Vec<Judged>,
    pub absolute: Vec<Absolute>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    pub name: &'static str,
    pub value: f64,
    pub target: Target,
    pub ok: bool,
    #[serde(skip)]
    pub meaning: &'static str,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Absolute {
    pub name: String,
    pub value: f64,
    pub unit: &'static str,
}

impl Judged {
    pub fn new(ratio: Ratio, value: f64) -> Self {
        Self {
            name: ratio.name(),
            value: rounded(value),
            target: ratio.target(),
            // Judged before rounding: 2.4996 misses 2.5.
            ok: ratio.target().is_met_by(value),
            meaning: ratio.meaning(),
        }
    }
}

impl Absolute {
    pub fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self {
            name: name.into(),
            value: rounded(value),
            unit,
        }
    }
}

impl Report {
    pub fn all_met(&self) -> bool {
        self.ratios.iter().all(|judged| judged.ok)
    }

    /// Aligned lines for people.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!("commit   {}", self.commit),
            format!("machine  {}", self.machine),
            String::new(),
        ];
        for judged in &self.ratios {
            let mark = if judged.ok { "ok    " } else { "MISSED" };
            lines.push(format!(
                "{mark}  {:13}  {:>9}  {:<7}  {}",
                judged.name,
                spelled(judged.value),
                judged.target.to_string(),
                judged.meaning
            ));
        }
        lines.push(String::new());
        let width = self
            .absolute
            .iter()
            .map(|one| one.name.chars().count())
            .max();
        let width = width.unwrap_or(0);
        for one in &self.absolute {
            lines.push(format!(
                "{:width$}  {:>9} {}",
                one.name,
                spelled(one.value),
                one.unit
            ));
        }
        lines
    }
}

/// Three decimals: more would claim a precision that no run has.
fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

fn spelled(value: f64) -> String {
    if value == 0.0 || value >= 1_000.0 {
        format!("{value:.0}")
    } else if value >= 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(value: f64) -> Report {
        Report {
            commit: "abc".to_owned(),
            machine: "m".to_owned(),
            ratios: vec![
                Judged::new(Ratio::Append32, value),
                Judged::new(Ratio::LostAcks, 0.0),
            ],
            absolute: vec![Absolute::new(
                "helix append, 32 writers",
                12_345.6,
                "commands/s",
            )],
        }
    }

    #[test]
    fn the_object_has_the_fields_of_the_contract_and_no_other() {
        let object = serde_json::to_value(report(2.5)).unwrap();
        let expected = serde_json::json!({
            "commit": "abc",
            "machine": "m",
            "ratios": [
                {"name": "append_32", "value": 2.5, "target": 2.5, "ok": true},
                {"name": "lost_acks", "value": 0.0, "target": 0.0, "ok": true},
            ],
            "absolute": [{"name": "helix append, 32 writers", "value": 12345.6, "unit": "commands/s"}],
        });
        assert_eq!(object, expected);
    }

    #[test]
    fn a_target_missed_by_less_than_the_rounding_is_missed() {
        let missed = report(2.4999);
        assert!((missed.ratios[0].value - 2.5).abs() < f64::EPSILON);
        assert!(!missed.ratios[0].ok && !missed.all_met());
        assert!(
            missed
                .lines()
                .iter()
                .any(|line| line.starts_with("MISSED  append_32"))
        );
        assert!(report(2.5).all_met());
    }
}
