// A throw-away server that issues its tokens itself, as `helix serve` starts without any setting.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const START_MS = 60_000;

export class Server {
  /** Started, with the address and the one-time link that it printed for a person. */
  static async start(binary) {
    const server = new Server();
    server.place = await mkdtemp(join(tmpdir(), "helix-browser-"));
    // Nothing of the machine's own settings: what is tested is what somebody finds who has none.
    const kept = Object.entries(process.env).filter(([name]) => !/^(HELIX|CASIMIR)_|^TRUST_PROXY$/.test(name));
    const env = {
      ...Object.fromEntries(kept),
      HELIX_DATA_DIR: join(server.place, "data"),
      HELIX_LISTEN: "127.0.0.1:0",
      HELIX_METRICS_LISTEN: "off",
      // Suites ask more than a person does.
      HELIX_AGENT_IP_RATE_LIMIT: "0",
      HELIX_MCP_IP_RATE_LIMIT: "0",
    };
    server.child = spawn(binary, ["serve"], { cwd: server.place, env, stdio: ["ignore", "pipe", "pipe"] });
    server.printed = "";
    try {
      await server.ready();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  async ready() {
    const told = new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no start within ${START_MS} ms:\n${this.printed}`)), START_MS);
      const read = (chunk) => {
        this.printed += chunk;
        if (/^Stop /m.test(this.printed)) resolve(clearTimeout(late));
      };
      this.child.stdout.on("data", read);
      this.child.stderr.on("data", read);
      this.child.on("exit", (code) => reject(new Error(`the server ended with ${code}:\n${this.printed}`)));
    });
    await told;
    this.url = /^URL +(\S+)/m.exec(this.printed)[1];
    this.setup = /^Setup +(\S+)/m.exec(this.printed)[1];
  }

  async stop() {
    if (this.child.exitCode === null) {
      const ended = once(this.child, "exit");
      this.child.kill("SIGTERM");
      await ended;
    }
    await rm(this.place, { recursive: true, force: true });
  }
}
