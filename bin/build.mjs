// Installs packages and bundles programs if they are missing or out of date. A lock keeps other builds out meanwhile.
//
// A build never swaps `dist` as a whole, because a running kite may load one of its chunks any time. Chunks carry the
// hash of their content in their names; the build adds them beside old ones, then replaces each program by a rename.
// It keeps unused files for another day. The daemon, the hook and what runs frequent commands are one file each.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { bundleInto } from "./bundle.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
const stamp = join(dist, ".built");
const lock = join(dist, ".lock");
const sources = ["protocol", "daemon", "client", "hooks", "bin", "package.json", "package-lock.json"];
const keepStaleMs = 86_400_000;
const waitForOtherMs = 600_000;

class Failed extends Error {}

function say(text) {
  process.stderr.write(`kite: ${text}\n`);
}

function at(name) {
  return join(root, name);
}

/** Returns when a file or folder changed, in milliseconds; 0 if it does not exist. */
function changedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Returns the latest change of these files and folders and their contents, in milliseconds. */
function newest(paths) {
  let latest = 0;
  for (const path of paths) {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    const inside = stat.isDirectory() ? newest(readdirSync(path).map(name => join(path, name))) : 0;
    latest = Math.max(latest, stat.mtimeMs, inside);
  }
  return latest;
}

function isBuilt() {
  return existsSync(stamp) && newest(sources.map(at)) <= changedAt(stamp);
}

function isInstalled() {
  return (
    changedAt(join(root, "node_modules/.package-lock.json")) >= changedAt(join(root, "package-lock.json"))
  );
}

/** Runs `work` while it holds the lock that every build of this folder takes. */
async function alone(work) {
  // The lock is a folder that holds its owner's name: one rename creates both, or fails if a lock exists.
  const owner = `${process.pid}.${randomUUID()}@${hostname()}`;
  const mine = join(dist, `.lock.${owner}`);
  mkdirSync(join(mine, owner), { recursive: true });
  try {
    await take(mine);
    try {
      await work();
    } finally {
      renameSync(lock, mine);
    }
  } finally {
    rmSync(mine, { recursive: true, force: true });
  }
}

async function take(mine) {
  const deadline = performance.now() + waitForOtherMs;
  // Polls, because a killed process announces nothing.
  for (let told = false; !placed(mine, lock); await delay(100)) {
    const owner = ownerOf(lock);
    if (owner === null) continue;
    if (hasEnded(owner)) {
      // Two builds that find the same dead owner rename to the same name: only the first succeeds, so neither removes
      // a live lock. The renamed folder stays for a day.
      const ended = join(dist, `.ended.${owner}`);
      if (!placed(lock, ended)) continue;
      utimesSync(ended, new Date(), new Date());
      say("an earlier build did not finish; building again");
      continue;
    }
    if (!told) say(`another build is running (process ${owner.split(".")[0]}); waiting for it...`);
    told = true;
    if (performance.now() > deadline) {
      throw new Failed(
        `another build does not end; if no process ${owner.split("@")[0]} runs, remove ${lock}`,
      );
    }
  }
}

/** Renames a folder to a free name; returns false if the name is taken, or the folder has gone. */
function placed(from, to) {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (["ENOTEMPTY", "EEXIST"].includes(error.code)) return false;
    if (error.code === "ENOENT" && from === lock) return false;
    throw error;
  }
}

function ownerOf(folder) {
  try {
    return readdirSync(folder)[0] ?? null;
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}

function hasEnded(owner) {
  if (!owner.endsWith(`@${hostname()}`)) return false;
  try {
    process.kill(Number.parseInt(owner, 10), 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}

async function install() {
  say("installing its packages (once)...");
  const flags = ["--include=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const child = spawn("npm", ["ci", ...flags], { cwd: root, stdio: ["ignore", 2, 2] });
  await new Promise((resolve, reject) => {
    child.on("error", error => reject(new Failed(`cannot run npm (${error.code}); it comes with Node`)));
    child.on("exit", (code, signal) => {
      if (code === 0) resolve();
      else reject(new Failed(`npm ci failed (${signal ?? code}); see above, then run kite again`));
    });
  });
  const now = new Date();
  utimesSync(join(root, "node_modules/.package-lock.json"), now, now);
}

async function bundle() {
  const began = performance.now();
  const fresh = join(dist, ".fresh");
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh);
  // The stamp is made before any source is read, with the same clock: a source changed during the build is newer.
  writeFileSync(join(fresh, ".built"), "");
  // A source from the future (clocks differ) must not stay newer for ever. Rounded up, because file times are coarse.
  const begunAt = Math.ceil(Math.max(changedAt(join(fresh, ".built")), newest(sources.map(at)))) + 1;

  writeFileSync(join(fresh, ".built"), JSON.stringify(await bundleInto(fresh), null, 2));
  utimesSync(join(fresh, ".built"), begunAt / 1000, begunAt / 1000);
  publish(fresh);
  say(`built in ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

/** Writes chunks, then programs, then `kite` that loads them, then the stamp; then removes files unused for a day. */
function publish(fresh) {
  const names = readdirSync(fresh).filter(name => name !== ".built");
  const before = existsSync(stamp) ? Object.keys(JSON.parse(readFileSync(stamp, "utf8"))) : [];
  const rank = name =>
    name === "kite.cjs" ? 2 : /^(?:frequent-|any-command\.|daemon\.|hook\.)/.test(name) ? 1 : 0;
  for (const name of names.sort((a, b) => rank(a) - rank(b))) renameSync(join(fresh, name), join(dist, name));
  renameSync(join(fresh, ".built"), stamp);
  const now = new Date();
  const stale = readdirSync(dist).filter(name => ![...names, ".built", ".lock"].includes(name));
  for (const name of stale) {
    const path = join(dist, name);
    if (before.includes(name)) utimesSync(path, now, now);
    else if (now.getTime() - changedAt(path) > keepStaleMs) rmSync(path, { recursive: true, force: true });
  }
  rmSync(fresh, { recursive: true, force: true });
}

async function main() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new Failed(`needs Node 20.19 or newer, but this is ${process.versions.node}; install a newer Node`);
  }
  if (isInstalled() && isBuilt()) return;
  try {
    mkdirSync(dist, { recursive: true });
    await alone(async () => {
      if (!isInstalled()) await install();
      if (!isBuilt()) await bundle();
    });
  } catch (error) {
    if (!["EACCES", "EROFS", "EPERM"].includes(error.code)) throw error;
    throw new Failed(`cannot build: ${error.message}; run it once as the owner of ${root}`);
  }
}

try {
  await main();
} catch (error) {
  // esbuild has already printed its own errors.
  if (error instanceof Failed || Array.isArray(error.errors)) say(`not built: ${error.message}`);
  else console.error(error);
  process.exitCode = 1;
}
