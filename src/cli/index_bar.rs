//! The bar shown while documents are indexed: on standard error, and only for somebody watching.

use indicatif::{ProgressBar, ProgressStyle};

use crate::solver::corpora::LoadStep;

#[derive(Debug)]
pub struct IndexBar(ProgressBar);

impl IndexBar {
    /// Hidden when standard error is not a terminal.
    pub fn new() -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("indexing {wide_bar} {pos}/{len}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    pub fn step(&self, step: LoadStep) {
        match step {
            LoadStep::Reading { done, total, .. } => {
                self.0.set_length(total as u64);
                self.0.set_position(done as u64);
            }
            LoadStep::Indexing { .. } | LoadStep::Done { .. } => self.0.tick(),
        }
    }

    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}
