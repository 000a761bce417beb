//! One public key, and the signatures it may verify.
//!
//! The type of the key decides what it can verify, never the token: a key of one family is not even
//! tried for another (access 4.2).

use std::fmt;

use aws_lc_rs::signature::{ECDSA_P521_SHA512_FIXED, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::DecodingKey;
use serde_json::{Map, Value};

/// Longest key id, in bytes (access 4.2).
pub const MAX_KEY_ID_BYTES: usize = 256;

const MIN_RSA_BITS: usize = 2048;
const MAX_RSA_BITS: usize = 8192;

/// The signature algorithms an external issuer may use (agent-api 11.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Es256,
    Es384,
    Es512,
}

impl Algorithm {
    const ALL: [Self; 6] = [
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Es256,
        Self::Es384,
        Self::Es512,
    ];

    /// The name as a token writes it. Case counts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Es512 => "ES512",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
    }

    /// The admitted ones of a comma-separated list, in its order; what isn't admitted is dropped.
    /// An empty outcome means that authentication is not configured (agent-api 11.2).
    pub fn admitted(list: &str) -> Vec<Self> {
        list.split(',')
            .filter_map(|name| Self::parse(name.trim()))
            .collect()
    }
}

/// A public key of a key set.
pub struct VerificationKey {
    kid: String,
    algorithm: Option<Algorithm>,
    material: Material,
}

enum Material {
    Rsa(DecodingKey),
    P256(DecodingKey),
    P384(DecodingKey),
    /// The uncompressed point: `jsonwebtoken` has no P-521.
    P521(Vec<u8>),
}

impl VerificationKey {
    /// Reads one member of a key set. `None` for whatever must not verify a token: symmetric,
    /// private or weak keys, keys for encryption, keys without an id, families not in use here.
    pub fn from_jwk(jwk: &Value) -> Option<Self> {
        let members = jwk.as_object()?;
        if !is_for_verification(members) {
            return None;
        }
        let kid = text(members, "kid")
            .filter(|kid| is_key_id(kid))?
            .to_owned();
        let algorithm = match members.get("alg") {
            None => None,
            Some(name) => Some(Algorithm::parse(name.as_str()?)?),
        };
        let material = Material::from_jwk(members)?;
        let key = Self {
            kid,
            algorithm,
            material,
        };
        key.algorithm
            .is_none_or(|algorithm| key.fits(algorithm))
            .then_some(key)
    }

    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Whether the key may verify signatures of `algorithm`.
    pub fn fits(&self, algorithm: Algorithm) -> bool {
        let family = match self.material {
            Material::Rsa(_) => {
                matches!(
                    algorithm,
                    Algorithm::Rs256 | Algorithm::Rs384 | Algorithm::Rs512
                )
            }
            Material::P256(_) => algorithm == Algorithm::Es256,
            Material::P384(_) => algorithm == Algorithm::Es384,
            Material::P521(_) => algorithm == Algorithm::Es512,
        };
        family && self.algorithm.is_none_or(|own| own == algorithm)
    }

    /// Whether `signature` (base64url) is that of `signed`. Never true for an algorithm that
    /// doesn't fit.
    pub fn verifies(&self, algorithm: Algorithm, signed: &[u8], signature: &str) -> bool {
        if !self.fits(algorithm) {
            return false;
        }
        match (&self.material, jwt_algorithm(algorithm)) {
            (Material::Rsa(key) | Material::P256(key) | Material::P384(key), Some(algorithm)) => {
                jsonwebtoken::crypto::verify(signature, signed, key, algorithm).unwrap_or(false)
            }
            (Material::P521(point), None) => {
                URL_SAFE_NO_PAD.decode(signature).is_ok_and(|signature| {
                    let key = UnparsedPublicKey::new(&ECDSA_P521_SHA512_FIXED, point);
                    key.verify(signed, &signature).is_ok()
                })
            }
            _ => false,
        }
    }
}

impl Material {
    fn from_jwk(members: &Map<String, Value>) -> Option<Self> {
        match text(members, "kty")? {
            "RSA" => rsa(members),
            "EC" => match text(members, "crv")? {
                "P-256" => {
                    point(members, 32).map(|point| Self::P256(DecodingKey::from_ec_der(&point)))
                }
                "P-384" => {
                    point(members, 48).map(|point| Self::P384(DecodingKey::from_ec_der(&point)))
                }
                "P-521" => point(members, 66).map(Self::P521),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Whether a key id has an admitted length.
pub(in crate::auth) fn is_key_id(kid: &str) -> bool {
    (1..=MAX_KEY_ID_BYTES).contains(&kid.len())
}

fn is_for_verification(members: &Map<String, Value>) -> bool {
    let signs = members.get("use").is_none_or(|value| value == "sig");
    let verifies = members.get("key_ops").is_none_or(|value| {
        value
            .as_array()
            .is_some_and(|list| list.iter().any(|operation| operation == "verify"))
    });
    // A private key that was published is anybody's.
    signs && verifies && !members.contains_key("d")
}

fn rsa(members: &Map<String, Value>) -> Option<Material> {
    let modulus = bytes(members, "n")?;
    let modulus: &[u8] = &modulus[modulus.iter().position(|byte| *byte != 0)?..];
    let bits = modulus.len() * 8 - modulus.first()?.leading_zeros() as usize;
    let exponent = bytes(members, "e")?;
    let odd = exponent.last().is_some_and(|byte| byte % 2 == 1);
    ((MIN_RSA_BITS..=MAX_RSA_BITS).contains(&bits) && odd && exponent.len() <= 8)
        .then(|| Material::Rsa(DecodingKey::from_rsa_raw_components(modulus, &exponent)))
}

/// The uncompressed point of two coordinates of exactly `size` bytes.
fn point(members: &Map<String, Value>, size: usize) -> Option<Vec<u8>> {
    let (x, y) = (bytes(members, "x")?, bytes(members, "y")?);
    (x.len() == size && y.len() == size).then(|| [&[4], x.as_slice(), y.as_slice()].concat())
}

fn text<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    members.get(name)?.as_str()
}

fn bytes(members: &Map<String, Value>, name: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text(members, name)?).ok()
}

fn jwt_algorithm(algorithm: Algorithm) -> Option<jsonwebtoken::Algorithm> {
    match algorithm {
        Algorithm::Rs256 => Some(jsonwebtoken::Algorithm::RS256),
        Algorithm::Rs384 => Some(jsonwebtoken::Algorithm::RS384),
        Algorithm::Rs512 => Some(jsonwebtoken::Algorithm::RS512),
        Algorithm::Es256 => Some(jsonwebtoken::Algorithm::ES256),
        Algorithm::Es384 => Some(jsonwebtoken::Algorithm::ES384),
        Algorithm::Es512 => None,
    }
}

impl fmt::Debug for VerificationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerificationKey")
            .field("kid", &self.kid)
            .finish_non_exhaustive()
    }
}
