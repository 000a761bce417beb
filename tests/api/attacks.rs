//! Which test proves which row of the attack table (`access` 13) and which public report (`access` 14).
//!
//! What must stay true: every row is there, and every test that a row names stands in its file. The tests
//! below this module are those that had no better place.

mod bodies;
mod oauth;
mod regressions;
mod secrets;
mod tokens;

use std::collections::BTreeSet;
use std::path::Path;

const BEARER: &str = "src/auth/bearer/tests.rs";
const OUTER_FORM: &str = "src/auth/bearer/tests/outer_form.rs";
const KEY_SET: &str = "src/auth/jwks/tests.rs";
const REDIRECTS: &str = "src/auth/oauth/redirect/tests.rs";
const NAMES: &str = "src/auth/oauth/client_name/tests.rs";
const ROTATION: &str = "src/auth/oauth/rotation/tests.rs";
const OUTBOUND: &str = "src/outbound/tests.rs";
const FORGED: &str = "tests/api/attacks/tokens.rs";
const OAUTH: &str = "tests/api/attacks/oauth.rs";
const BODIES: &str = "tests/api/attacks/bodies.rs";
const REPORTS: &str = "tests/api/attacks/regressions.rs";
const CODES: &str = "tests/api/access/codes.rs";
const CONSENT: &str = "tests/api/access/consent.rs";
const DOCUMENTS: &str = "tests/api/access/documents.rs";
const MIDWAY: &str = "tests/api/access/midway.rs";
const REGISTRATION: &str = "tests/api/access/registration.rs";
const REVOKED: &str = "tests/api/races/revocation/agents.rs";
const RUN_TOKENS: &str = "tests/api/agent/tokens.rs";
const RUN_INPUT: &str = "tests/api/agent/input.rs";
const RUN_SECRETS: &str = "tests/api/agent/credentials.rs";
const RUN_HEADERS: &str = "tests/api/agent/headers.rs";
const HEADS: &str = "tests/api/heads.rs";
const ENVELOPES: &str = "tests/api/mcp/envelopes.rs";
const WORK_DOORS: &str = "tests/api/work/doors.rs";
const WORK_TOOLS: &str = "tests/api/work/mcp.rs";
const WORK_REACH: &str = "tests/api/work/reach.rs";
const WORKERS: &str = "tests/api/workers/credentials.rs";

