-- Runs alone are listed, so other streams need no entry. Not built concurrently: an index whose build was
-- interrupted stays behind broken, and the good one would be gone. Appends of servers that already run wait
-- for the build, and are tried again for ten seconds.
create index run_by_owner on es.stream (lane, owner_key, created_at_ms desc, stream_id desc) where kind = 'run';
drop index es.stream_by_owner;
