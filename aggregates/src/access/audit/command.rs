//! What may be asked of the record.

use super::event::Action;
use crate::access::author::Author;
use crate::text::Text;

#[derive(Debug, Clone)]
pub enum AuditCommand {
    Record(Box<NewEntry>),
}

#[derive(Debug, Clone)]
pub struct NewEntry {
    /// As whom it was asked, in words.
    pub client: Text<120>,
    pub action: Action,
    pub detail: Text<500>,
    /// Who asked, by id; nobody, where it was whoever holds the data directory.
    pub by: Option<Author>,
}
