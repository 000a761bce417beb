//! The one table of settings (`operations` 4, `agent-api` 12).
//!
//! It drives parsing, `config show`, `config check`, "did you mean" and the help text. A setting
//! is here only when the server acts on it: names of the contract that belong to doors this build
//! does not have are in [`RESERVED`], accepted with a warning.

use super::setting::Default::{Derived, Text, Unset};
use super::setting::Visibility::{Open, Secret, Starred};
use super::setting::{Kind, Section, Setting};
use super::values::Values;

macro_rules! settings {
    ($($id:ident = $name:literal [$($env:literal),+] $kind:expr, $default:expr, $vis:ident, $section:ident, $doc:literal;)+) => {
        $(
            #[doc = $doc]
            pub static $id: Setting = Setting {
                name: $name,
                env: &[$($env),+],
                kind: $kind,
                default: $default,
                visibility: $vis,
                section: Section::$section,
                doc: $doc,
            };
        )+

        /// Every setting, in the order in which help and `config show` print them.
        pub static SETTINGS: &[&Setting] = &[$(&$id),+];
    };
}

settings! {
    CONFIG = "config" ["HELIX_CONFIG"] Kind::Path, Text("helix.toml"), Open, Server,
        "The configuration file; only an explicitly named one must exist";
    LISTEN = "listen" ["HELIX_LISTEN"] Kind::Address, Text("127.0.0.1:8787"), Open, Server,
        "Address of the doors";
    METRICS_LISTEN = "metrics_listen" ["HELIX_METRICS_LISTEN"] Kind::Address, Text("127.0.0.1:8788"), Open, Server,
        "Address of /metrics, which is nowhere else; `off` switches it off";
    PUBLIC_URL = "public_url" ["CASIMIR_PUBLIC_BASE_URL", "HELIX_PUBLIC_URL", "HELIX_PUBLIC_BASE_URL", "PUBLIC_BASE_URL", "CASIMIRBOT_PUBLIC_URL"]
        Kind::Url, Derived("http://<listen>", public_url), Open, Server,
        "The address by which clients reach this server; https and required in production";
    ALLOWED_HOSTS = "agent_allowed_hosts" ["HELIX_AGENT_ALLOWED_HOSTS"] Kind::List, Unset, Open, Server,
        "Values of `Host` admitted beside the public address";
    ALLOWED_ORIGINS = "agent_allowed_origins" ["HELIX_AGENT_ALLOWED_ORIGINS"] Kind::List, Unset, Open, Server,
        "Values of `Origin` admitted beside the public address";
    TRUST_PROXY = "trust_proxy" ["TRUST_PROXY", "HELIX_TRUST_PROXY"] Kind::Text, Unset, Open, Server,
        "Whose forwarding headers count: a number of hops (0..16), or addresses and networks, comma separated; `loopback` and `private` are names for networks";
    PRODUCTION = "production" ["HELIX_PRODUCTION"] Kind::Switch, Text("off"), Open, Server,
        "Refuse to start with any setting that is only fit for trying things out";
    DATA_DIR = "data_dir" ["HELIX_DATA_DIR"] Kind::Path, Text("./helix-data"), Open, Data,
        "Where everything is kept";
    DATABASE_URL = "database_url" ["HELIX_DATABASE_URL"] Kind::Text, Unset, Starred, Data,
        "A Postgres (15 to 18) to use instead of the embedded one; a password is safer in the environment";
    PG_BIN = "pg_bin" ["HELIX_PG_BIN"] Kind::Path, Unset, Open, Data,
        "Folder of the Postgres programs for the embedded cluster";
    LANES = "lanes" ["HELIX_LANES"] Kind::Integer, Text("2"), Open, Data,
        "Lanes that new owners are spread over (1..64); owners keep the lane they have";
    KEK_FILE = "kek_file" ["HELIX_KEK_FILE"] Kind::Path, Derived("<data-dir>/keys/kek", kek_file), Open, Data,
        "The key file (mode 0600, made at first start); keep its backup apart from the database's";
    SOLVER = "solver" ["HELIX_SOLVER"] Kind::Choice(&["corpus-extract", "openai", "worker"]), Text("corpus-extract"), Open, Agent,
        "What works on runs; `corpus-extract` is built in, offline and deterministic; `openai` asks a language model; with `worker`, external workers take the turns";
    MODEL_BASE_URL = "model_base_url" ["HELIX_MODEL_BASE_URL"] Kind::Url, Unset, Open, Agent,
        "Address of the model server, any that speaks the protocols of `model_api`, up to and with `/v1`";
    MODEL = "model" ["HELIX_MODEL"] Kind::Text, Unset, Open, Agent,
        "The model that the solver `openai` asks, as its server names it (1..200 characters)";
    MODEL_API = "model_api" ["HELIX_MODEL_API"] Kind::Choice(&["chat", "responses"]), Text("chat"), Open, Agent,
        "The protocol it is asked in: Chat Completions or Responses";
    MODEL_API_KEY = "model_api_key" ["HELIX_MODEL_API_KEY"] Kind::Text, Unset, Secret, Agent,
        "The key of the model's server; one that wants none takes any text";
    MODEL_MAX_TOKENS = "model_max_tokens" ["HELIX_MODEL_MAX_TOKENS"] Kind::Integer, Text("8192"), Open, Agent,
        "Tokens of one answer of the model (256..131072)";
    MODEL_TURN_TOKENS = "model_turn_tokens" ["HELIX_MODEL_TURN_TOKENS"] Kind::Integer, Text("400000"), Open, Agent,
        "Tokens that one turn may spend, prompts and answers together (4096..10000000)";
    WORKER_CLAIM_TIMEOUT = "worker_claim_timeout_ms" ["HELIX_WORKER_CLAIM_TIMEOUT_MS"] Kind::Integer, Unset, Open, Agent,
        "How long a turn may wait for an external worker, in milliseconds (1..900000); unset: until its deadline";
    LIBRARY = "library" ["HELIX_LIBRARY"] Kind::Paths, Derived("<data-dir>/library", library), Open, Agent,
        "Folders of text, Markdown, HTML and PDF files behind the scope `research_library`, separated by `:`; may be repeated";
    REPOSITORY = "repository" ["HELIX_REPOSITORY"] Kind::Path, Unset, Open, Agent,
        "A git working tree behind the scope `repository_evidence`";
    SEARCH_BASE_URL = "search_base_url" ["HELIX_SEARCH_BASE_URL"] Kind::Url, Unset, Open, Agent,
        "A `SearXNG` server with JSON answers (`<base>/search`) behind the scope `public_web`";
    OPENALEX_BASE_URL = "openalex_base_url" ["HELIX_OPENALEX_BASE_URL"] Kind::Url, Unset, Open, Agent,
        "`OpenAlex` (`<base>/works`) behind the scope `scholarly_research`, such as `https://api.openalex.org`";
    CROSSREF_BASE_URL = "crossref_base_url" ["HELIX_CROSSREF_BASE_URL"] Kind::Url, Unset, Open, Agent,
        "Crossref (`<base>/works`) behind the scope `scholarly_research`, such as `https://api.crossref.org`";
    ARXIV_BASE_URL = "arxiv_base_url" ["HELIX_ARXIV_BASE_URL"] Kind::Url, Unset, Open, Agent,
        "arXiv (`<base>/api/query`) behind the scope `scholarly_research`, such as `https://export.arxiv.org`";
    FULL_TEXT_HOSTS = "full_text_hosts" ["HELIX_FULL_TEXT_HOSTS"] Kind::List, Unset, Open, Agent,
        "Hosts from which full texts of papers are fetched over https, beside what lies below the base URLs of the indexes";
    TOOL_TIMEOUT = "tool_timeout_ms" ["HELIX_TOOL_TIMEOUT_MS"] Kind::Integer, Text("10000"), Open, Agent,
        "Longest wait in milliseconds for one answer of a search or literature server (100..120000)";
    THEORY_DIR = "theory_dir" ["HELIX_THEORY_DIR"] Kind::Path, Unset, Open, Agent,
        "A folder of claims and their relations (TOML files) behind the scope `theory_registry`";
    DATABASE_SCOPES = "agent_database_scopes" ["HELIX_AGENT_DATABASE_SCOPES"] Kind::List, Unset, Open, Agent,
        "Data scopes runs may use; unset: those whose source is configured, in production none";
    TURN_TIMEOUT = "agent_turn_timeout_ms" ["HELIX_AGENT_TURN_TIMEOUT_MS"] Kind::Integer, Text("120000"), Open, Agent,
        "Longest turn in milliseconds, clamped to 1000..900000";
    MAX_TURNS = "max_turns" ["HELIX_MAX_TURNS"] Kind::Integer, Text("256"), Open, Agent,
        "Turns one process runs at a time (1..4096); a continue beyond them is answered 503";
    WEBHOOK_ALLOW_PRIVATE = "webhook_allow_private" ["HELIX_WEBHOOK_ALLOW_PRIVATE"] Kind::Switch, Text("off"), Open, Agent,
        "Send webhooks to plain http and private addresses too: for trying things out, refused in production";
    DEVELOPERS = "developer_profile_ids" ["HELIX_DEVELOPER_PROFILE_IDS"] Kind::List, Unset, Open, Agent,
        "Profile ids, e-mail addresses or subjects whose developer type counts in production";
    APPROVAL_KEYS = "runtime_approval_trusted_public_keys_json" ["HELIX_RUNTIME_APPROVAL_TRUSTED_PUBLIC_KEYS_JSON"] Kind::Text, Unset, Open, Agent,
        "Ed25519 public keys that may sign runtime approvals, a JSON object of 1 to 64 key ids and keys in Base64 (raw or DER); a malformed one stops the start; nothing hosts approvals yet, so none is accepted";
    OAUTH_ISSUER = "agent_oauth_issuer" ["HELIX_AGENT_OAUTH_ISSUER"] Kind::Url, Unset, Open, OAuth,
        "Issuer of an external authorization server, compared as exact text";
    OAUTH_AUDIENCE = "agent_oauth_audience" ["HELIX_AGENT_OAUTH_AUDIENCE"] Kind::Url, Unset, Open, OAuth,
        "The audience its tokens must name";
    OAUTH_JWKS_URL = "agent_oauth_jwks_url" ["HELIX_AGENT_OAUTH_JWKS_URL"] Kind::Url, Unset, Open, OAuth,
        "Where its signing keys are published";
    OAUTH_PROVIDER = "agent_oauth_provider" ["HELIX_AGENT_OAUTH_PROVIDER"] Kind::Text, Unset, Open, OAuth,
        "The name under which accounts are linked to it (1..120 characters)";
    OAUTH_ALGORITHMS = "agent_oauth_algorithms" ["HELIX_AGENT_OAUTH_ALGORITHMS"] Kind::List, Text("RS256,ES256"), Open, OAuth,
        "Admitted signature algorithms, of RS256 RS384 RS512 ES256 ES384 ES512";
    OAUTH_TENANT_CLAIM = "agent_oauth_tenant_claim" ["HELIX_AGENT_OAUTH_TENANT_CLAIM"] Kind::Text, Unset, Open, OAuth,
        "The one claim that names the tenant, in place of the usual list (at most 512 characters)";
    OAUTH_MAX_LIFETIME = "agent_oauth_max_lifetime" ["HELIX_AGENT_OAUTH_MAX_LIFETIME"] Kind::Span, Text("24h"), Open, OAuth,
        "Longest time between issue and expiry of a token (1m..365d)";
    OAUTH_REQUIRE_AT_JWT = "agent_oauth_require_at_jwt" ["HELIX_AGENT_OAUTH_REQUIRE_AT_JWT"] Kind::Switch, Text("off"), Open, OAuth,
        "Admit only tokens of type at+jwt";
    JWKS_ALLOW_PRIVATE = "agent_jwks_allow_private" ["HELIX_AGENT_JWKS_ALLOW_PRIVATE"] Kind::Switch, Text("off"), Open, OAuth,
        "Fetch signing keys from private addresses in production too";
    REDIRECT_SCHEMES = "redirect_schemes" ["HELIX_REDIRECT_SCHEMES"] Kind::List, Text("cursor,vscode,vscode-insiders,windsurf,zed"), Open, OAuth,
        "One-word URL schemes at which apps may be answered, as of editors on the owner's computer; schemes with a dot need no mention";
    REFRESH_OVERLAP = "refresh_overlap" ["HELIX_REFRESH_OVERLAP"] Kind::Integer, Text("30"), Open, OAuth,
        "Seconds in which a used refresh token may be used again, since processes of one app share it (0..60)";
    CIMD = "cimd" ["HELIX_CIMD"] Kind::Switch, Text("off"), Open, OAuth,
        "Know apps whose client id is the https address of a document about them, which is fetched when somebody is asked to consent";
    CIMD_ALLOW_PRIVATE = "cimd_allow_private" ["HELIX_CIMD_ALLOW_PRIVATE"] Kind::Switch, Text("off"), Open, OAuth,
        "Fetch such documents over plain http and from private addresses too: for trying things out, refused in production";
    ALLOW_LOCAL_HS256 = "agent_allow_local_hs256" ["HELIX_AGENT_ALLOW_LOCAL_HS256"] Kind::Switch, Text("off"), Open, OAuth,
        "Admit HS256 tokens of the local secret: a test lane, refused in production";
    LOCAL_JWT_SECRET = "agent_local_jwt_secret" ["HELIX_AGENT_LOCAL_JWT_SECRET"] Kind::Text, Unset, Secret, OAuth,
        "The secret of the local HS256 lane (at least 32 characters)";
    BODY_LIMIT = "agent_body_limit" ["HELIX_AGENT_BODY_LIMIT"] Kind::Size, Text("512kb"), Open, Limits,
        "Largest request body of the run door (1kb..64mb)";
    IP_RATE_LIMIT = "agent_ip_rate_limit" ["HELIX_AGENT_IP_RATE_LIMIT"] Kind::Rate, Text("120"), Open, Limits,
        "Requests a minute from one address; 0 or less switches the limit off";
    PRINCIPAL_RATE_LIMIT = "agent_principal_rate_limit" ["HELIX_AGENT_PRINCIPAL_RATE_LIMIT"] Kind::Rate, Text("240"), Open, Limits,
        "Requests a minute of one principal; 0 or less switches the limit off";
    MCP_BODY_LIMIT = "mcp_body_limit" ["HELIX_MCP_BODY_LIMIT"] Kind::Size, Text("512kb"), Open, Limits,
        "Largest request body of /mcp (1kb..64mb)";
    MCP_IP_RATE_LIMIT = "mcp_ip_rate_limit" ["HELIX_MCP_IP_RATE_LIMIT"] Kind::Rate, Text("120"), Open, Limits,
        "Requests a minute to /mcp from one address; 0 or less switches the limit off";
    MCP_PRINCIPAL_RATE_LIMIT = "mcp_principal_rate_limit" ["HELIX_MCP_PRINCIPAL_RATE_LIMIT"] Kind::Rate, Text("240"), Open, Limits,
        "Messages a minute to /mcp of one principal; 0 or less switches the limit off";
    MAX_REQUESTS = "max_requests" ["HELIX_MAX_REQUESTS"] Kind::Integer, Text("128"), Open, Limits,
        "Requests one process works on at a time (4..4096), a tenth of them withdrawals; twice as many wait, 250 ms at most, the rest is answered 503";
    WORKER_IP_RATE_LIMIT = "worker_ip_rate_limit" ["HELIX_WORKER_IP_RATE_LIMIT"] Kind::Rate, Text("2400"), Open, Limits,
        "Requests a minute from one address to the worker routes; 0 or less switches the limit off";
    WORKER_TOKEN_RATE_LIMIT = "worker_token_rate_limit" ["HELIX_WORKER_TOKEN_RATE_LIMIT"] Kind::Rate, Text("1200"), Open, Limits,
        "Requests a minute of one worker token; 0 or less switches the limit off";
    LOG_FORMAT = "log_format" ["HELIX_LOG_FORMAT"] Kind::Choice(&["text", "json"]), Text("text"), Open, Log,
        "Log lines for people or one JSON object a line, on standard error";
    LOG_LEVEL = "log_level" ["HELIX_LOG_LEVEL"] Kind::Text, Text("info"), Open, Log,
        "off, error, warn, info, debug or trace, or filters such as `info,helix=debug`";
}

