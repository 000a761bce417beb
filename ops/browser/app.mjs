// An app on this computer that wants to act for somebody: registered, with a listener that the browser is
// sent back to, with tokens, and with calls of the MCP door.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

const SCOPES = "helix.agent_runs.read helix.agent_runs.write";

export class App {
  static async register(server, name) {
    const app = new App();
    app.server = server;
    app.name = name;
    app.answers = [];
    app.listener = createServer((request, response) => app.#called(request, response));
    app.listener.listen(0, "127.0.0.1");
    await once(app.listener, "listening");
    app.origin = `http://127.0.0.1:${app.listener.address().port}`;
    const registered = await fetch(`${server.url}/register`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        client_name: name, redirect_uris: [`${app.origin}/back`], token_endpoint_auth_method: "none",
      }),
    });
    assert.equal(registered.status, 201);
    app.id = (await registered.json()).client_id;
    return app;
  }

  #called(request, response) {
    const url = new URL(request.url, this.origin);
    if (url.pathname === "/back") this.answers.push(url.searchParams);
    response.writeHead(url.pathname === "/back" ? 200 : 404, { "Content-Type": "text/html; charset=utf-8" });
    response.end("<!doctype html><html lang=en><title>Back</title><link rel=icon href=data:,><h1>Back in the app</h1>");
  }

  /** Where the app sends a browser to ask. */
  question() {
    this.verifier = randomBytes(32).toString("base64url");
    this.state = randomBytes(8).toString("hex");
    const url = new URL("/authorize", this.server.url);
    url.search = new URLSearchParams({
      response_type: "code",
      client_id: this.id,
      redirect_uri: `${this.origin}/back`,
      scope: SCOPES,
      state: this.state,
      code_challenge: createHash("sha256").update(this.verifier).digest("base64url"),
      code_challenge_method: "S256",
      resource: `${this.server.url}/mcp`,
    });
    return url.href;
  }

  /** What the browser brought back, once. */
  answer() {
    const [answer, ...others] = this.answers.splice(0);
    assert.ok(answer && others.length === 0, `${this.name} was answered ${others.length + (answer ? 1 : 0)} times`);
    assert.equal(answer.get("state"), this.state);
    assert.equal(answer.get("iss"), this.server.url);
    return answer;
  }

  async exchange(code) {
    const answer = await fetch(`${this.server.url}/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "authorization_code", code, redirect_uri: `${this.origin}/back`, client_id: this.id,
        code_verifier: this.verifier,
      }),
    });
    const body = await answer.json();
    assert.equal(answer.status, 200, JSON.stringify(body));
    this.token = body.access_token;
  }

  /** The status and the tools of `tools/list` with the token. */
  async call() {
    const answer = await fetch(`${this.server.url}/mcp`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${this.token}`,
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
    const text = await answer.text();
    return { status: answer.status, tools: (text.match(/"helix_run_start"/g) ?? []).length };
  }

  async end() {
    this.listener.closeAllConnections();
    this.listener.close();
    await once(this.listener, "close");
  }
}
