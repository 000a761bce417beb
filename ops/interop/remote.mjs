// mcp-remote, the bridge of clients that speak over a pipe: it registers, sends a person to the consent
// page, lists the tools, and later refreshes by itself.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import assert from "node:assert/strict";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { allow } from "./person.mjs";

const door = new URL("/workspace/mcp", process.env.HELIX_URL).href;
const home = await mkdtemp(join(tmpdir(), "helix-remote-"));
const manifest = createRequire(import.meta.url).resolve("mcp-remote/package.json");
const { bin } = JSON.parse(await readFile(manifest, "utf8"));
const program = join(dirname(manifest), bin["mcp-remote"]);

/** The tools that the bridge lists, and how many people it asked. */
async function listed() {
  const env = { ...process.env, MCP_REMOTE_CONFIG_DIR: home, HOME: home, BROWSER: "true" };
  const transport = new StdioClientTransport({ command: process.execPath, args: [program, door, "--allow-http"], env, stderr: "pipe" });
  let said = "";
  let asked = 0;
  let fault;
  transport.stderr.on("data", (piece) => {
    said += piece;
    const link = said.match(/https?:\/\/\S+\/authorize\?\S+/);
    if (!link || asked > 0) return;
    asked += 1;
    allow(link[0])
      .then((back) => fetch(back))
      .catch((error) => (fault = error));
  });
  const client = new Client({ name: "helix-interop", version: "1.0.0" });
  try {
    await client.connect(transport, { timeout: 60_000 });
    return { tools: (await client.listTools()).tools.length, asked };
  } catch (error) {
    throw new Error(`${fault ?? error}\n${said}`);
  } finally {
    await client.close();
  }
}

/** Where the bridge keeps what it was given. */
async function kept() {
  const all = await readdir(home, { recursive: true });
  const file = all.find((name) => name.endsWith("_tokens.json"));
  assert.ok(file, `mcp-remote keeps no tokens: ${all}`);
  return join(home, file);
}

try {
  assert.deepEqual(await listed(), { tools: 17, asked: 1 });
  const file = await kept();
  const tokens = JSON.parse(await readFile(file, "utf8"));
  await writeFile(file, JSON.stringify({ ...tokens, access_token: "hx_at_over" }));
  assert.deepEqual(await listed(), { tools: 17, asked: 0 });
  const renewed = JSON.parse(await readFile(file, "utf8"));
  assert.notEqual(renewed.refresh_token, tokens.refresh_token);
  console.log("mcp-remote: registered, connected, refreshed by itself after a 401");
} finally {
  await rm(home, { recursive: true, force: true });
}
