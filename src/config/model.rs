//! The model of the solver `openai` (`operations` 4, settled question 92).
//!
//! What must stay true: whatever is set is judged, also while another solver works; what is missing
//! is a fault only when the model is wanted.

use std::net::IpAddr;

use reqwest::Url;
use reqwest::header::HeaderValue;
use secrecy::SecretString;

use super::assemble::Reader;
use super::parse;
use super::setting::Setting;
use super::table as t;
use crate::solver::model::{ModelSettings, Wire};

/// `None`: the model is not wanted, or a fault is noted.
pub fn section(reader: &mut Reader<'_>) -> Option<ModelSettings> {
    let wanted = reader.values.text(&t::SOLVER) == Some("openai");
    let base_url = reader.read(&t::MODEL_BASE_URL, parse::base_url);
    let model = reader.read(&t::MODEL, |text| parse::name(text, 200));
    let api_key = reader.read(&t::MODEL_API_KEY, key);
    let wire = match reader.choice(&t::MODEL_API) {
        0 => Wire::Chat,
        _ => Wire::Responses,
    };
    let max_tokens = reader.within(&t::MODEL_MAX_TOKENS, 256, 131_072);
    let turn_tokens = reader.within(&t::MODEL_TURN_TOKENS, 4_096, 10_000_000);
    if !wanted {
        return None;
    }
    let needed: [&Setting; 3] = [&t::MODEL_BASE_URL, &t::MODEL, &t::MODEL_API_KEY];
    for setting in needed {
        if reader.values.text(setting).is_none() {
            reader.fault(setting, "must be set: the solver `openai` needs it");
        }
    }
    if base_url.as_ref().is_some_and(goes_out_in_the_clear) {
        let place = reader.values.place(&t::MODEL_BASE_URL);
        reader.notes.warnings.push(format!(
            "{place}: the key and the documents that runs read travel unencrypted"
        ));
    }
    Some(ModelSettings {
        base_url: base_url?,
        model: model?,
        api_key: api_key?,
        wire,
        max_tokens: max_tokens?,
        turn_tokens: turn_tokens?,
    })
}

fn key(text: &str) -> Result<SecretString, String> {
    HeaderValue::from_str(text)
        .map(|_| SecretString::from(text))
        .map_err(|_| "must hold visible ASCII characters only".to_owned())
}

fn goes_out_in_the_clear(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let literal = host.trim_matches(['[', ']']).parse::<IpAddr>();
    let at_home = literal.map_or(host == "localhost", |address| address.is_loopback());
    url.scheme() == "http" && !at_home
}
