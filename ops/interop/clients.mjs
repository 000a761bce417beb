// The official TypeScript clients, both generations, against every tool: each answer, success or
// error, is held against the schema that the tool publishes. The clients do that themselves for
// successes; errors are held against it here, with the validator the clients use.
import { Client as Handshaking } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as Modern, StreamableHTTPClientTransport as NewTransport } from "@modelcontextprotocol/client";
import { Ajv } from "ajv";
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

const url = new URL("/mcp", process.env.HELIX_URL);
const who = { name: "helix-interop", version: "1.0.0" };
const bearing = (token) => ({ requestInit: { headers: { Authorization: `Bearer ${token}` } } });
const ajv = new Ajv({ strict: false });
const seen = new Set();

async function connected(Client, Transport, token, options = {}) {
  const client = new Client(who, options);
  await client.connect(new Transport(url, bearing(token)));
  return client;
}

/** Calls a tool and holds the answer against its schema; the value. */
async function call(client, tools, name, args, expected) {
  const result = await client.callTool({ name, arguments: args });
  const value = result.structuredContent;
  const valid = ajv.compile(tools.get(name).outputSchema);
  assert.ok(valid(value), `${name}: ${JSON.stringify(valid.errors)} of ${JSON.stringify(value)}`);
  assert.deepEqual(JSON.parse(result.content[0].text), value, name);
  assert.equal(result.isError ?? false, expected !== "ok", JSON.stringify(value));
  if (expected !== "ok") {
    assert.equal(value.error, expected, JSON.stringify(value));
    assert.equal(value.request_id, null);
  }
  if (expected === "insufficient_scope") {
    const [challenge] = result._meta["mcp/www_authenticate"];
    assert.match(challenge, /^Bearer resource_metadata=".*error="insufficient_scope"/);
  }
  seen.add(`${name}: ${expected}`);
  return value;
}

async function drive(client, weak, label) {
  const tools = new Map((await client.listTools()).tools.map((tool) => [tool.name, tool]));
  assert.equal(tools.size, 6, label);
  const ask = (name, args, expected = "ok") => call(client, tools, name, args, expected);
  const key = () => `interop-${randomUUID()}`;
  const nobodys = "run_00000000-0000-0000-0000-000000000000";

  const plan = { objective: "When does the last ferry to Skarholm leave?", database_scope: ["research_library"] };
  const startKey = key();
  const { run } = await ask("helix_run_start", { idempotency_key: startKey, request: plan });
  const again = await ask("helix_run_start", { idempotency_key: startKey, request: plan });
  assert.equal(again.idempotency_replayed, true);
  await ask("helix_run_start", { idempotency_key: startKey, request: { objective: "Another" } }, "idempotency_conflict");
  await ask("helix_run_start", { idempotency_key: key(), request: { objective: 7 } }, "invalid_request");
  await ask("helix_run_start", { idempotency_key: key(), request: { objective: "x", database_scope: ["nowhere"] } }, "account_policy_blocked");

  const id = { run_id: run.run_id };
  const turn = { expected_version: 1, instruction: "Answer from the timetable." };
  await ask("helix_run_continue", { ...id, idempotency_key: key(), request: { ...turn, expected_version: 9 } }, "version_conflict");
  await ask("helix_run_continue", { ...id, idempotency_key: key(), request: {} }, "invalid_request");
  await ask("helix_run_continue", { run_id: nobodys, idempotency_key: key(), request: turn }, "not_found");
  const ended = await ask("helix_run_continue", { ...id, idempotency_key: key(), request: turn });
  assert.equal(ended.run.completion_status, "completed", JSON.stringify(ended.run));
  await ask("helix_run_continue", { ...id, idempotency_key: key(), request: { ...turn, expected_version: ended.run.version } }, "run_not_resumable");

  for (const name of ["helix_run_inspect", "helix_run_fetch_evidence", "helix_run_list_events"]) {
    await ask(name, id);
    await ask(name, { run_id: nobodys }, "not_found");
    await ask(name, { run_id: "not-a-run" }, "invalid_request");
    await ask(name, { ...id, unheard_of: true }, "invalid_request");
  }
  await ask("helix_run_list_events", { ...id, after_seq: 1, limit: 2 });
  const other = await ask("helix_run_start", { idempotency_key: key(), request: { objective: "To be ended" } });
  const end = { run_id: other.run.run_id, idempotency_key: key(), request: { expected_version: 1 } };
  await ask("helix_run_cancel", { ...end, request: { expected_version: 0 } }, "invalid_request");
  await ask("helix_run_cancel", end);
  await ask("helix_run_cancel", { ...end, idempotency_key: key(), request: { expected_version: 2 } }, "run_not_resumable");
  for (const name of ["helix_run_start", "helix_run_continue", "helix_run_cancel"]) {
    await call(weak, tools, name, {}, "insufficient_scope");
  }
  await assert.rejects(client.callTool({ name: "helix_run_destroy", arguments: {} }));
  console.log(`${label}: ${client.getServerVersion?.()?.name ?? "connected"}, every tool and error as published`);
}

const { HELIX_TOKEN: token, HELIX_WEAK_TOKEN: weakToken } = process.env;
const handshaking = await connected(Handshaking, OldTransport, token);
await drive(handshaking, await connected(Handshaking, OldTransport, weakToken), "TypeScript sdk 1.x, handshake");
for (const mode of ["legacy", "auto"]) {
  const options = { versionNegotiation: { mode } };
  const client = await connected(Modern, NewTransport, token, options);
  await drive(client, await connected(Modern, NewTransport, weakToken, options), `TypeScript client 2.x, ${mode}, ${client.getNegotiatedProtocolVersion?.() ?? "?"}`);
  await client.close();
}
await assert.rejects(connected(Handshaking, OldTransport, "not-a-token"), /401|[Uu]nauthorized/);
await handshaking.close();
console.log(`${seen.size} different answers held against their schemas`);
