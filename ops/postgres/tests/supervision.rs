//! Supervisors and servers that die in every way, each time followed by a start that needs no hand.
//!
//! The dying supervisors are this test binary again, told by `HELIX_HOLD` which data directory to hold.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot prepare its case has failed"
)]

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use helix_postgres::{
    Cluster, ClusterConfig, DataDirLock, Durability, Health, PostgresError, Search,
};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::{Connection, PgConnection};

const HOLD: &str = "HELIX_HOLD";

/// Longer than any wait of the supervisor itself.
const PATIENCE: Duration = Duration::from_secs(30);

async fn start(data_dir: &Path) -> Result<Cluster, PostgresError> {
    let lock = DataDirLock::acquire(data_dir)?;
    let programs = Search::new(std::env::temp_dir()).find()?;
    let mut config = ClusterConfig::new(programs, lock);
    // Processes die in these tests, and the machine does not.
    config.durability = Durability::Off;
    Cluster::start(config).await
}

/// Counts the notes after adding one, so that each life of a cluster sees what the earlier ones wrote.
async fn add_note(options: &sqlx::postgres::PgConnectOptions) -> i64 {
    let mut connection = PgConnection::connect_with(options).await.unwrap();
    for statement in [
        "create table if not exists note ()",
        "insert into note default values",
    ] {
        sqlx::query(statement)
            .execute(&mut connection)
            .await
            .unwrap();
    }
    sqlx::query_scalar("select count(*) from note")
        .fetch_one(&mut connection)
        .await
        .unwrap()
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
}

/// Another process that runs the cluster of a data directory until its standard input ends.
struct Holder {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    postmaster: u32,
}

fn holding<'a>(command: &'a mut Command, data_dir: &Path) -> &'a mut Command {
    command
        .args([
            "--exact",
            "a_cluster_can_be_held_for_another_process",
            "--nocapture",
        ])
        .env(HOLD, data_dir)
}

impl Holder {
    fn start(data_dir: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        Self::spawn(&mut command, data_dir)
    }

