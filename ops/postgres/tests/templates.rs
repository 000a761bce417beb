//! What other crates' tests rely on.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot prepare its case has failed"
)]

use helix_postgres::testing;
use sqlx::{Connection, PgConnection};

async fn note_template() -> testing::Template {
    testing::template("notes", async |options| {
        let mut connection = PgConnection::connect_with(&options).await?;
        sqlx::query("create table note (text text)")
            .execute(&mut connection)
            .await?;
        Ok::<_, sqlx::Error>(())
    })
    .await
}

async fn notes(database: &testing::TestDatabase) -> i64 {
    let mut connection = PgConnection::connect_with(&database.options).await.unwrap();
    sqlx::query("insert into note values ('mine')")
        .execute(&mut connection)
        .await
        .unwrap();
    sqlx::query_scalar("select count(*) from note")
        .fetch_one(&mut connection)
        .await
        .unwrap()
}

#[tokio::test]
async fn clones_have_the_schema_and_share_no_rows() {
    let template = note_template().await;
    let (first, second) = (
        template.clone_of_template().await,
        template.clone_of_template().await,
    );
    assert_ne!(first.name, second.name);
    assert_eq!((notes(&first).await, notes(&second).await), (1, 1));
}

#[tokio::test]
async fn another_test_gets_the_same_template_from_its_own_runtime() {
    let database = note_template().await.clone_of_template().await;
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    let found: String = sqlx::query_scalar("select current_database()")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(found, database.name);
    assert_eq!(notes(&database).await, 1);
}
