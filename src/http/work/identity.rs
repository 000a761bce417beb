//! Who sends a request: the bearer of an app or a named token, or the session of a person. Where both
//! are sent, the bearer decides (`access` 1.2).

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::Method;

use crate::app::access::grants::ACCESS_KIND;
use crate::app::problem::{Code, Problem};
use crate::app::work::caller::WorkCaller;
use crate::app::work::tokens::KIND;
use crate::auth::issued_bearer::{self, IssuedBearerError};
use crate::auth::oauth::resource;
use crate::auth::session;
use crate::http::arrival::{OriginRule, check_origin};
use crate::http::door::Doors;
use crate::http::permits::Demand;
use crate::http::pipeline::values;

pub(super) async fn of(
    door: &Arc<Doors>,
    request: &HttpRequest,
    demand: Demand,
) -> Result<WorkCaller, Problem> {
    if values(request, "authorization").next().is_none() {
        return person(door, request, demand).await;
    }
    bearer(door, request, demand).await
}

/// The app or named token behind a request.
pub(crate) async fn bearer(
    door: &Arc<Doors>,
    request: &HttpRequest,
    demand: Demand,
) -> Result<WorkCaller, Problem> {
    let authorization: Vec<&[u8]> = values(request, "authorization").collect();
    match issued_bearer::presented(KIND, &authorization) {
        Ok(hash) => {
            let _turn = door.permits.come_in(demand).await?;
            door.work.token_caller(&hash, demand.line()).await
        }
        Err(IssuedBearerError::Unauthorized) if opens(door) => {
            let hash = issued_bearer::presented(ACCESS_KIND, &authorization)?;
            let _turn = door.permits.come_in(demand).await?;
            door.work.app_caller(&hash, demand.line()).await
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether this server gives out tokens for the door.
fn opens(door: &Doors) -> bool {
    let apps = door.apps.as_ref();
    apps.is_some_and(|apps| apps.opens(resource::Door::Workspace))
}

async fn person(
    door: &Arc<Doors>,
    request: &HttpRequest,
    demand: Demand,
) -> Result<WorkCaller, Problem> {
    let unknown = || Problem::new(Code::Unauthorized);
    let cookies: Vec<&[u8]> = values(request, "cookie").collect();
    let hash = session::presented(&door.base, &cookies).ok_or_else(unknown)?;
    if request.method() != Method::GET {
        check_origin(door, request, OriginRule::Stated)?;
    }
    let _turn = door.permits.come_in(demand).await?;
    let person = door.sign_in.person(&hash, demand.line()).await?;
    person.map(WorkCaller::of).ok_or_else(unknown)
}
