-- People sign in with a passphrase and hold sessions (`access` 3.6). What is secret is hashed; what is
-- personal is sealed under the account's key.
alter table access.account
    -- null: the address was never confirmed. Accounts so far were made by the operator.
    add column verified_at_ms bigint;
update access.account set verified_at_ms = created_at_ms;

create table access.passphrase (
    account_id uuid primary key references access.account,
    -- argon2id in PHC form, which carries its parameters and salt
    phc text not null,
    set_at_ms bigint not null
);

create table access.session (
    -- SHA-256 of the whole text, of which 256 bits are random
    token_hash bytea primary key,
    row_id uuid not null unique references access.ledger,
    account_id uuid not null references access.account,
    -- the last passphrase entered in it; deletion, ownership and minting ask for a fresh one
    proved_at_ms bigint not null,
    -- moved at most once a minute, outside the transaction of a request
    last_used_at_ms bigint,
    constraint session_hash_is_sha256 check (octet_length(token_hash) = 32)
);
create index session_by_account on access.session (account_id);

-- One-time handles (`access` 1.2): links, consent forms, pairing codes.
create table access.handle (
    handle_hash bytea primary key,
    kind text not null,
    account_id uuid references access.account,
    -- the session it was shown in; elsewhere it is worth nothing
    session_row uuid references access.ledger,
    -- what it stands for, in the form its kind gives it; holds no secret
    body jsonb not null,
    issued_at_ms bigint not null,
    expires_at_ms bigint not null,
    used_at_ms bigint,
    constraint handle_hash_is_sha256 check (octet_length(handle_hash) = 32),
    constraint handle_kind_is_known check (kind in ('setup', 'consent', 'verify', 'reset', 'invite', 'pairing'))
);
create index handle_by_expiry on access.handle (expires_at_ms);

-- Uses a handle up, or refuses with HX004: whoever comes second finds it used.
create function access.use_handle(p_hash bytea, p_now_ms bigint) returns void language plpgsql as $$
begin
    update access.handle set used_at_ms = p_now_ms
     where handle_hash = p_hash and used_at_ms is null and expires_at_ms > p_now_ms;
    if not found then
        raise exception 'the handle is spent' using errcode = 'HX004';
    end if;
end $$;

grant execute on function access.use_handle to helix_app;
grant select, insert, update on access.passphrase to helix_app;
grant select, insert on access.session to helix_app;
grant update (proved_at_ms, last_used_at_ms) on access.session to helix_app;
grant select, insert, delete on access.handle to helix_app;
grant update (used_at_ms) on access.handle to helix_app;
grant delete on access.session to helix_app;
