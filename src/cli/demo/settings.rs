//! The configuration of a demo: its own, whatever is configured around it.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use secrecy::ExposeSecret;

use super::home::Home;
use crate::cli::failure::Failure;
use crate::cli::{Context, SettingFlags};
use crate::config::table as t;
use crate::config::{Config, Environment, Flags, Loaded, Setting, Source};

/// What a person may decide; all else is the demo's own.
static OPEN: [&Setting; 6] = [
    &t::LISTEN,
    &t::METRICS_LISTEN,
    &t::DATA_DIR,
    &t::PG_BIN,
    &t::LOG_FORMAT,
    &t::LOG_LEVEL,
];

const DATA_DIR: &str = "./helix-demo";

/// Names of the demo's token lane. They stay the same from run to run, whatever the port, so that
/// the link made by the first run serves the next.
pub const ISSUER: &str = "https://demo.helix.invalid/";
pub const AUDIENCE: &str = "https://demo.helix.invalid/agent-runs";
pub const PROVIDER: &str = "helix-demo";

/// The directory: the flag's or the default, never that of another server.
pub fn data_dir(flags: &SettingFlags) -> Result<PathBuf, Failure> {
    if let Some(name) = flags
        .0
        .0
        .keys()
        .find(|name| OPEN.iter().all(|open| open.name != **name))
    {
        let flag = name.replace('_', "-");
        return Err(
            Failure::usage("flag", format!("the demo decides about --{flag} itself"))
                .fix("leave it out, or use `helix serve`"),
        );
    }
    let given = flags
        .0
        .0
        .get(t::DATA_DIR.name)
        .and_then(|values| values.last());
    Ok(PathBuf::from(given.map_or(DATA_DIR, String::as_str)))
}

/// The configuration of a server in `home` with its own local token lane.
pub fn config(flags: &SettingFlags, home: &Home, context: &Context) -> Result<Config, Failure> {
    let loaded = load(flags, home, context)?;
    let explicit = |setting: &Setting| {
        let mut shown = loaded
            .shown
            .iter()
            .filter(|shown| shown.name == setting.name);
        shown.any(|shown| shown.source != Source::Default)
    };
    let (listen, metrics) = (explicit(&t::LISTEN), explicit(&t::METRICS_LISTEN));
    let mut config = loaded.config?;
    config.solver.libraries = vec![home.library()];
    if !listen && is_taken(config.server.listen) {
        let taken = config.server.listen;
        context.output.note(&format!(
            "{taken} is taken: the demo listens on a free port"
        ));
        config.server.listen.set_port(0);
    }
    if let Some(address) = &mut config.server.metrics_listen
        && !metrics
        && is_taken(*address)
    {
        address.set_port(0);
    }
    Ok(config)
}

fn load(flags: &SettingFlags, home: &Home, context: &Context) -> Result<Loaded, Failure> {
    let secret = home.secret()?;
    let mut own = Flags(flags.0.0.clone());
    let data_dir = home.path().to_str().ok_or_else(|| {
        Failure::usage("data_dir", "the directory's name is not Unicode text")
            .fix("name another one with --data-dir")
    })?;
    let decided = [
        (&t::DATA_DIR, data_dir),
        (&t::OAUTH_ISSUER, ISSUER),
        (&t::OAUTH_AUDIENCE, AUDIENCE),
        (&t::OAUTH_PROVIDER, PROVIDER),
        (&t::ALLOW_LOCAL_HS256, "on"),
    ];
    for (setting, value) in decided {
        own.0.insert(setting.name, vec![value.to_owned()]);
    }
    let mut environment = vec![(t::LOCAL_JWT_SECRET.variable(), secret.expose_secret())];
    let open = OPEN
        .iter()
        .filter(|setting| setting.name != t::DATA_DIR.name);
    let given = open
        .flat_map(|setting| setting.env)
        .filter_map(|name| Some((*name, context.environment.get(name)?)));
    environment.extend(given);
    if environment
        .iter()
        .all(|(name, _)| *name != t::LOG_LEVEL.variable())
    {
        // Between the steps of a demo only what is wrong is worth a line.
        own.0
            .entry(t::LOG_LEVEL.name)
            .or_insert_with(|| vec!["error,helix=warn".to_owned()]);
    }
    let environment = Environment::from_pairs(environment);
    Ok(crate::config::load(&own, &environment, home.path()))
}

fn is_taken(address: SocketAddr) -> bool {
    TcpListener::bind(address).is_err()
}
