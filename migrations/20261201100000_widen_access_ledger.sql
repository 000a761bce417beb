-- What a credential may do and until when stands in the row that every request resolves to (`access` 2),
-- so that one look-up in the transaction of the data decides.
alter table access.ledger
    -- its own end; a row that has passed it opens nothing new, and stops nothing that runs
    add column expires_at_ms bigint,
    -- set while its owner has switched the credential off
    add column paused_at_ms bigint,
    -- a second row that must live too: an app at the agent doors acts through the account's binding
    add column rests_on uuid references access.ledger,
    add column scopes text[],
    add column workspace_id uuid,
    -- the projects it reaches; null: all of the workspace
    add column reach uuid[],
    add column live boolean not null generated always as (revoked_at_ms is null and paused_at_ms is null) stored;

create unique index agent_binding_by_row on access.agent_binding (row_id);

-- Whether a credential may act now, and since when it has been tied to its account. Every read that is
-- guarded by a credential asks here.
create view access.standing as
    select l.row_id, l.account_id, l.live and coalesce(r.live, true) as live, b.linked_at_ms
      from access.ledger l
      left join access.ledger r on r.row_id = l.rests_on
      left join access.agent_binding b on b.row_id = coalesce(l.rests_on, l.row_id);
grant select on access.standing to helix_app;

-- As before, but for a row that is paused: it is as dead as a revoked one, for the time being.
create or replace function es.append(
    p_lane smallint,
    g_row uuid[],
    r_owner bytea[], r_operation text[], r_key bytea[], r_request bytea[], r_state text[],
    r_status smallint[], r_key_id uuid[], r_body bytea[], r_subject text[], r_claim uuid[],
    r_claimed bigint[], r_lease_ms bigint[], r_keep_ms bigint,
    s_stream uuid[], s_kind text[], s_owner bytea[], s_was bigint[], s_prev bytea[],
    s_version bigint[], s_head bytea[], s_at_ms bigint[], s_status text[], s_due_ms bigint[],
    s_key_id uuid[], s_body bytea[],
    e_stream uuid[], e_seq bigint[], e_at text[], e_kind text[], e_ver smallint[],
    e_key_id uuid[], e_payload bytea[], e_meta bytea[], e_hash bytea[]
) returns bigint language plpgsql as $$
declare
    base bigint;
    touched bigint;
    now_ms bigint;
    written boolean;
begin
    -- The lane first: flushes of several processes then queue here and can never deadlock.
    update es.lane set pos = pos + cardinality(e_seq) where lane = p_lane
        returning pos - cardinality(e_seq) into base;

    if cardinality(g_row) > 0 then
        perform 1 from access.ledger
          where row_id = any (g_row) and live for share;
        get diagnostics touched = row_count;
        if touched <> cardinality(g_row) then
            raise exception 'a ledger row is dead' using errcode = 'HX003';
        end if;
    end if;

    if cardinality(r_key) > 0 then
        now_ms := es.now_ms();
        -- Most receipts are new, and then a plain insert does, which looks nothing up first. Where one
        -- is not, the upsert below tells what may be overwritten from what is taken.
        written := false;
        if not exists (select 1 from unnest(r_state, r_claim) as u(st, cl) where st = 'completed' and cl is not null) then
            begin
                insert into es.receipt (lane, owner_key, operation, key_hash, request_mac, state, status,
                        key_id, body, subject, claim, claimed_version, reserved_at_ms, lease_until_ms, expires_at_ms)
                    select p_lane, unnest(r_owner), unnest(r_operation), unnest(r_key), unnest(r_request), unnest(r_state),
                           unnest(r_status), unnest(r_key_id), unnest(r_body), unnest(r_subject), unnest(r_claim),
                           unnest(r_claimed), now_ms, now_ms + unnest(r_lease_ms), now_ms + r_keep_ms;
                written := true;
            exception when unique_violation then
                null;
            end;
        end if;
        if not written then
            insert into es.receipt as t (lane, owner_key, operation, key_hash, request_mac, state, status,
                    key_id, body, subject, claim, claimed_version, reserved_at_ms, lease_until_ms, expires_at_ms)
                select p_lane, unnest(r_owner), unnest(r_operation), unnest(r_key), unnest(r_request), unnest(r_state),
                       unnest(r_status), unnest(r_key_id), unnest(r_body), unnest(r_subject), unnest(r_claim),
                       unnest(r_claimed), now_ms, now_ms + unnest(r_lease_ms), now_ms + r_keep_ms
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
                    or (excluded.state = 'completed' and t.state <> 'completed' and t.claim = excluded.claim);
            get diagnostics touched = row_count;
            if touched <> cardinality(r_key) then
                raise exception 'a receipt is taken' using errcode = 'HX002';
            end if;
        end if;
    end if;

    insert into es.stream as t (lane, stream_id, kind, owner_key, version, head, was, prev,
            created_at_ms, updated_at_ms, status, due_at_ms, key_id, body)
        select p_lane, unnest(s_stream), unnest(s_kind), unnest(s_owner), unnest(s_version), unnest(s_head),
               unnest(s_was), unnest(s_prev), unnest(s_at_ms), unnest(s_at_ms), unnest(s_status),
               unnest(s_due_ms), unnest(s_key_id), unnest(s_body)
        on conflict (lane, stream_id) do update
           set version = excluded.version, head = excluded.head, was = excluded.was, prev = excluded.prev,
               updated_at_ms = excluded.updated_at_ms, status = excluded.status,
               due_at_ms = excluded.due_at_ms, key_id = excluded.key_id, body = excluded.body
         where t.version = excluded.was and t.head = excluded.prev and t.owner_key = excluded.owner_key;
    get diagnostics touched = row_count;
    if touched <> cardinality(s_stream) then
        raise exception 'a stream head moved' using errcode = 'HX001';
    end if;

    insert into es.event (lane, stream_id, seq, pos, at, kind, ver, key_id, payload, meta, hash)
        select p_lane, unnest(e_stream), unnest(e_seq), base + generate_subscripts(e_seq, 1), unnest(e_at),
               unnest(e_kind), unnest(e_ver), unnest(e_key_id), unnest(e_payload), unnest(e_meta), unnest(e_hash);
    return base;
end $$;
