// What people do, from the first start on. Each journey goes on where the one before it ended.
import assert from "node:assert/strict";

import { App } from "./app.mjs";

const EMAIL = "ada@harbour.example";
const PASSPHRASE = "three tall ships at sea";

async function text(person) {
  return (await person.page.locator("main").innerText()).replace(/\s+/g, " ");
}

/** From the link that the server printed to an account, out and in again. */
export async function firstRun(ada) {
  await ada.go(ada.server.setup);
  await ada.looks("setup", "Set up this server");
  await ada.fill("Your name", "Ada");
  await ada.fill("E-mail address", EMAIL);
  await ada.fill("Passphrase", PASSPHRASE);
  await ada.fill("The passphrase again", "three tall ships at see");
  if (ada.way.scripts) await seesPassphrase(ada);
  await ada.send("Create the account", 400);
  await ada.looks("setup-fault", "Set up this server");
  assert.equal(await ada.page.getByRole("alert").textContent(), "The two passphrases are not the same.");
  assert.equal(await ada.field("Your name").inputValue(), "Ada");
  await ada.fill("Passphrase", PASSPHRASE);
  await ada.fill("The passphrase again", PASSPHRASE);
  await ada.send("Create the account");
  assert.equal(ada.path(), "/");
  await ada.looks("home-empty", "Good to see you, Ada");
  assert.ok((await text(ada)).includes(`${ada.server.url}/mcp`));

  await ada.send("Sign out");
  assert.equal(ada.path(), "/sign-in");
  await ada.looks("sign-in", "Sign in");
  await ada.fill("E-mail address", EMAIL);
  await ada.fill("Passphrase", "three tall ships at see");
  await ada.send("Sign in", 401);
  await ada.looks("sign-in-fault", "Sign in");
  assert.match(await ada.page.getByRole("alert").textContent(), /no account with this address and passphrase/);
  await ada.fill("Passphrase", PASSPHRASE);
  await ada.send("Sign in");
  assert.equal(ada.path(), "/");

  await ada.go(ada.server.setup, 404);
  await ada.looks("link-spent", "This link does not work any more");
  await ada.go("/connections");
  await ada.looks("connections-empty", "Connections");
  assert.match(await text(ada), /No app can act for you/);
}

async function seesPassphrase(ada) {
  const typed = ada.field("Passphrase");
  assert.equal(await ada.page.locator("output").textContent(), "Strong.");
  await ada.press("Show: Passphrase");
  assert.equal(await typed.getAttribute("type"), "text");
  await ada.press("Hide: Passphrase");
  assert.equal(await typed.getAttribute("type"), "password");
}

/** The colours are chosen by hand and remembered; times are those of the reader. */
export async function colours(ada) {
  const { page } = ada;
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await ada.go("/");
  if (!ada.way.scripts) {
    assert.equal(await page.locator("#colours").isVisible(), false);
    return;
  }
  const [own, other] = ada.way.colours === "light" ? ["Light", "Dark"] : ["Dark", "Light"];
  const before = await ground();
  await ada.press(`${other} colours`);
  const chosen = await ground();
  assert.notEqual(chosen, before);
  await ada.go("/connections");
  assert.equal(await ground(), chosen);
  await ada.looks("connections-other-colours");
  await ada.press(`${own} colours`);
  assert.equal(await ground(), before);
  assert.equal(await page.evaluate(() => localStorage.length), 0, "what the system says is not kept");
}

/** An app asks somebody who is signed in: wrong passphrase, deny, allow. */
export async function consent(ada) {
  const tide = await App.register(ada.server, "Tide");
  ada.own.add(tide.origin);
  await ada.go(tide.question());
  await ada.looks("consent", "May this app act for you?");
  await weighs(ada);
  await ada.fill("Passphrase", "three tall ships at see");
  await ada.send("Allow", 401);
  await ada.looks("consent-fault");
  assert.match(await ada.page.getByRole("alert").textContent(), /no account with this address and passphrase/);
  await ada.send("Deny");
  assert.equal(tide.answer().get("error"), "access_denied");

  await ada.go(tide.question());
  const folded = ada.page.locator("summary");
  await ada.press(folded);
  await ada.looks("consent-unfolded");
  for (const box of await ada.page.getByRole("checkbox", { name: "Let runs" }).all()) {
    assert.equal(await box.isChecked(), false);
  }
  for (const box of await ada.page.locator("fieldset").getByRole("checkbox").all()) await ada.press(box);
  await ada.fill("Passphrase", PASSPHRASE);
  await ada.send("Allow", 400);
  assert.match(await ada.page.getByRole("alert").textContent(), /Tick at least one/);
  await ada.looks("consent-nothing-ticked");
  for (const box of await ada.page.locator("fieldset").getByRole("checkbox").all()) await ada.press(box);
  await ada.fill("Passphrase", PASSPHRASE);
  await ada.send("Allow");
  await tide.exchange(tide.answer().get("code"));
  assert.deepEqual(await tide.call(), { status: 200, tools: 1 });

  const stranger = new URL(tide.question());
  stranger.searchParams.set("client_id", "nobody");
  await ada.go(stranger.href, 400);
  await ada.looks("consent-refused", "This app cannot be connected");
  return tide;
}

