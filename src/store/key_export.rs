//! A key file sealed under a passphrase, to be kept apart from the database and its backups.
//!
//! Text. The head says how the sealing key is derived and which database the keys belong to, and is
//! authenticated with them: a changed head does not open. Costs are bounded on reading, so a forged
//! export cannot make an import take all memory.

use std::io::Read as _;
use std::path::Path;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::KeyInit;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use uuid::Uuid;
use zeroize::Zeroizing;

use super::keyfile::{KeyFile, KeyFileError};
use super::sealing::{open_with, seal_with};

const TITLE: &str = "helix-key-export-v1";
/// argon2id: KiB of memory, passes, lanes.
const COST: Cost = Cost {
    memory: 65_536,
    passes: 3,
    lanes: 1,
};
/// The most an export may ask of its reader.
const LIMIT: Cost = Cost {
    memory: 1 << 20,
    passes: 10,
    lanes: 4,
};
const MAX_BYTES: u64 = 1 << 20;
const SALT: usize = 16;

#[derive(Debug, Clone, Copy)]
struct Cost {
    memory: u32,
    passes: u32,
    lanes: u32,
}

/// Seals `file`; the text is safe to keep anywhere as long as the passphrase is not beside it.
pub fn seal(file: &KeyFile, passphrase: &SecretString) -> Result<String, KeyExportError> {
    let mut salt = [0; SALT];
    getrandom::fill(&mut salt).map_err(|_| KeyExportError::NotSealed)?;
    let Cost {
        memory,
        passes,
        lanes,
    } = COST;
    let salt_text = STANDARD.encode(salt);
    let head = format!(
        "{TITLE}\nfile {}\nargon2id {memory} {passes} {lanes} {salt_text}\n",
        file.file_id
    );
    let key = derive(passphrase, &salt, COST).ok_or(KeyExportError::NotSealed)?;
    let cipher = XChaCha20Poly1305::new((&*key).into());
    let sealed = seal_with(&cipher, head.as_bytes(), file.to_text().as_bytes())
        .map_err(|_| KeyExportError::NotSealed)?;
    Ok(format!("{head}sealed {}\n", STANDARD.encode(sealed)))
}

