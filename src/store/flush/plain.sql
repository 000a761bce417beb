-- The append as one plain statement, for engines without the function. A refused part makes the
-- last line divide by zero, which fails and so undoes the whole statement.
with moved as (
    update es.lane set pos = pos + cardinality($29::bigint[]) where lane = $1
    returning pos - cardinality($29::bigint[]) as base
), guarded as (
    select row_id from access.ledger, moved
     where row_id = any ($2::uuid[]) and live for share of ledger
), clock as (
    select es.now_ms() as now_ms from moved
), receipts as (
    insert into es.receipt as t (lane, owner_key, operation, key_hash, request_mac, state, status,
            key_id, body, subject, claim, claimed_version, reserved_at_ms, lease_until_ms, expires_at_ms)
    select $1, o, op, k, rq, st, su, ki, b, sj, cl, cv, now_ms, now_ms + le, now_ms + $15::bigint
      from clock, unnest($3::bytea[], $4::text[], $5::bytea[], $6::bytea[], $7::text[], $8::smallint[],
                  $9::uuid[], $10::bytea[], $11::text[], $12::uuid[], $13::bigint[], $14::bigint[])
           as u(o, op, k, rq, st, su, ki, b, sj, cl, cv, le)
    on conflict (lane, key_hash, owner_key, operation) do update
       set request_mac = excluded.request_mac, state = excluded.state, status = excluded.status,
           key_id = excluded.key_id, body = excluded.body, subject = excluded.subject,
           claim = excluded.claim, claimed_version = excluded.claimed_version,
           lease_until_ms = excluded.lease_until_ms,
           reserved_at_ms = case when t.expires_at_ms <= excluded.reserved_at_ms
                                 then excluded.reserved_at_ms else t.reserved_at_ms end,
           expires_at_ms = case when t.expires_at_ms <= excluded.reserved_at_ms
                                then excluded.expires_at_ms else t.expires_at_ms end
     where t.expires_at_ms <= excluded.reserved_at_ms
        or (excluded.state = 'completed' and t.state <> 'completed' and t.claim = excluded.claim)
    returning 1
), heads as (
    insert into es.stream as t (lane, stream_id, kind, owner_key, version, head, was, prev,
            created_at_ms, updated_at_ms, status, due_at_ms, key_id, body)
    select $1, s, k, o, v, h, w, p, a, a, st, d, ki, b
      from moved, unnest($16::uuid[], $17::text[], $18::bytea[], $21::bigint[], $22::bytea[], $19::bigint[],
                  $20::bytea[], $23::bigint[], $24::text[], $25::bigint[], $26::uuid[], $27::bytea[])
           as u(s, k, o, v, h, w, p, a, st, d, ki, b)
    on conflict (lane, stream_id) do update
       set version = excluded.version, head = excluded.head, was = excluded.was, prev = excluded.prev,
           updated_at_ms = excluded.updated_at_ms, status = excluded.status,
           due_at_ms = excluded.due_at_ms, key_id = excluded.key_id, body = excluded.body
     where t.version = excluded.was and t.head = excluded.prev and t.owner_key = excluded.owner_key
    returning 1
), events as (
    insert into es.event (lane, stream_id, seq, pos, at, kind, ver, key_id, payload, meta, hash)
    select $1, s, q, base + o, a, k, v, ki, p, m, h
      from moved, unnest($28::uuid[], $29::bigint[], $30::text[], $31::text[], $32::smallint[], $33::uuid[],
                  $34::bytea[], $35::bytea[], $36::bytea[])
           with ordinality as u(s, q, a, k, v, ki, p, m, h, o)
    returning 1
)
select 1 / (case when (select count(*) from guarded) = cardinality($2::uuid[])
                  and (select count(*) from receipts) = cardinality($5::bytea[])
                  and (select count(*) from heads) = cardinality($16::uuid[])
                  and (select count(*) from events) = cardinality($29::bigint[])
             then 1 else 0 end)
