//! What may be asked of a worker's token.

use crate::text::Text;

#[derive(Debug, Clone)]
pub enum WorkerTokenCommand {
    Issue(Box<NewWorkerToken>),
    Revoke,
}

#[derive(Debug, Clone)]
pub struct NewWorkerToken {
    pub name: Text<80>,
    /// 16 lower-case hex digits of the token's hash.
    pub fingerprint: Text<16>,
}
