// Makes a version: npm run release -- VERSION. The section of CHANGELOG.md that is not released yet gets that version and
// today's date, package.json and package-lock.json the version. With --open instead it begins the next section. It commits
// nothing: `git diff` shows what it did.

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const title = /^## (\S+) \(([^)]*)\)$/m;

class Refused extends Error {}

function at(name) {
  return join(root, name);
}

function parts(version) {
  const found = /^(\d+)\.(\d+)\.(\d+)$/.exec(version);
  if (found === null) throw new Refused(`${version} is no version; write it as 1.2.3`);
  return found.slice(1).map(Number);
}

function isNewer(version, than) {
  const [one, other] = [parts(version), parts(than)];
  const i = one.findIndex((part, n) => part !== other[n]);
  return i !== -1 && one[i] > other[i];
}

/** Returns the changelog with its newest section released, or with a new section. */
function changed(text, version, isOpening) {
  const [line, newest, state] = title.exec(text) ?? [];
  if (line === undefined) throw new Refused("CHANGELOG.md has no section like: ## 1.2.3 (unreleased)");
  const released = [...text.matchAll(new RegExp(title, "gm"))].filter(([, , one]) => one !== "unreleased");
  const last = released[0]?.[1];
  if (last !== undefined && !isNewer(version, last))
    throw new Refused(`${version} is not newer than ${last}`);
  if (isOpening) {
    if (state === "unreleased")
      throw new Refused(`the section of ${newest} is open already; release it first`);
    return text.replace(line, `## ${version} (unreleased)\n\n${line}`);
  }
  if (state !== "unreleased")
    throw new Refused(`no section is open; begin one: npm run release -- ${version} --open`);
  const section = text.slice(text.indexOf(line) + line.length).split(/^## /m)[0];
  if (!/^- /m.test(section)) throw new Refused(`the section of ${newest} says nothing; write what changed`);
  return text.replace(line, `## ${version} (${new Date().toISOString().slice(0, 10)})`);
}

/** Returns the JSON text with the version in these places. Each must be there. */
function versioned(name, version, places) {
  const value = JSON.parse(readFileSync(at(name), "utf8"));
  for (const path of places) path.reduce((object, key) => object[key], value).version = version;
  return `${JSON.stringify(value, null, 2)}\n`;
}

try {
  const words = process.argv.slice(2);
  const [version, ...more] = words.filter(word => word !== "--open");
  if (version === undefined || more.length > 0)
    throw new Refused("usage: npm run release -- VERSION [--open]");
  parts(version);
  const isOpening = words.includes("--open");
  const texts = new Map([
    ["CHANGELOG.md", changed(readFileSync(at("CHANGELOG.md"), "utf8"), version, isOpening)],
    ["package.json", versioned("package.json", version, [[]])],
    ["package-lock.json", versioned("package-lock.json", version, [[], ["packages", ""]])],
  ]);
  for (const [name, text] of texts) writeFileSync(at(name), text);
  process.stdout.write(`${version}: ${[...texts.keys()].join(", ")}; see git diff, then commit\n`);
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  process.stderr.write(`release: ${error.message}\n`);
  process.exitCode = 1;
}
