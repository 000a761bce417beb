//! `helix account …`: the operator's way to accounts and their links (`operations` 3).

use clap::{Args, Subcommand, ValueEnum};

use super::failure::{Exit, Failure};
use super::{Context, SettingFlags};

#[derive(Debug, Args)]
pub struct AccountArgs {
    #[command(subcommand)]
    pub verb: Verb,
    #[command(flatten)]
    pub settings: SettingFlags,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Create an account; the passphrase is read from standard input
    Create(CreateArgs),
    /// List accounts and their links
    List,
    /// Link an identity of an authorization server to an account
    Link(LinkArgs),
    /// End a link; the next request of that identity is refused
    Unlink {
        /// The reference that `link` printed
        #[arg(long, value_name = "REF")]
        binding: String,
    },
}

#[derive(Debug, Args)]
pub struct CreateArgs {
    #[arg(long)]
    pub email: String,
    #[arg(long)]
    pub name: String,
    #[arg(long = "type", value_enum, default_value_t = AccountType::User)]
    pub account_type: AccountType,
    /// Read the passphrase from standard input; there is no flag that holds one
    #[arg(long, required = true)]
    pub passphrase_stdin: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AccountType {
    User,
    Developer,
}

/// The exact tuple of `agent-api` 11.3.
#[derive(Debug, Args)]
pub struct LinkArgs {
    #[arg(long, value_name = "ID")]
    pub account: String,
    #[arg(long)]
    pub issuer: String,
    #[arg(long)]
    pub tenant: String,
    #[arg(long)]
    pub provider: String,
    #[arg(long)]
    pub subject: String,
}

#[expect(clippy::unused_async, reason = "its parts are not in this build yet")]
pub async fn run(_args: AccountArgs, _context: &Context) -> Result<Exit, Failure> {
    Err(Failure::not_built("account"))
}
