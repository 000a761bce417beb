//! Where a client may be answered: redirects as registered and as presented (`access` 3.3).
//!
//! Two parsers that read one URL differently are how codes end up elsewhere, so no URL is parsed:
//! the rules admit or refuse the text, and a presented redirect is the registered text itself. Only
//! the port of a loopback redirect is free, because an app on this computer takes what it gets.
//!
//! What stays true: a [`Redirect`] is printable ASCII without user information, fragment, wildcard,
//! back slash or dot segment; what the consent page shows is where the answer goes.
//!
//! Deliberately absent: normalisation of any kind, and whether a host exists.

mod form;
mod schemes;
#[cfg(test)]
mod tests;

use std::fmt;

use super::error_code::ErrorCode;
use form::{Authority, Loopback};

pub use schemes::{OneWordSchemes, SchemeFault};

/// Longest redirect, in bytes.
pub const MAX_BYTES: usize = 2048;

/// Why a redirect is not registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RedirectError {
    #[error("a redirect URI is longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("a redirect URI holds a character other than printable ASCII without spaces")]
    Character,
    #[error("a redirect URI holds a back slash")]
    BackSlash,
    #[error("a redirect URI holds a wildcard")]
    Wildcard,
    #[error("a redirect URI has a fragment")]
    Fragment,
    #[error("a redirect URI has user information")]
    UserInformation,
    #[error("a redirect URI has a dot segment in its path")]
    DotSegment,
    #[error("a redirect URI is not absolute")]
    NotAbsolute,
    #[error("a redirect URI has no plain host name or address")]
    Host,
    #[error("a redirect URI has no plain port number")]
    Port,
    #[error("a redirect URI with http is for 127.0.0.1, [::1] and localhost only")]
    PlainHttp,
    #[error("a redirect URI has a scheme that is not admitted")]
    Scheme,
}

impl RedirectError {
    /// One word for all: clients can act on none of the differences.
    pub const fn code(self) -> ErrorCode {
        ErrorCode::InvalidRedirectUri
    }
}

/// An admitted redirect, as registered or as presented for a registered one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Https(Authority),
    Loopback(Loopback),
    App { scheme: String },
}

/// What the consent page says in its largest type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown<'r> {
    Host(&'r str),
    ThisComputer,
    Scheme(&'r str),
}

/// A scheme keeps its colon: `com.example.app:` must not pass for a host.
impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => f.write_str(host),
            Self::ThisComputer => f.write_str("an app on this computer"),
            Self::Scheme(scheme) => write!(f, "{scheme}:"),
        }
    }
}

impl Redirect {
    /// Admits a text at registration, and again when it is read from storage: a scheme that is no
    /// longer admitted ends there.
    pub fn register(text: &str, schemes: &OneWordSchemes) -> Result<Self, RedirectError> {
        form::check_characters(text)?;
        let (scheme, rest) = text.split_once(':').ok_or(RedirectError::NotAbsolute)?;
        if !form::is_scheme(scheme) {
            return Err(RedirectError::NotAbsolute);
        }
        form::check_segments(rest)?;
        let kind = match scheme {
            "https" => Kind::Https(Authority::of_https(rest)?),
            "http" => Kind::Loopback(Loopback::of_http(rest).ok_or(RedirectError::PlainHttp)?),
            _ if form::is_reverse_domain(scheme) || schemes.admit(scheme) => {
                form::check_app_target(rest)?;
                let scheme = scheme.to_owned();
                Kind::App { scheme }
            }
            _ => return Err(RedirectError::Scheme),
        };
        let text = text.to_owned();
        Ok(Self { text, kind })
    }

    /// The redirect to answer at when `presented` comes for this registered one: the exact text, or
    /// for loopback any port with everything else exact.
    pub fn presented(&self, presented: &str) -> Option<Self> {
        if presented == self.text {
            return Some(self.clone());
        }
        let Kind::Loopback(registered) = &self.kind else {
            return None;
        };
        let found = Loopback::of_http(presented.strip_prefix("http:")?)?;
        found.differs_only_in_port(registered).then(|| Self {
            text: presented.to_owned(),
            kind: Kind::Loopback(found),
        })
    }

    pub fn matches(&self, presented: &str) -> bool {
        self.presented(presented).is_some()
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn shown(&self) -> Shown<'_> {
        match &self.kind {
            Kind::Https(authority) if authority.is_loopback() => Shown::ThisComputer,
            Kind::Https(authority) => Shown::Host(authority.host()),
            Kind::Loopback(_) => Shown::ThisComputer,
            Kind::App { scheme } => Shown::Scheme(scheme),
        }
    }

    /// What an app without a name is called: its host, or its scheme.
    pub fn host(&self) -> &str {
        match &self.kind {
            Kind::Https(authority) => authority.host(),
            Kind::Loopback(loopback) => loopback.host(),
            Kind::App { scheme } => scheme,
        }
    }

    /// The source that `form-action` must name beside `'self'`, or Chromium blocks the 303. Content
    /// security policy cannot express an IPv6 address, nor is an IPv4 address other than 127.0.0.1
    /// sure to match; there the scheme stands alone.
    pub fn form_action_origin(&self) -> String {
        match &self.kind {
            Kind::Https(authority) => authority.form_action("https"),
            Kind::Loopback(loopback) => loopback.form_action(),
            Kind::App { scheme } => format!("{scheme}:"),
        }
    }
}
