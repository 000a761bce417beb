-- Credentials of external workers (settled question 86). They belong to the installation, so their
-- ledger rows name no account.
alter table access.ledger alter column account_id drop not null;
alter table access.ledger add constraint only_a_worker_has_no_account
    check (account_id is not null or kind = 'worker_token');

create table access.worker_token (
    -- SHA-256 of the whole text, of which 256 bits are random
    token_hash bytea primary key,
    -- also the token's event stream
    row_id uuid not null unique references access.ledger,
    -- the last characters of the text, all of them of its checksum
    last_four text not null,
    key_id uuid not null,
    -- the sealed name
    body bytea not null,
    issued_at_ms bigint not null,
    -- moved at most once a minute, outside the transaction of a request
    last_used_at_ms bigint,
    constraint worker_token_hash_is_sha256 check (octet_length(token_hash) = 32)
);

grant select, insert on access.worker_token to helix_app;
grant update (last_used_at_ms) on access.worker_token to helix_app;
