-- What rests on a passphrase that was entered holds only while it is still the passphrase (`access` 3.6).

-- Holds the passphrase that was entered until the commit, or refuses with HX006: another was set since.
create function access.hold_passphrase(p_account uuid, p_set_at_ms bigint) returns void language plpgsql as $$
begin
    perform 1 from access.passphrase where account_id = p_account and set_at_ms = p_set_at_ms for share;
    if not found then
        raise exception 'the passphrase was changed' using errcode = 'HX006';
    end if;
end $$;

grant execute on function access.hold_passphrase to helix_app;
