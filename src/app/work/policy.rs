//! Who may do what at the workspace door, in the order of `access` 4.1: rows 4 to 6 before anything is
//! looked at, then membership and role, then reach, then the object.
//!
//! What must stay true: these functions are the only place that decides; an agent is told that an act is
//! a person's whatever it names and holds; a missing scope is answered with all scopes of the operation.

use helix_aggregates::access::scopes::FLOOR;
use helix_aggregates::access::workspace::command::Role;
use helix_aggregates::ids::ProjectId;
use serde_json::json;

use super::caller::{CallerKind, HumanCaller, WorkCaller};
use super::operations::{Operation, Who};
use crate::app::problem::{Code, Problem};

/// What can be said before anything of the request is read: human-only acts, the floor, then the scopes
/// of the operation.
pub fn admit(caller: &WorkCaller, operation: &Operation) -> Result<(), Problem> {
    if operation.who.is_human_only() {
        human(caller)?;
    }
    if matches!(caller.kind, CallerKind::Human(_)) {
        return agents_work(operation);
    }
    let lacks = |scope: &str| !caller.holds(scope);
    if lacks(FLOOR) || operation.scopes.iter().any(|scope| lacks(scope)) {
        return Err(missing(operation.scopes));
    }
    Ok(())
}

/// Whether a person may do it at all.
fn agents_work(operation: &Operation) -> Result<(), Problem> {
    if operation.who == Who::Agent {
        return Err(Problem {
            message: "Agents work through the steps of a review; people decide at its gate.".into(),
            ..Problem::new(Code::RoleRequired)
        });
    }
    Ok(())
}

/// What everybody needs who is no person.
pub fn floor(caller: &WorkCaller) -> Result<(), Problem> {
    if matches!(caller.kind, CallerKind::Human(_)) || caller.holds(FLOOR) {
        Ok(())
    } else {
        Err(missing(&[FLOOR]))
    }
}

/// The person behind a caller, or the one answer every agent gets.
pub fn human(caller: &WorkCaller) -> Result<HumanCaller<'_>, Problem> {
    match &caller.kind {
        CallerKind::Human(person) => Ok(HumanCaller { person }),
        CallerKind::App { .. } | CallerKind::NamedToken { .. } => {
            Err(Problem::new(Code::HumanActionRequired))
        }
    }
}

/// The same, of somebody who has entered the passphrase a short while ago.
pub fn fresh_human(caller: &WorkCaller) -> Result<HumanCaller<'_>, Problem> {
    let human = human(caller)?;
    if human.person.fresh {
        Ok(human)
    } else {
        Err(Problem::new(Code::ReauthenticationRequired))
    }
}

fn missing(scopes: &[&str]) -> Problem {
    let message = format!("This operation needs {}.", scopes.join(" and "));
    Problem {
        message: message.into(),
        ..Problem::new(Code::InsufficientScope)
    }
    .with(json!({ "required_scopes": scopes }))
    .of_operation(scopes)
}

/// Whether a member of `role` may do it; agents have no role.
pub fn role(operation: &Operation, role: Option<Role>) -> Result<(), Problem> {
    let allowed = match (operation.who, role) {
        (Who::Roles(roles), Some(role)) => roles.contains(&role),
        (Who::Anybody | Who::Agent | Who::Human | Who::Roles(_) | Who::Unbuilt, _) => true,
    };
    if allowed {
        Ok(())
    } else {
        Err(Problem::new(Code::RoleRequired))
    }
}

/// Whether a caller may touch the project that a path names, whether there is one or not.
pub fn reach(caller: &WorkCaller, named: Option<ProjectId>) -> Result<(), Problem> {
    use helix_aggregates::access::reach::Reach;
    let covered = match (&caller.reach, named) {
        (Reach::All, _) => true,
        (listed @ Reach::Listed(_), Some(project)) => listed.covers(project),
        (Reach::Listed(_), None) => false,
    };
    if covered {
        Ok(())
    } else {
        Err(Problem::new(Code::ProjectAccessDenied))
    }
}
