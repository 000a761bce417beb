-- Replaced by run_by_owner.
drop index es.stream_by_owner;
