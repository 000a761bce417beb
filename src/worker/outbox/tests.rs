//! A sender that loses its lease, its time or its process, with short times.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use helix_aggregates::access::account::command::AccountType;
use helix_aggregates::access::webhook::kind::NoticeKind;
use helix_aggregates::ids::{AccountId, WebhookId};
use helix_postgres::testing::{self, TestDatabase};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{Outbox, OutboxSettings};
use crate::app::access::accounts::Accounts;
use crate::app::access::webhooks::{DeliveryView, Webhooks};
use crate::outbound::Reach;
use crate::store::tests::open;
use crate::store::webhooks::{self as rows, Outcome, Sending, Verdict};
use crate::store::{Core, CoreConfig, database};

const LEASE: Duration = Duration::from_secs(30);

/// A database with an open store, a stopped clock and an account.
struct World {
    core: Arc<Core>,
    webhooks: Webhooks,
    account: AccountId,
    _database: TestDatabase,
    _keys: TempDir,
}

impl World {
    async fn new() -> Self {
        let template = testing::template("outbox", |options| async move {
            database::migrate(&options, Duration::from_secs(30))
                .await
                .map(drop)
        })
        .await;
        let database = template.clone_of_template().await;
        let keys = tempfile::tempdir().unwrap();
        let config = CoreConfig {
            read_connections: 4,
            ..CoreConfig::default()
        };
        let core = open(&database, &keys, config).await;
        let accounts = Accounts::new(Arc::clone(&core));
        let made = accounts.create("ana@example.org", "Ana", AccountType::User);
        let account = made.await.unwrap().account_id;
        let world = Self {
            webhooks: Webhooks::new(Arc::clone(&core), Reach::Anywhere),
            core,
            account,
            _database: database,
            _keys: keys,
        };
        world
            .clock("update es.clock set frozen_at_ms = es.now_ms()")
            .await;
        world
    }

    async fn clock(&self, statement: &str) {
        sqlx::query(statement)
            .execute(&self.core.pool)
            .await
            .unwrap();
        self.core.clock.sample(&self.core.pool).await.unwrap();
    }

    async fn advance(&self, span: Duration) {
        let ms = span.as_millis();
        self.clock(&format!(
            "update es.clock set frozen_at_ms = frozen_at_ms + {ms}"
        ))
        .await;
    }

    /// An endpoint with one message that waits for it.
    async fn waiting(&self, url: &str) -> WebhookId {
        let kinds = BTreeSet::from(NoticeKind::ALL);
        let made = self.webhooks.create(self.account, url, kinds).await;
        let id = made.unwrap().webhook.webhook_id;
        self.webhooks.test(id).await.unwrap();
        id
    }

    fn outbox(&self, reach: Reach) -> Outbox {
        let settings = OutboxSettings {
            reach,
            attempt: Duration::from_millis(200),
            senders: 4,
        };
        Outbox::new(Arc::clone(&self.core), settings)
    }

    async fn sent(&self, id: WebhookId) -> DeliveryView {
        let mut sent = self.webhooks.deliveries(Some(id), 10).await.unwrap();
        assert_eq!(sent.len(), 1);
        sent.remove(0)
    }

    async fn claim(&self) -> Vec<Sending> {
        let holder = self.core.ids.uuid();
        rows::claim(&self.core.pool, holder, LEASE, 10)
            .await
            .unwrap()
    }
}

fn accepted() -> Outcome {
    Outcome {
        status: Some(204),
        failure: None,
        duration: Duration::from_millis(1),
        verdict: Verdict::Delivered,
    }
}

