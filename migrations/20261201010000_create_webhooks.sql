-- Endpoints outside that are told of runs, and what each of them is told (ADR 0012). Address and
-- secrets are sealed; the rest is structure, as it stands in the log already.
create table access.webhook (
    webhook_id uuid primary key,
    account_id uuid not null references access.account,
    key_id uuid not null,
    -- address and secrets, sealed; gone with the endpoint
    body bytea,
    -- of the newest secret
    generation integer not null,
    fingerprint text not null,
    kinds text[] not null,
    -- where each lane stood, lane 0 first: only what comes after is this endpoint's business
    after_pos bigint[] not null,
    created_at_ms bigint not null,
    disabled_at_ms bigint,
    disabled_reason text,
    deleted_at_ms bigint,
    -- who sends to it, and until when nobody else may
    holder uuid,
    held_until_ms bigint not null default 0,
    -- failures since the last success, and the pause they cost
    failures integer not null default 0,
    rest_until_ms bigint not null default 0,
    failing_since_ms bigint,
    -- the last success
    accepted_at_ms bigint,
    constraint webhook_has_a_body_while_it_exists check ((body is null) = (deleted_at_ms is not null)),
    constraint webhook_disabled_reason_is_known check (disabled_reason in ('gone', 'failing'))
) with (fillfactor = 80);
create index webhook_by_account on access.webhook (account_id) where deleted_at_ms is null;

-- One row for each endpoint and event. What is sent is ids, versions and statuses: nothing to seal.
create table access.webhook_delivery (
    message_id uuid primary key,
    webhook_id uuid not null references access.webhook,
    kind text not null,
    -- the event of the run; null for a test message
    stream_id uuid,
    seq bigint,
    -- the ledger row of the credential that started the run
    credential uuid,
    event_at_ms bigint not null,
    -- exactly the bytes that are sent
    body bytea not null,
    state text not null default 'pending',
    attempts integer not null default 0,
    due_at_ms bigint not null,
    created_at_ms bigint not null,
    ended_at_ms bigint,
    constraint webhook_delivery_state_is_known check (state in ('pending', 'delivered', 'dead', 'withdrawn')),
    constraint webhook_delivery_has_an_end check ((state = 'pending') = (ended_at_ms is null))
) with (fillfactor = 80);
create unique index webhook_delivery_once on access.webhook_delivery (webhook_id, stream_id, seq);
create index webhook_delivery_due on access.webhook_delivery (webhook_id, due_at_ms) where state = 'pending';
create index webhook_delivery_recent on access.webhook_delivery (webhook_id, created_at_ms desc);
create index webhook_delivery_ended on access.webhook_delivery (ended_at_ms) where ended_at_ms is not null;

-- What became of each attempt; neither status nor failure: it has no outcome (yet).
create table access.webhook_attempt (
    message_id uuid not null references access.webhook_delivery on delete cascade,
    attempt integer not null,
    began_at_ms bigint not null,
    duration_ms bigint,
    status smallint,
    failure text,
    primary key (message_id, attempt)
);

grant select, insert, update on access.webhook to helix_app;
grant select, insert, update, delete on access.webhook_delivery, access.webhook_attempt to helix_app;
