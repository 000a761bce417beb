//! Accounts and the bindings that let an outside identity act for one.
