-- Pooled connections act as this role: it can add to the log and move heads, and nothing more.
do $$
begin
    create role helix_app nologin;
exception when duplicate_object or unique_violation then
    null;
end $$;

grant usage on schema es, access, public to helix_app;
grant select on all tables in schema es, access to helix_app;
grant select on public.events to helix_app;
grant execute on all functions in schema es to helix_app;
grant insert on es.event, es.stream, es.receipt, es.owner, es.lease, es.data_key, es.key_file, es.kek,
    es.projection, es.projection_parked, es.projection_live to helix_app;
grant update on es.stream, es.lane, es.receipt, es.lease, es.data_key, es.clock,
    es.projection, es.projection_parked, es.projection_live to helix_app;
grant delete on es.receipt, es.kek, es.projection, es.projection_parked to helix_app;
grant insert, update on access.account, access.linked_provider, access.ledger, access.agent_binding to helix_app;
grant delete on access.linked_provider to helix_app;
