//! Given events, the view of them.
