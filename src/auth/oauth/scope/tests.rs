use std::collections::BTreeSet;

use helix_aggregates::agent::scope::CATALOG;
use proptest::prelude::*;

use super::*;

const VAULT_DEFAULT: &str =
    "identity work projects preferences relationships communication-style propose";

fn scopes(door: Door, text: &str) -> Scopes {
    Scopes::chosen(door, text.split(' ')).unwrap()
}

fn list(door: Door) -> Vec<&'static str> {
    words(door).collect()
}

#[test]
fn each_door_has_its_words_in_canonical_order() {
    assert_eq!(
        list(Door::Agent),
        [
            "helix.agent_runs.read",
            "helix.agent_runs.write",
            "helix.agent_runs.developer",
            "helix.data.public_web.read",
            "helix.data.scholarly_research.read",
            "helix.data.research_library.read",
            "helix.data.repository_evidence.read",
            "helix.data.theory_registry.read",
            "helix.rooms.read",
            "helix.rooms.manage",
            "helix.room_sources.manage",
            "helix.environment_actions.read",
            "helix.environment_actions.write",
        ]
    );
    assert_eq!(
        list(Door::Vault).join(" "),
        format!("{VAULT_DEFAULT} likeness likeness:write likeness:voice")
    );
    assert_eq!(
        list(Door::Workspace).join(" "),
        "brief:read brief:write review:run review:execute review:configure"
    );
}

#[test]
fn the_agent_family_holds_every_word_of_the_data_catalog() {
    for scope in CATALOG {
        let word = scope.oauth_scope;
        assert!(list(Door::Agent).contains(&word), "{word}");
    }
}

#[test]
fn families_are_disjoint() {
    let all: Vec<_> = Door::ALL.into_iter().flat_map(words).collect();
    let distinct: BTreeSet<_> = all.iter().collect();
    assert_eq!(all.len(), distinct.len());
}

#[test]
fn only_the_reserved_word_is_not_advertised() {
    let advertised: BTreeSet<_> = Door::ALL.into_iter().flat_map(supported).collect();
    let all: BTreeSet<_> = Door::ALL.into_iter().flat_map(words).collect();
    let hidden: Vec<_> = all.difference(&advertised).collect();
    assert_eq!(hidden, [&"review:configure"]);
}

#[test]
fn words_tell_the_door() {
    for (scope, expected) in [
        ("", Told::Nothing),
        ("  \t\n", Told::Nothing),
        ("bogus offline_access", Told::Nothing),
        ("WORK", Told::Nothing),
        ("work", Told::Door(Door::Vault)),
        ("bogus work propose", Told::Door(Door::Vault)),
        ("helix.rooms.read offline_access", Told::Door(Door::Agent)),
        ("review:configure", Told::Door(Door::Workspace)),
        ("work brief:read", Told::Mixed),
        ("brief:read work brief:read", Told::Mixed),
        ("helix.agent_runs.read propose", Told::Mixed),
    ] {
        assert_eq!(told(scope), expected, "{scope}");
    }
}

#[test]
fn a_request_keeps_the_known_words_of_its_door() {
    for (door, scope, expected) in [
        (Door::Vault, "propose work bogus work", Some("work propose")),
        (Door::Vault, "work brief:read", Some("work")),
        (Door::Vault, "likeness:voice", Some("likeness:voice")),
        (Door::Vault, "brief:read offline_access", None),
        (Door::Vault, "", None),
        (Door::Agent, "work", None),
        (
            Door::Agent,
            "helix.agent_runs.write",
            Some("helix.agent_runs.write"),
        ),
        (Door::Workspace, "review:run", Some("brief:read review:run")),
        (Door::Workspace, "brief:read", Some("brief:read")),
        (Door::Workspace, "bogus", None),
    ] {
        let expected = expected.map_or(Requested::Nothing(door), |text| {
            Requested::Named(scopes(door, text))
        });
        assert_eq!(Requested::of(door, scope), expected, "{scope}");
    }
}

#[test]
fn asked_words_are_open_and_ticked_and_the_rest_is_folded() {
    let offer = Requested::of(Door::Vault, "propose bogus work").offer();
    assert_eq!(offer.open, ["work", "propose"]);
    assert_eq!(offer.ticked.to_string(), "work propose");
    assert_eq!(
        offer.folded.join(" "),
        "identity projects preferences relationships communication-style \
         likeness likeness:write likeness:voice"
    );
}

#[test]
fn without_a_known_word_all_are_open_and_the_default_is_ticked() {
    for (door, ticked) in [
        (Door::Vault, VAULT_DEFAULT),
        (Door::Agent, "helix.agent_runs.read helix.agent_runs.write"),
        (Door::Workspace, "brief:read"),
    ] {
        let offer = Requested::of(door, "bogus").offer();
        assert_eq!(offer.open, supported(door).collect::<Vec<_>>());
        assert!(offer.folded.is_empty());
        assert_eq!(offer.ticked.to_string(), ticked);
    }
}

#[test]
fn the_reserved_word_is_offered_only_when_asked_for() {
    let unasked = Requested::of(Door::Workspace, "brief:write").offer();
    let nothing = Requested::of(Door::Workspace, "").offer();
    for offer in [unasked, nothing] {
        let offered: Vec<_> = offer.open.into_iter().chain(offer.folded).collect();
        assert!(!offered.contains(&"review:configure"), "{offered:?}");
    }
    let asked = Requested::of(Door::Workspace, "review:configure").offer();
    assert_eq!(asked.open, ["brief:read", "review:configure"]);
    assert_eq!(asked.ticked.to_string(), "brief:read review:configure");
}

