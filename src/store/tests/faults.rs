use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use sqlx::{ConnectOptions, Executor};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

use super::*;

/// Stands between the store and Postgres and can swallow the answer of a commit.
struct LossyLine {
    folder: TempDir,
    /// The answer of the so-many-th flush from now is swallowed; zero for none.
    swallow: Arc<AtomicUsize>,
    swallowed: Arc<AtomicUsize>,
}

impl LossyLine {
    fn open(database: &TestDatabase) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = format!(".s.PGSQL.{}", database.options.get_port());
        let behind: PathBuf = database.options.get_socket().unwrap().join(&socket);
        let listener = UnixListener::bind(folder.path().join(&socket)).unwrap();
        let (swallow, swallowed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let line = Self {
            folder,
            swallow: Arc::clone(&swallow),
            swallowed: Arc::clone(&swallowed),
        };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&behind).await.unwrap();
                tokio::spawn(carry(
                    client,
                    server,
                    Arc::clone(&swallow),
                    Arc::clone(&swallowed),
                ));
            }
        });
        line
    }
}

async fn carry(
    client: UnixStream,
    server: UnixStream,
    swallow: Arc<AtomicUsize>,
    swallowed: Arc<AtomicUsize>,
) {
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let up = tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read) = from_server.read(&mut buffer).await {
        // The last message of an answered flush: "SELECT 1", then ready for the next query.
        let answered = buffer[..read]
            .windows(9)
            .any(|bytes| bytes == b"SELECT 1\0");
        if answered && is_next(&swallow) {
            swallowed.fetch_add(1, Ordering::SeqCst);
            break;
        }
        if read == 0 || to_client.write_all(&buffer[..read]).await.is_err() {
            break;
        }
    }
    up.abort();
}

/// Counts down to the answer that is swallowed.
fn is_next(swallow: &AtomicUsize) -> bool {
    let counted = swallow.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
        left.checked_sub(1)
    });
    counted == Ok(1)
}

