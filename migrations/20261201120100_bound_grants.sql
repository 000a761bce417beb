-- An account has a bounded number of live grants (`access` 3.5).

-- Refuses with HX005 what makes an account hold more live grants than it may; those that the new one takes the
-- place of do not count. The account's lane is held by then, so that the count is exact.
create function access.must_hold_grants(p_new uuid, p_replaces boolean, p_most bigint) returns void
language plpgsql as $$
begin
    if (select count(*) from access.oauth_grant n
          join access.ledger nl on nl.row_id = n.row_id
          join access.oauth_grant g on g.account_id = n.account_id
          join access.ledger l on l.row_id = g.row_id and l.revoked_at_ms is null
           and l.expires_at_ms > es.now_ms()
         where n.row_id = p_new
           and (g.row_id = n.row_id or not (p_replaces and g.door = n.door
                and l.workspace_id is not distinct from nl.workspace_id
                and (g.client_id = n.client_id or g.app_mac = n.app_mac)))) > p_most then
        raise exception 'the account has too many live grants' using errcode = 'HX005';
    end if;
end $$;

grant execute on function access.must_hold_grants to helix_app;
