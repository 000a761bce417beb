-- The built-in authorization server (`access` 3): registered apps, what accounts granted them, and the
-- texts they hold, all of them as hashes.

-- Nobody who registers has proved anything, so a registration is a row that can be swept, and no event
-- of a log that keeps everything (ADR 0014).
create table access.oauth_client (
    client_id text primary key,
    -- null: a public client
    secret_hash bytea,
    auth_method text not null,
    -- of a public client, SHA-256 over its metadata: the same registration again finds its row
    fingerprint bytea,
    -- what the app says of itself, as accepted
    metadata jsonb not null,
    registered_at_ms bigint not null,
    -- null: nobody ever consented
    last_grant_at_ms bigint,
    constraint client_auth_method_is_known
        check (auth_method in ('none', 'client_secret_basic', 'client_secret_post')),
    constraint client_is_public_or_has_a_secret check ((auth_method = 'none') = (secret_hash is null))
);
create unique index public_client_by_fingerprint on access.oauth_client (fingerprint);
create index client_by_registration on access.oauth_client (registered_at_ms);

-- An app that an account connected to one door. Scopes, reach and expiry stand in the ledger row.
create table access.oauth_grant (
    row_id uuid primary key references access.ledger,
    account_id uuid not null references access.account,
    door text not null,
    client_id text not null,
    -- HMAC of the app's name: a client that registers anew is still the same app to its owner
    app_mac bytea not null,
    key_id uuid not null,
    -- the sealed names of app and redirect, and the labels
    body bytea not null,
    given_at_ms bigint not null,
    last_used_at_ms bigint,
    constraint grant_door_is_known check (door in ('agent', 'vault', 'workspace'))
);
create index grant_by_account on access.oauth_grant (account_id, given_at_ms);
create index grant_by_client on access.oauth_grant (client_id);

create table access.oauth_code (
    code_hash bytea primary key,
    row_id uuid not null references access.ledger,
    client_id text not null,
    -- as the app sent it, which is what it must send again
    redirect_uri text not null,
    challenge text not null,
    expires_at_ms bigint not null,
    used_at_ms bigint,
    -- attempts with a wrong verifier, client or redirect
    misses smallint not null default 0
);
create index code_by_grant on access.oauth_code (row_id);
create index code_by_expiry on access.oauth_code (expires_at_ms);

create table access.access_token (
    token_hash bytea primary key,
    row_id uuid not null references access.ledger,
    -- those of the grant, or the part of them that was asked for at a refresh
    scopes text[] not null,
    issued_at_ms bigint not null,
    expires_at_ms bigint not null,
    revoked_at_ms bigint
);
create index access_token_by_grant on access.access_token (row_id);
create index access_token_by_expiry on access.access_token (expires_at_ms);

create table access.refresh_token (
    token_hash bytea primary key,
    row_id uuid not null references access.ledger,
    -- the token that was redeemed for it; null: the first of its grant
    parent_hash bytea references access.refresh_token,
    issued_at_ms bigint not null,
    used_at_ms bigint
);
create index refresh_token_by_grant on access.refresh_token (row_id);
create index refresh_token_by_parent on access.refresh_token (parent_hash);

grant select, insert, delete on access.oauth_client to helix_app;
grant update (fingerprint, last_grant_at_ms) on access.oauth_client to helix_app;
grant select, insert on access.oauth_grant to helix_app;
grant update (last_used_at_ms) on access.oauth_grant to helix_app;
grant select, insert, delete on access.oauth_code, access.access_token, access.refresh_token to helix_app;
grant update (used_at_ms, misses) on access.oauth_code to helix_app;
grant update (revoked_at_ms) on access.access_token to helix_app;
grant update (used_at_ms) on access.refresh_token to helix_app;