/// Environment names that other parts of the product or its tests own.
pub static ELSEWHERE: &[&str] = &["HELIX_URL", "HELIX_TOKEN", "HELIX_TEST_DATABASE_URL"];

/// Names of the contract whose doors this build does not have yet.
pub static RESERVED: &[&str] = &[
    "HELIX_VAULT_LISTEN",
    "HELIX_VAULT_PUBLIC_URL",
    "HELIX_VAULT_ALLOWED_ORIGINS",
    "HELIX_ROOM_AGENT_BODY_LIMIT",
    "HELIX_ROOM_AGENT_IP_RATE_LIMIT",
    "HELIX_ROOM_AGENT_PRINCIPAL_RATE_LIMIT",
    "HELIX_AGENT_RUN_OBSERVER_IP_RATE_LIMIT",
    "HELIX_AGENT_RUN_OBSERVER_ACCOUNT_RATE_LIMIT",
    "HELIX_ROOM_SOURCE_BROWSER_IP_RATE_LIMIT",
    "HELIX_ROOM_SOURCE_BROWSER_ACCOUNT_RATE_LIMIT",
    "HELIX_ROOM_ENVIRONMENT_IP_RATE_LIMIT",
    "HELIX_ROOM_ENVIRONMENT_ACCOUNT_RATE_LIMIT",
    "HELIX_ENVIRONMENT_CONNECTOR_PUBLIC_RATE_LIMIT",
    "HELIX_BOUND_ROOM_EVIDENCE_MAX_AGE_MS",
    "HELIX_ROOM_INGRESS_FRESHNESS_MS",
    "HELIX_ROOM_INGRESS_REQUESTS_PER_MINUTE",
    "HELIX_ROOM_INGRESS_PROCESSING_LEASE_MS",
    "HELIX_ROOM_INGRESS_EVENT_MAX_AGE_MS",
    "HELIX_ROOM_INGRESS_EVENT_FUTURE_SKEW_MS",
    "HELIX_WORLD_EVENT_MAX_BATCH",
    "HELIX_ENVIRONMENT_ADAPTER_FIXTURES",
    "HELIX_PUBLIC_ROOM_SOURCE_INGRESS",
    "HELIX_GUEST_ROOM_CREATION",
    "HELIX_GUEST_ROOM_SOURCE_INGRESS",
    "HELIX_ADMIN_SECRET",
    "HELIX_SIGNUP",
    "HELIX_BACKUP_DIR",
    "HELIX_BACKUP_PASSPHRASE_FILE",
];

fn public_url(values: &Values) -> String {
    let listen = values.text(&LISTEN).unwrap_or("127.0.0.1:8787");
    match super::parse::address(listen) {
        Ok(address) => format!("http://{}", super::network::reachable(address)),
        Err(_) => format!("http://{listen}"),
    }
}

fn kek_file(values: &Values) -> String {
    format!("{}/keys/kek", data_dir(values))
}

fn library(values: &Values) -> String {
    format!("{}/library", data_dir(values))
}

fn data_dir(values: &Values) -> &str {
    values
        .text(&DATA_DIR)
        .unwrap_or("./helix-data")
        .trim_end_matches('/')
}