/** What decides stands in its order, the place of the answer largest, both answers of one weight. */
async function weighs(ada) {
  const order = await ada.page.evaluate(() => {
    const size = (one) => Number.parseFloat(getComputedStyle(one).fontSize);
    const place = document.querySelector(".whither");
    const larger = [...document.querySelectorAll("body *")].filter((one) => one !== place && size(one) >= size(place));
    const marks = [".whither", ".tag", "fieldset", "details", "#expires_days", "#never", "#passphrase", "[value=allow]"];
    const all = [...document.querySelectorAll("*")];
    const [allow, deny] = document.querySelectorAll("button[name=action]");
    const look = (one) => {
      const { width, height } = one.getBoundingClientRect();
      const { color, backgroundColor, fontWeight } = getComputedStyle(one);
      return JSON.stringify([width, height, color, backgroundColor, fontWeight]);
    };
    return {
      larger: larger.map((one) => one.outerHTML.slice(0, 80)),
      places: marks.map((mark) => all.indexOf(document.querySelector(mark))),
      equal: look(allow) === look(deny),
      expiry: document.querySelector("#expires_days").value,
    };
  });
  assert.deepEqual(order.larger, []);
  assert.deepEqual(order.places, order.places.toSorted((a, b) => a - b));
  assert.ok(order.places[0] > 0);
  assert.ok(order.equal, "allow and deny differ in weight");
  assert.equal(order.expiry, "30");
  assert.ok((await text(ada)).startsWith("May this app act for you? an app on this computer"));
}

/** The same for somebody who is not signed in: the form asks who decides, and signs nobody in. */
export async function consentSignedOut(ada, anew) {
  const ebb = await App.register(ada.server, "Ebb");
  const guest = await anew();
  guest.own.add(ebb.origin);
  await guest.go(ebb.question());
  await guest.looks("consent-signed-out", "May this app act for you?");
  await guest.fill("E-mail address", EMAIL);
  await guest.fill("Passphrase", "three tall ships at see");
  await guest.send("Allow", 401);
  await guest.looks("consent-signed-out-fault");
  assert.equal(await guest.field("E-mail address").inputValue(), EMAIL);
  await guest.fill("Passphrase", PASSPHRASE);
  await guest.send("Allow");
  await ebb.exchange(ebb.answer().get("code"));
  assert.deepEqual(await ebb.call(), { status: 200, tools: 1 });
  assert.deepEqual(await guest.context.cookies(), []);
  await guest.go("/");
  assert.equal(guest.path(), "/sign-in");
  await guest.leave();
  return ebb;
}

/** Paused, resumed and revoked; the app learns of each with its next call. */
export async function connections(ada, tide) {
  await ada.go("/");
  await ada.looks("home", "Good to see you, Ada");
  assert.match(await text(ada), /Tide live last used just now/);
  await ada.go("/connections");
  await ada.looks("connections", "Connections");
  await times(ada);
  await ada.send("Pause Tide");
  assert.equal((await tide.call()).status, 403);
  assert.equal(ada.path(), "/connections");
  await ada.looks("connections-paused");
  assert.match(await ada.page.getByRole("status").first().textContent(), /^Tide is paused/);
  await ada.send("Resume Tide");
  assert.equal((await tide.call()).status, 200);
  const card = ada.page.getByRole("group", { name: "Tide" });
  assert.equal(await ada.button("Revoke Tide").isVisible(), false);
  await ada.press(card.locator("summary"));
  await ada.looks("connections-confirm");
  assert.match(await card.innerText(), /at once, also mid-session/);
  await ada.send("Revoke Tide");
  assert.equal((await tide.call()).status, 401);
  await ada.looks("connections-ended");
  assert.match(await text(ada), /Recently ended .* Tide revoked by you/);
}

async function times(ada) {
  const time = ada.page.locator("time:not([data-ago])").first();
  const [said, hover, machine] = await time.evaluate((one) => [one.textContent, one.title, one.dateTime]);
  assert.match(machine, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const utc = /^\d{1,2} [A-Z][a-z]+ \d{4}, \d\d:\d\d UTC$/;
  if (ada.way.scripts) {
    assert.match(hover, utc);
    const there = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "short", timeZone: "Asia/Kathmandu" });
    assert.equal(said, there.format(new Date(machine)));
  } else {
    assert.match(said, utc);
  }
}

/** One browser signs the other out. */
export async function sessions(ada, anew) {
  const second = await anew();
  await second.go("/connections");
  assert.equal(second.path(), "/sign-in");
  await second.fill("E-mail address", EMAIL);
  await second.fill("Passphrase", PASSPHRASE);
  await second.send("Sign in");
  assert.equal(second.path(), "/connections", "signing in leads back to where it was asked for");
  await ada.go("/connections");
  await ada.looks("sessions");
  await ada.send("Sign out Chrome on Linux");
  assert.match(await ada.page.getByRole("status").first().textContent(), /That browser is signed out/);
  await second.go("/connections");
  assert.equal(second.path(), "/sign-in");
  await ada.go("/");
  assert.equal(ada.path(), "/");
  await second.leave();
}

/** What everybody may read. */
export async function open(anew) {
  const reader = await anew();
  await reader.go("/agent-access");
  await reader.looks("agent-access", "Connect an agent");
  // By far the longest, and the same with and without scripts.
  if (reader.way.scripts) {
    await reader.go("/docs");
    await reader.looks("docs", "Operations");
  }
  await reader.go("/errors");
  await reader.looks("errors", "Errors");
  await reader.go("/errors/run_busy");
  await reader.looks("error", "run_busy");
  await reader.go("/errors/nothing", 404);
  await reader.looks("no-error", "No such code");
  await reader.go("/security");
  await reader.looks("security", "Security");
  await reader.leave();
}
