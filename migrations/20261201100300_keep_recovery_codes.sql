-- Recovery codes (settled question 63): ten a sheet, each used once, the newest sheet alone in force.
create table access.recovery_code (
    -- SHA-256 over the account and the code, of which 100 bits are random
    code_hash bytea primary key,
    account_id uuid not null references access.account,
    sheet integer not null,
    code smallint not null,
    used_at_ms bigint,
    unique (account_id, sheet, code)
);

-- As for handles: whoever comes second finds it used.
create function access.use_recovery_code(p_hash bytea, p_now_ms bigint) returns void language plpgsql as $$
begin
    update access.recovery_code set used_at_ms = p_now_ms where code_hash = p_hash and used_at_ms is null;
    if not found then
        raise exception 'the recovery code is spent' using errcode = 'HX004';
    end if;
end $$;

grant execute on function access.use_recovery_code to helix_app;
grant select, insert, delete on access.recovery_code to helix_app;
grant update (used_at_ms) on access.recovery_code to helix_app;
grant delete on access.passphrase to helix_app;
