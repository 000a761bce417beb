-- Workspaces as every request of their door judges them (`access` 2, 6, 7): who belongs to one, which
-- projects it has. Names and texts stay sealed in the log; these rows are structure, written in the
-- transaction of the event that justifies them.
create table access.workspace (
    -- also its event stream; its last byte names the lane of everything in it
    workspace_id uuid primary key,
    -- seals every text of the workspace
    key_id uuid not null,
    opened_at_ms bigint not null,
    deleted_at_ms bigint
);

create table access.membership (
    workspace_id uuid not null references access.workspace,
    account_id uuid not null references access.account,
    role text not null,
    joined_at_ms bigint not null,
    primary key (workspace_id, account_id),
    constraint member_role_is_known check (role in ('owner', 'admin', 'member'))
);
create index membership_by_account on access.membership (account_id);

create table access.project (
    project_id uuid primary key,
    workspace_id uuid not null references access.workspace,
    state text not null default 'active',
    created_at_ms bigint not null,
    constraint project_state_is_known check (state in ('active', 'archived'))
);
create index project_by_workspace on access.project (workspace_id, created_at_ms desc, project_id desc);

-- Lists of briefs are the inline rows of their project's owner key. Not built concurrently, as `run_by_owner`.
create index brief_by_owner on es.stream (lane, owner_key, created_at_ms desc, stream_id desc) where kind = 'brief';

-- As what a credential may act in a workspace at this moment: the role of a member who is signed in, `app`
-- or `named_token`; null when it may not. The credential must live, be unexpired and, but for a signed-in
-- person, be of this workspace; whoever stands behind it must be a member now.
create function access.works_as(p_row uuid, p_workspace uuid) returns text language plpgsql stable as $$
begin
    return (
        select case l.kind when 'session' then m.role when 'grant' then 'app' else l.kind end
          from access.ledger l
          join access.workspace w on w.workspace_id = p_workspace and w.deleted_at_ms is null
          left join access.account a on a.account_id = l.account_id and a.deleted_at_ms is null
          left join access.membership m on m.workspace_id = p_workspace and m.account_id = a.account_id
         where l.row_id = p_row and l.live and (l.expires_at_ms is null or l.expires_at_ms > es.now_ms())
           and (l.kind = 'session' or (l.door = 'workspace' and l.workspace_id = p_workspace))
           and (l.account_id is null or m.role is not null));
end $$;

-- The same for a change, which holds on to what it was judged by until it is committed, so that a
-- revocation, a removal and a write have one order. HX003 as in `es.append`; HX001 sends the command back
-- to be judged anew.
create function access.must_work(p_row uuid, p_workspace uuid, p_project uuid, p_roles text[])
returns void language plpgsql as $$
declare
    found_account uuid;
    found_kind text;
begin
    select l.account_id, l.kind into found_account, found_kind
      from access.ledger l where l.row_id = p_row for share;
    if found_account is not null then
        perform 1 from access.membership
          where workspace_id = p_workspace and account_id = found_account
            and (p_roles is null or role = any (p_roles)) for share;
        if not found then
            raise exception 'no longer a member of that role' using errcode = 'HX003';
        end if;
    end if;
    if access.works_as(p_row, p_workspace) is null then
        raise exception 'the credential may no longer act there' using errcode = 'HX003';
    end if;
    if p_project is not null then
        perform 1 from access.project
          where project_id = p_project and workspace_id = p_workspace and state = 'active' for share;
        if not found then
            raise exception 'the project is no longer active' using errcode = 'HX001';
        end if;
    end if;
end $$;

-- Holds a membership that a grant rests on, or refuses with HX003.
create function access.must_be_member(p_workspace uuid, p_account uuid) returns void language plpgsql as $$
begin
    perform 1 from access.membership m
       join access.workspace w on w.workspace_id = m.workspace_id and w.deleted_at_ms is null
      where m.workspace_id = p_workspace and m.account_id = p_account for share of m;
    if not found then
        raise exception 'no longer a member' using errcode = 'HX003';
    end if;
end $$;

-- Refuses with HX005 what makes a project hold more briefs than it may. Its lane is held by then, so that
-- the count is exact.
create function access.must_hold_briefs(p_lane smallint, p_owner bytea, p_most bigint) returns void
language plpgsql as $$
begin
    if (select count(*) from es.stream
         where lane = p_lane and owner_key = p_owner and kind = 'brief') > p_most then
        raise exception 'the project is full' using errcode = 'HX005';
    end if;
end $$;

grant execute on function access.works_as, access.must_work, access.must_be_member, access.must_hold_briefs
    to helix_app;
grant select, insert, update on access.workspace, access.project to helix_app;
grant select, insert, update, delete on access.membership to helix_app;
