-- A function in SQL is parsed and planned anew by every statement that calls it; this one keeps its plan.
-- Milliseconds since 1970-01-01T00:00:00Z.
create or replace function es.now_ms() returns bigint language plpgsql volatile as $$
begin
    return (select coalesce(frozen_at_ms, (extract(epoch from clock_timestamp()) * 1000)::bigint + offset_ms)
              from es.clock);
end $$;
