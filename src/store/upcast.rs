//! Old event shapes read as new ones. Stored bytes never change; each step is pure and has a
//! golden file of the shape it reads.

use serde_json::Value;

/// One step: how `kind` at version `from` reads as version `from + 1`.
#[derive(Debug, Clone, Copy)]
pub struct Upcaster {
    pub kind: &'static str,
    pub from: u16,
    pub step: fn(Value) -> Value,
}

/// Every step this binary knows. Empty while each event has one shape.
pub const UPCASTERS: &[Upcaster] = &[];

/// Follows the steps of `kind` from version `ver` until none applies.
pub fn upcast(
    upcasters: &[Upcaster],
    kind: &str,
    mut ver: u16,
    mut payload: Value,
) -> (u16, Value) {
    while let Some(found) = upcasters
        .iter()
        .find(|one| one.kind == kind && one.from == ver)
    {
        payload = (found.step)(payload);
        ver += 1;
    }
    (ver, payload)
}

/// Old payloads as this binary's aggregates read them.
pub fn present_shape(kind: &str, ver: u16, payload: Value) -> Value {
    upcast(UPCASTERS, kind, ver, payload).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn steps_are_followed_in_order_and_other_kinds_are_left_alone() {
        let steps = [
            Upcaster {
                kind: "a",
                from: 1,
                step: |old| json!({"two": old}),
            },
            Upcaster {
                kind: "a",
                from: 2,
                step: |old| json!({"three": old}),
            },
            Upcaster {
                kind: "b",
                from: 3,
                step: |_| json!(null),
            },
        ];
        assert_eq!(
            upcast(&steps, "a", 1, json!(1)),
            (3, json!({"three": {"two": 1}}))
        );
        assert_eq!(upcast(&steps, "b", 1, json!(1)), (1, json!(1)));
    }
}
