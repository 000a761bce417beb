//! What a client says of itself when it registers (RFC 7591; `access` 3.3, `vault` 3.2).
//!
//! Anybody may register, so nothing here is believed: the metadata is kept to be shown and told
//! apart, and only the redirects decide anything.
//!
//! What stays true: members that are not ours are ignored, ours have the right JSON type or the whole
//! registration is refused; an answer never holds `null`; links are kept as text, never fetched and
//! not to be made clickable.
//!
//! Deliberately absent: ids, secrets and the size of the body.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::client_name::{self, NameError};
use super::error_code::ErrorCode;
use super::redirect::{OneWordSchemes, Redirect, RedirectError};

/// Redirects of one client.
pub const MAX_REDIRECTS: usize = 10;

pub const GRANT_TYPES: [&str; 2] = ["authorization_code", "refresh_token"];
pub const RESPONSE_TYPES: [&str; 1] = ["code"];

/// Links about a client, in the order of `vault` 3.2.
const LINKS: [&str; 5] = [
    "logo_uri",
    "client_uri",
    "policy_uri",
    "tos_uri",
    "jwks_uri",
];

/// Why a registration is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RegistrationError {
    #[error("the metadata is not a JSON object")]
    NotAnObject,
    #[error("redirect_uris must be a list of 1 to {MAX_REDIRECTS} texts")]
    RedirectList,
    #[error(transparent)]
    Redirect(#[from] RedirectError),
    #[error("{0} has the wrong JSON type")]
    WrongType(&'static str),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("token_endpoint_auth_method must be client_secret_basic, client_secret_post or none")]
    AuthMethod,
    #[error("grant_types may name authorization_code and refresh_token only")]
    GrantTypes,
    #[error("response_types may name code only")]
    ResponseTypes,
}

impl RegistrationError {
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::Redirect(error) => error.code(),
            Self::NotAnObject
            | Self::RedirectList
            | Self::WrongType(_)
            | Self::Name(_)
            | Self::AuthMethod
            | Self::GrantTypes
            | Self::ResponseTypes => ErrorCode::InvalidClientMetadata,
        }
    }
}

/// How a client proves at `/token` who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthMethod {
    SecretBasic,
    SecretPost,
    /// A public client proves nothing but its possession of the code.
    None,
}

impl AuthMethod {
    pub const ALL: [Self; 3] = [Self::SecretBasic, Self::SecretPost, Self::None];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SecretBasic => "client_secret_basic",
            Self::SecretPost => "client_secret_post",
            Self::None => "none",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == text)
    }
}

/// Admitted metadata of one client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientMetadata {
    /// 1 to 10, each once, in the order they were sent.
    pub redirects: Vec<Redirect>,
    /// As pages and the audit log show it.
    pub name: String,
    pub auth_method: AuthMethod,
    /// Subsets of ours, in our order; all of ours when the client named none.
    pub grant_types: Vec<&'static str>,
    pub response_types: Vec<&'static str>,
    /// Those of [`LINKS`] that were sent.
    links: BTreeMap<&'static str, String>,
    contacts: Option<Vec<String>>,
}

impl ClientMetadata {
    /// Reads a document that the strict reader let pass.
    pub fn read(document: &Value, schemes: &OneWordSchemes) -> Result<Self, RegistrationError> {
        let members = document.as_object().ok_or(RegistrationError::NotAnObject)?;
        let redirects = redirects(members, schemes)?;
        let links = LINKS
            .into_iter()
            .filter_map(|link| Some((link, text(members, link).transpose()?)))
            .map(|(link, read)| Ok((link, read?.to_owned())))
            .collect::<Result<_, RegistrationError>>()?;
        Ok(Self {
            name: name(members, &redirects)?,
            redirects,
            auth_method: auth_method(members)?,
            grant_types: subset(members, "grant_types", &GRANT_TYPES)?
                .ok_or(RegistrationError::GrantTypes)?,
            response_types: subset(members, "response_types", &RESPONSE_TYPES)?
                .ok_or(RegistrationError::ResponseTypes)?,
            links,
            contacts: texts(members, "contacts")?.map(owned),
        })
    }

