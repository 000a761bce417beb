//! Answers of a server: bounded bodies, and its errors as typed failures with something to do.

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

use super::{Answer, MAX_ANSWER};
use crate::cli::failure::{Exit, Failure};

/// A JSON body, or the server's error as a failure.
pub async fn json(response: Response) -> Result<Answer, Failure> {
    if !response.status().is_success() {
        return Err(failure(response).await);
    }
    let headers = response.headers().clone();
    let body = serde_json::from_slice(&bounded(response).await?).map_err(|_| {
        Failure::unavailable("not_helix", "the server's answer is not JSON")
            .fix("check that --url names a helix server")
    })?;
    Ok(Answer { body, headers })
}

/// The whole body, as long as it stays under the cap.
pub async fn bounded(mut response: Response) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    while let Some(piece) = super::piece(&mut response).await? {
        if body.len() + piece.len() > MAX_ANSWER {
            return Err(Failure::unavailable(
                "too_large",
                "the server's answer is too large",
            ));
        }
        body.extend(piece);
    }
    Ok(body)
}

/// The failure that an unsuccessful answer means (`agent-api` 1.5, 1.8).
pub async fn failure(response: Response) -> Failure {
    let status = response.status();
    let retry_after = response.headers().get("Retry-After").cloned();
    let retry_after = retry_after.and_then(|seconds| seconds.to_str().ok()?.parse::<u64>().ok());
    let body = bounded(response).await.unwrap_or_default();
    told(
        status,
        retry_after,
        &serde_json::from_slice(&body).unwrap_or(Value::Null),
    )
}

fn told(status: StatusCode, retry_after: Option<u64>, body: &Value) -> Failure {
    let fallback = format!("http_{}", status.as_u16());
    let code = body["error"].as_str().unwrap_or(&fallback);
    let message = body["message"]
        .as_str()
        .map_or_else(|| status.to_string(), str::to_owned);
    let message = format!("{message}{}", explained(&body["details"]));
    let exit = exit(status, code);
    let mut details = json!({ "status": status.as_u16() });
    for field in ["request_id", "retryable", "details"] {
        if !body[field].is_null() {
            details[field] = body[field].clone();
        }
    }
    if let Some(seconds) = retry_after {
        details["retry_after"] = seconds.into();
    }
    let failure = Failure::new(exit, code, message).details(details);
    match fix(code) {
        Some(fix) => failure.fix(fix),
        None => failure,
    }
}

fn exit(status: StatusCode, code: &str) -> Exit {
    match (status.as_u16(), code) {
        (409, "run_busy" | "idempotency_in_progress") => Exit::InUse,
        (400 | 413 | 422, _) => Exit::Usage,
        (401 | 403, _) => Exit::NotAllowed,
        (404 | 409 | 410, _) => Exit::No,
        _ => Exit::Unavailable,
    }
}

/// The details that say what is wrong, in one line.
fn explained(details: &Value) -> String {
    let issues = details["issues"]
        .as_array()
        .into_iter()
        .flatten()
        .take(10)
        .map(|issue| {
            let path: Vec<String> = issue["path"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|step| {
                    step.as_str()
                        .map_or_else(|| step.to_string(), str::to_owned)
                })
                .collect();
            let path = issue["path"]
                .as_str()
                .map_or_else(|| path.join("."), str::to_owned);
            let message = issue["message"].as_str().unwrap_or("refused");
            if path.is_empty() {
                format!("\n  {message}")
            } else {
                format!("\n  {path}: {message}")
            }
        });
    let lists = [
        "denied_scopes",
        "required_oauth_scopes",
        "denied_capabilities",
        "missing_scope_policies",
        "required_scope",
        "current_version",
        "unknown_question_ids",
    ];
    let lists = lists.iter().filter(|name| !details[**name].is_null());
    issues
        .chain(lists.map(|name| format!("\n  {name}: {}", details[*name])))
        .collect()
}

/// What a person can do about an error of the table.
fn fix(code: &str) -> Option<&'static str> {
    Some(match code {
        "invalid_request" => "correct the arguments; see the same command with --help",
        "unauthorized" | "tenant_required" => "set HELIX_TOKEN to a valid token of this server",
        "account_not_linked" => "ask the operator for `helix account link …`",
        "insufficient_scope" => "ask for a token with the scopes named above",
        "account_policy_blocked" => "leave those scopes out, or ask the operator to enable them",
        "not_found" => "check the id with `helix run list`",
        "version_conflict" => "look with `helix run inspect RUN` and repeat",
        "run_busy" => "wait with `helix run inspect RUN --wait`",
        "run_not_resumable" => "start another run",
        "idempotency_conflict" => "use another --key for another request",
        "idempotency_in_progress" => "repeat with the same --key, or add --wait",
        "outcome_unknown" => "look with `helix run inspect RUN` before going on",
        "scope_policy_not_configured" => "ask the operator about HELIX_AGENT_DATABASE_SCOPES",
        "auth_not_configured" => "the operator must complete HELIX_AGENT_OAUTH_*",
        "rate_limited" => "wait a minute, or add --wait",
        "host_not_allowed" => {
            "use the server's public address, or ask for HELIX_AGENT_ALLOWED_HOSTS"
        }
        "https_required" => "use an https address",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit_of(status: u16, code: &str) -> Exit {
        let body = json!({ "error": code, "message": "m", "retryable": false });
        let Failure::Told(told) = told(StatusCode::from_u16(status).unwrap(), None, &body) else {
            panic!("told")
        };
        assert_eq!(told.code, code);
        told.exit
    }

    #[test]
    fn exit_codes_follow_the_meaning_of_an_error() {
        assert_eq!(exit_of(400, "invalid_request"), Exit::Usage);
        assert_eq!(exit_of(401, "unauthorized"), Exit::NotAllowed);
        assert_eq!(exit_of(403, "account_policy_blocked"), Exit::NotAllowed);
        assert_eq!(exit_of(404, "not_found"), Exit::No);
        assert_eq!(exit_of(409, "version_conflict"), Exit::No);
        assert_eq!(exit_of(409, "run_busy"), Exit::InUse);
        assert_eq!(exit_of(429, "rate_limited"), Exit::Unavailable);
        assert_eq!(exit_of(503, "auth_not_configured"), Exit::Unavailable);
    }

    #[test]
    fn issues_are_told_with_their_paths() {
        let details =
            json!({ "issues": [{ "path": ["budget", "max_steps"], "message": "too big" }] });
        let body = json!({ "error": "invalid_request", "message": "no", "details": details });
        let Failure::Told(told) = told(StatusCode::BAD_REQUEST, None, &body) else {
            panic!("told")
        };
        assert_eq!(told.message, "no\n  budget.max_steps: too big");
    }

    #[test]
    fn an_answer_of_something_else_is_still_told() {
        let Failure::Told(told) = told(StatusCode::BAD_GATEWAY, None, &Value::Null) else {
            panic!("told")
        };
        assert_eq!(
            (told.code.as_str(), told.exit),
            ("http_502", Exit::Unavailable)
        );
    }
}
