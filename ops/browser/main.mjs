// Every journey, once in each of four ways that together hold every pair of: with and without
// JavaScript, light and dark, on a phone and on a desk.
import { chromium } from "playwright-core";

import * as journeys from "./journeys.mjs";
import { Person } from "./person.mjs";
import { Server } from "./server.mjs";
import { workspace } from "./workspace.mjs";

const WAYS = [
  { scripts: true, colours: "light", width: 1280, keyboard: false },
  { scripts: false, colours: "dark", width: 1280, keyboard: true },
  { scripts: true, colours: "dark", width: 390, keyboard: true },
  { scripts: false, colours: "light", width: 390, keyboard: false },
].map((way) => ({ ...way, name: `${way.scripts ? "scripts" : "plain"}-${way.colours}-${way.width}` }));

const ARGUMENTS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
  // Whatever is asked of another host fails as well as being told.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

async function everything(binary, browser, way, faults) {
  const server = await Server.start(binary);
  try {
    const anew = () => Person.at(browser, server, way, faults);
    const ada = await anew();
    await journeys.firstRun(ada);
    const tide = await journeys.consent(ada);
    const ebb = await journeys.consentSignedOut(ada, anew);
    await journeys.colours(ada);
    await journeys.connections(ada, tide);
    await workspace(ada);
    await journeys.sessions(ada, anew);
    await journeys.open(anew);
    await ada.leave();
    await Promise.all([tide.end(), ebb.end()]);
  } catch (error) {
    console.error(server.printed.replace(/^.* INFO request .*\n/gm, ""));
    throw new Error(`${way.name}: ${error.message}`, { cause: error });
  } finally {
    await server.stop();
  }
}

const [binary, only] = process.argv.slice(2);
const started = performance.now();
const faults = [];
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ARGUMENTS });
try {
  const chosen = WAYS.filter(({ name }) => !only || name === only);
  // Two at a time, each with a server of its own: one waits while the other computes.
  const lanes = [0, 1].map(async (lane) => {
    for (const way of chosen.filter((_, place) => place % 2 === lane)) {
      const before = performance.now();
      await everything(binary, browser, way, faults);
      console.log(`${way.name}: every journey, ${((performance.now() - before) / 1000).toFixed(0)} s`);
    }
  });
  await Promise.all(lanes);
} finally {
  await browser.close();
  for (const fault of new Set(faults)) console.error(fault);
}
console.log(`${new Set(faults).size} faults, ${((performance.now() - started) / 1000).toFixed(0)} s`);
process.exitCode = faults.length === 0 ? 0 : 1;
