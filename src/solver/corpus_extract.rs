//! stub
use super::host::ToolHost;
use super::seam::{Draft, Solver, Solving, TurnInput};
#[derive(Debug)]
pub struct CorpusExtract;
impl Solver for CorpusExtract {
    fn name(&self) -> &'static str {
        "corpus-extract"
    }
    fn solve<'a>(&'a self, _input: &'a TurnInput, _host: &'a ToolHost) -> Solving<'a> {
        Box::pin(async { Ok(Draft::default()) })
    }
}
