-- Lists of reviews are the inline rows of their project's owner key. Not built concurrently, as `run_by_owner`.
create index review_by_owner on es.stream (lane, owner_key, created_at_ms desc, stream_id desc) where kind = 'review';

-- Refuses with HX005 what makes an owner have more streams of a kind, or of some states of it, than it may. Its lane is held by then, so
-- that the count is exact. `access.must_hold_briefs` stays for servers that have not been updated yet.
create function access.must_hold_streams(
    p_kind text, p_lane smallint, p_owner bytea, p_states text[], p_most bigint
) returns void language plpgsql as $$
begin
    if (select count(*) from es.stream
         where lane = p_lane and owner_key = p_owner and kind = p_kind
           and (p_states is null or status = any (p_states))) > p_most then
        raise exception 'there is no room for one more' using errcode = 'HX005';
    end if;
end $$;

grant execute on function access.must_hold_streams to helix_app;
