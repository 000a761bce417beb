//! `helix serve`: everything in one process, until SIGINT or SIGTERM.

use clap::Args;

use super::failure::{Exit, Failure};
use super::{Context, SettingFlags};

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Print a systemd unit for this binary and stop
    #[arg(long)]
    pub print_systemd: bool,
    #[command(flatten)]
    pub settings: SettingFlags,
}

#[expect(clippy::unused_async, reason = "its parts are not in this build yet")]
pub async fn run(args: ServeArgs, context: &Context) -> Result<Exit, Failure> {
    if args.print_systemd {
        context.output.text(&systemd_unit()?)?;
        return Ok(Exit::Ok);
    }
    context.load(&args.settings)?;
    Err(Failure::not_built("serve"))
}

/// A unit that keeps everything under its state directory and may write nowhere else.
fn systemd_unit() -> Result<String, Failure> {
    let binary = std::env::current_exe().map_err(|error| {
        Failure::unavailable("own_path", format!("cannot find this binary: {error}"))
    })?;
    let binary = binary
        .display()
        .to_string()
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%");
    Ok(format!(
        "[Unit]\n\
         Description=Helix\n\
         After=network-online.target\n\
         Wants=network-online.target\n\
         \n\
         [Service]\n\
         ExecStart=\"{binary}\" serve --config /etc/helix/helix.toml --data-dir /var/lib/helix\n\
         EnvironmentFile=-/etc/helix/environment\n\
         DynamicUser=yes\n\
         StateDirectory=helix\n\
         WorkingDirectory=/var/lib/helix\n\
         KillMode=mixed\n\
         TimeoutStopSec=60\n\
         Restart=on-failure\n\
         RestartPreventExitStatus=64\n\
         NoNewPrivileges=yes\n\
         ProtectSystem=strict\n\
         ProtectHome=yes\n\
         PrivateTmp=yes\n\
         UMask=0077\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    ))
}