/// A row, and the file and name of a test that proves it or part of it.
const ROWS: &[(&str, &str, &str)] = &[
    // `alg` none, a public key taken for a secret, a key id that is a path, a key brought along.
    (
        "K1",
        FORGED,
        "no_forgery_opens_the_agent_door_or_is_told_of_a_scope",
    ),
    (
        "K1",
        OUTER_FORM,
        "the_header_cannot_choose_keys_or_demand_extensions",
    ),
    (
        "K2",
        FORGED,
        "no_forgery_opens_the_agent_door_or_is_told_of_a_scope",
    ),
    (
        "K3",
        FORGED,
        "no_forgery_opens_the_agent_door_or_is_told_of_a_scope",
    ),
    (
        "K3",
        KEY_SET,
        "unknown_keys_cause_one_fetch_a_minute_together",
    ),
    (
        "K4",
        FORGED,
        "no_forgery_opens_the_agent_door_or_is_told_of_a_scope",
    ),
    (
        "K4",
        OUTER_FORM,
        "the_header_cannot_choose_keys_or_demand_extensions",
    ),
    ("K5", OUTER_FORM, "forged_ecdsa_signatures_are_refused"),
    // Claims.
    (
        "K6",
        FORGED,
        "no_forgery_opens_the_agent_door_or_is_told_of_a_scope",
    ),
    (
        "K7",
        FORGED,
        "no_forgery_opens_the_agent_door_or_is_told_of_a_scope",
    ),
    (
        "K8",
        FORGED,
        "no_forgery_opens_the_agent_door_or_is_told_of_a_scope",
    ),
    ("K8", BEARER, "a_token_lives_for_a_day_at_most"),
    (
        "K9",
        FORGED,
        "no_forgery_opens_the_agent_door_or_is_told_of_a_scope",
    ),
    (
        "K9",
        RUN_TOKENS,
        "each_change_to_a_good_token_is_answered_as_the_table_says",
    ),
    // Where a credential stands, and at which door.
    (
        "K10",
        RUN_TOKENS,
        "one_authorization_header_is_read_and_two_are_refused",
    ),
    (
        "K10",
        RUN_TOKENS,
        "each_change_to_a_good_token_is_answered_as_the_table_says",
    ),
    (
        "K10",
        RUN_SECRETS,
        "a_credential_in_the_query_is_refused_and_does_not_authenticate",
    ),
    (
        "K10",
        WORKERS,
        "the_worker_routes_take_a_worker_token_and_nothing_else",
    ),
    (
        "K11",
        WORK_DOORS,
        "only_a_live_credential_of_this_door_opens_it",
    ),
    ("K11", WORKERS, "a_worker_token_opens_no_other_door"),
    (
        "K11",
        CONSENT,
        "an_app_that_is_allowed_reads_the_accounts_runs",
    ),
    (
        "K12",
        REVOKED,
        "a_disconnected_app_is_given_no_run_and_no_token_after_the_answer",
    ),
    (
        "K12",
        MIDWAY,
        "a_turn_whose_app_is_revoked_is_rolled_back_and_answers_401",
    ),
    (
        "K12",
        WORK_TOOLS,
        "a_token_that_ends_in_the_middle_is_a_401_and_no_result",
    ),
    // Apps.
    (
        "K13",
        CODES,
        "eight_redemptions_of_one_code_succeed_once_and_kill_what_they_gave",
    ),
    (
        "K14",
        OAUTH,
        "a_verifier_out_of_bounds_buys_no_token_and_uses_nothing_up",
    ),
    (
        "K14",
        CONSENT,
        "faults_of_a_request_are_a_page_until_the_redirect_is_known_and_then_an_error_there",
    ),
    (
        "K15",
        OAUTH,
        "no_redirect_that_leads_elsewhere_than_it_seems_is_registered",
    ),
    ("K15", REDIRECTS, "everything_else_is_refused_by_its_text"),
    (
        "K16",
        OAUTH,
        "an_authorization_is_answered_nowhere_but_at_the_registered_redirect",
    ),
    ("K16", REDIRECTS, "any_other_presented_text_is_denied"),
    (
        "K17",
        CONSENT,
        "faults_of_a_request_are_a_page_until_the_redirect_is_known_and_then_an_error_there",
    ),
    (
        "K18",
        OAUTH,
        "a_refresh_token_used_again_late_ends_the_grant",
    ),
    (
        "K18",
        CODES,
        "a_lost_answer_is_made_up_for_and_an_old_token_ends_the_grant",
    ),
    ("K18", CODES, "another_apps_refresh_token_changes_nothing"),
    (
        "K18",
        ROTATION,
        "the_same_token_after_the_overlap_ends_the_grant",
    ),
    (
        "K19",
        OAUTH,
        "a_consent_from_elsewhere_or_too_late_gives_nothing",
    ),
    (
        "K19",
        CONSENT,
        "a_question_of_one_session_is_answered_in_no_other",
    ),
    (
        "K19",
        CONSENT,
        "somebody_who_is_not_signed_in_decides_with_address_and_passphrase",
    ),
    ("K20", OAUTH, "no_page_is_shown_in_a_frame"),
    (
        "K21",
        OAUTH,
        "a_name_made_to_deceive_is_shown_as_plain_text_below_the_host",
    ),
    (
        "K21",
        NAMES,
        "control_characters_are_refused_wherever_they_stand",
    ),
    (
        "K22",
        OAUTH,
        "tokens_are_asked_for_by_a_form_in_a_post_and_no_other_way",
    ),
    (
        "K22",
        CODES,
        "a_token_request_that_is_not_one_is_refused_with_its_code",
    ),
    ("K23", CONSENT, "a_denied_app_is_told_so_and_gets_nothing"),
    (
        "K23",
        CONSENT,
        "somebody_who_is_not_signed_in_decides_with_address_and_passphrase",
    ),
    // The wire.
    (
        "K24",
        RUN_HEADERS,
        "hosts_and_origins_are_compared_whole_before_anything_is_read",
    ),
    (
        "K24",
        ENVELOPES,
        "a_page_of_an_admitted_origin_may_read_every_answer",
    ),
    (
        "K25",
        HEADS,
        "a_head_that_is_none_is_refused_before_the_router_and_its_connection_closed",
    ),
    (
        "K25",
        RUN_INPUT,
        "a_request_whose_end_is_doubtful_is_refused_and_its_connection_closed",
    ),
    (
        "K26",
        DOCUMENTS,
        "an_address_is_no_app_unless_the_switch_is_on",
    ),
    (
        "K26",
        DOCUMENTS,
        "a_document_that_is_not_to_be_believed_makes_no_app",
    ),
    (
        "K26",
        BEARER,
        "production_fetches_no_keys_from_the_inner_network",
    ),
    (
        "K26",
        KEY_SET,
        "a_document_that_is_no_key_set_or_too_long_is_a_failure",
    ),
    ("K26", OUTBOUND, "public_reach_connects_to_no_inner_address"),
    ("K26", OUTBOUND, "one_inner_address_condemns_a_name"),
    (
        "K26",
        OUTBOUND,
        "every_name_resolves_to_the_judged_addresses",
    ),
    ("K26", OUTBOUND, "a_redirect_is_not_followed"),
    (
        "K26",
        OUTBOUND,
        "a_document_ends_at_its_limit_however_it_is_framed",
    ),
    ("K26", OUTBOUND, "a_slow_server_is_given_up_at_the_deadline"),
    (
        "K27",
        "tests/api/agent/marks.rs",
        "no_text_or_secret_of_a_caller_is_in_logs_metrics_or_refusals",
    ),
    (
        "K27",
        "tests/processes/canary.rs",
        "texts_are_in_no_file_of_the_data_directory_no_dump_and_no_log",
    ),
    (
        "K27",
        "tests/api/webhooks/marks.rs",
        "no_text_of_a_run_no_address_and_no_secret_is_in_messages_rows_logs_or_metrics",
    ),
    (
        "K27",
        "tests/api/attacks/secrets.rs",
        "no_credential_of_a_person_or_an_app_is_in_the_log_or_a_refusal",
    ),
    ("K28", BODIES, "a_body_that_does_not_come_is_given_up"),
    (
        "K28",
        BODIES,
        "two_mebibytes_a_million_values_and_an_encoded_body_are_read_by_no_door",
    ),
    (
        "K28",
        RUN_INPUT,
        "a_chunked_body_without_end_is_cut_off_at_the_limit_and_memory_stays_flat",
    ),
    (
        "K28",
        RUN_INPUT,
        "an_encoded_body_is_refused_whatever_it_would_open_to",
    ),
    (
        "K28",
        HEADS,
        "a_flood_of_fields_is_answered_while_it_goes_on",
    ),
    (
        "K28",
        "tests/api/races/crowd.rs",
        "seven_hundred_slow_and_silent_callers_hold_up_nobody",
    ),
    (
        "K29",
        BODIES,
        "json_beyond_its_bounds_is_refused_as_none_at_both_doors",
    ),
    (
        "K30",
        BODIES,
        "json_beyond_its_bounds_is_refused_as_none_at_both_doors",
    ),
    (
        "K30",
        RUN_INPUT,
        "a_key_given_twice_or_unknown_is_refused_at_any_depth",
    ),
    (
        "K31",
        BODIES,
        "json_beyond_its_bounds_is_refused_as_none_at_both_doors",
    ),
    (
        "K31",
        RUN_INPUT,
        "odd_characters_are_kept_whole_and_nul_is_refused_in_every_text",
    ),
    (
        "K32",
        BODIES,
        "an_envelope_out_of_form_is_refused_at_both_doors_without_an_echo",
    ),
    (
        "K33",
        ENVELOPES,
        "credential_material_anywhere_is_refused_and_shown_to_nobody",
    ),
    (
        "K33",
        RUN_SECRETS,
        "protected_texts_are_refused_wherever_they_stand_and_others_are_accepted",
    ),
    (
        "K34",
        WORK_REACH,
        "what_is_outside_the_reach_and_what_does_not_exist_are_told_alike",
    ),
    (
        "K34",
        WORK_REACH,
        "a_project_made_by_a_narrow_token_is_out_of_its_reach",
    ),
    (
        "K34",
        WORK_REACH,
        "another_workspace_is_none_whatever_is_named_in_it",
    ),
    (
        "K35",
        OAUTH,
        "a_flood_of_passphrases_is_turned_away_and_other_doors_stay_open",
    ),
    // Public reports.
    (
        "eight parallel refreshes",
        CODES,
        "eight_refreshes_of_one_token_give_three_pairs_at_most",
    ),
    ("401 without CORS", REPORTS, "a_401_can_be_read_by_a_page"),
    (
        "unknown client not 401",
        CODES,
        "a_token_request_that_is_not_one_is_refused_with_its_code",
    ),
    (
        "403 before 401",
        "tests/api/work/humans.rs",
        "every_operation_asks_who_is_there_before_anything_else",
    ),
    (
        "GET loops",
        REPORTS,
        "a_client_that_gets_a_tool_door_is_told_at_once_to_post",
    ),
    (
        "issuer mismatch",
        REGISTRATION,
        "metadata_agrees_with_itself",
    ),
    (
        "issuer mismatch",
        CONSENT,
        "an_app_that_is_allowed_reads_the_accounts_runs",
    ),
    (
        "initialize after discover",
        REPORTS,
        "a_client_that_discovered_may_still_initialize",
    ),
    (
        "10,000 registrations swept",
        REPORTS,
        "ten_thousand_registrations_that_nobody_consented_to_are_swept",
    ),
];

#[test]
fn every_row_names_tests_that_stand_where_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (row, file, test) in ROWS {
        let text = std::fs::read_to_string(root.join(file)).expect(file);
        assert!(
            text.contains(&format!("fn {test}(")),
            "{row}: {file}: {test}"
        );
    }
    let rows: BTreeSet<&str> = ROWS.iter().map(|(row, ..)| *row).collect();
    for number in 1..=35 {
        assert!(rows.contains(format!("K{number}").as_str()), "K{number}");
    }
    assert_eq!(rows.len(), 35 + 8);
}
