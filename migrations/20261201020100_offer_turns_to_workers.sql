-- Turns that wait for, or are with, an external worker (ADR 0011). Structure alone: what a turn is
-- about stays in the sealed log, and what a worker asks or answers is sealed under the run's key.
create schema worker;

create table worker.offer (
    offer_id uuid primary key,
    lane smallint not null,
    -- the run's event stream
    run_id uuid not null,
    -- the claimed version: it names the turn, because every claim makes a version of its own
    run_version bigint not null,
    -- the stream's length right after the claim; anything longer means that the claim is over
    stream_version bigint not null,
    key_id uuid not null,
    -- ledger row under which the turn runs, and since when
    credential uuid,
    claimed_at_ms bigint not null,
    -- capabilities admitted to the run; empty when there are none
    tools text[] not null,
    -- what the executing process adds to the log: the turn's ids, and the capabilities it can answer
    shown jsonb not null,
    -- the process that executes the turn
    holder uuid not null,
    holder_until_ms bigint not null,
    deadline_ms bigint not null,
    -- since when it stands open; the oldest is given out first
    offered_at_ms bigint not null,
    -- counts changes that somebody may be waiting for
    moved bigint not null default 1,
    state text not null default 'open',
    -- how often a worker has taken the turn
    attempt integer not null default 0,
    -- SHA-256 of the bearer that the present attempt was given
    turn_hash bytea,
    worker_row uuid references access.ledger,
    worker_until_ms bigint,
    -- calls of this attempt that nobody has answered; counted here, where concurrent ones queue
    waiting integer not null default 0,
    -- MAC of the product that was handed in
    product_mac bytea,
    constraint offer_state_is_known check (state in ('open', 'taken', 'handed_in', 'withdrawn')),
    constraint taken_offer_names_its_worker check
        (state not in ('taken', 'handed_in') or (turn_hash is not null and worker_row is not null and worker_until_ms is not null)),
    constraint handed_in_offer_has_a_product check (state <> 'handed_in' or product_mac is not null)
) with (fillfactor = 70);
create unique index offer_by_turn on worker.offer (run_id, run_version);
create unique index offer_by_bearer on worker.offer (turn_hash) where turn_hash is not null;
create index offer_open on worker.offer (offered_at_ms) where state = 'open';
create index offer_by_deadline on worker.offer (deadline_ms);

-- What a worker asks of the process that executes its turn. Gone with the turn.
create table worker.message (
    message_id uuid primary key,
    offer_id uuid not null references worker.offer on delete cascade,
    attempt integer not null,
    kind text not null,
    -- sealed
    request bytea not null,
    -- sealed; null until it is answered
    answer bytea,
    posted_at_ms bigint not null,
    constraint message_kind_is_known check (kind in ('tool', 'product'))
);
create index message_by_offer on worker.message (offer_id, posted_at_ms);

-- Counts offers that came open, so that waiting workers can be woken without looking at each.
create table worker.bell (
    only_row boolean primary key default true,
    rung bigint not null default 1,
    constraint bell_has_one_row check (only_row)
);
insert into worker.bell default values;

grant usage on schema worker to helix_app;
grant select, insert, update, delete on worker.offer, worker.message to helix_app;
grant select, update on worker.bell to helix_app;
