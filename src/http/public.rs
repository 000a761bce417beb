//! Documents and pages for everybody: GET and HEAD without a token.
//!
//! What must stay true: they pass the same address limit and transport rules as any request, carry a
//! request id, and hold nothing that depends on who asks. Deliberately absent: any read of the database.

use std::time::Instant;

use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, Resource, web};

use super::arrival;
use super::door::{Door, Doors};
use super::pipeline::{self, Exchange};
use super::surface::Surface;
use crate::app::problem::{Code, Problem};

/// Makes a document, which is the same for everybody.
pub type Document = fn(&Doors) -> HttpResponse;
/// Makes a page.
pub type Page = fn(&Doors, &HttpRequest) -> Result<HttpResponse, Problem>;

/// Documents may be kept this long by anyone (`agent-api` 13.2).
const CACHED: &str = "public, max-age=300";

pub fn document(path: &str, make: Document) -> Resource {
    resource(path, move |door, _| Ok(make(door)))
}

pub fn page(path: &str, make: Page) -> Resource {
    resource(path, make)
}

fn resource<M>(path: &str, make: M) -> Resource
where
    M: Fn(&Doors, &HttpRequest) -> Result<HttpResponse, Problem> + Copy + 'static,
{
    let answer = move |Door(door): Door, request: HttpRequest| async move {
        let started = Instant::now();
        let mut exchange = Exchange::of(&door, &request, Surface::Public);
        let answered = arrival::check(&door, &request, &mut exchange)
            .and_then(|()| Ok(make(&door, &request)?));
        pipeline::conclude(&door, &request, &exchange, answered, started)
    };
    web::resource(path)
        .route(web::get().to(answer))
        .route(web::head().to(answer))
        .default_service(web::to(wrong_method))
}

async fn wrong_method(Door(door): Door, request: HttpRequest) -> HttpResponse {
    let refusal = Problem::new(Code::MethodNotAllowed);
    let mut response = pipeline::refuse(&door, &request, refusal);
    let allowed = HeaderValue::from_static("GET, HEAD");
    response.headers_mut().insert(header::ALLOW, allowed);
    response
}

/// The start of a document that may be cached.
pub fn cached(media_type: &'static str) -> HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response
        .content_type(media_type)
        .insert_header((header::CACHE_CONTROL, CACHED));
    response
}
