// What an owner does in a workspace: a project, a token that is shown once, an invitation.
import assert from "node:assert/strict";

async function text(person) {
  return (await person.page.locator("main").innerText()).replace(/\s+/g, " ");
}

/** Presses what unfolds, and then what it held. */
async function unfold(ada, summary) {
  await ada.press(ada.page.locator("summary", { hasText: summary }).first());
}

export async function workspace(ada) {
  await ada.go("/workspaces");
  await ada.looks("workspaces", "Workspaces");
  await ada.send(ada.page.getByRole("link", { name: "Workspace of Ada" }));
  await ada.looks("workspace-empty", "Workspace of Ada");
  const here = ada.path();
  await unfold(ada, "Create a project");
  await ada.looks("workspace-project");
  await ada.fill("Name", "Tides");
  await ada.send("Create the project");
  assert.match(await ada.page.getByRole("status").first().textContent(), /The project is created/);
  await unfold(ada, "Invite somebody");
  await ada.fill("E-mail address", "ben@harbour.example");
  await ada.send("Make the invitation");
  await ada.looks("invited", "The invitation for ben@harbour.example");
  const link = await ada.page.locator("pre").first().innerText();
  await ada.go(here);
  await unfold(ada, "The whole list");
  await ada.looks("workspace", "Workspace of Ada");
  assert.ok(!(await ada.page.content()).includes(link));
  await tokens(ada, here);
  await briefs(ada, here);
  await ada.go(link);
  await ada.looks("join", "Join a workspace");
}

async function tokens(ada, here) {
  await ada.go(`${here}/tokens`);
  await ada.looks("tokens-empty", "Named tokens");
  await ada.send(ada.page.getByRole("link", { name: "To read and propose" }));
  await ada.fill("Name", "night shift");
  await ada.send("Review it", 400);
  await ada.looks("tokens-fault");
  assert.match(await ada.page.getByRole("alert").textContent(), /which projects/);
  await choose(ada, "Only those ticked here");
  await ada.press(ada.page.getByRole("checkbox", { name: "Tides" }));
  await ada.send("Review it");
  await ada.looks("token-review", "Is this what it should be?");
  assert.match(await text(ada), /night shift .* Tides .* 30 days/);
  await ada.send("Create the token");
  await ada.looks("token-shown", "The new token");
  const token = await ada.page.locator("pre").first().innerText();
  assert.match(token.trim(), /^hx_nt_/);
  const answer = await fetch(new URL("/workspace/mcp", ada.server.url), {
    method: "POST",
    headers: { authorization: `Bearer ${token.trim()}`, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  });
  assert.equal(answer.status, 200);
  assert.equal((await answer.json()).result.tools[0].name, "workspace_get");
  await ada.go(`${here}/tokens`);
  assert.ok(!(await ada.page.content()).includes(token.trim()));
  await unfold(ada, "Revoke");
  await ada.looks("tokens");
  await ada.send("Revoke night shift");
  assert.match(await ada.page.getByRole("status").first().textContent(), /The token is revoked/);
  await ada.looks("tokens-revoked");
}

/** A text that binds, and the review of it: agents would work through its steps. */
async function briefs(ada, here) {
  await ada.go(here);
  await ada.send(ada.page.getByRole("link", { name: "Tides" }));
  await ada.looks("project-empty", "Tides");
  await unfold(ada, "Create a brief");
  await ada.fill("Title", "Moon and tide");
  await ada.send("Create the brief");
  await ada.looks("brief-empty", "Moon and tide");
  await unfold(ada, "Write the text");
  await ada.fill("Text, in Markdown", "## Spring\n\nHigh water.\n\n## Neap\n\nLow water.\n");
  await ada.fill("What is different", "A start.");
  await ada.send("Commit the text");
  await ada.looks("brief", "Moon and tide");
  assert.match(await text(ada), /Version 1 .*High water/);
  await ada.send("Start a review of version 1");
  await ada.looks("review", "Review of Moon and tide");
  assert.match(await text(ada), /Spring open Neap open/);
}

/** A radio button: by keyboard its group is reached with Tab and the arrows choose. */
async function choose(ada, name) {
  const radio = ada.page.getByRole("radio", { name });
  if (!ada.way.keyboard) return radio.click();
  await radio.focus();
  await ada.page.keyboard.press("Space");
}
