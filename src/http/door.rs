//! What the doors are made of.

use std::future::{Ready, ready};
use std::sync::{Arc, OnceLock};

use actix_web::dev::Payload;
use actix_web::error::InternalError;
use actix_web::http::header;
use actix_web::web::{Bytes, Data};
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use serde_json::json;
use tokio::sync::watch;

use super::permits::Permits;
use super::pipeline;
use super::protected_resource::ProtectedResource;
use super::rate_limit::WindowLimiter;
use super::surface::Surface;
use super::transport::TransportRules;
use crate::app::access::accounts::Accounts;
use crate::app::access::admission::Admission;
use crate::app::access::clients::Clients;
use crate::app::access::consents::Consents;
use crate::app::access::grants::Grants;
use crate::app::access::sign_in::SignIn;
use crate::app::agent::runs::Runs;
use crate::app::agent::workers::Workers;
use crate::app::problem::{Code, Problem};
use crate::app::work::Work;
use crate::auth::bearer::BearerVerifier;
use crate::auth::oauth;
use crate::config::BaseUrl;
use crate::metrics::Metrics;

/// Everything that answers requests. One a process, shared by its threads.
#[derive(Debug)]
pub struct Doors {
    pub runs: Runs,
    pub admission: Admission,
    pub verifier: BearerVerifier,
    pub transport: TransportRules,
    pub base: BaseUrl,
    /// `None` while nobody issues tokens.
    pub resource: Option<ProtectedResource>,
    pub rest: FaceLimits,
    pub mcp: FaceLimits,
    /// At the routes of external workers a principal is a token.
    pub worker: FaceLimits,
    pub workers: Workers,
    /// At the workspace door a principal is a credential.
    pub work: Arc<Work>,
    pub workspace: FaceLimits,
    /// People with a browser, and the limits of their pages.
    pub sign_in: SignIn,
    pub accounts: Accounts,
    pub pages: FaceLimits,
    /// The built-in authorization server. `None` where the public address has a path, below which an
    /// issuer cannot be found.
    pub apps: Option<Apps>,
    pub permits: Permits,
    pub metrics: Metrics,
    pub documents: Documents,
}

/// Texts that depend on the public address alone, made when first asked for.
#[derive(Debug, Default)]
pub struct Documents {
    pub openapi: OnceLock<Bytes>,
    /// The page of all operations.
    pub docs: OnceLock<String>,
}

/// The built-in authorization server.
#[derive(Debug)]
pub struct Apps {
    pub clients: Clients,
    pub consents: Consents,
    pub grants: Grants,
    pub limits: FaceLimits,
    /// Registrations of one address.
    pub registrations: WindowLimiter,
    /// Consent pages and introspections of one address.
    pub questions: WindowLimiter,
}

impl Apps {
    /// Whether tokens for a door come from here.
    pub fn opens(&self, door: oauth::resource::Door) -> bool {
        self.grants.resources().canonical(door).is_some()
    }
}

/// What one face of the door takes (`agent-api` 1.8).
#[derive(Debug)]
pub struct FaceLimits {
    /// Bytes.
    pub body: usize,
    pub by_address: WindowLimiter,
    pub by_principal: WindowLimiter,
}

impl Doors {
    pub fn limits(&self, surface: Surface) -> &FaceLimits {
        match surface {
            Surface::RunRest | Surface::Public => &self.rest,
            Surface::Mcp => &self.mcp,
            Surface::Workers => &self.worker,
            Surface::Workspace | Surface::WorkspaceMcp => &self.workspace,
            Surface::Pages | Surface::SessionLane => &self.pages,
            Surface::Issuer => self.apps.as_ref().map_or(&self.pages, |apps| &apps.limits),
        }
    }
}

/// What the process can say about itself before, while and after it serves.
#[derive(Debug, Clone)]
pub struct Readiness {
    draining: watch::Sender<bool>,
    door: Arc<OnceLock<Arc<Doors>>>,
}

impl Default for Readiness {
    fn default() -> Self {
        Self {
            draining: watch::Sender::new(false),
            door: Arc::default(),
        }
    }
}

impl Readiness {
    /// Opens the doors: migrations and keys are ready.
    pub fn open(&self, door: Arc<Doors>) {
        // A second opening would be a second server in one process; the first stands.
        let _already = self.door.set(door);
    }

    pub fn door(&self) -> Option<&Arc<Doors>> {
        self.door.get()
    }

    /// Refuses what comes from now on, and tells those who wait that waiting is over.
    pub fn drain(&self) {
        self.draining.send_replace(true);
    }

    pub fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// Waits until the server stops. Cancel-safe.
    pub async fn drained(&self) {
        let mut draining = self.draining.subscribe();
        // The sender is this value's own and outlives the wait.
        let _closed = draining.wait_for(|draining| *draining).await;
    }
}

/// The open door of a request; a server that is not ready answers 503 instead.
#[derive(Debug)]
pub struct Door(pub Arc<Doors>);

impl FromRequest for Door {
    type Error = InternalError<&'static str>;
    type Future = Ready<Result<Self, Self::Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let readiness = request.app_data::<Data<Readiness>>();
        let (state, response) = match readiness
            .and_then(|readiness| Some((readiness.door()?, readiness.is_draining())))
        {
            Some((door, false)) => return ready(Ok(Self(Arc::clone(door)))),
            // A server that has a door refuses through it, with the headers every answer has.
            Some((door, true)) => (
                "draining",
                pipeline::refuse(door, request, Problem::new(Code::Unavailable)),
            ),
            None => ("migrating", not_yet()),
        };
        ready(Err(InternalError::from_response(state, response)))
    }
}

fn not_yet() -> HttpResponse {
    HttpResponse::ServiceUnavailable()
        .insert_header((header::RETRY_AFTER, "1"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(json!({ "status": "migrating" }))
}
