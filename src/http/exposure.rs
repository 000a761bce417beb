//! A named token in a URL: others have read it by now, so it is marked (`access` 1.2).

use actix_web::HttpRequest;

use tokio::sync::Semaphore;

use super::door::Doors;
use super::query::percent_decoded;
use crate::app::redaction::issued_token;
use crate::app::work::tokens::KIND;

/// Tokens of one URL that are looked up.
const MOST: usize = 4;
/// Looks under way in a process: those of a flood of addresses must not crowd out whoever is being
/// recognised over the same connections. A token that was passed over is seen again.
static LOOKS: Semaphore = Semaphore::const_new(8);

/// Has the tokens in the query of a request marked, without making it wait.
pub(super) fn note(door: &Doors, request: &HttpRequest) {
    let Some(query) = request.uri().query() else {
        return;
    };
    let found = issued_token::found(&percent_decoded(query), KIND);
    for hash in found.into_iter().take(MOST) {
        let Ok(look) = LOOKS.try_acquire() else {
            return;
        };
        let work = door.work.clone();
        // Nobody waits for it: what fails is logged, and the next sight of the token tries again.
        let _marking = door.runs.core().spawn(async move {
            let _look = look;
            if let Err(error) = work.tokens().expose(&hash).await {
                tracing::warn!(cause = %error, "an exposed token could not be marked");
            }
        });
    }
}