#[test]
fn nothing_ticked_cannot_be_granted() {
    for door in Door::ALL {
        assert_eq!(Scopes::chosen(door, []), None);
        assert_eq!(Scopes::chosen(door, ["bogus", "offline_access"]), None);
    }
}

#[test]
fn a_refresh_may_narrow_but_not_widen() {
    let vault = scopes(Door::Vault, "work projects propose");
    for (scope, expected) in [
        (None, Ok("work projects propose")),
        (Some(""), Ok("work projects propose")),
        (Some("  "), Ok("work projects propose")),
        (Some("offline_access"), Ok("work projects propose")),
        (Some("propose work"), Ok("work propose")),
        (Some("work offline_access work"), Ok("work")),
        (Some("work identity"), Err(WiderScope)),
        (Some("work bogus"), Err(WiderScope)),
        (Some("bogus"), Err(WiderScope)),
        (Some("brief:read"), Err(WiderScope)),
    ] {
        let narrowed = vault.narrowed(scope).map(|scopes| scopes.to_string());
        assert_eq!(narrowed, expected.map(str::to_owned), "{scope:?}");
    }
    let workspace = scopes(Door::Workspace, "brief:write review:run");
    assert_eq!(
        workspace.narrowed(Some("review:run")).unwrap().to_string(),
        "brief:read review:run"
    );
    assert_eq!(workspace.narrowed(Some("review:execute")), Err(WiderScope));
}

#[test]
fn every_word_has_a_sentence_of_its_own() {
    let sentences: BTreeSet<_> = Door::ALL
        .into_iter()
        .flat_map(words)
        .map(|word| sentence(word, Providers::default()).unwrap())
        .collect();
    assert_eq!(
        sentences.len(),
        Door::ALL.into_iter().flat_map(words).count()
    );
    for sentence in &sentences {
        assert!(sentence.ends_with('.'), "{sentence}");
    }
    assert_eq!(sentence("bogus", Providers::default()), None);
}

#[test]
fn likeness_names_its_providers_or_says_that_there_are_none() {
    let set = Providers {
        image: Some("Brushworks"),
        voice: Some("Larynx"),
    };
    let image = sentence("likeness", set).unwrap();
    assert!(image.contains("Brushworks") && !image.contains("Larynx"));
    let voice = sentence("likeness:voice", set).unwrap();
    assert!(voice.contains("Recordings never reach the app"));
    assert!(voice.contains("they do reach Larynx") && !voice.contains("Brushworks"));
    for word in ["likeness", "likeness:voice"] {
        let unset = sentence(word, Providers::default()).unwrap();
        assert!(unset.contains("provider is set up"), "{unset}");
    }
    let other = sentence("likeness:write", set).unwrap();
    assert!(!other.contains("Brushworks") && !other.contains("Larynx"));
}

fn door() -> impl Strategy<Value = Door> {
    proptest::sample::select(Door::ALL.to_vec())
}

/// Words of every door and some that are of none, in any order and number.
fn any_words() -> impl Strategy<Value = Vec<&'static str>> {
    let mut all: Vec<_> = Door::ALL.into_iter().flat_map(words).collect();
    all.extend(["bogus", "offline_access", "Work"]);
    proptest::collection::vec(proptest::sample::select(all), 0..12)
}

proptest! {
    #[test]
    fn scopes_are_canonical_of_one_door_and_never_below_the_floor(
        door in door(),
        asked in any_words(),
    ) {
        let known: BTreeSet<_> = asked.iter().filter(|word| list(door).contains(word)).collect();
        match Scopes::chosen(door, asked.iter().copied()) {
            None => prop_assert!(known.is_empty()),
            Some(found) => {
                let order: Vec<_> = words(door).filter(|word| found.contains(word)).collect();
                prop_assert_eq!(found.words(), &order[..]);
                for word in &known {
                    prop_assert!(found.contains(word));
                }
                let added = found.words().iter().filter(|word| !known.contains(word));
                prop_assert!(added.clone().all(|word| door == Door::Workspace && *word == FLOOR));
                prop_assert!(door != Door::Workspace || found.contains(FLOOR));
            }
        }
    }

    #[test]
    fn no_refresh_gives_a_word_that_the_grant_lacks(
        door in door(),
        held in any_words(),
        asked in any_words(),
    ) {
        let Some(grant) = Scopes::chosen(door, held) else { return Ok(()) };
        if let Ok(token) = grant.narrowed(Some(&asked.join(" "))) {
            prop_assert_eq!(token.door(), door);
            prop_assert!(token.words().iter().all(|word| grant.contains(word)));
        }
    }

    #[test]
    fn an_offer_ticks_only_what_is_open_and_shows_each_word_once(
        door in door(),
        asked in any_words(),
    ) {
        let offer = Requested::of(door, &asked.join(" ")).offer();
        prop_assert!(offer.ticked.words().iter().all(|word| offer.open.contains(word)));
        let shown: Vec<_> = offer.open.iter().chain(&offer.folded).collect();
        let distinct: BTreeSet<_> = shown.iter().collect();
        prop_assert_eq!(shown.len(), distinct.len());
        for word in supported(door) {
            prop_assert!(shown.contains(&&word));
        }
    }
}
