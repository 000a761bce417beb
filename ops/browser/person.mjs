// Somebody at a browser: goes somewhere, fills in, presses, and looks at the page, all by mouse or all by
// keyboard. Whatever is wrong with a page is collected, so that one run tells everything.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { WIDTHS, focus, moving, targets, wider } from "./checks.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** Places that the keyboard visits on one page. */
const MOST_STOPS = 60;
/** Of a taller page the picture shows the start: nobody looks through more. */
const TALLEST = 8_000;

export class Person {
  /** In a browser of their own. `apps` are the origins of apps, to which browsers are sent back. */
  static async at(browser, server, way, faults) {
    const person = new Person();
    Object.assign(person, { server, way, faults, own: new Set([server.url]), expected: 200 });
    person.context = await browser.newContext({
      javaScriptEnabled: way.scripts,
      colorScheme: way.colours,
      reducedMotion: "reduce",
      viewport: { width: way.width, height: 800 },
      locale: "en-GB",
      timezoneId: "Asia/Kathmandu",
    });
    person.page = await person.context.newPage();
    person.page.setDefaultTimeout(10_000);
    await person.#listen();
    return person;
  }

  async #listen() {
    const { page } = this;
    page.on("console", (message) => {
      // The status of a page that was asked for is the journey's business.
      if (message.type() !== "error" || /Failed to load resource.*status of 4\d\d/.test(message.text())) return;
      this.fault(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => this.fault(`script: ${error.message}`));
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (url.protocol !== "data:" && !this.own.has(url.origin)) this.fault(`asks another host: ${url.href}`);
    });
    page.on("response", (response) => {
      const request = response.request();
      if (!request.isNavigationRequest() && response.status() >= 400) this.fault(`${response.status()} for ${response.url()}`);
    });
    // Chromium reports these where no script runs too.
    const session = await this.context.newCDPSession(page);
    session.on("Audits.issueAdded", ({ issue }) => this.fault(`${issue.code}: ${JSON.stringify(issue.details)}`));
    await session.send("Audits.enable");
  }

  fault(text) {
    this.faults.push(`${this.way.name}, ${this.place ?? "start"}: ${text}`);
  }

  async go(path, status = 200) {
    const response = await this.page.goto(new URL(path, this.server.url).href);
    assert.equal(response.status(), status, `${path} answers ${response.status()}`);
  }

  /** The page that is open, by the path of its address. */
  path() {
    return new URL(this.page.url()).pathname;
  }

  field(label) {
    return this.page.getByLabel(label, { exact: true });
  }

  button(name) {
    return this.page.getByRole("button", { name, exact: true });
  }

  async fill(label, text) {
    const field = this.field(label);
    if (!this.way.keyboard) return field.fill(text);
    await this.#reach(field);
    await this.page.keyboard.press("Control+A");
    await this.page.keyboard.type(text);
  }

  /** Presses what leads to another page, and waits for that. */
  async send(target, status = 200) {
    const arrives = this.page.waitForResponse(
      (response) => response.request().isNavigationRequest() && (response.status() < 300 || response.status() >= 400),
    );
    const turned = this.page.waitForEvent("framenavigated", (frame) => frame === this.page.mainFrame());
    const [response] = await Promise.all([arrives, turned, this.press(target)]);
    await this.page.waitForLoadState("load");
    assert.equal(response.status(), status, `${response.url()} answers ${response.status()}`);
  }

  async press(target) {
    const found = typeof target === "string" ? this.button(target) : target;
    if (!this.way.keyboard) return found.click();
    await this.#reach(found);
    const box = await found.evaluate((one) => one.type === "checkbox");
    await this.page.keyboard.press(box ? "Space" : "Enter");
  }

  /** Tabs on until the focus is there. */
  async #reach(target) {
    const there = () => target.evaluate((one) => one === document.activeElement);
    for (let stops = 0; stops < 2 * MOST_STOPS; stops += 1) {
      if (await there()) return;
      await this.page.keyboard.press("Tab");
    }
    throw new Error(`the keyboard does not reach ${target} at ${this.page.url()}`);
  }

  /** Holds the open page against everything, and keeps a picture of it. */
  async looks(name, heading) {
    const { page, way } = this;
    this.place = name;
    if (heading) assert.equal((await page.locator("h1").textContent()).trim(), heading);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      for (const fault of await page.evaluate(wider)) this.fault(`at ${width} px: ${fault}`);
      for (const fault of await page.evaluate(targets)) this.fault(`at ${width} px: ${fault}`);
    }
    await page.setViewportSize({ width: way.width, height: 800 });
    for (const fault of await page.evaluate(moving)) this.fault(fault);
    await this.#axe();
    if (process.env.SHOTS) {
      const height = await page.evaluate(() => document.documentElement.scrollHeight);
      const path = join(process.env.SHOTS, `${name}-${way.name}.png`);
      await page.screenshot({ path, fullPage: height < TALLEST });
    }
    await this.#walk();
  }

  async #axe() {
    const page = this.way.scripts ? this.page : await this.#copy();
    await page.evaluate(AXE);
    const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
    for (const { id, nodes } of found.violations) {
      for (const node of nodes) this.fault(`axe ${id}: ${node.html.slice(0, 160)} ${node.failureSummary}`);
    }
  }

  /** The page as it stands, where axe can run: with scripts, but without the page's own. */
  async #copy() {
    if (!this.examined) {
      const context = await this.page.context().browser().newContext({
        colorScheme: this.way.colours, reducedMotion: "reduce", viewport: this.page.viewportSize(),
      });
      this.examined = await context.newPage();
      await this.examined.route("**/*", (route) => {
        const kind = route.request().resourceType();
        if (kind === "document") return route.fulfill({ contentType: "text/html; charset=utf-8", body: this.copied });
        return kind === "script" ? route.fulfill({ contentType: "text/javascript", body: "" }) : route.continue();
      });
    }
    this.copied = await this.page.content();
    await this.examined.goto(this.page.url());
    return this.examined;
  }

  /** Tabs through the page once; the focus must be seen at every stop. */
  async #walk() {
    const { page } = this;
    await page.evaluate(() => document.activeElement?.blur());
    const seen = new Set();
    for (let stops = 0; stops < MOST_STOPS; stops += 1) {
      await page.keyboard.press("Tab");
      const stop = await page.evaluate(focus);
      if (!stop || seen.has(stop.index)) break;
      seen.add(stop.index);
      for (const fault of stop.faults) this.fault(`with the focus on it, ${stop.what} ${fault}`);
    }
    if (seen.size < 3) this.fault(`the keyboard reaches ${seen.size} places`);
    await page.evaluate(() => document.activeElement?.blur());
  }

  async leave() {
    await this.examined?.context().close();
    await this.context.close();
  }
}