/// Why there is no key file to be had from an export, or no export of a key file.
#[derive(Debug, thiserror::Error)]
pub enum KeyExportError {
    #[error("the key could not be sealed")]
    NotSealed,
    #[error("this is not a key export, or it is damaged: {0}")]
    Damaged(&'static str),
    #[error("the file cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
    #[error(transparent)]
    File(#[from] KeyFileError),
}

/// Opens an export. Damage to the sealed part cannot be told from a wrong passphrase.
pub fn open(path: &Path, passphrase: &SecretString) -> Result<KeyFile, KeyExportError> {
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(KeyExportError::Damaged("it is too long"));
    }
    parse(&text, passphrase)
}

fn parse(text: &str, passphrase: &SecretString) -> Result<KeyFile, KeyExportError> {
    let damaged = KeyExportError::Damaged;
    let (head, body) = text
        .find("sealed ")
        .map(|at| text.split_at(at))
        .ok_or(damaged("it has no sealed part"))?;
    let lines: Vec<&str> = head.lines().collect();
    let [TITLE, file, derivation] = lines[..] else {
        return Err(damaged("it does not start as one"));
    };
    let file_id = file
        .strip_prefix("file ")
        .and_then(|id| Uuid::try_parse(id).ok());
    let file_id = file_id.ok_or(damaged("it names no key file"))?;
    let (cost, salt) =
        read_derivation(derivation).ok_or(damaged("its derivation is not admitted"))?;
    let sealed = body.strip_prefix("sealed ").map(str::trim_end);
    let sealed = sealed.and_then(|sealed| STANDARD.decode(sealed).ok());
    let sealed = sealed.ok_or(damaged("its sealed part is not readable"))?;
    let key = derive(passphrase, &salt, cost).ok_or(damaged("its derivation is not admitted"))?;
    let cipher = XChaCha20Poly1305::new((&*key).into());
    let plain =
        open_with(&cipher, head.as_bytes(), &sealed).map_err(|_| KeyFileError::WrongPassphrase)?;
    let plain = Zeroizing::new(plain);
    let text = std::str::from_utf8(&plain).map_err(|_| damaged("it holds no key file"))?;
    let file = KeyFile::parse(text).map_err(|_| damaged("it holds no key file"))?;
    if file.file_id == file_id {
        Ok(file)
    } else {
        Err(damaged("it holds another key file"))
    }
}

fn read_derivation(line: &str) -> Option<(Cost, Vec<u8>)> {
    let words: Vec<&str> = line.split(' ').collect();
    let ["argon2id", memory, passes, lanes, salt] = words[..] else {
        return None;
    };
    let within =
        |text: &str, limit: u32| text.parse().ok().filter(|cost| (1..=limit).contains(cost));
    let cost = Cost {
        memory: within(memory, LIMIT.memory)?,
        passes: within(passes, LIMIT.passes)?,
        lanes: within(lanes, LIMIT.lanes)?,
    };
    let salt = STANDARD
        .decode(salt)
        .ok()
        .filter(|salt| salt.len() == SALT)?;
    Some((cost, salt))
}

fn derive(passphrase: &SecretString, salt: &[u8], cost: Cost) -> Option<Zeroizing<[u8; 32]>> {
    let params = Params::new(cost.memory, cost.passes, cost.lanes, Some(32)).ok()?;
    let mut key = Zeroizing::new([0; 32]);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(passphrase.expose_secret().as_bytes(), salt, &mut *key)
        .ok()?;
    Some(key)
}

/// Names the set of keys in a file without telling anything of them: two files of one database
/// differ in it as soon as one of them was rotated.
pub fn edition(file: &KeyFile) -> String {
    let mut hasher = Sha256::new();
    hasher.update(file.file_id.as_bytes());
    for id in file.keks.keys() {
        hasher.update(id.as_bytes());
        hasher.update(b"\n");
    }
    hex::encode(&hasher.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_opens_with_its_passphrase_alone_and_only_unaltered() {
        let file = KeyFile::fresh(Uuid::from_u128(7)).unwrap();
        let passphrase = SecretString::from("correct horse battery");
        let text = seal(&file, &passphrase).unwrap();
        assert_eq!(parse(&text, &passphrase).unwrap(), file);
        let wrong = parse(&text, &SecretString::from("correct horse batterx"));
        assert!(matches!(
            wrong,
            Err(KeyExportError::File(KeyFileError::WrongPassphrase))
        ));
        let other_id = text.replace(&file.file_id.to_string(), &Uuid::from_u128(8).to_string());
        let renamed = parse(&other_id, &passphrase);
        assert!(matches!(
            renamed,
            Err(KeyExportError::File(KeyFileError::WrongPassphrase))
        ));
    }

    #[test]
    fn an_export_that_asks_for_too_much_is_refused_before_it_is_tried() {
        let file = KeyFile::fresh(Uuid::from_u128(7)).unwrap();
        let passphrase = SecretString::from("correct horse battery");
        let text = seal(&file, &passphrase).unwrap();
        for costs in [
            "argon2id 4294967295 3 1 ",
            "argon2id 65536 1000 1 ",
            "argon2id 0 3 1 ",
        ] {
            let greedy = text.replace("argon2id 65536 3 1 ", costs);
            assert!(
                matches!(parse(&greedy, &passphrase), Err(KeyExportError::Damaged(_))),
                "{costs}"
            );
        }
    }

    #[test]
    fn a_rotated_file_is_another_edition() {
        let mut file = KeyFile::fresh(Uuid::from_u128(7)).unwrap();
        let before = edition(&file);
        file.add_generation(3).unwrap();
        file.keep_newest(3);
        assert_ne!(edition(&file), before);
    }
}
