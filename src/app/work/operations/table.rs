//! The rows. Each tool and each human-only action of `access` 6.2 and 9 has one, in their order.

use super::rows::{
    ACCOUNT, ADMINS, BRIEF, CLAIM, CURSOR, DECISION, EXPECTED, EXPIRES, LIMIT, OWNERS, PROJECT,
    PROPOSAL, REASON, REVIEW, REVIEW_STATES, ROLE, RUN, STATES, SUMMARY, TEXT, TOKEN, VERSION,
    drive, get, human, needed, optional, read, unbuilt, write,
};
use super::{Face, Haste, Op, Operation, ROOT, Who};
use crate::app::work::arguments::Kind;

/// The whole of the door.
pub static OPERATIONS: &[Operation] = &[
    Operation {
        face: Face::Route,
        ..read(Op::WorkspaceList, "workspace_list", ROOT, &[])
    },
    read(
        Op::WorkspaceGet,
        "workspace_get",
        "/api/v1/workspaces/{workspace_id}",
        &[],
    ),
    read(
        Op::ProjectList,
        "project_list",
        "/api/v1/workspaces/{workspace_id}/projects",
        &[CURSOR, LIMIT],
    ),
    write(
        Op::ProjectCreate,
        "project_create",
        "/api/v1/workspaces/{workspace_id}/projects",
        201,
        &[
            needed("name", Kind::Name(120)),
            optional("description", Kind::Text(2_000)),
        ],
    ),
    write(
        Op::CodebaseLink,
        "project_codebase_link",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/codebase-link",
        200,
        &[PROJECT, needed("repository_id", Kind::Id), EXPECTED],
    ),
    read(
        Op::BriefList,
        "brief_list",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs",
        &[PROJECT, optional("q", Kind::Text(200)), CURSOR, LIMIT],
    ),
    read(
        Op::BriefGet,
        "brief_get",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}",
        &[
            PROJECT,
            BRIEF,
            optional("version", Kind::Number(1, VERSION)),
        ],
    ),
    write(
        Op::BriefCreate,
        "brief_create",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs",
        201,
        &[
            PROJECT,
            needed("title", Kind::Name(200)),
            optional("body", Kind::Markdown),
            optional("summary", Kind::Text(500)),
        ],
    ),
    write(
        Op::ProposalCreate,
        "brief_proposal_create",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}/proposals",
        201,
        &[PROJECT, BRIEF, TEXT, SUMMARY, EXPECTED],
    ),
    read(
        Op::ProposalList,
        "brief_proposal_list",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}/proposals",
        &[
            PROJECT,
            BRIEF,
            optional("proposal_id", Kind::Id),
            optional("state", Kind::Word(STATES)),
            CURSOR,
            LIMIT,
        ],
    ),
    Operation {
        demand: Haste::Withdrawal,
        ..write(
            Op::ProposalWithdraw,
            "brief_proposal_withdraw",
            "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}/proposals/{proposal_id}/withdraw",
            200,
            &[PROJECT, BRIEF, PROPOSAL, EXPECTED],
        )
    },
    Operation {
        scopes: RUN,
        ..write(
            Op::ReviewStart,
            "review_start",
            "/api/v1/workspaces/{workspace_id}/projects/{project_id}/reviews",
            201,
            &[
                PROJECT,
                BRIEF,
                needed("brief_version", Kind::Number(1, VERSION)),
                optional("constraints", Kind::Texts(16, 2_000)),
                optional("expires_in_seconds", Kind::Number(3_600, 604_800)),
            ],
        )
    },
    read(
        Op::ReviewList,
        "review_list",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/reviews",
        &[
            PROJECT,
            optional("brief_id", Kind::Id),
            optional("state", Kind::Word(REVIEW_STATES)),
            CURSOR,
            LIMIT,
        ],
    ),
    read(
        Op::ReviewGet,
        "review_get",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/reviews/{review_id}",
        &[
            PROJECT,
            REVIEW,
            optional("after_finding", Kind::Id),
            CURSOR,
            LIMIT,
        ],
    ),
    Operation {
        scopes: RUN,
        demand: Haste::Withdrawal,
        ..write(
            Op::ReviewCancel,
            "review_cancel",
            "/api/v1/workspaces/{workspace_id}/projects/{project_id}/reviews/{review_id}/cancel",
            200,
            &[PROJECT, REVIEW, REASON, EXPECTED],
        )
    },
    drive(
        Op::StepClaim,
        "review_step_claim",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/reviews/{review_id}/claims",
        201,
        &[
            PROJECT,
            REVIEW,
            optional("step_id", Kind::Id),
            optional("lease_seconds", Kind::Number(30, 900)),
            EXPECTED,
        ],
    ),
    drive(
        Op::StepSubmit,
        "review_step_submit",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/reviews/{review_id}/claims/{claim_id}/submissions",
        201,
        &[
            PROJECT,
            REVIEW,
            CLAIM,
            needed("findings", Kind::Findings),
            needed("final", Kind::Flag),
            EXPECTED,
        ],
    ),
    drive(
        Op::StepRelease,
        "review_step_release",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/reviews/{review_id}/claims/{claim_id}/release",
        200,
        &[PROJECT, REVIEW, CLAIM, EXPECTED],
    ),
    human(
        Op::ReviewDecide,
        "review_gate",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/reviews/{review_id}/gate",
        Who::Roles(ADMINS),
        &[PROJECT, REVIEW, DECISION, EXPECTED, REASON],
    ),
    human(
        Op::BriefEdit,
        "brief_edit",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}/edit",
        Who::Human,
        &[PROJECT, BRIEF, TEXT, SUMMARY, EXPECTED],
    ),
    human(
        Op::BriefRevert,
        "brief_revert",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}/revert",
        Who::Human,
        &[
            PROJECT,
            BRIEF,
            EXPECTED,
            needed("to_version", Kind::Number(1, VERSION)),
            REASON,
        ],
    ),
    human(
        Op::ProposalDecide,
        "brief_proposal_decide",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}/proposals/{proposal_id}/decide",
        Who::Human,
        &[PROJECT, BRIEF, PROPOSAL, DECISION, EXPECTED, REASON],
    ),
    human(
        Op::ProposalCommit,
        "brief_proposal_commit",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}/proposals/{proposal_id}/commit",
        Who::Human,
        &[PROJECT, BRIEF, PROPOSAL, EXPECTED],
    ),
    human(
        Op::ProposalRebase,
        "brief_proposal_rebase",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}/proposals/{proposal_id}/rebase",
        Who::Human,
        &[PROJECT, BRIEF, PROPOSAL, EXPECTED, TEXT],
    ),
    get(
        Op::MemberList,
        "member_list",
        "/api/v1/workspaces/{workspace_id}/members",
        Who::Human,
    ),
    Operation {
        status: 201,
        ..human(
            Op::MemberInvite,
            "member_invite",
            "/api/v1/workspaces/{workspace_id}/members",
            Who::Roles(ADMINS),
            &[needed("email", Kind::Name(320)), ROLE],
        )
    },
    Operation {
        method: "PATCH",
        ..human(
            Op::MemberChange,
            "member_change",
            "/api/v1/workspaces/{workspace_id}/members/{account_id}",
            Who::Roles(ADMINS),
            &[ACCOUNT, ROLE],
        )
    },
    Operation {
        method: "DELETE",
        demand: Haste::Withdrawal,
        ..human(
            Op::MemberRemove,
            "member_remove",
            "/api/v1/workspaces/{workspace_id}/members/{account_id}",
            Who::Human,
            &[
                ACCOUNT,
                optional("keep_tokens", Kind::Word(&["true", "false"])),
            ],
        )
    },
    Operation {
        method: "DELETE",
        demand: Haste::Withdrawal,
        ..human(
            Op::InviteWithdraw,
            "invite_withdraw",
            "/api/v1/workspaces/{workspace_id}/members/invites/{invite_id}",
            Who::Roles(ADMINS),
            &[needed("invite_id", Kind::Id)],
        )
    },
    human(
        Op::InviteAccept,
        "invite_accept",
        "/api/v1/workspace-invites/accept",
        Who::Human,
        &[needed("token", Kind::Handle)],
    ),
    get(
        Op::RepositoryList,
        "repository_list",
        "/api/v1/workspaces/{workspace_id}/repositories",
        Who::Human,
    ),
    Operation {
        status: 201,
        ..human(
            Op::RepositoryConnect,
            "repository_connect",
            "/api/v1/workspaces/{workspace_id}/repositories",
            Who::Roles(ADMINS),
            &[
                needed("name", Kind::Name(120)),
                needed("url", Kind::Name(2_048)),
                needed("project_ids", Kind::Projects),
            ],
        )
    },
    Operation {
        method: "DELETE",
        demand: Haste::Withdrawal,
        ..human(
            Op::RepositoryDisconnect,
            "repository_disconnect",
            "/api/v1/workspaces/{workspace_id}/repositories/{repository_id}",
            Who::Roles(ADMINS),
            &[needed("repository_id", Kind::Id)],
        )
    },
    get(
        Op::TokenList,
        "token_list",
        "/api/v1/workspaces/{workspace_id}/tokens",
        Who::Roles(OWNERS),
    ),
    Operation {
        status: 201,
        ..human(
            Op::TokenCreate,
            "token_create",
            "/api/v1/workspaces/{workspace_id}/tokens",
            Who::Roles(OWNERS),
            &[
                needed("name", Kind::Name(80)),
                needed("scopes", Kind::Scopes),
                needed("reach", Kind::Reach),
                EXPIRES,
            ],
        )
    },
    Operation {
        status: 201,
        ..human(
            Op::TokenRotate,
            "token_rotate",
            "/api/v1/workspaces/{workspace_id}/tokens/{token_id}/rotate",
            Who::Roles(OWNERS),
            &[
                TOKEN,
                EXPIRES,
                optional("grace_seconds", Kind::Number(0, 86_400)),
            ],
        )
    },
    Operation {
        demand: Haste::Withdrawal,
        ..human(
            Op::TokenRevoke,
            "token_revoke",
            "/api/v1/workspaces/{workspace_id}/tokens/{token_id}/revoke",
            Who::Roles(OWNERS),
            &[TOKEN],
        )
    },
    Operation {
        fields: &[optional("after_seq", Kind::Number(0, VERSION)), LIMIT],
        ..get(
            Op::RecordRead,
            "record_read",
            "/api/v1/workspaces/{workspace_id}/audit",
            Who::Human,
        )
    },
    get(
        Op::ConnectionList,
        "connection_list",
        "/api/v1/workspaces/{workspace_id}/connections",
        Who::Human,
    ),
    Operation {
        demand: Haste::Withdrawal,
        ..human(
            Op::ConnectionRevoke,
            "connection_revoke",
            "/api/v1/workspaces/{workspace_id}/connections/{connection_id}/revoke",
            Who::Human,
            &[needed("connection_id", Kind::Id)],
        )
    },
    unbuilt(
        "GET",
        "execution_grants_list",
        "/api/v1/workspaces/{workspace_id}/execution-grants",
    ),
    unbuilt(
        "POST",
        "execution_grants_change",
        "/api/v1/workspaces/{workspace_id}/execution-grants",
    ),
    unbuilt(
        "GET",
        "billing_list",
        "/api/v1/workspaces/{workspace_id}/billing",
    ),
    unbuilt(
        "POST",
        "billing_change",
        "/api/v1/workspaces/{workspace_id}/billing",
    ),
    unbuilt(
        "GET",
        "integrations_list",
        "/api/v1/workspaces/{workspace_id}/integrations",
    ),
    unbuilt(
        "POST",
        "integrations_change",
        "/api/v1/workspaces/{workspace_id}/integrations",
    ),
    unbuilt(
        "GET",
        "provider_consents_list",
        "/api/v1/workspaces/{workspace_id}/provider-consents",
    ),
    unbuilt(
        "POST",
        "provider_consents_change",
        "/api/v1/workspaces/{workspace_id}/provider-consents",
    ),
    unbuilt(
        "GET",
        "share_links_list",
        "/api/v1/workspaces/{workspace_id}/share-links",
    ),
    unbuilt(
        "POST",
        "share_links_change",
        "/api/v1/workspaces/{workspace_id}/share-links",
    ),
    unbuilt(
        "GET",
        "brain_list",
        "/api/v1/workspaces/{workspace_id}/brain",
    ),
    unbuilt(
        "POST",
        "brain_change",
        "/api/v1/workspaces/{workspace_id}/brain",
    ),
    unbuilt(
        "GET",
        "done_checks_list",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/done-checks",
    ),
    unbuilt(
        "POST",
        "done_checks_change",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/done-checks",
    ),
    unbuilt(
        "POST",
        "execution_grants_approve",
        "/api/v1/workspaces/{workspace_id}/execution-grants/{grant_id}/approve",
    ),
    unbuilt(
        "POST",
        "run_continue",
        "/api/v1/workspaces/{workspace_id}/runs/{run_id}/continue",
    ),
    unbuilt(
        "POST",
        "review_clear",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/reviews/{review_id}/clear",
    ),
    unbuilt(
        "POST",
        "review_restart",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/reviews/{review_id}/restart",
    ),
];
