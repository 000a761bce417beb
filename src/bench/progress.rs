//! What a person at a terminal sees while they wait. Nothing else ever does.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::ProgressBar;

#[derive(Debug, Default)]
pub struct Progress(Option<ProgressBar>);

impl Progress {
    /// A line on standard error, if that is a terminal.
    pub fn on_terminal() -> Self {
        Self(std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        }))
    }

    pub fn say(&self, text: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(text.to_owned());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
