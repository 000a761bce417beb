-- Who may act: accounts, linked providers and the ledger every credential resolves to. Rows are
-- written in the transaction that appends their event, never by an asynchronous projector.
create schema access;

create table access.account (
    account_id uuid primary key,
    -- HMAC of the lower-cased address; null once the account is deleted
    email_mac bytea,
    account_type text not null,
    key_id uuid not null,
    body bytea not null,
    created_at_ms bigint not null,
    deleted_at_ms bigint,
    constraint account_type_is_known check (account_type in ('user', 'developer'))
);
create unique index account_email on access.account (email_mac) where deleted_at_ms is null;

create table access.linked_provider (
    provider text not null,
    subject_mac bytea not null,
    account_id uuid not null references access.account,
    linked_at_ms bigint not null,
    primary key (provider, subject_mac, account_id)
);

create table access.ledger (
    row_id uuid primary key,
    kind text not null,
    door text not null,
    account_id uuid not null references access.account,
    created_at_ms bigint not null,
    revoked_at_ms bigint,
    revoked_reason text
);
create index ledger_by_account on access.ledger (account_id);

create table access.agent_binding (
    -- HMAC over issuer, tenant, provider alias and subject
    tuple_mac bytea primary key,
    -- HMAC of the public reference, which is a plain hash of text that can be guessed
    ref_mac bytea not null unique,
    stream_id uuid not null,
    row_id uuid not null references access.ledger,
    account_id uuid not null references access.account,
    provider text not null,
    key_id uuid not null,
    body bytea not null,
    linked_at_ms bigint not null
);
