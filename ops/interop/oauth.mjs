// Other people's OAuth clients against the built-in issuer: from discovery and registration to a refresh
// and a revocation. Each holds the server to the standards in its own way.
import * as openid from "openid-client";
import * as oauth from "oauth4webapi";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import assert from "node:assert/strict";

import { allow } from "./person.mjs";

const base = new URL(process.env.HELIX_URL);
const redirect = "http://127.0.0.1:7311/back";
const metadata = (name) => ({ client_name: name, redirect_uris: [redirect], token_endpoint_auth_method: "none" });

/** What a tool list at a door answers to a token. */
async function listed(door, token) {
  const answer = await fetch(new URL(door, base), {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  });
  return { status: answer.status, tools: answer.ok ? (await answer.json()).result.tools.length : 0 };
}

async function byOpenidClient() {
  const options = { algorithm: "oauth2", execute: [openid.allowInsecureRequests] };
  const config = await openid.dynamicClientRegistration(base, metadata("openid-client"), openid.None(), options);
  const verifier = openid.randomPKCECodeVerifier();
  const state = openid.randomState();
  const resource = new URL("/workspace/mcp", base).href;
  const link = openid.buildAuthorizationUrl(config, {
    redirect_uri: redirect,
    scope: "brief:read brief:write",
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    resource,
    state,
  });
  const back = await allow(link);
  const checks = { pkceCodeVerifier: verifier, expectedState: state };
  const first = await openid.authorizationCodeGrant(config, back, checks, { resource });
  assert.deepEqual(await listed("/workspace/mcp", first.access_token), { status: 200, tools: 17 });
  assert.equal((await listed("/mcp", first.access_token)).status, 401, "a token opens one door");
  const second = await openid.refreshTokenGrant(config, first.refresh_token, { resource });
  assert.notEqual(second.access_token, first.access_token);
  assert.equal((await listed("/workspace/mcp", second.access_token)).status, 200);
  await assert.rejects(openid.authorizationCodeGrant(config, back, checks, { resource }), /invalid_grant|response/);
  assert.equal((await listed("/workspace/mcp", second.access_token)).status, 401, "a replayed code ends the grant");
  console.log("openid-client: registered, connected, refreshed; a replayed code ends the grant");
}

async function byOauth4webapi() {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const found = await oauth.discoveryRequest(base, { algorithm: "oauth2", ...insecure });
  const as = await oauth.processDiscoveryResponse(base, found);
  const registered = await oauth.dynamicClientRegistrationRequest(as, metadata("oauth4webapi"), insecure);
  const client = await oauth.processDynamicClientRegistrationResponse(registered);
  const verifier = oauth.generateRandomCodeVerifier();
  const link = new URL(as.authorization_endpoint);
  const resource = new URL("/mcp", base).href;
  const asked = {
    client_id: client.client_id,
    redirect_uri: redirect,
    response_type: "code",
    scope: "helix.agent_runs.read helix.agent_runs.write",
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    resource,
    state: oauth.generateRandomState(),
  };
  for (const [name, value] of Object.entries(asked)) link.searchParams.set(name, value);
  const parameters = oauth.validateAuthResponse(as, client, await allow(link), asked.state);
  const auth = oauth.None();
  const more = { ...insecure, additionalParameters: { resource } };
  const exchanged = await oauth.authorizationCodeGrantRequest(as, client, auth, parameters, redirect, verifier, more);
  const first = await oauth.processAuthorizationCodeResponse(as, client, exchanged);
  assert.equal((await listed("/mcp", first.access_token)).status, 200);
  const refreshed = await oauth.refreshTokenGrantRequest(as, client, auth, first.refresh_token, more);
  const second = await oauth.processRefreshTokenResponse(as, client, refreshed);
  assert.equal((await listed("/mcp", second.access_token)).status, 200);
  await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, auth, second.refresh_token, insecure));
  assert.equal((await listed("/mcp", second.access_token)).status, 401, "what is revoked opens nothing");
  console.log("oauth4webapi: discovered, registered, connected, refreshed, revoked");
}

/** What the official client needs of an app: it keeps everything in memory. */
class Provider {
  redirectUrl = redirect;
  clientMetadata = { ...metadata("TypeScript sdk"), grant_types: ["authorization_code", "refresh_token"] };
  clientInformation = () => this.client;
  saveClientInformation = (client) => void (this.client = client);
  tokens = () => this.pair;
  saveTokens = (pair) => void (this.pair = pair);
  redirectToAuthorization = (link) => void (this.link = link);
  saveCodeVerifier = (verifier) => void (this.verifier = verifier);
  codeVerifier = () => this.verifier;
}

async function byOfficialClient() {
  const who = { name: "helix-interop", version: "1.0.0" };
  const provider = new Provider();
  const door = new URL("/workspace/mcp", base);
  const first = new StreamableHTTPClientTransport(door, { authProvider: provider });
  await assert.rejects(new Client(who).connect(first), /[Uu]nauthorized/);
  const back = await allow(provider.link);
  await first.finishAuth(back.searchParams.get("code"));
  const client = new Client(who);
  await client.connect(new StreamableHTTPClientTransport(door, { authProvider: provider }));
  assert.equal((await client.listTools()).tools.length, 17);
  // As if its hour were over: the client is answered 401 and refreshes by itself.
  const before = provider.pair.refresh_token;
  provider.pair = { ...provider.pair, access_token: "hx_at_over" };
  const seen = await client.callTool({ name: "workspace_get", arguments: {} });
  assert.equal(seen.structuredContent.caller.kind, "app");
  assert.notEqual(provider.pair.refresh_token, before);
  await client.close();
  console.log("TypeScript sdk 1.x: registered, connected, refreshed by itself after a 401");
}

await byOpenidClient();
await byOauth4webapi();
await byOfficialClient();
