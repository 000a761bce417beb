-- The append-only, hash-chained log: the one source of truth of every aggregate (ADR 0001, 0003).
create schema es;

-- Time is judged by the database alone. The offset row lets a test database move its clock.
create table es.clock (
    only_row boolean primary key default true,
    offset_ms bigint not null default 0,
    frozen_at_ms bigint,
    constraint clock_has_one_row check (only_row)
);
insert into es.clock default values;

create function es.refuse_clock_change() returns trigger language plpgsql as $$
begin
    if current_database() not like 'helix\_test\_%' then
        raise exception 'only a test database may move its clock' using errcode = '42501';
    end if;
    return new;
end $$;
create trigger clock_is_moved_by_tests_only before update on es.clock
    for each row execute function es.refuse_clock_change();

-- Milliseconds since 1970-01-01T00:00:00Z.
create function es.now_ms() returns bigint language sql volatile as $$
    select coalesce(frozen_at_ms, (extract(epoch from clock_timestamp()) * 1000)::bigint + offset_ms)
      from es.clock
$$;

-- A lane is a gapless, commit-ordered sub-log: its position moves in the transaction that inserts
-- its events, so a reader at `pos` can miss nothing.
create table es.lane (
    lane smallint primary key,
    pos bigint not null default 0
) with (fillfactor = 10);
insert into es.lane select generate_series(0, 63);

-- Fixed at an owner's first write, so the number of lanes in use can change later.
create table es.owner (
    owner_key bytea primary key,
    lane smallint not null references es.lane,
    constraint owner_key_is_a_mac check (octet_length(owner_key) = 32)
);

-- Head and inline summary of each stream: the compare-and-set target and the only hot row.
create table es.stream (
    lane smallint not null,
    stream_id uuid not null,
    kind text not null,
    owner_key bytea not null,
    version bigint not null,
    head bytea not null,
    was bigint not null,
    prev bytea not null,
    created_at_ms bigint not null,
    updated_at_ms bigint not null,
    status text not null default '',
    -- when a background worker has to look at this stream next
    due_at_ms bigint,
    key_id uuid,
    -- the sealed view that reads are answered from
    body bytea,
    primary key (lane, stream_id),
    constraint stream_head_is_sha256 check (octet_length(head) = 32)
) with (fillfactor = 80);
create index stream_by_owner on es.stream (lane, owner_key, kind, created_at_ms desc, stream_id desc);
create index stream_due on es.stream (due_at_ms) where due_at_ms is not null;

create table es.event (
    lane smallint not null,
    stream_id uuid not null,
    seq bigint not null,
    pos bigint not null,
    -- text, because exactly this text is hashed
    at text not null,
    kind text not null,
    ver smallint not null,
    key_id uuid,
    payload bytea not null,
    meta bytea not null,
    hash bytea not null,
    primary key (lane, stream_id, seq),
    constraint event_seq_starts_at_one check (seq >= 1),
    constraint event_hash_is_sha256 check (octet_length(hash) = 32)
);
create unique index event_pos on es.event (lane, pos);

create function es.refuse_rewriting() returns trigger language plpgsql as $$
begin
    raise exception 'the event log is append-only' using errcode = '42501';
end $$;
create trigger event_is_append_only before update or delete or truncate on es.event
    for each statement execute function es.refuse_rewriting();

-- Idempotency receipts, written by the statement that writes the events they answer for.
create table es.receipt (
    lane smallint not null,
    owner_key bytea not null,
    operation text not null,
    key_hash bytea not null,
    request_mac bytea not null,
    state text not null,
    -- the HTTP status of the stored answer
    status smallint,
    key_id uuid,
    body bytea,
    subject text not null,
    -- the claim that may complete this receipt
    claim uuid,
    claimed_version bigint,
    reserved_at_ms bigint not null,
    lease_until_ms bigint not null,
    expires_at_ms bigint not null,
    primary key (lane, owner_key, operation, key_hash),
    constraint receipt_state_is_known check (state in ('processing', 'completed', 'outcome_unknown')),
    constraint completed_receipt_has_an_answer check (state <> 'completed' or (status is not null and body is not null))
) with (fillfactor = 80);
create index receipt_expiry on es.receipt (expires_at_ms);

-- Leader work is done by whoever holds the lease, judged by the database clock.
create table es.lease (
    task text primary key,
    holder uuid not null,
    epoch bigint not null,
    until_ms bigint not null
);

-- The names, and only the names, of key-encryption keys that may wrap. A key is deleted here
-- before the key file forgets it: a process that still wraps with it is then refused.
create table es.kek (
    kek_id text primary key,
    bucket smallint not null,
    generation integer not null
);

-- Data keys, wrapped by key-encryption keys that are never stored here (ADR 0004).
create table es.data_key (
    key_id uuid primary key,
    owner_key bytea not null,
    bucket smallint not null,
    kek_id text references es.kek,
    wrapped bytea,
    created_at_ms bigint not null,
    dropped_at_ms bigint,
    constraint live_data_key_is_wrapped check
        (dropped_at_ms is not null or (kek_id is not null and wrapped is not null))
);
create index data_key_by_kek on es.data_key (kek_id);
create index data_key_by_owner on es.data_key (owner_key);

-- What a key file must contain to open this database: refuses a start with another one.
create table es.key_file (
    only_row boolean primary key default true,
    file_id uuid not null,
    constraint key_file_has_one_row check (only_row)
);

create table es.projection (
    name text not null,
    version integer not null,
    lane smallint not null,
    pos bigint not null default 0,
    primary key (name, version, lane)
);
create table es.projection_parked (
    name text not null,
    version integer not null,
    lane smallint not null,
    stream_id uuid not null,
    seq bigint not null,
    reason text not null,
    parked_at_ms bigint not null,
    primary key (name, version, lane, stream_id)
);
create table es.projection_live (
    name text primary key,
    version integer not null
);

-- Lets any cqrs-es program replay the log through postgres-es.
create view public.events as
    select kind_of.kind as aggregate_type,
           e.stream_id::text as aggregate_id,
           e.seq as sequence,
           e.kind as event_type,
           e.ver::text as event_version,
           json_build_object(e.kind, convert_from(e.payload, 'UTF8')::json) as payload,
           convert_from(e.meta, 'UTF8')::json as metadata
      from es.event e
      join es.stream kind_of using (lane, stream_id);
