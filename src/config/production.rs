//! What a production server refuses to start with (`operations` 4). Every problem is noted.
//!
//! Deliberately absent: rules about setup links and backups, which come with those features.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::assemble::Reader;
use super::network::PublicUrl;
use super::sections::{Config, WebhookNetwork};
use super::setting::{Setting, Visibility};
use super::table::{self as t, SETTINGS};
use super::values::Source;

pub fn judge(config: &Config, reader: &mut Reader<'_>, folder: &Path) {
    match &config.server.public_url {
        PublicUrl::FromListener if !reader.values.is_given(&t::PUBLIC_URL) => {
            reader.fault(
                &t::PUBLIC_URL,
                "production needs the public address to be set",
            );
        }
        PublicUrl::Given(base) if !base.is_https() => {
            reader.fault(&t::PUBLIC_URL, "production needs an https address");
        }
        PublicUrl::Given(_) | PublicUrl::FromListener => {}
    }
    if reader.is_on(&t::ALLOW_LOCAL_HS256) {
        reader.fault(
            &t::ALLOW_LOCAL_HS256,
            "production refuses the local HS256 lane",
        );
    }
    if config.webhooks.network == WebhookNetwork::Any {
        reader.fault(
            &t::WEBHOOK_ALLOW_PRIVATE,
            "production sends webhooks to public https addresses alone",
        );
    }
    if reader.is_on(&t::CIMD_ALLOW_PRIVATE) {
        reader.fault(
            &t::CIMD_ALLOW_PRIVATE,
            "production fetches documents of apps from public https addresses alone",
        );
    }
    if config.server.allowed_hosts.is_empty() {
        reader.fault(
            &t::ALLOWED_HOSTS,
            "production needs the hosts it may be called by; the list is empty",
        );
    }
    for setting in [&t::OAUTH_ISSUER, &t::OAUTH_AUDIENCE, &t::OAUTH_JWKS_URL] {
        if reader.values.text(setting).is_some_and(is_plain_http) {
            reader.fault(setting, "production needs an https address");
        }
    }
    key_file(config, reader, folder);
    secrets_in_file(reader, folder);
}

fn is_plain_http(text: &str) -> bool {
    text.get(..7)
        .is_some_and(|start| start.eq_ignore_ascii_case("http://"))
}

fn key_file(config: &Config, reader: &mut Reader<'_>, folder: &Path) {
    if let Some(mode) = open_to_others(&folder.join(&config.data.kek_file)) {
        let problem = format!("the key file is open to others (mode {mode:04o}); chmod 600 it");
        reader.fault(&t::KEK_FILE, problem);
    }
}

/// A secret in a file that others can read is no secret.
fn secrets_in_file(reader: &mut Reader<'_>, folder: &Path) {
    let secret = |setting: &&&'static Setting| setting.visibility != Visibility::Open;
    for setting in SETTINGS.iter().filter(secret) {
        let Some(Source::File { path, .. }) = reader.values.source(setting) else {
            continue;
        };
        if let Some(mode) = open_to_others(&folder.join(path)) {
            let problem =
                format!("is a secret in a file open to others (mode {mode:04o}); chmod 600 it");
            reader.fault(setting, problem);
        }
    }
}

/// The mode, if group or others may do anything with the file. A missing file is open to nobody.
fn open_to_others(path: &Path) -> Option<u32> {
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}
