//! Who vouches for callers of the agent doors. Fails closed: settings that are there in part never
//! fall back to the built-in issuer (settled question 11).

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use super::assemble::Reader;
use super::parse;
use super::sections::{
    BuiltInIssuer, ExternalIssuer, Issuer, JwksNetwork, LocalIssuer, OAuth, TokenType,
};
use super::setting::Setting;
use super::table as t;
use crate::auth::bearer::Algorithm;
use crate::auth::oauth::redirect::OneWordSchemes;
use crate::auth::oauth::rotation::Overlap;
use crate::outbound::Reach;

/// Shortest secret of the local lane, in characters (`agent-api` 11.2).
const SECRET_CHARS: usize = 32;

static PARTS: [&Setting; 8] = [
    &t::OAUTH_ISSUER,
    &t::OAUTH_AUDIENCE,
    &t::OAUTH_JWKS_URL,
    &t::OAUTH_PROVIDER,
    &t::OAUTH_ALGORITHMS,
    &t::OAUTH_TENANT_CLAIM,
    &t::OAUTH_MAX_LIFETIME,
    &t::OAUTH_REQUIRE_AT_JWT,
];

pub fn section(reader: &mut Reader<'_>, production: bool) -> OAuth {
    let issuer = issuer(reader);
    let jwks_url = reader.read(&t::OAUTH_JWKS_URL, parse::url);
    let algorithms = algorithms(reader);
    let jwks_network = match (production, reader.is_on(&t::JWKS_ALLOW_PRIVATE)) {
        (true, false) => JwksNetwork::PublicOnly,
        (true, true) | (false, _) => JwksNetwork::Any,
    };
    let local = reader.is_on(&t::ALLOW_LOCAL_HS256);
    let secret = local_secret(reader);
    match (issuer, jwks_url) {
        (Ok(_), Some(_)) if algorithms.is_empty() => OAuth::Incomplete {
            reason: format!(
                "{} names no algorithm that is admitted",
                t::OAUTH_ALGORITHMS.variable()
            ),
        },
        (Ok(issuer), Some(jwks_url)) => {
            if local {
                let lane = t::ALLOW_LOCAL_HS256.variable();
                let warning = format!("{lane} has no effect: an external issuer is configured");
                reader.notes.warnings.push(warning);
            }
            OAuth::External(ExternalIssuer {
                issuer,
                jwks_url,
                algorithms,
                jwks_network,
            })
        }
        (Ok(issuer), None) if local => match secret {
            Some(secret) => OAuth::LocalHs256(LocalIssuer { issuer, secret }),
            None => OAuth::Incomplete {
                reason: missing(&[&t::LOCAL_JWT_SECRET]),
            },
        },
        (Ok(_), None) => incomplete(reader, vec![&t::OAUTH_JWKS_URL]),
        (Err(lacking), _) if local => incomplete(reader, lacking),
        (Err(lacking), _) if PARTS.iter().any(|part| reader.values.is_given(part)) => {
            incomplete(reader, lacking)
        }
        (Err(_), _) => OAuth::BuiltIn,
    }
}

/// The built-in authorization server's own settings.
pub fn built_in(reader: &mut Reader<'_>) -> BuiltInIssuer {
    let listed = reader.list(&t::REDIRECT_SCHEMES).join(" ");
    let schemes = OneWordSchemes::parse(&listed).unwrap_or_else(|fault| {
        reader.fault(&t::REDIRECT_SCHEMES, fault.to_string());
        OneWordSchemes::default()
    });
    let seconds = reader.within(&t::REFRESH_OVERLAP, 0, 60);
    let reach = if reader.is_on(&t::CIMD_ALLOW_PRIVATE) {
        Reach::Anywhere
    } else {
        Reach::Public
    };
    BuiltInIssuer {
        documents: reader.is_on(&t::CIMD).then_some(reach),
        schemes,
        overlap: seconds
            .and_then(Overlap::of_seconds)
            .unwrap_or(Overlap::DEFAULT),
    }
}

