// The official conformance suite, both requirement sets, judged check by check.
//
// Helix serves tools of its own and no resources, prompts, completions, tasks or elicitation, so the
// checks that need a fixture server's tools cannot pass. Which those are, and why, is written in
// conformance-not-applicable.json. Anything else that fails is a fault, and so is a listed check that
// has begun to pass or is no longer run.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const REVISIONS = ["2025-11-25", "2026-07-28"];
const [url] = process.argv.slice(2);
const here = import.meta.dirname;
const suite = join(process.env.INTEROP_HOME, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const listed = JSON.parse(readFileSync(join(here, "conformance-not-applicable.json"), "utf8"));

function reports(folder) {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.name === "checks.json").map((entry) => join(entry.parentPath, entry.name));
}

// "server-ping-2026-12-01T01-23-21-181Z/checks.json" → "ping"
function scenario(path) {
  return path.split("/").at(-2).replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "");
}

let faults = 0;
for (const revision of REVISIONS) {
  const folder = mkdtempSync(join(tmpdir(), "conformance-"));
  spawnSync(process.execPath, [suite, "server", "--url", url, "--requirements", revision, "-o", folder], { stdio: "ignore" });
  const excused = new Map(Object.entries(listed[revision]));
  let passed = 0;
  let excusedCount = 0;
  for (const path of reports(folder)) {
    for (const check of JSON.parse(readFileSync(path, "utf8"))) {
      const name = `${scenario(path)}/${check.id}`;
      if (check.status === "FAILURE" && excused.delete(name)) excusedCount += 1;
      else if (check.status === "FAILURE") {
        faults += 1;
        console.error(`${revision} FAILED ${name}: ${check.errorMessage}`);
      } else passed += 1;
    }
  }
  for (const name of excused.keys()) {
    faults += 1;
    console.error(`${revision} STALE ${name} is listed as not applicable, yet did not fail`);
  }
  if (passed === 0) {
    faults += 1;
    console.error(`${revision} NOTHING RAN`);
  }
  console.log(`conformance ${revision}: ${passed} checks passed, ${excusedCount} do not apply`);
  rmSync(folder, { recursive: true });
}
process.exit(faults === 0 ? 0 : 1);
