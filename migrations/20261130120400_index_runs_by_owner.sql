-- no-transaction
-- Runs alone are listed, so other streams need no entry.
create index concurrently if not exists run_by_owner
    on es.stream (lane, owner_key, created_at_ms desc, stream_id desc) where kind = 'run';