for_each_form! {
    async fn a_commit_whose_answer_was_lost_is_acknowledged_once_and_done_once(world) {
        let line = LossyLine::open(&world.database);
        let options = world.database.options.clone().socket(line.folder.path());
        let form = world.form;
        let config = CoreConfig { form, read_connections: 2, ..CoreConfig::default() };
        let key_file = world.keys.path().join("kek");
        let core = Core::open(&options, &key_file, config, Metrics::new().unwrap()).await.unwrap();
        let log = Log::<Tally>::new(core);
        let stream = world.stream().await;
        log.execute(&stream, &tick(1), world.stamp(), &Meta::new()).await.unwrap();
        // The load before the append answers with other texts, so the next such answer is the flush's.
        line.swallow.store(1, Ordering::SeqCst);
        let prepared = log.execute(&stream, &tick(1), world.stamp(), &Meta::new()).await.unwrap();
        assert_eq!(line.swallowed.load(Ordering::SeqCst), 1);
        assert_eq!(prepared.next.version, 2);
        assert_eq!(world.log.load(&stream).await.unwrap().state.count, 2);
    }

    async fn a_lost_answer_for_many_is_told_to_each_and_done_once(world) {
        let line = LossyLine::open(&world.database);
        let options = world.database.options.clone().socket(line.folder.path());
        let form = world.form;
        let config = CoreConfig { form, read_connections: 8, ..CoreConfig::default() };
        let key_file = world.keys.path().join("kek");
        let core = Core::open(&options, &key_file, config, Metrics::new().unwrap()).await.unwrap();
        let log = Arc::new(Log::<Tally>::new(Arc::clone(&core)));
        let mut beside = world.database.options.connect().await.unwrap();
        // How many share the second flush is for the scheduler to say, so there are several tries.
        for _ in 0..50 {
            let mut streams = Vec::new();
            for _ in 0..8 {
                streams.push(world.stream().await);
            }
            beside.execute("begin; update es.lane set pos = pos").await.unwrap();
            let stamp = world.stamp();
            let writing: Vec<_> = streams.iter().map(|stream| {
                let (log, stream) = (Arc::clone(&log), stream.clone());
                tokio::spawn(async move { log.execute(&stream, &tick(1), stamp, &Meta::new()).await.unwrap().next.version })
            }).collect();
            let blocked = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
            while sqlx::query_scalar::<_, i64>(blocked).fetch_one(&mut beside).await.unwrap() == 0 {}
            line.swallow.store(2, Ordering::SeqCst);
            beside.execute("rollback").await.unwrap();
            for version in writing {
                assert_eq!(version.await.unwrap(), 1);
            }
            line.swallow.store(0, Ordering::SeqCst);
            for stream in &streams {
                assert_eq!(world.log.load(stream).await.unwrap().state.count, 1);
            }
            if core.metrics.flush_splits.get() > 0 {
                return;
            }
        }
        panic!("no flush of many was lost");
    }

    async fn the_event_table_refuses_change_even_to_its_owner(world) {
        let stream = world.stream().await;
        world.tick(&stream, 1).await;
        let mut owner = world.database.options.connect().await.unwrap();
        let mut app = world.core.pool.acquire().await.unwrap();
        for statement in [
            "update es.event set at = ''",
            "delete from es.event",
            "truncate es.event",
        ] {
            let refused = owner.execute(statement).await.unwrap_err();
            assert!(refused.to_string().contains("append-only"), "{refused}");
            let refused = app.execute(statement).await.unwrap_err();
            assert!(refused.to_string().contains("permission denied"), "{refused}");
        }
    }

    async fn an_altered_event_breaks_the_fold_at_its_place(world) {
        let stream = world.stream().await;
        world.tick(&stream, 3).await;
        let mut owner = world.database.options.connect().await.unwrap();
        owner.execute("alter table es.event disable trigger user").await.unwrap();
        owner.execute("update es.event set at = replace(at, 'Z', 'z') where seq = 2").await.unwrap();
        let fault = Log::<Tally>::new(world.second(Form::Fast).await).load(&stream).await.unwrap_err();
        assert!(fault.to_string().contains("breaks at event 2"), "{fault}");
    }

    async fn personal_text_is_nowhere_in_the_stored_rows(world) {
        let stream = world.stream().await;
        world.tick(&stream, 2).await;
        let stored: String = sqlx::query_scalar(
            "select string_agg(encode(payload, 'escape') || encode(meta, 'escape'), '') from es.event",
        )
        .fetch_one(&world.core.pool)
        .await
        .unwrap();
        assert!(stored.contains("$sealed") && !stored.contains("canary"), "{stored}");
    }

    async fn another_key_file_does_not_open_the_database(world) {
        let keys = tempfile::tempdir().unwrap();
        let config = CoreConfig::default();
        let missing = keys.path().join("kek");
        let refused = Core::open(&world.database.options, &missing, config.clone(), Metrics::new().unwrap()).await;
        assert!(refused.unwrap_err().to_string().contains("missing"));
        assert!(!missing.exists());
        let foreign = crate::store::keyfile::KeyFile::fresh(world.core.ids.uuid()).unwrap();
        foreign.store(&missing).unwrap();
        let refused = Core::open(&world.database.options, &missing, config, Metrics::new().unwrap()).await;
        assert!(refused.unwrap_err().to_string().contains("another database"));
    }

    async fn rotating_the_wrapping_keys_keeps_every_text_readable(world) {
        let stream = world.stream().await;
        world.tick(&stream, 2).await;
        assert_eq!(world.core.keyring.rotate(&world.core.pool).await.unwrap(), 1);
        let reopened = world.second(Form::Fast).await;
        let key = reopened.key(Some(stream.key.id())).await.unwrap().unwrap();
        let loaded = Log::<Tally>::new(reopened).load(&Stream { key, ..stream }).await.unwrap();
        assert_eq!(loaded.state.count, 2);
    }
}
