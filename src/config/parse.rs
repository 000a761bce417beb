//! From the text of a setting to its value. Errors say what is expected and never quote the text:
//! it may be a secret put in the wrong place.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;

use reqwest::Url;

use crate::http::transport::TrustedProxies;

/// What is wrong with a text.
pub type Problem = String;

pub fn switch(text: &str) -> Result<bool, Problem> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("must be on or off".into()),
    }
}

pub fn address(text: &str) -> Result<SocketAddr, Problem> {
    let (host, port) = text
        .rsplit_once(':')
        .ok_or("must be IP:port, such as 127.0.0.1:8787")?;
    let port: u16 = port
        .parse()
        .map_err(|_| "the port must be a number from 0 to 65535")?;
    let ip = match host {
        "localhost" => Ok(Ipv4Addr::LOCALHOST.into()),
        _ => match host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            Some(v6) => v6.parse().map(IpAddr::V6),
            None => host.parse().map(IpAddr::V4),
        },
    };
    let ip = ip.map_err(|_| "the host must be an IP address ([…] around IPv6) or localhost")?;
    Ok(SocketAddr::new(ip, port))
}

pub fn address_or_off(text: &str) -> Result<Option<SocketAddr>, Problem> {
    if text == "off" {
        Ok(None)
    } else {
        address(text).map(Some)
    }
}

/// An absolute http(s) address with a host and without credentials or fragment.
pub fn url(text: &str) -> Result<Url, Problem> {
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("must not contain blanks or control characters".into());
    }
    let lower = text.to_ascii_lowercase();
    if !lower.starts_with("http://") && !lower.starts_with("https://") {
        return Err("must be an absolute address that starts with https:// (or http://)".into());
    }
    let url = Url::parse(text).map_err(|error| format!("is not an address: {error}"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not contain a user or password".into());
    }
    if url.fragment().is_some() {
        return Err("must not contain a fragment (#…)".into());
    }
    Ok(url)
}

/// An address that paths are appended to: no query either.
pub fn base_url(text: &str) -> Result<Url, Problem> {
    let url = url(text)?;
    if url.query().is_some() {
        return Err("must not contain a query (?…)".into());
    }
    Ok(url)
}

pub fn integer(text: &str) -> Result<i64, Problem> {
    text.parse().map_err(|_| "must be a whole number".into())
}

/// Bytes; units are 1024 and its powers, in any case (`agent-api` 12).
pub fn size(text: &str) -> Result<u64, Problem> {
    let problem = || "must be a size such as 512kb, 1mb or a number of bytes".to_owned();
    let lower = text.to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| !c.is_ascii_digit());
    let factor = match lower[digits.len()..].trim() {
        "" | "b" => 1,
        "kb" => 1 << 10,
        "mb" => 1 << 20,
        "gb" => 1 << 30,
        _ => return Err(problem()),
    };
    let number: u64 = digits.parse().map_err(|_| problem())?;
    number.checked_mul(factor).ok_or_else(problem)
}

/// Seconds, or a number with `s`, `m`, `h` or `d`.
pub fn span(text: &str) -> Result<Duration, Problem> {
    let problem = || "must be a number of seconds or a time such as 30m, 24h, 7d".to_owned();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let factor = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(problem()),
    };
    let number: u64 = digits.parse().map_err(|_| problem())?;
    number
        .checked_mul(factor)
        .map(Duration::from_secs)
        .ok_or_else(problem)
}

/// 0 or less switches the limiter off; `/min` may follow, since the limit is per minute.
pub fn rate(text: &str) -> Result<Option<NonZeroU32>, Problem> {
    let number = text.strip_suffix("/min").unwrap_or(text).trim();
    let number: i64 = number
        .parse()
        .map_err(|_| "must be a whole number of requests a minute".to_owned())?;
    Ok(NonZeroU32::new(
        u32::try_from(number.clamp(0, u32::MAX.into())).unwrap_or(0),
    ))
}

/// An exact hop count or the networks of the proxies (`agent-api` 12).
pub fn trust_proxy(text: &str) -> Result<TrustedProxies, Problem> {
    TrustedProxies::parse(text).map_err(|_| {
        "must be a number of hops, or addresses and networks such as 10.0.0.0/8 (an exact topology)"
            .to_owned()
    })
}

/// 1 to `most` characters without control characters.
pub fn name(text: &str, most: usize) -> Result<String, Problem> {
    if text.chars().any(char::is_control) || text.chars().count() > most {
        return Err(format!(
            "must be at most {most} characters without control characters"
        ));
    }
    Ok(text.to_owned())
}

/// A claim name: no blanks anywhere (`agent-api` 12).
pub fn claim(text: &str) -> Result<String, Problem> {
    if text.chars().any(char::is_whitespace) {
        return Err("must not contain blanks".into());
    }
    name(text, 512)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_beyond_the_range_are_refused() {
        assert!(address("127.0.0.1:99999").is_err());
        assert_eq!(address("localhost:1").unwrap().to_string(), "127.0.0.1:1");
        assert_eq!(address("[::1]:0").unwrap().to_string(), "[::1]:0");
        for text in [
            "::1:80",
            "example.org:80",
            "8787",
            ":80",
            "127.0.0.1:",
            "127.0.0.1:-1",
        ] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_kilobyte_is_1024_bytes() {
        assert_eq!(size("512kb"), Ok(524_288));
        assert_eq!(size("2 MB"), Ok(2 << 20));
        assert_eq!(size("100"), Ok(100));
        for text in ["", "kb", "1.5mb", "-1", "1tb", "99999999999gb"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn spans_are_seconds_unless_they_say_otherwise() {
        assert_eq!(span("90"), Ok(Duration::from_secs(90)));
        assert_eq!(span("24h"), Ok(Duration::from_secs(86_400)));
        assert!(span("24 hours").is_err());
        assert!(span("").is_err());
    }

    #[test]
    fn a_rate_of_zero_or_less_is_no_limit() {
        assert_eq!(rate("0"), Ok(None));
        assert_eq!(rate("-5"), Ok(None));
        assert_eq!(rate("120/min"), Ok(NonZeroU32::new(120)));
        assert!(rate("many").is_err());
    }

    #[test]
    fn addresses_are_absolute_and_carry_no_credentials() {
        for text in [
            "helix.example.org/mcp",
            "ftp://a",
            "https://u:p@a",
            "https://a#f",
            "https://",
            "https://a b",
        ] {
            assert!(url(text).is_err(), "{text}");
        }
        assert!(base_url("https://a?q").is_err());
        assert!(url("https://a/mcp").is_ok());
    }
}
