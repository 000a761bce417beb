//! The guard's other end, inside actix-web: around everything that answers.

use std::future::Future;
use std::rc::Rc;

use actix_web::Error;
use actix_web::dev::{Service, ServiceRequest, ServiceResponse};

use super::ledger::{Debt, Ledger, Owed};
use super::surplus;

/// Lets the router answer a request as its client sent it, and holds the debt of the connection
/// meanwhile.
pub fn answer<S, B>(
    mut request: ServiceRequest,
    router: &S,
) -> impl Future<Output = Result<ServiceResponse<Owed<B>>, Error>> + use<S, B>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error>,
{
    surplus::unpack(request.headers_mut());
    let debt = request.conn_data::<Rc<Ledger>>().map(Rc::clone).map(Debt);
    let answer = router.call(request);
    async move {
        let answer = answer.await?;
        Ok(answer.map_body(|_, body| Owed::new(body, debt)))
    }
}