/// The parts both lanes need, or those that are missing.
fn issuer(reader: &mut Reader<'_>) -> Result<Issuer, Vec<&'static Setting>> {
    let exact = |text: &str| parse::url(text).map(|_| text.to_owned());
    let issuer = reader.read(&t::OAUTH_ISSUER, exact);
    let audience = reader.read(&t::OAUTH_AUDIENCE, exact);
    let provider = reader.read(&t::OAUTH_PROVIDER, |text| parse::name(text, 120));
    let tenant_claim = reader.read(&t::OAUTH_TENANT_CLAIM, parse::claim);
    let max_lifetime = reader.read(&t::OAUTH_MAX_LIFETIME, |text| {
        let span = parse::span(text)?;
        let bounds = Duration::from_secs(60)..=Duration::from_secs(365 * 86_400);
        if bounds.contains(&span) {
            Ok(span)
        } else {
            Err("must be from 1m to 365d".into())
        }
    });
    let token_type = if reader.is_on(&t::OAUTH_REQUIRE_AT_JWT) {
        TokenType::OnlyAtJwt
    } else {
        TokenType::Any
    };
    let missing = [
        (&t::OAUTH_ISSUER, issuer.is_none()),
        (&t::OAUTH_AUDIENCE, audience.is_none()),
        (&t::OAUTH_PROVIDER, provider.is_none()),
    ];
    match (issuer, audience, provider) {
        (Some(issuer), Some(audience), Some(provider)) => Ok(Issuer {
            issuer,
            audience,
            provider,
            tenant_claim,
            max_lifetime: max_lifetime.unwrap_or(Duration::from_secs(86_400)),
            token_type,
        }),
        _ => Err(missing
            .into_iter()
            .filter(|(_, gone)| *gone)
            .map(|(part, _)| part)
            .collect()),
    }
}

/// The configured algorithms that are admitted, in configured order.
fn algorithms(reader: &mut Reader<'_>) -> Vec<Algorithm> {
    let mut admitted = Vec::new();
    for name in reader.list(&t::OAUTH_ALGORITHMS) {
        match Algorithm::parse(&name) {
            Some(algorithm) if !admitted.contains(&algorithm) => admitted.push(algorithm),
            Some(_) => {}
            None => {
                let place = reader.values.place(&t::OAUTH_ALGORITHMS);
                let name = name.escape_default();
                let warning =
                    format!("{place}: `{name}` is not an admitted algorithm and is left out");
                reader.notes.warnings.push(warning);
            }
        }
    }
    admitted
}

/// The secret is judged whenever it is set: a short one must not wait until the lane is opened.
fn local_secret(reader: &mut Reader<'_>) -> Option<SecretString> {
    let secret = reader.secret(&t::LOCAL_JWT_SECRET)?;
    if secret.expose_secret().chars().count() < SECRET_CHARS {
        reader.fault(
            &t::LOCAL_JWT_SECRET,
            format!("must have at least {SECRET_CHARS} characters"),
        );
        return None;
    }
    Some(secret)
}

fn incomplete(reader: &Reader<'_>, mut lacking: Vec<&'static Setting>) -> OAuth {
    let jwks = &t::OAUTH_JWKS_URL;
    let lane_open = reader
        .values
        .text(&t::ALLOW_LOCAL_HS256)
        .is_some_and(|t| parse::switch(t) == Ok(true));
    if !lane_open
        && reader.values.text(jwks).is_none()
        && !lacking.iter().any(|s| s.name == jwks.name)
    {
        lacking.push(jwks);
    }
    OAuth::Incomplete {
        reason: missing(&lacking),
    }
}

fn missing(lacking: &[&Setting]) -> String {
    let names: Vec<_> = lacking.iter().map(|setting| setting.variable()).collect();
    format!("{} must be set too", names.join(", "))
}
