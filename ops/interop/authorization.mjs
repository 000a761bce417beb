// The conformance suite's part for authorization servers: metadata and the code grant, with a person in
// between. Every scenario has to pass; a warning is printed and does not count.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { allow } from "./person.mjs";

const PORT = "7313";
const base = process.env.HELIX_URL;
const suite = join(process.env.INTEROP_HOME, "node_modules/@modelcontextprotocol/conformance/dist/index.js");

const registered = await fetch(new URL("/register", base), {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({
    client_name: "conformance",
    redirect_uris: [`http://127.0.0.1:${PORT}/callback`],
    token_endpoint_auth_method: "none",
  }),
});
assert.equal(registered.status, 201);
const { client_id: client } = await registered.json();
const resource = new URL("/workspace/mcp", base).href;
const args = [suite, "authorization", "--url", base, "--client-id", client, "--resource", resource, "--port", PORT];
const run = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
let said = "";
let asked = false;
run.stdout.on("data", (piece) => {
  said += piece;
  const link = said.match(/^https?:\/\/\S+\/authorize\?\S+$/m);
  if (!link || asked) return;
  asked = true;
  allow(link[0])
    .then((back) => fetch(back))
    .catch((error) => {
      console.error(error);
      run.kill();
    });
});
const [code] = await once(run, "exit");
const summary = [...said.matchAll(/^[✓✗] (\S+): (\d+) passed, (\d+) failed/gm)];
assert.equal(code, 0, said);
assert.deepEqual(
  summary.map(([, scenario, passed, failed]) => [scenario, passed > 0, failed]),
  [
    ["authorization-server-metadata-endpoint", true, "0"],
    ["authorization-code-grant", true, "0"],
  ],
  said,
);
console.log("conformance, authorization: metadata and the code grant pass");
