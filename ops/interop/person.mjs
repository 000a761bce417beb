// The person at the consent page: signs in, allows what an app asks for, and says where the browser is sent.
import assert from "node:assert/strict";

const { HELIX_URL: url, PERSON_EMAIL: email, PERSON_PASSPHRASE: passphrase } = process.env;

function hidden(page, name) {
  const found = page.match(new RegExp(`name="${name}" value="([^"]*)"`));
  assert.ok(found, `the consent page has no ${name}`);
  return found[1];
}

async function form(path, fields, cookie) {
  return fetch(new URL(path, url), {
    method: "POST",
    redirect: "manual",
    headers: { origin: url, cookie: cookie ?? "", "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(fields),
  });
}

/** Follows an app's link to the consent page; the address that the code is sent to. */
export async function allow(link) {
  const signedIn = await form("/sign-in", [["email", email], ["passphrase", passphrase]]);
  assert.equal(signedIn.status, 303, "the owner signs in");
  const cookie = signedIn.headers.get("set-cookie").split(";")[0];
  const asked = await fetch(link, { headers: { cookie } });
  const page = await asked.text();
  assert.equal(asked.status, 200, page);
  const fields = [
    ["oauthreq", hidden(page, "oauthreq")],
    ["passphrase", passphrase],
    ["expires_days", "1"],
    ["keep_existing", "1"],
    ["action", "allow"],
  ];
  for (const [, scope] of page.matchAll(/name="scopes" value="([^"]*)" checked/g)) fields.push(["scopes", scope]);
  if (page.includes('name="workspace_id"')) {
    fields.push(["workspace_id", hidden(page, "workspace_id")], ["reach", "all"]);
  }
  const answered = await form("/authorize", fields, cookie);
  assert.equal(answered.status, 303, await answered.text());
  return new URL(answered.headers.get("location"));
}