    fn spawn(command: &mut Command, data_dir: &Path) -> Self {
        let command = holding(command, data_dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let input = process.stdin.take().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("postmaster=") {
            line.clear();
            assert!(
                output.read_line(&mut line).unwrap() > 0,
                "the holder ended early"
            );
        }
        let postmaster = line.trim().rsplit('=').next().unwrap().parse().unwrap();
        Self {
            process,
            input,
            output,
            postmaster,
        }
    }

    fn release(self) {
        let Self {
            mut process,
            input,
            mut output,
            ..
        } = self;
        drop(input);
        output.read_to_end(&mut Vec::new()).unwrap();
        assert!(process.wait().unwrap().success());
    }
}

#[tokio::test]
async fn a_cluster_can_be_held_for_another_process() {
    let held = std::env::var_os(HOLD).map(PathBuf::from);
    // The holder may be killed, and shall leave nothing behind.
    let own = held.is_none().then(|| tempfile::tempdir().unwrap());
    let data_dir = held
        .as_deref()
        .or(own.as_ref().map(tempfile::TempDir::path))
        .unwrap();
    let cluster = start(data_dir).await.unwrap();
    assert!(add_note(&cluster.connect_options("postgres")).await > 0);
    if held.is_some() {
        println!("\npostmaster={}", cluster.pid().unwrap());
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    }
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_killed_postmaster_is_replaced_without_losing_data() {
    let home = tempfile::tempdir().unwrap();
    let cluster = start(home.path()).await.unwrap();
    assert_eq!(add_note(&cluster.connect_options("postgres")).await, 1);
    let first = cluster.pid().unwrap();
    let mut health = cluster.health();
    kill(first);
    let replaced =
        health.wait_for(|health| matches!(health, Health::Ready { pid } if *pid != first));
    tokio::time::timeout(PATIENCE, replaced)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(add_note(&cluster.connect_options("postgres")).await, 2);
    cluster.stop().await.unwrap();
    assert_eq!(cluster.pid(), None);
}

#[tokio::test]
async fn the_postmaster_goes_with_its_killed_supervisor_and_the_next_one_starts() {
    let home = tempfile::tempdir().unwrap();
    let mut holder = Holder::start(home.path());
    kill(holder.process.id());
    holder.process.wait().unwrap();
    let cluster = start(home.path()).await.unwrap();
    assert_ne!(cluster.pid(), Some(holder.postmaster));
    assert_eq!(add_note(&cluster.connect_options("postgres")).await, 2);
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_start_succeeds_after_both_were_killed_and_the_postmaster_is_a_zombie() {
    let home = tempfile::tempdir().unwrap();
    let mut holder = Holder::start(home.path());
    // Stopped, the supervisor cannot reap its child; killed later, it leaves that to whoever comes.
    let supervisor = Pid::from_child(&holder.process);
    kill_process(supervisor, Signal::STOP).unwrap();
    kill(holder.postmaster);
    kill(holder.process.id());
    holder.process.wait().unwrap();
    let cluster = tokio::time::timeout(Duration::from_secs(10), start(home.path()))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(add_note(&cluster.connect_options("postgres")).await, 2);
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_pid_file_that_names_a_stranger_does_not_stop_a_start() {
    let home = tempfile::tempdir().unwrap();
    let cluster = start(home.path()).await.unwrap();
    cluster.stop().await.unwrap();
    // Process 1 always exists and is no Postgres of this directory.
    let pid_file = format!(
        "1\n{}\n0\n5432\n\n\n\nready   \n",
        home.path().join("pg").display()
    );
    std::fs::write(home.path().join("pg/postmaster.pid"), pid_file).unwrap();
    assert_eq!(Cluster::attach(home.path()).unwrap(), None);
    let cluster = start(home.path()).await.unwrap();
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_second_holder_is_told_who_is_there_and_can_use_the_running_cluster() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(Cluster::attach(home.path()).unwrap(), None);
    let holder = Holder::start(home.path());

    let PostgresError::Held(held) = DataDirLock::acquire(home.path()).unwrap_err() else {
        panic!("the lock was refused for another reason");
    };
    assert_eq!(held.pid, Some(holder.process.id()));
    assert!(held.command.starts_with("supervision"), "{held}");
    assert!(
        held.to_string().contains(&holder.process.id().to_string()),
        "{held}"
    );
    assert!(held.since.elapsed().unwrap() < PATIENCE * 4);

    let endpoint = Cluster::attach(home.path()).unwrap().unwrap();
    assert_eq!(add_note(&endpoint.connect_options("postgres")).await, 2);

    holder.release();
    assert_eq!(Cluster::attach(home.path()).unwrap(), None);
    DataDirLock::acquire(home.path()).unwrap();
}

/// This program as a user without rights, from a copy that such a user can reach.
fn as_plain_user(home: &Path) -> Command {
    let program = home.join("supervision-copy");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = Command::new("setpriv");
    if rustix::process::geteuid().is_root() {
        std::fs::set_permissions(home, std::fs::Permissions::from_mode(0o755)).unwrap();
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    } else {
        command.arg("--no-new-privs");
    }
    command.arg("--").arg(&program).current_dir("/");
    command
}

#[tokio::test]
async fn a_plain_user_runs_a_cluster_and_root_leaves_it_theirs() {
    let home = tempfile::tempdir().unwrap();
    let data_dir = home.path().join("data");
    std::fs::create_dir(&data_dir).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&data_dir, Some(65534), Some(65534)).unwrap();
    }
    Holder::spawn(&mut as_plain_user(home.path()), &data_dir).release();
    let owner = std::fs::metadata(data_dir.join("pg")).unwrap().uid();

    let cluster = start(&data_dir).await.unwrap();
    assert_eq!(add_note(&cluster.connect_options("postgres")).await, 2);
    cluster.stop().await.unwrap();

    for place in ["pg", "pg/base", "pg/global/pg_control", "run"] {
        assert_eq!(
            std::fs::metadata(data_dir.join(place)).unwrap().uid(),
            owner,
            "{place}"
        );
    }
    Holder::spawn(&mut as_plain_user(home.path()), &data_dir).release();
}

#[test]
fn a_directory_of_somebody_else_is_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let refused = holding(&mut as_plain_user(home.path()), Path::new("/usr"))
        .output()
        .unwrap();
    assert!(!refused.status.success());
    let said = String::from_utf8([refused.stdout, refused.stderr].concat()).unwrap();
    assert!(
        said.contains("Directory { path: \"/usr\"") && said.contains("PermissionDenied"),
        "{said}"
    );
}
