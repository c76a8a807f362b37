// Real clients, one pinned version of each, kept in a cache folder outside the repository and shared by all runs of one
// user. They are no dependencies of Kite: whoever asks for one first installs it.
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

const testedVersion = client => {
  const versions = new URL(`../../hooks/${client}/client-versions.json`, import.meta.url);
  return JSON.parse(readFileSync(versions, "utf8")).tested;
};

/** Named in full: on Node 20 npm would choose the last version that declares Node 18. */
export const clientVersion = testedVersion("claude-code");
export const codexVersion = testedVersion("codex");
export const copilotVersion = testedVersion("copilot");
export const geminiVersion = testedVersion("gemini");
export const opencodeVersion = testedVersion("opencode");

const installMs = 600_000;
const versionMs = 60_000;
const run = promisify(execFile);

/** Why there is no client to test with: no network, no binary for this platform, no space. */
export class NoClient extends Error {}

/** The path of Claude Code's program. Throws `NoClient` where it cannot be installed. */
export function installClient() {
  return installed({
    folder: `claude-${clientVersion}`,
    name: `@anthropic-ai/claude-code@${clientVersion}`,
    // One package a platform; npm takes the one that fits this machine.
    programs: home => inScope(home, "@anthropic-ai", package_ => [join(package_, "claude")]),
    says: clientVersion,
  });
}

/** The path of Codex's program, as Claude Code's. */
export function installCodex() {
  const inTarget = target => [join(target, "bin", "codex"), join(target, "codex", "codex")];
  return installed({
    folder: `codex-${codexVersion}`,
    name: `@openai/codex@${codexVersion}`,
    programs: home => inScope(home, "@openai", package_ => below(join(package_, "vendor")).flatMap(inTarget)),
    says: codexVersion,
  });
}

/** The path of Copilot's program, which unpacks itself at its first start; that is done then. */
export function installCopilot() {
  return installed({
    folder: `copilot-${copilotVersion}`,
    name: `@github/copilot@${copilotVersion}`,
    programs: home => inScope(home, "@github", package_ => [join(package_, "copilot")]),
    says: copilotVersion,
  });
}

/** The path of Gemini CLI's script for Node. */
export function installGemini() {
  return installed({
    folder: `gemini-${geminiVersion}`,
    name: `@google/gemini-cli@${geminiVersion}`,
    programs: home => [join(home, "node_modules/@google/gemini-cli/bundle/gemini.js")],
    says: geminiVersion,
  });
}

/** The path of OpenCode's program, as Claude Code's. */
export function installOpenCode() {
  return installed({
    folder: `opencode-${opencodeVersion}`,
    name: `opencode-ai@${opencodeVersion}`,
    programs: home => below(join(home, "node_modules")).map(package_ => join(package_, "bin", "opencode")),
    says: opencodeVersion,
  });
}

async function installed({ folder, name, programs, says }) {
  const cache = cacheFolder();
  const home = join(cache, folder);
  if (!existsSync(home)) await install(cache, home, name);
  const program = programs(home).find(existsSync);
  if (program === undefined)
    throw new NoClient(`no binary for ${process.platform} ${process.arch} in ${home}`);
  const said = await versionOf(program, home);
  if (!said.includes(says)) throw new NoClient(`${program} is ${said}; remove ${home}`);
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
async function install(cache, home, name) {
  process.stderr.write(`installing ${name} into ${home}\n`);
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
    const args = ["install", "--prefix", fresh, ...flags, "--loglevel=error", name];
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

function inScope(home, scope, programsIn) {
  return below(join(home, "node_modules", scope)).flatMap(programsIn);
}

/** The paths in a folder; none if it is not there. */
function below(folder) {
  return existsSync(folder) ? readdirSync(folder).map(name => join(folder, name)) : [];
}

/** Its home is the folder that it lies in: nothing of it comes into the person's own. */
async function versionOf(program, home) {
  try {
    const { stdout } = await run(program, ["--version"], {
      env: { PATH: process.env.PATH, HOME: home },
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
