//! The server of the solver `openai`; asking for its models spends no token.

use super::Report;
use crate::config::{Config, SolverKind};
use crate::solver::model::{Health, check};

pub async fn look(config: &Config, report: &mut Report) {
    let SolverKind::OpenAi(settings) = &config.solver.kind else {
        return;
    };
    match check(settings).await {
        Health::Listed => report.ok("model", "the model server answers and has the model"),
        Health::Silent => report.ok("model", "the model server answers; it lists no models"),
        Health::NotListed => report.warn(
            "model",
            "the model server answers and does not list the model of HELIX_MODEL",
            "correct HELIX_MODEL, unless the server has models it does not list",
        ),
        Health::RefusedCredentials => report.error(
            "model",
            "the model server refuses the key",
            "correct HELIX_MODEL_API_KEY",
        ),
        Health::Away(why) => report.error(
            "model",
            format!("the model server does not answer as one: {why}"),
            "check HELIX_MODEL_BASE_URL and that the server is up",
        ),
    }
}
