//! What a form sent to `/token`, `/revoke` or `/introspect` asks for (`access` 3.5, `vault` 3.4).
//!
//! What stays true: a request that is read names one act and everything it needs. The order of
//! refusals is that of `vault` 3.4: the form first, then the client, and only then, by others, codes
//! and tokens. A malformed verifier is no fault of the form; it is a wrong one.
//!
//! Deliberately absent: the form's decoding and all look-ups.

#[cfg(test)]
mod tests;

use secrecy::SecretString;

use super::client_auth::ClientCredentials;
use super::parameters::Parameters;
use super::pkce::Verifier;
use super::token_error::TokenError;

const TOKEN: &str = "token";

/// One request. No `Debug` of it shows a code, a token, a verifier or a secret.
#[derive(Debug, Clone)]
pub enum TokenRequest {
    AuthorizationCode(CodeExchange),
    RefreshToken(Refresh),
    Revoke(Revocation),
}

#[derive(Debug, Clone)]
pub struct CodeExchange {
    pub client: ClientCredentials,
    pub code: SecretString,
    pub redirect_uri: String,
    pub verifier: Verifier,
    /// See [`super::resource::Resources::agree`].
    pub resources: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct Refresh {
    pub client: ClientCredentials,
    pub token: SecretString,
    /// See [`super::scope::Scopes::narrowed`].
    pub scope: Option<String>,
    /// See [`super::resource::Resources::agree`].
    pub resources: Vec<String>,
}

/// Possession of the token suffices; a client that is named must be the token's, or nothing changes.
#[derive(Debug, Clone)]
pub struct Revocation {
    pub token: SecretString,
    pub hint: Option<TokenHint>,
    pub client_id: Option<String>,
}

/// What an app with a secret asks about a token (RFC 7662). A hint changes nothing: the text itself
/// tells its kind.
#[derive(Debug, Clone)]
pub struct Introspection {
    pub client: ClientCredentials,
    pub token: SecretString,
}

/// `token_type_hint`; an unknown one is ignored (RFC 7009 2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenHint {
    AccessToken,
    RefreshToken,
}

impl TokenRequest {
    /// Reads a form of `/token`; `headers` are all values of `Authorization`.
    pub fn read(
        pairs: impl IntoIterator<Item = (String, String)>,
        headers: &[&[u8]],
    ) -> Result<Self, TokenError> {
        let parameters = Parameters::read(pairs)?;
        match parameters.get("grant_type") {
            Some("authorization_code") => {
                CodeExchange::read(parameters, headers).map(Self::AuthorizationCode)
            }
            Some("refresh_token") => Refresh::read(parameters, headers).map(Self::RefreshToken),
            Some(_) => Err(TokenError::GrantType),
            None if parameters.get(TOKEN).is_some() => {
                Revocation::of(parameters, headers).map(Self::Revoke)
            }
            None => Err(TokenError::Missing("grant_type")),
        }
    }
}

impl CodeExchange {
    fn read(mut parameters: Parameters, headers: &[&[u8]]) -> Result<Self, TokenError> {
        let code = required(&mut parameters, "code")?;
        let redirect_uri = required(&mut parameters, "redirect_uri")?;
        let verifier = required(&mut parameters, "code_verifier")?;
        Ok(Self {
            client: ClientCredentials::read(&mut parameters, headers)?,
            code: code.into(),
            redirect_uri,
            verifier: Verifier::presented(verifier),
            resources: parameters.resources().to_vec(),
        })
    }
}

impl Refresh {
    fn read(mut parameters: Parameters, headers: &[&[u8]]) -> Result<Self, TokenError> {
        let token = required(&mut parameters, "refresh_token")?;
        Ok(Self {
            client: ClientCredentials::read(&mut parameters, headers)?,
            token: token.into(),
            scope: parameters.take("scope"),
            resources: parameters.resources().to_vec(),
        })
    }
}

impl Revocation {
    /// Reads a form of `/revoke`.
    pub fn read(
        pairs: impl IntoIterator<Item = (String, String)>,
        headers: &[&[u8]],
    ) -> Result<Self, TokenError> {
        Self::of(Parameters::read(pairs)?, headers)
    }

    fn of(mut parameters: Parameters, headers: &[&[u8]]) -> Result<Self, TokenError> {
        let token = required(&mut parameters, TOKEN)?;
        let hint = match parameters.take("token_type_hint").as_deref() {
            Some("access_token") => Some(TokenHint::AccessToken),
            Some("refresh_token") => Some(TokenHint::RefreshToken),
            Some(_) | None => None,
        };
        // Nobody has to prove who they are here, so a header that proves nothing is no fault.
        let named = parameters.get("client_id").map(str::to_owned);
        let client_id = match ClientCredentials::read(&mut parameters, headers) {
            Ok(client) => Some(client.client_id),
            Err(TokenError::Client(_)) => named,
            Err(fault) => return Err(fault),
        };
        Ok(Self {
            token: token.into(),
            hint,
            client_id,
        })
    }
}

impl Introspection {
    /// Reads a form of `/introspect`.
    pub fn read(
        pairs: impl IntoIterator<Item = (String, String)>,
        headers: &[&[u8]],
    ) -> Result<Self, TokenError> {
        let mut parameters = Parameters::read(pairs)?;
        let token = required(&mut parameters, TOKEN)?;
        Ok(Self {
            client: ClientCredentials::read(&mut parameters, headers)?,
            token: token.into(),
        })
    }
}

fn required(parameters: &mut Parameters, name: &'static str) -> Result<String, TokenError> {
    parameters.take(name).ok_or(TokenError::Missing(name))
}
