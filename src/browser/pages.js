// What pages gain where scripts run: a switch between light and dark, times of the reader's own zone,
// passphrases that can be looked at, addresses that can be copied.
//
// What must stay true: nothing depends on it; it asks no server anything; it keeps one word in the
// browser, the chosen colours. It runs before the page is shown, so that the colours never jump.
"use strict";

const STORED = "helix-colours";
const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");

/** What was chosen here before; nothing where the browser keeps nothing. */
function chosen() {
  try {
    const word = localStorage.getItem(STORED);
    return word === "light" || word === "dark" ? word : null;
  } catch {
    return null;
  }
}

/** Keeps the choice, or forgets it when it is what the system says anyway. */
function choose(word) {
  const own = dark.matches ? "dark" : "light";
  try {
    if (word === own) localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, word);
  } catch {
    // Then it lasts until the next page.
  }
  colour(word === own ? null : word);
}

function colour(word) {
  if (word) root.dataset.colours = word;
  else delete root.dataset.colours;
}

colour(chosen());
root.dataset.scripts = "on";

function element(name, attributes, text) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function switchColours() {
  const button = document.getElementById("colours");
  const shown = () => root.dataset.colours ?? (dark.matches ? "dark" : "light");
  const other = () => (shown() === "dark" ? "light" : "dark");
  const name = () => {
    button.textContent = other() === "dark" ? "Dark" : "Light";
    button.setAttribute("aria-label", `${button.textContent} colours`);
  };
  button.addEventListener("click", () => {
    choose(other());
    name();
  });
  dark.addEventListener("change", name);
  name();
  button.hidden = false;
}

/** Times in the reader's zone, UTC on hover. Their language stays that of the page. */
function tellLocalTimes() {
  const locale = navigator.languages.find((language) => language.startsWith("en")) ?? "en-GB";
  const format = new Intl.DateTimeFormat(locale, { dateStyle: "long", timeStyle: "short" });
  for (const time of document.querySelectorAll("time[datetime]")) {
    const local = format.format(new Date(time.dateTime));
    if ("ago" in time.dataset) {
      time.title = `${local} (${time.title})`;
    } else {
      time.title = time.textContent;
      time.textContent = local;
    }
  }
}

function letPassphrasesBeSeen() {
  for (const input of document.querySelectorAll("input[type=password]")) {
    const label = input.labels[0].textContent;
    const button = element("button", { type: "button", class: "plain", "aria-pressed": "false" }, "Show");
    button.setAttribute("aria-label", `Show: ${label}`);
    button.addEventListener("click", () => {
      const seen = input.type === "password";
      input.type = seen ? "text" : "password";
      button.setAttribute("aria-pressed", String(seen));
      button.textContent = seen ? "Hide" : "Show";
      button.setAttribute("aria-label", `${button.textContent}: ${label}`);
    });
    // No browser keeps what was typed as if it were ordinary text.
    input.form.addEventListener("submit", () => { input.type = "password"; });
    input.after(button);
  }
}

/** A rough word for how hard a passphrase is to guess; the server judges its length alone. */
function strength(text) {
  const length = [...text].length;
  if (length === 0) return ["", ""];
  if (length < 10) return ["bad", `${length} of at least 10 characters.`];
  const words = new Set(text.toLowerCase().split(/[\s\-_.,]+/).filter((word) => word.length > 2)).size;
  const different = new Set(text.toLowerCase()).size;
  if (different < 6) return ["bad", "Weak: the same few characters again and again."];
  if (words >= 4 || (length >= 16 && different >= 11)) return ["good", "Strong."];
  return ["", "Fair. One or two more unrelated words make it strong."];
}

function judgePassphrases() {
  for (const output of document.querySelectorAll("output[data-strength-of]")) {
    const input = document.getElementById(output.dataset.strengthOf);
    input.addEventListener("input", () => {
      const [look, words] = strength(input.value);
      output.className = `strength ${look}`;
      output.textContent = words;
    });
  }
}

function offerCopies() {
  // Only secure origins have a clipboard, this computer's own among them.
  if (!navigator.clipboard) return;
  for (const text of document.querySelectorAll("pre[data-copy]")) {
    const button = element("button", { type: "button", class: "plain copy" }, "Copy");
    button.setAttribute("aria-label", `Copy: ${text.dataset.copy}`);
    const told = element("span", { class: "soft", role: "status" }, "");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text.textContent);
        told.textContent = "Copied.";
      } catch {
        told.textContent = "The browser did not allow it.";
      }
    });
    const row = element("div", { class: "copied" }, "");
    text.replaceWith(row);
    row.append(text, button, told);
  }
}

/** A result that stood in the page from the start is read out once it is put there again. */
function tellResults() {
  for (const status of document.querySelectorAll(".notice[role=status]")) {
    const text = status.textContent;
    status.textContent = "";
    requestAnimationFrame(() => { status.textContent = text; });
  }
}

document.addEventListener("DOMContentLoaded", () => {
  switchColours();
  tellLocalTimes();
  letPassphrasesBeSeen();
  judgePassphrases();
  offerCopies();
  tellResults();
});
