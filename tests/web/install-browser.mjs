// A browser for the tests of the page: the one that is there, else the system's package, where this user may install it.
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const installMs = 600_000;

/** Why there is no browser to test with. */
export class NoBrowser extends Error {}

/** The browser's program and its version. Throws `NoBrowser` where there is none and none can be installed. */
export async function installBrowser() {
  const found = await there();
  if (found !== null) return found;
  try {
    console.log("installing chromium (once)...");
    const options = { timeout: installMs, env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
    await run("apt-get", ["update"], options);
    await run("apt-get", ["install", "-y", "--no-install-recommends", "chromium"], options);
  } catch (error) {
    throw new NoBrowser(`no chromium is here, and apt-get installed none: ${error.message.split("\n")[0]}`);
  }
  const installed = await there();
  if (installed === null) throw new NoBrowser("apt-get installed no chromium that starts");
  return installed;
}

async function there() {
  const named = process.env.KITE_TEST_BROWSER;
  for (const program of named === undefined ? names : [named]) {
    try {
      const { stdout } = await run(program, ["--version"], { timeout: 60_000 });
      return { program: await pathOf(program), version: stdout.trim() };
    } catch {
      // Not this one: the next, or none.
    }
  }
  return null;
}

async function pathOf(program) {
  if (program.includes("/")) return program;
  return (await run("sh", ["-c", 'command -v "$0"', program])).stdout.trim();
}
