//! From a question to the use case that answers it.

use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::caller::WorkCaller;
use super::operations::{Op, Operation};
use super::{Work, policy};
use crate::app::idempotency::IdempotencyKey;
use crate::app::problem::{Code, Problem};

/// One question, whichever door it came through.
#[derive(Debug)]
pub struct Ask<'a> {
    pub caller: &'a WorkCaller,
    pub operation: &'static Operation,
    /// The workspace that a path names; `None`: the one the caller is pinned to.
    pub workspace: Option<&'a str>,
    pub key: Option<IdempotencyKey>,
    pub arguments: Arguments,
}

/// What is answered: the body of REST, and the structured content of a tool.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub body: Map<String, Value>,
    /// Of a keyed operation.
    pub replayed: Option<bool>,
    /// Its commit held its entry in the record.
    pub(super) is_recorded: bool,
}

impl Answer {
    pub(super) fn of(operation: &Operation, seen: Value, keyed: bool) -> Self {
        let mut body = members_of(seen);
        if keyed {
            body.insert("operation".to_owned(), operation.name.into());
            body.insert("idempotency_replayed".to_owned(), false.into());
        }
        Self {
            status: operation.status,
            body,
            replayed: keyed.then_some(false),
            is_recorded: false,
        }
    }

    pub(super) fn replayed(status: u16, mut body: Map<String, Value>) -> Self {
        body.insert("idempotency_replayed".to_owned(), json!(true));
        Self {
            status,
            body,
            replayed: Some(true),
            is_recorded: false,
        }
    }
}

/// Every answer is an object.
fn members_of(seen: Value) -> Map<String, Value> {
    if let Value::Object(members) = seen {
        members
    } else {
        Map::new()
    }
}

impl Work {
    /// Answers `ask`. The caller was admitted to the operation before its arguments were read.
    pub async fn perform(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let answered = self.answer(ask).await;
        self.recorded(ask, answered).await
    }

    async fn answer(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        // Once more, so that no door can forget it.
        policy::admit(ask.caller, ask.operation)?;
        match ask.operation.op {
            Op::WorkspaceList => self.list_workspaces(ask).await,
            Op::WorkspaceGet => self.get_workspace(ask).await,
            Op::ProjectList => self.list_projects(ask).await,
            Op::ProjectCreate => self.create_project(ask).await,
            Op::CodebaseLink => self.link_codebase(ask).await,
            Op::BriefList => self.list_briefs(ask).await,
            Op::BriefGet => self.get_brief(ask).await,
            Op::BriefCreate => self.create_brief(ask).await,
            Op::BriefEdit => self.edit_brief(ask).await,
            Op::BriefRevert => self.revert_brief(ask).await,
            Op::ProposalList => self.list_proposals(ask).await,
            Op::ProposalCreate => self.create_proposal(ask).await,
            Op::ProposalWithdraw => self.withdraw_proposal(ask).await,
            Op::ProposalDecide => self.decide_proposal(ask).await,
            Op::ProposalCommit => self.commit_proposal(ask).await,
            Op::ProposalRebase => self.rebase_proposal(ask).await,
            Op::ReviewStart => self.start_review(ask).await,
            Op::ReviewList => self.list_reviews(ask).await,
            Op::ReviewGet => self.get_review(ask).await,
            Op::ReviewCancel => self.cancel_review(ask).await,
            Op::StepClaim => self.claim_step(ask).await,
            Op::StepSubmit => self.submit_step(ask).await,
            Op::StepRelease => self.release_step(ask).await,
            Op::ReviewDecide => self.decide_review(ask).await,
            Op::MemberList => self.list_members(ask).await,
            Op::MemberInvite => self.invite(ask).await,
            Op::MemberChange => self.change_member(ask).await,
            Op::MemberRemove => self.remove_member(ask).await,
            Op::InviteAccept => self.accept_invite(ask).await,
            Op::InviteWithdraw => self.withdraw_invite(ask).await,
            Op::RepositoryList => self.list_repositories(ask).await,
            Op::RepositoryConnect => self.connect_repository(ask).await,
            Op::RepositoryDisconnect => self.disconnect_repository(ask).await,
            Op::TokenList => self.list_tokens(ask).await,
            Op::TokenCreate => self.create_token(ask).await,
            Op::TokenRotate => self.rotate_token(ask).await,
            Op::TokenRevoke => self.revoke_token(ask).await,
            Op::ConnectionList => self.list_connections(ask).await,
            Op::ConnectionRevoke => self.revoke_connection(ask).await,
            Op::RecordRead => self.read_record(ask).await,
            Op::Unbuilt => self.unbuilt(ask).await,
        }
    }

    /// What a person will be able to do one day.
    async fn unbuilt(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        self.look_around(ask).await?;
        Err(Problem::new(Code::NotBuilt))
    }
}
