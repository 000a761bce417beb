-- Credentials of harnesses without a browser (`access` 8). They belong to a workspace, so their ledger rows
-- name no account; scopes, reach and end stand there.
alter table access.ledger drop constraint only_a_worker_has_no_account;
alter table access.ledger add constraint only_tokens_have_no_account
    check (account_id is not null or kind in ('worker_token', 'named_token'));

create table access.named_token (
    -- SHA-256 of the whole text, of which 256 bits are random
    token_hash bytea primary key,
    -- also the token's event stream
    row_id uuid not null unique references access.ledger,
    workspace_id uuid not null references access.workspace,
    -- the first token of its line: whoever holds a replacement is still the same caller
    line_id uuid not null,
    -- the last characters of the text, all of them of its checksum
    last_four text not null,
    key_id uuid not null,
    -- the sealed name
    body bytea not null,
    -- null: the operator
    made_by uuid references access.account,
    minted_at_ms bigint not null,
    -- moved at most once a minute, outside the transaction of a request
    last_used_at_ms bigint,
    -- first seen in a URL
    exposed_at_ms bigint,
    constraint named_token_hash_is_sha256 check (octet_length(token_hash) = 32)
);
create index named_token_by_workspace on access.named_token (workspace_id, minted_at_ms);

-- Refuses with HX005 what makes a workspace hold more live tokens than it may. Its lane is held by then, so
-- that the count is exact.
create function access.must_hold_tokens(p_workspace uuid, p_most bigint) returns void
language plpgsql as $$
begin
    if (select count(*) from access.named_token t join access.ledger l on l.row_id = t.row_id
         where t.workspace_id = p_workspace and l.revoked_at_ms is null
           and l.expires_at_ms > es.now_ms()) > p_most then
        raise exception 'the workspace has too many live tokens' using errcode = 'HX005';
    end if;
end $$;

grant execute on function access.must_hold_tokens to helix_app;
grant select, insert on access.named_token to helix_app;
grant update (last_used_at_ms, exposed_at_ms) on access.named_token to helix_app;
