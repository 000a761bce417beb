//! Where messages go. Path and query may hold a token, so nothing here shows them by accident.

use std::fmt;

use helix_aggregates::text::without_controls;
use reqwest::Url;

use crate::outbound::{FetchError, FetchLimits, GuardedFetch, Reach};

/// The longest address, in bytes.
const LONGEST: usize = 2_048;

/// Why an address is not taken. No variant carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error("the url must be absolute, without a fragment and of at most {LONGEST} bytes")]
    Malformed,
    #[error("the url must not hold a user name or password")]
    Credentials,
    #[error("the url must be https on port 443")]
    NotHttps,
    #[error("the url leads to an address that is not public")]
    NotPublic,
    #[error("the host of the url cannot be resolved")]
    Unknown,
}

#[derive(Clone, PartialEq, Eq)]
pub struct Target(Url);

impl Target {
    /// Judges an address that somebody asks for, its name resolved.
    pub async fn admit(text: &str, reach: Reach) -> Result<Self, TargetError> {
        let target = Self::parse(text)?;
        if reach == Reach::Public && (target.0.scheme() != "https" || target.0.port().is_some()) {
            return Err(TargetError::NotHttps);
        }
        let guard = GuardedFetch::new(reach, FetchLimits::default());
        guard.admit(&target.0).await.map_err(|error| match error {
            FetchError::AddressNotPublic => TargetError::NotPublic,
            FetchError::UrlNotAdmitted => TargetError::Malformed,
            FetchError::Unreachable
            | FetchError::TooSlow
            | FetchError::Status(_)
            | FetchError::TooLong
            | FetchError::NotJson => TargetError::Unknown,
        })?;
        Ok(target)
    }

    /// Reads the form alone.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let text = without_controls(text).map_err(|_| TargetError::Malformed)?;
        let url = Url::parse(text).map_err(|_| TargetError::Malformed)?;
        let web = matches!(url.scheme(), "http" | "https") && url.has_host();
        if !web || url.fragment().is_some() || url.as_str().len() > LONGEST {
            return Err(TargetError::Malformed);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TargetError::Credentials);
        }
        Ok(Self(url))
    }

    pub fn url(&self) -> &Url {
        &self.0
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// For the endpoint's own operator: path and query starred. The fingerprint and the id tell
    /// endpoints of one host apart.
    pub fn starred(&self) -> String {
        let mut shown = self.0.clone();
        if shown.path() != "/" {
            shown.set_path("/***");
        }
        if shown.query().is_some() {
            shown.set_query(Some("***"));
        }
        shown.into()
    }
}

/// Shows nothing: `Debug` output ends in logs.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Target")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_public_https_addresses_are_admitted() {
        for (text, refused) in [
            ("http://example.org/", TargetError::NotHttps),
            ("https://example.org:8443/", TargetError::NotHttps),
            ("https://127.0.0.1/", TargetError::NotPublic),
            ("https://[::1]/", TargetError::NotPublic),
            ("https://10.1.2.3/hook", TargetError::NotPublic),
            ("https://169.254.169.254/", TargetError::NotPublic),
            ("https://localhost/", TargetError::NotPublic),
            ("https://ada:pass@192.0.43.8/", TargetError::Credentials),
            ("https://192.0.43.8/#part", TargetError::Malformed),
            ("ftp://192.0.43.8/", TargetError::Malformed),
            ("/hooks", TargetError::Malformed),
            ("https://192.0.43.8/\u{7f}", TargetError::Malformed),
        ] {
            let admitted = Target::admit(text, Reach::Public).await;
            assert_eq!(admitted.unwrap_err(), refused, "{text}");
        }
        let long = format!("https://192.0.43.8/{}", "a".repeat(LONGEST));
        let admitted = Target::admit(&long, Reach::Public).await;
        assert_eq!(admitted.unwrap_err(), TargetError::Malformed);
        assert!(
            Target::admit("https://192.0.43.8/in", Reach::Public)
                .await
                .is_ok()
        );
    }

    #[tokio::test]
    async fn an_open_network_admits_plain_loopback() {
        let admitted = Target::admit("http://127.0.0.1:9/hook", Reach::Anywhere).await;
        assert!(admitted.is_ok());
    }

    #[test]
    fn path_and_query_are_starred_and_debug_shows_nothing() {
        for (text, shown) in [
            (
                "https://hooks.example.org/in/canary?token=canary",
                "https://hooks.example.org/***?***",
            ),
            (
                "https://hooks.example.org/canary",
                "https://hooks.example.org/***",
            ),
            ("https://hooks.example.org", "https://hooks.example.org/"),
        ] {
            assert_eq!(Target::parse(text).unwrap().starred(), shown);
        }
        let target = Target::parse("https://hooks.example.org/in?token=canary").unwrap();
        assert!(!format!("{target:?}").contains("hooks"));
    }
}