/// Takes requests and answers with `answer`, or never.
async fn receiver(answer: Option<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0; 4_096];
            let _read = stream.read(&mut head).await.unwrap();
            if let Some(answer) = answer {
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
            open.push(stream);
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_never_answers_is_given_its_time_and_no_more() {
    let world = World::new().await;
    let id = world.waiting(&receiver(None).await).await;
    world.outbox(Reach::Anywhere).settle().await.unwrap();
    let sent = world.sent(id).await;
    assert_eq!(sent.state, "pending");
    assert_eq!(sent.attempts[0].failure.as_deref(), Some("too_slow"));
    assert_eq!(sent.attempts[0].status, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_not_http_is_a_failure() {
    let world = World::new().await;
    let id = world
        .waiting(&receiver(Some("go away\r\n\r\n")).await)
        .await;
    world.outbox(Reach::Anywhere).settle().await.unwrap();
    let sent = world.sent(id).await;
    assert_eq!(sent.attempts[0].failure.as_deref(), Some("unreachable"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_or_private_address_is_refused_at_delivery_too() {
    let world = World::new().await;
    for (url, failure) in [
        ("http://127.0.0.1:9/in", "url_not_admitted"),
        ("https://127.0.0.1/in", "address_not_public"),
        ("https://localhost/in", "address_not_public"),
    ] {
        let id = world.waiting(url).await;
        world.outbox(Reach::Public).settle().await.unwrap();
        let sent = world.sent(id).await;
        assert_eq!(sent.attempts[0].failure.as_deref(), Some(failure), "{url}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_whose_process_died_is_made_again_when_its_lease_has_run_out() {
    let world = World::new().await;
    let url = receiver(Some("HTTP/1.1 204 Taken\r\n\r\n")).await;
    let id = world.waiting(&url).await;
    let claimed = world.claim().await;
    let begun = rows::begin(&world.core.pool, claimed[0], LEASE).await;
    assert_eq!(begun.unwrap().unwrap().attempt, 1);
    // Whoever began it says nothing more.
    assert!(world.claim().await.is_empty(), "held");
    world.advance(Duration::from_millis(29_999)).await;
    assert!(world.claim().await.is_empty(), "still held");
    world.advance(Duration::from_millis(1)).await;
    world.outbox(Reach::Anywhere).settle().await.unwrap();
    let sent = world.sent(id).await;
    assert_eq!(sent.state, "delivered");
    let outcomes: Vec<_> = sent.attempts.iter().map(|one| one.status).collect();
    assert_eq!(outcomes, [None, Some(204)], "the first has no outcome");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_cannot_be_read_is_tried_again_like_one_that_cannot_be_reached() {
    let world = World::new().await;
    let id = world.waiting("http://127.0.0.1:9/").await;
    sqlx::query("update access.webhook set body = '\\x00' where webhook_id = $1")
        .bind(id.uuid())
        .execute(&world.core.pool)
        .await
        .unwrap();
    world.outbox(Reach::Anywhere).settle().await.unwrap();
    let sent = world.sent(id).await;
    assert_eq!(sent.state, "pending");
    let failures: Vec<_> = sent.attempts.iter().map(|one| &one.failure).collect();
    assert_eq!(
        failures,
        [&Some("unreadable".to_owned())],
        "one, and a rest"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_that_was_overtaken_changes_nothing_but_its_own_line() {
    let world = World::new().await;
    let id = world.waiting("http://127.0.0.1:9/").await;
    let pool = &world.core.pool;
    let slow = world.claim().await[0];
    let first = rows::begin(pool, slow, LEASE).await.unwrap().unwrap();
    world.advance(LEASE).await;
    let quick = world.claim().await[0];
    let second = rows::begin(pool, quick, LEASE).await.unwrap().unwrap();
    assert_eq!((first.attempt, second.attempt), (1, 2));
    let begins_again = rows::begin(pool, slow, LEASE).await.unwrap();
    assert!(begins_again.is_none(), "its lease is lost");
    let late = rows::record(pool, slow, &first, &accepted()).await.unwrap();
    assert!(!late.stands);
    assert_eq!(world.sent(id).await.state, "pending");
    rows::release(pool, slow).await.unwrap();
    assert!(world.claim().await.is_empty(), "the other still holds it");
    let now = rows::record(pool, quick, &second, &accepted()).await;
    assert!(now.unwrap().stands);
    assert_eq!(world.sent(id).await.state, "delivered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_claims_at_once_give_each_endpoint_to_one() {
    let world = World::new().await;
    for _ in 0..5 {
        world.waiting("http://127.0.0.1:9/").await;
    }
    let claims = futures_util::future::join_all((0..8).map(|_| world.claim())).await;
    let mut claimed: Vec<_> = claims.concat().iter().map(|one| one.webhook).collect();
    claimed.sort_unstable();
    let before = claimed.len();
    claimed.dedup();
    assert_eq!((before, claimed.len()), (5, 5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_begins_for_an_endpoint_deleted_after_it_was_claimed() {
    let world = World::new().await;
    let id = world.waiting("http://127.0.0.1:9/").await;
    let claimed = world.claim().await[0];
    world.webhooks.delete(id).await.unwrap();
    let begun = rows::begin(&world.core.pool, claimed, LEASE).await.unwrap();
    assert!(begun.is_none());
    assert_eq!(world.sent(id).await.state, "withdrawn");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_sent_for_an_account_that_is_gone() {
    let world = World::new().await;
    let id = world.waiting("http://127.0.0.1:9/").await;
    sqlx::query("update access.account set deleted_at_ms = es.now_ms() where account_id = $1")
        .bind(world.account.uuid())
        .execute(&world.core.pool)
        .await
        .unwrap();
    world.outbox(Reach::Anywhere).settle().await.unwrap();
    let sent = world.sent(id).await;
    assert_eq!(sent.state, "withdrawn");
    assert!(sent.attempts.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_has_a_bounded_number_of_endpoints() {
    let world = World::new().await;
    for _ in 0..20 {
        world.waiting("http://127.0.0.1:9/").await;
    }
    let kinds = BTreeSet::from([NoticeKind::Failed]);
    let refused = world
        .webhooks
        .create(world.account, "http://127.0.0.1:9/", kinds)
        .await;
    let refused = refused.unwrap_err().to_string();
    assert_eq!(refused, "an account has at most 20 webhooks");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_rotations_at_once_leave_one_secret_that_counts() {
    let world = World::new().await;
    let id = world.waiting("http://127.0.0.1:9/").await;
    let (one, two) = tokio::join!(world.webhooks.rotate(id), world.webhooks.rotate(id));
    let made: Vec<_> = [one, two].into_iter().flatten().collect();
    let listed = world.webhooks.list(Some(world.account)).await.unwrap();
    let newest = &listed[0].fingerprint;
    assert!(made.iter().any(|made| made.fingerprint == *newest));
    let row = rows::endpoint(&world.core.pool, id.uuid()).await.unwrap();
    let row = row.unwrap();
    let open = world.webhooks.open(&row).await.unwrap().unwrap();
    assert_eq!(open.secret.fingerprint(), row.fingerprint);
    assert_eq!(row.generation, 1 + u32::try_from(made.len()).unwrap());
}
