//! Where the next page of a list begins. A cursor belongs to its caller, door and filter: a MAC over all
//! of it says so.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use uuid::Uuid;

use super::perform::Ask;
use crate::app::problem::Problem;
use crate::store::Core;
use crate::store::work::Before;

/// Rows of a page unless somebody asks for another number.
const LIMIT: u64 = 50;

/// A page that is asked for.
#[derive(Debug)]
pub(super) struct Page {
    pub before: Before,
    pub limit: usize,
    bound: [u8; 32],
}

impl Page {
    /// `filter` is everything besides cursor and limit that decides what the list holds.
    pub fn asked(
        core: &Core,
        ask: &Ask<'_>,
        workspace: Uuid,
        filter: &[&str],
    ) -> Result<Self, Problem> {
        let caller = ask.caller.line();
        let mut parts: Vec<&[u8]> = vec![
            b"workspace",
            ask.operation.name.as_bytes(),
            caller.as_bytes(),
            workspace.as_bytes(),
        ];
        parts.extend(filter.iter().map(|part| part.as_bytes()));
        let bound = core.keyring.mac("work-list", &parts);
        let limit = ask.arguments.number("limit").unwrap_or(LIMIT);
        let before = ask.arguments.text("cursor");
        let before = before
            .map(|cursor| opened(core, &bound, cursor))
            .transpose()?;
        Ok(Self {
            before,
            limit: usize::try_from(limit).unwrap_or(1),
            bound,
        })
    }

    /// One row more than the page, which tells whether another follows.
    pub fn one_more(&self) -> i64 {
        i64::try_from(self.limit + 1).unwrap_or(i64::MAX)
    }

    /// The cursor after the row with this time and id.
    pub fn after(&self, core: &Core, (at_ms, id): (i64, Uuid)) -> String {
        let mut bytes = at_ms.to_be_bytes().to_vec();
        bytes.extend_from_slice(id.as_bytes());
        let mac = mac(core, &self.bound, &bytes);
        bytes.extend_from_slice(&mac[..16]);
        URL_SAFE_NO_PAD.encode(bytes)
    }
}

fn mac(core: &Core, bound: &[u8; 32], place: &[u8]) -> [u8; 32] {
    core.keyring.mac("work-list-cursor", &[bound, place])
}

fn opened(core: &Core, bound: &[u8; 32], cursor: &str) -> Result<(i64, Uuid), Problem> {
    let invalid = || Problem::invalid("The cursor is not valid for this list.");
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| invalid())?;
    let (place, shown) = bytes.split_at_checked(24).ok_or_else(invalid)?;
    if shown != &mac(core, bound, place)[..16] {
        return Err(invalid());
    }
    let (at, id) = place.split_at(8);
    let at_ms = at.try_into().map(i64::from_be_bytes);
    Ok((
        at_ms.map_err(|_| invalid())?,
        Uuid::from_slice(id).map_err(|_| invalid())?,
    ))
}
