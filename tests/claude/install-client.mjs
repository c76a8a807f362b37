// The real Claude Code client, one pinned version, kept in a cache folder outside the repository and shared by all
// runs of one user. It is no dependency of Kite: whoever asks for it first installs it.
import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { promisify } from "node:util";

const versions = new URL("../../hooks/claude-code/client-versions.json", import.meta.url);

/** Named in full: on Node 20 npm would choose the last version that declares Node 18. */
export const clientVersion = JSON.parse(readFileSync(versions, "utf8")).tested;

const name = "@anthropic-ai/claude-code";
const installMs = 600_000;
const versionMs = 60_000;
const run = promisify(execFile);

/** Why there is no client to test with: no network, no binary for this platform, no space. */
export class NoClient extends Error {}

/** The path of the client's program. Throws `NoClient` where it cannot be installed. */
export async function installClient() {
  const cache = cacheFolder();
  const home = join(cache, `claude-${clientVersion}`);
  if (!existsSync(home)) await install(cache, home);
  const program = programIn(home);
  if (program === null) throw new NoClient(`no binary for ${process.platform} ${process.arch} in ${home}`);
  const said = await versionOf(program);
  if (!said.startsWith(clientVersion)) throw new NoClient(`${program} is ${said}; remove ${home}`);
  return program;
}

function cacheFolder() {
  const { XDG_CACHE_HOME: said } = process.env;
  const caches = said !== undefined && isAbsolute(said) ? said : join(homedir(), ".cache");
  return join(caches, "kite-tests");
}

/**
 * Into a folder of its own, which then takes its name in one step: a run that is killed leaves nothing half done
 * under that name, and of two runs at once the slower one uses what the faster one installed. No script of the
 * package is run: they only copy the binary to where a shell finds it.
 */
async function install(cache, home) {
  process.stderr.write(`installing ${name}@${clientVersion} into ${home}\n`);
  mkdirSync(cache, { recursive: true });
  removeAbandoned(cache);
  const fresh = mkdtempSync(join(cache, "installing-"));
  const flags = [
    "--ignore-scripts",
    "--no-save",
    "--no-package-lock",
    "--no-audit",
    "--no-fund",
    "--fetch-retries=1",
  ];
  try {
    const args = ["install", "--prefix", fresh, ...flags, "--loglevel=error", `${name}@${clientVersion}`];
    await run("npm", args, { cwd: fresh, timeout: installMs });
    renameSync(fresh, home);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(home)) throw new NoClient(`npm could not install it: ${firstLines(error)}`);
  }
}

/** What runs left that were killed while they installed; one that still does is younger. */
function removeAbandoned(cache) {
  for (const folder of readdirSync(cache)) {
    const path = join(cache, folder);
    const ageMs = Date.now() - (statSync(path, { throwIfNoEntry: false })?.birthtimeMs ?? Date.now());
    if (folder.startsWith("installing-") && ageMs > installMs * 2)
      rmSync(path, { recursive: true, force: true });
  }
}

/** One package a platform; npm takes the one that fits this machine. */
function programIn(home) {
  const scope = join(home, "node_modules", "@anthropic-ai");
  if (!existsSync(scope)) return null;
  const programs = readdirSync(scope).map(folder => join(scope, folder, "claude"));
  return programs.find(existsSync) ?? null;
}

async function versionOf(program) {
  try {
    const { stdout } = await run(program, ["--version"], {
      env: { PATH: process.env.PATH },
      timeout: versionMs,
    });
    return stdout.trim();
  } catch (error) {
    throw new NoClient(`${program} does not run: ${firstLines(error)}`);
  }
}

function firstLines(error) {
  return String(error.stderr || error.message)
    .trim()
    .split("\n")
    .slice(0, 3)
    .join(" ");
}