    /// The metadata as an answer states it, `null` nowhere.
    pub fn members(&self) -> BTreeMap<&'static str, Value> {
        let redirects: Vec<&str> = self.redirects.iter().map(Redirect::as_str).collect();
        let mut members = BTreeMap::from([
            ("client_name", Value::from(self.name.as_str())),
            ("grant_types", Value::from(self.grant_types.clone())),
            ("redirect_uris", Value::from(redirects)),
            ("response_types", Value::from(self.response_types.clone())),
            (
                "token_endpoint_auth_method",
                Value::from(self.auth_method.as_str()),
            ),
        ]);
        let links = self.links.iter();
        members.extend(links.map(|(&link, text)| (link, Value::from(text.as_str()))));
        if let Some(contacts) = &self.contacts {
            members.insert("contacts", Value::from(contacts.clone()));
        }
        members
    }

    /// Equal for identical metadata: such a registration is answered with the existing client. None
    /// for a confidential client, which needs to be shown a secret of its own.
    pub fn fingerprint(&self) -> Option<[u8; 32]> {
        match self.auth_method {
            AuthMethod::SecretBasic | AuthMethod::SecretPost => None,
            AuthMethod::None => {
                let members = self.members().into_iter();
                let members: Vec<Value> = members
                    .map(|(name, value)| Value::from(vec![Value::from(name), value]))
                    .collect();
                Some(Sha256::digest(Value::from(members).to_string()).into())
            }
        }
    }
}

fn redirects(
    members: &Map<String, Value>,
    schemes: &OneWordSchemes,
) -> Result<Vec<Redirect>, RegistrationError> {
    let sent = texts(members, "redirect_uris").map_err(|_| RegistrationError::RedirectList)?;
    let sent = sent.unwrap_or_default();
    if sent.is_empty() || sent.len() > MAX_REDIRECTS {
        return Err(RegistrationError::RedirectList);
    }
    let mut redirects = Vec::with_capacity(sent.len());
    for text in sent {
        let redirect = Redirect::register(text, schemes)?;
        if !redirects.contains(&redirect) {
            redirects.push(redirect);
        }
    }
    Ok(redirects)
}

fn name(members: &Map<String, Value>, redirects: &[Redirect]) -> Result<String, RegistrationError> {
    let sent = text(members, "client_name")?;
    let name = sent.map(client_name::read).transpose()?.flatten();
    let host = || redirects.first().map(Redirect::host).unwrap_or_default();
    Ok(name.unwrap_or_else(|| client_name::shorten(host()).to_owned()))
}

fn auth_method(members: &Map<String, Value>) -> Result<AuthMethod, RegistrationError> {
    text(members, "token_endpoint_auth_method")?.map_or(Ok(AuthMethod::SecretBasic), |method| {
        AuthMethod::parse(method).ok_or(RegistrationError::AuthMethod)
    })
}

/// Those of `ours` that a list names; all of them when it names none, and none at all when it names
/// something else.
fn subset(
    members: &Map<String, Value>,
    member: &'static str,
    ours: &[&'static str],
) -> Result<Option<Vec<&'static str>>, RegistrationError> {
    let named = texts(members, member)?.unwrap_or_default();
    if named.iter().any(|word| !ours.contains(word)) {
        return Ok(None);
    }
    let kept = |word: &&str| named.is_empty() || named.contains(word);
    Ok(Some(ours.iter().copied().filter(kept).collect()))
}

fn text<'d>(
    members: &'d Map<String, Value>,
    member: &'static str,
) -> Result<Option<&'d str>, RegistrationError> {
    let wrong = RegistrationError::WrongType(member);
    let value = members.get(member);
    value.map(|value| value.as_str().ok_or(wrong)).transpose()
}

fn texts<'d>(
    members: &'d Map<String, Value>,
    member: &'static str,
) -> Result<Option<Vec<&'d str>>, RegistrationError> {
    let wrong = RegistrationError::WrongType(member);
    let Some(value) = members.get(member) else {
        return Ok(None);
    };
    let items = value.as_array().ok_or(wrong)?;
    let texts = items.iter().map(|item| item.as_str().ok_or(wrong));
    texts.collect::<Result<_, _>>().map(Some)
}

fn owned(texts: Vec<&str>) -> Vec<String> {
    texts.into_iter().map(str::to_owned).collect()
}
