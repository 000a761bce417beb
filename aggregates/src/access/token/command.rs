//! What may be asked of a named token.

use super::event::TokenRevocation;
use crate::access::author::Maker;
use crate::access::reach::Reach;
use crate::access::scopes::Scopes;
use crate::ids::{TokenId, WorkspaceId};
use crate::text::Text;
use crate::time::Timestamp;

#[derive(Debug, Clone)]
pub enum TokenCommand {
    Mint(Box<NewToken>),
    /// Another has taken its place; this one goes on until then, at most a day.
    Retire {
        until: Timestamp,
    },
    Pause,
    Resume,
    /// The token was seen where anybody might read it, such as in a URL.
    Expose,
    Revoke {
        cause: TokenRevocation,
    },
}

#[derive(Debug, Clone)]
pub struct NewToken {
    pub workspace: WorkspaceId,
    pub name: Text<80>,
    /// As lists show it.
    pub last_four: Text<4>,
    /// 16 lower-case hex digits of the token's hash.
    pub fingerprint: Text<16>,
    /// Words of the workspace door; its floor is added where it is missing.
    pub scopes: Scopes,
    pub reach: Reach,
    pub maker: Maker,
    pub expires_at: Timestamp,
    /// The token whose permissions this one takes over.
    pub replaces: Option<TokenId>,
}
