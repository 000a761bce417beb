-- What accounts did, for the operator's list: an asynchronous projection of clear fields only.
-- One row a stream, so that a second reading of an event is recognised by its sequence; totals are
-- sums at read time.
create table access.account_activity (
    version integer not null,
    lane smallint not null,
    stream_id uuid not null,
    -- the last event of the stream that this row knows
    seq bigint not null,
    account_id uuid not null,
    runs_started bigint not null,
    turns_completed bigint not null,
    turns_waiting bigint not null,
    turns_blocked bigint not null,
    turns_failed bigint not null,
    turns_budget_exhausted bigint not null,
    -- milliseconds since 1970-01-01T00:00:00Z
    last_at_ms bigint not null,
    primary key (version, lane, stream_id)
);
create index account_activity_by_account on access.account_activity (version, account_id);
grant select, insert, update, delete on access.account_activity to helix_app;

insert into es.projection_live (name, version) values ('account_activity', 1);
