/** Says which versions of the client Kite is tested with, and how the installed one relates to them. */

import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { findProgram } from "../../daemon/facts/programs.ts";
import versions from "../../hooks/claude-code/client-versions.json" with { type: "json" };
import { groupsFor, type HookEntry } from "../../hooks/claude-code/settings/entries.ts";
import {
  enabledPlugin,
  hasTools,
  placesWithTools,
  projectRoot,
  projectSettings,
  settingsAt,
  userSettings,
} from "../../hooks/claude-code/settings/files.ts";
import { clientProgram } from "../../hooks/claude-code/spawn.ts";
import versionsCodex from "../../hooks/codex/client-versions.json" with { type: "json" };
import { clientName, codexHome, hasHooks, hooksFile, hooksOf } from "../../hooks/install/codex.ts";
import { InstallFailed, linkTarget, readText, replaceText } from "../../hooks/install/file.ts";
import { type ClientFile, previewHooksFile } from "../../hooks/install/hooks-file.ts";
import { isOurs } from "../../hooks/install/hooks-text.ts";
import { member, parseObject, remove } from "../../hooks/install/json-text.ts";
import {
  asksKite,
  keptFile,
  preCommitFile,
  preCommitLine,
  preCommitPrograms,
  preCommitState,
} from "../../hooks/install/pre-commit.ts";
import { mcpPath, programPaths } from "../../hooks/install/program.ts";
import { installsOf } from "../../hooks/install/records.ts";
import { isSystemError, jsonProblem } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { shellArgument } from "../../protocol/text.ts";
import { isObject } from "../../protocol/wire.ts";
import type { ClientHere } from "../context/clients-here.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { programOnPath } from "../context/programs.ts";
import { defined } from "../entry.ts";
import { isOlder } from "../version.ts";
import { counted, listed } from "../view/text.ts";
import {
  emptied,
  type FoundHook,
  hooksIn,
  installLine as hooksInstallLine,
  installAgain,
  optionsOf,
  readSettings,
  textForClient,
  type Unreadable,
  unfit,
} from "./hooks.ts";
import { adviseInstall, damaged, oddFile } from "./odd-files.ts";
import { type Advice, advise, aside, type Check, fail, ok, warn } from "./results.ts";

const check = "client";
const run = promisify(execFile);

/** Which versions of the client Kite supports: from `oldest` on; all tests run with `tested`. */
interface ClientVersions {
  readonly tested: string;
  readonly oldest: string;
}

export async function checkClients(world: ProcessContext): Promise<Check> {
  const program = findProgram(clientProgram, { env: world.env });
  if (program === null) {
    return ok(
      check,
      `no ${clientProgram} on the PATH; Kite is tested with Claude Code ${versions.tested}, from ${versions.oldest} on`,
    );
  }
  const installed = await installedVersion(program.path, world);
  if (installed !== null) return relation(installed, versions);
  const detail = `${program.path} does not say its version; Kite is tested with Claude Code ${versions.tested}`;
  return warn(check, detail, `see what it prints: ${program.path} --version`);
}

/** Returns the version that the program says it has; null if it says none in time. */
async function installedVersion(program: string, { env }: ProcessContext): Promise<string | null> {
  try {
    const { stdout } = await run(program, ["--version"], {
      env: { ...env },
      timeout: limits.clientVersionMs,
      killSignal: "SIGKILL",
    });
    return /^(?:\S+ )?(\d+\.\d+\.\d+\S*)/.exec(stdout)?.[1] ?? null;
  } catch {
    // The program ended with an error, or not in time: it says no version.
    return null;
  }
}

/** Says how an installed version relates to the tested one and to the oldest that Kite supports. */
export function relation(installed: string, { tested, oldest }: ClientVersions): Check {
  const name = `Claude Code ${installed}`;
  if (installed === tested) return ok(check, `${name}, the version that Kite is tested with`);
  if (isOlder(installed, oldest)) {
    const detail = `${name} is older than ${oldest}, the oldest that Kite supports; Kite is tested with ${tested}`;
    return warn(check, detail, `update it: ${clientProgram} update`);
  }
  return isOlder(tested, installed)
    ? ok(check, `${name}, newer than ${tested}, the version that Kite is tested with`)
    : ok(check, `${name}, which Kite supports; it is tested with ${tested}`);
}

// What `kite doctor` says of Codex: its version, Kite's entries, and whether the client trusts them.

const codexCheck = clientName;
const codexInstallLine = `kite install --client ${clientName}`;

/** `missingTrust` asks the client how many of Kite's hooks it does not trust. Throws InstallFailed if it does not say. */
export async function checkCodex(
  world: ProcessContext,
  missingTrust: (world: ProcessContext) => Promise<number>,
): Promise<readonly Check[]> {
  const { paths, env } = world;
  const program = programOnPath(world, clientName);
  if (!hasHooks(paths, env)) {
    const isHere = program !== null || existsSync(codexHome(env));
    return isHere
      ? [ok(codexCheck, `Codex is here, and not connected; to connect it: ${codexInstallLine}`)]
      : [];
  }
  const written = entriesCheck(world);
  if (written !== null) return [written];
  const version = program === null ? null : await installedVersion(program, world);
  if (version !== null && isOlder(version, versionsCodex.oldest)) {
    const detail = `Codex ${version} is older than ${versionsCodex.oldest}, the oldest that Kite supports; Kite is tested with ${versionsCodex.tested}`;
    return [warn(codexCheck, detail, "update it, in the way you installed it")];
  }
  const name = version === null ? "Codex" : `Codex ${version}`;
  try {
    const missing = await missingTrust(world);
    if (missing === 0)
      return [ok(codexCheck, `${name} has all entries in ${hooksFile(env)}, and trusts them`)];
    const detail = `${name} skips ${missing} of Kite's hooks, which it does not trust; codex exec says nothing of it`;
    return [
      warn(
        codexCheck,
        detail,
        `let it trust them: ${codexInstallLine} --trust; or start codex and look at its review`,
      ),
    ];
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return [
      warn(codexCheck, error.message, "start codex and type /hooks, which shows the hooks that it trusts"),
    ];
  }
}

/** Returns true if an install would change Kite's entries. Throws InstallFailed if the file is unusable. */
function hasOtherEntries({ paths, env }: ProcessContext): boolean {
  const there = readText(linkTarget(hooksFile(env)), limits.settingsBytes);
  return there !== previewHooksFile(hooksOf(paths, env));
}

/** Returns what is wrong with the entries; null: all are there, and their program. */
function entriesCheck(world: ProcessContext): Check | null {
  const { paths, env } = world;
  const again = advise("install again", codexInstallLine);
  const { portable } = programPaths(paths.bin);
  if (!existsSync(portable))
    return fail(
      codexCheck,
      `${hooksFile(env)} runs ${portable}, which is gone: Codex's sessions do not register`,
      again,
    );
  if (!hasOtherEntries(world)) return null;
  return fail(codexCheck, `Kite's entries in ${hooksFile(env)} are not those of this version`, again);
}

// What `kite doctor` says of a client whose hooks are in a file of settings.

/** `wanted`: the file as an install would leave it. Nothing where the client is neither here nor connected. */
export function checkClientFile(
  client: ClientHere,
  world: ProcessContext,
  wanted: () => ClientFile,
): readonly Check[] {
  const { name: check, title } = client;
  const installLine = `kite install --client ${check}`;
  if (!client.isConnected(world)) {
    const isHere = client.find(world) !== null;
    return isHere ? [ok(check, `${title} is here, and not connected; to connect it: ${installLine}`)] : [];
  }
  const again = advise("install again", installLine);
  const file = wanted();
  const { portable } = programPaths(world.paths.bin);
  if (!existsSync(portable))
    return [fail(check, `${portable} is gone, which ${title}'s hooks and Kite's tools need`, again)];
  const there = readText(linkTarget(file.settings), limits.settingsBytes);
  return there === previewHooksFile(file)
    ? [ok(check, `${title} has Kite's hooks in ${file.settings}`)]
    : [fail(check, `Kite's hooks in ${file.settings} are not those of this version`, again)];
}

const hooksCheck = "hooks";

// Checks Kite's plugin, if settings switch it on: whether the client has a copy of it, and this machine its programs.

/** Returns what keeps the plugin `id`, which `file` switches on, from working: no check if nothing does. */
function brokenPlugin(world: ProcessContext, file: string, id: string): Check[] {
  const { bin } = world.paths;
  if (!existsSync(bin)) {
    const detail = `${file} switches on the plugin ${id}, and its programs in ${bin} are gone`;
    return [fail(hooksCheck, detail, installAgain(world, "write them again"))];
  }
  if (hasCopy(world, id)) return [];
  const detail = `${file} switches on the plugin ${id}, and Claude Code has no copy of it`;
  return [fail(hooksCheck, detail, `claude plugin install ${id}`)];
}

/** The client keeps a folder for each version that it installed. */
function hasCopy({ env }: ProcessContext, id: string): boolean {
  const [name = "", marketplace = ""] = id.split("@");
  const copies = join(dirname(userSettings(env)), "plugins", "cache", marketplace, name);
  return existsSync(copies) && readdirSync(copies).length > 0;
}

// Checks the settings files of the client: whether it reads them, runs their hooks, and finds all of Kite's entries.

/** Settings that an administrator sets for every user of the machine. */
const managedFiles: readonly string[] = [
  "/etc/claude-code/managed-settings.json",
  "/Library/Application Support/ClaudeCode/managed-settings.json",
];

export function checkClientSettings(
  world: ProcessContext,
  managed: readonly string[] = managedFiles,
): Check[] {
  const recorded = recordedFiles(world);
  if ("broken" in recorded) return [recorded.broken];
  const user = userSettings(world.env);
  const around = settingsAt(projectRoot(world.cwd));
  const files = [...new Set([user, ...around, ...recorded.files].map(linkTarget))];
  const found = files.map(file => checkFile(world, file, user, recorded.files.includes(file)));
  const checks = [...found.flatMap(one => one.checks), ...managed.flatMap(byAdministrator)];
  const installed = found.filter(({ isInstalled }) => isInstalled).length;
  const plugin = found.findLast(one => one.plugin !== null)?.plugin ?? null;
  if (installed > 0 || plugin !== null) {
    const entries = installed === 0 ? [] : [`all entries in ${counted(installed, "settings file")}`];
    const detail = [...entries, ...(plugin === null ? [] : [`by the plugin ${plugin}`])].join(", and ");
    return checks.length === 0 ? [ok(hooksCheck, detail)] : checks;
  }
  if (recorded.files.length > 0 && checks.length > 0) return checks;
  const say = "in one project: kite install --project; in all projects";
  const advice = adviseInstall(world, say, "kite install", user);
  return [...checks, warn(hooksCheck, "not installed; sessions do not register", advice)];
}

/** Returns the settings files in which Kite was installed, or what keeps it from knowing them. */
function recordedFiles({
  paths,
}: ProcessContext): { readonly files: readonly string[] } | { readonly broken: Check } {
  const odd = oddFile(paths.installs);
  if (odd !== null) {
    const detail = `${odd.what}, so Kite does not know where it is installed`;
    const line = odd.line ?? "";
    const todo = line === "" ? odd.advice : advise("mend it, and install again", line, "kite install");
    return { broken: fail(hooksCheck, detail, todo) };
  }
  try {
    return { files: installsOf(paths.installs, null).map(({ file }) => file) };
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    const line = aside(paths.installs);
    const advice = advise("put it aside, and install again", line, "kite install");
    return { broken: fail(hooksCheck, damaged(paths.installs), advice) };
  }
}

/** What one settings file has of Kite. */
interface FileChecks {
  readonly checks: readonly Check[];
  /** Kite's entries are in the file, or should be. */
  readonly isInstalled: boolean;
  /** The plugin that it switches on. */
  readonly plugin: string | null;
}

/** `isRecorded`: Kite was installed in the file. */
function checkFile(world: ProcessContext, file: string, user: string, isRecorded: boolean): FileChecks {
  const without = { isInstalled: false, plugin: null };
  const read = readSettings(file);
  if (read === null) return { ...without, checks: isRecorded ? removed(world, file, user) : [] };
  if ("unreadable" in read) {
    const { unreadable, advice } = read;
    const todo =
      typeof advice === "string" ? `${advice}; Claude Code uses nothing of the file until then` : advice;
    return { ...without, checks: [fail(hooksCheck, unreadable, todo)] };
  }
  const { settings } = read;
  const hooks = hooksIn(settings);
  const plugin = enabledPlugin(settings);
  const ours = hooks.filter(({ entry }) => isOurs(entry, world.paths.bin));
  const isInstalled = ours.length > 0 || isRecorded;
  return {
    checks: [
      ...switchedOff(file, settings),
      ...ofOtherHomes(world, file, user, hooks),
      ...(plugin === null ? [] : brokenPlugin(world, file, plugin)),
      ...(isInstalled ? incomplete(world, file, user, ours) : []),
    ],
    isInstalled,
    plugin,
  };
}

function removed(world: ProcessContext, file: string, user: string): Check[] {
  // A project that is gone needs no hooks.
  if (file !== linkTarget(user) && !existsSync(dirname(dirname(file)))) return [];
  const line = hooksInstallLine(file, user, { everyEvent: false, node: false });
  const advice = adviseInstall(world, "install again", line, file);
  return [fail(hooksCheck, `${file} was removed, and Kite's entries with it`, advice)];
}

function switchedOff(file: string, settings: Readonly<Record<string, unknown>>): Check[] {
  if (settings["disableAllHooks"] !== true) return [];
  const does = `remove "disableAllHooks" from ${file}`;
  const detail = `"disableAllHooks" is true in ${file}: Claude Code runs no hooks at all`;
  return [fail(hooksCheck, detail, { todo: does, fix: { does, work: () => withoutSwitch(file) } })];
}

function withoutSwitch(file: string): string {
  const text = readText(file, limits.settingsBytes) ?? "{}";
  const root = parseObject(text);
  if (member(root, "disableAllHooks") === undefined) return "";
  const index = root.children.findLastIndex(({ key }) => key === "disableAllHooks");
  if (replaceText(file, remove(text, root, index), 0o644, text)) return "";
  throw new InstallFailed(`another program changed ${file} meanwhile; try again`);
}

function byAdministrator(file: string): Check[] {
  const read = existsSync(file) ? readSettings(file) : null;
  if (read === null || "unreadable" in read) return [];
  const key = ["disableAllHooks", "allowManagedHooksOnly"].find(name => read.settings[name] === true);
  if (key === undefined) return [];
  const detail = `"${key}" is true in ${file}, the settings of this machine's administrator: Claude Code runs no hooks of yours`;
  return [fail(hooksCheck, detail, "ask the administrator to allow Kite's hooks")];
}

/** Two Kites with different directories do not know each other's locks. */
function ofOtherHomes(
  world: ProcessContext,
  file: string,
  user: string,
  hooks: readonly FoundHook[],
): Check[] {
  const homes = new Set(hooks.flatMap(({ entry }) => homeOf(entry, world.paths.bin)));
  return [...homes].map(home => {
    const where = file === linkTarget(user) ? "" : ` --project ${shellArgument(dirname(dirname(file)))}`;
    const detail = `${file} has the hooks of another Kite too, in ${home}: the two do not know each other's locks`;
    const line = `KITE_HOME=${shellArgument(home)} kite uninstall${where}`;
    return fail(hooksCheck, detail, advise("keep one; to remove the other", line));
  });
}

/** Returns the directory of the Kite whose hook client the entry runs, if that is not the one of `bin`. */
function homeOf(entry: unknown, bin: string): string[] {
  if (!isObject(entry) || isOurs(entry, bin)) return [];
  const words: unknown[] = [entry["command"], ...(Array.isArray(entry["args"]) ? entry["args"] : [])];
  return words.flatMap(word =>
    typeof word === "string" ? (/^(\/.+)\/bin\/hook\.(?:pl|cjs)$/.exec(word)?.[1] ?? []) : [],
  );
}

/** Compares Kite's entries in the file with those that an install writes. */
function incomplete(world: ProcessContext, file: string, user: string, ours: readonly FoundHook[]): Check[] {
  const { paths } = world;
  const program = programPaths(paths.bin);
  if (!existsSync(paths.bin)) {
    const detail = `${file} runs hooks in ${paths.bin}, which is gone`;
    const line = hooksInstallLine(file, user, optionsOf(ours, paths.bin));
    return [fail(hooksCheck, detail, adviseInstall(world, "install again", line, file))];
  }
  const { node, everyEvent } = optionsOf(ours, paths.bin);
  const home = /KITE_HOME=([^"]+)"/.exec(JSON.stringify(ours))?.[1] ?? null;
  const wanted = groupsFor({ program, hookProgram: node ? "node" : "perl", home, everyEvent }).flatMap(
    ([event, { matcher, hooks }]) => hooks.map((entry: HookEntry) => ({ event, matcher, entry })),
  );
  const there = new Set(ours.map(keyOf));
  const missing = [...new Set(wanted.filter(one => !there.has(keyOf(one))).map(({ event }) => event))];
  if (missing.length === 0) return [];
  const shown = listed(missing.slice(0, 4), Math.max(0, missing.length - 4));
  const detail =
    ours.length === 0
      ? `${file} lost Kite's entries: its sessions are not coordinated`
      : `${file} lacks Kite's entries for ${shown}, or has them changed`;
  const line = hooksInstallLine(file, user, { everyEvent, node });
  return [fail(hooksCheck, detail, adviseInstall(world, "install again", line, file))];
}

function keyOf({ event, matcher, entry }: FoundHook): string {
  return JSON.stringify([event, matcher ?? null, isObject(entry) ? Object.entries(entry).sort() : entry]);
}

// Checks the tools for agents: whether the client's file lists the server, and whether the server starts.

const agentToolsCheck = "agent tools";

/** Returns no check if the tools were never installed: Kite works without them. */
export async function checkAgentTools(world: ProcessContext): Promise<Check[]> {
  const again = (project: string | null) =>
    adviseInstall(
      world,
      "install again",
      project === null ? "kite install" : `kite install --project ${shellArgument(project)}`,
      project === null ? userSettings(world.env) : projectSettings(project),
    );
  const odd = oddFile(world.paths.servers);
  if (odd !== null) {
    const detail = `${odd.what}, so Kite does not know where its tools are`;
    const { line } = odd;
    return [
      fail(
        agentToolsCheck,
        detail,
        line === null ? odd.advice : advise("mend it, and install again", line, "kite install"),
      ),
    ];
  }
  try {
    const places = placesWithTools(world.paths).filter(
      ({ project }) => project === null || existsSync(project),
    );
    const broken = places.map(({ file }) => problemOf(file)).find(problem => problem !== null);
    if (broken) {
      const { unreadable, advice } = broken;
      const todo = typeof advice === "string" ? `${advice}; Claude Code starts no tools until then` : advice;
      return [fail(agentToolsCheck, unreadable, todo)];
    }
    const gone = places.filter(place => !hasTools(world.paths, place));
    const checks: Check[] = gone.map(({ file, project }) => {
      const where = project === null ? file : `${file}, for ${project}`;
      return warn(agentToolsCheck, `the entry was removed: ${where}`, again(project));
    });
    return places.length === gone.length
      ? checks
      : [...checks, await started(mcpPath(world.paths.bin), world, again(places[0]?.project ?? null))];
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    const { servers } = world.paths;
    const advice = advise("put it aside, and install again", aside(servers), "kite install");
    return [fail(agentToolsCheck, damaged(servers), advice)];
  }
}

/** Returns why the client cannot read its file of servers, or null. */
function problemOf(file: string): Unreadable | null {
  const read = textForClient(file, limits.clientFileBytes);
  if ("unreadable" in read) return read;
  if (read.text === null) return null;
  if (read.text.trim() === "") return { unreadable: `${file} is empty`, advice: emptied(file) };
  const problem = jsonProblem(read.text);
  return problem === null
    ? null
    : { unreadable: `${file} is no JSON: ${problem}`, advice: "correct that place" };
}

/** Starts the program as the client does, and requests its list of tools. */
async function started(program: string, { env }: ProcessContext, again: Advice | string): Promise<Check> {
  const reason = unfit(program);
  if (reason !== null) return fail(agentToolsCheck, `${reason}, so no agent has Kite's tools`, again);
  const began = performance.now();
  const { HOME, PATH } = env;
  const child = spawn(program, [], {
    env: defined({ HOME, PATH }),
    stdio: ["pipe", "pipe", "ignore"],
    timeout: limits.mcpStartMs,
    killSignal: "SIGKILL",
  });
  const count = await toolsOf(child);
  child.stdin.end();
  if (count !== null) {
    const ms = (performance.now() - began).toFixed(0);
    return ok(agentToolsCheck, `${program}: ${count} tools in ${ms} ms`);
  }
  return fail(agentToolsCheck, `${program} does not answer`, again);
}

/** Returns the number of the server's tools; null if the server ends without an answer. */
function toolsOf(child: ChildProcessByStdio<Writable, Readable, null>): Promise<number | null> {
  return new Promise(resolve => {
    child.once("error", () => resolve(null));
    child.once("close", () => resolve(null));
    // If the server ended at once, its "close" event says so.
    child.stdin.on("error", () => undefined);
    createInterface({ input: child.stdout }).on("line", line => {
      const count = /"id":2[,}]/.test(line) ? line.match(/"inputSchema":/g)?.length : undefined;
      if (count !== undefined) resolve(count);
    });
    const say = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const clientInfo = { name: "kite doctor", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    say({ id: 1, method: "initialize", params });
    say({ method: "notifications/initialized" });
    say({ id: 2, method: "tools/list" });
  });
}

// What `kite doctor` says of git's hook before a commit, in a repository where it was installed.

const commitHookCheck = "git";
const commitHookInstallLine = "kite install --client git";
const again = advise("install again", commitHookInstallLine);

interface CommitHooks {
  /** The folder from which git takes the repository's hooks, and whether it lies in the working tree. */
  readonly folder: string;
  readonly isCommitted: boolean;
  /** The hooks that Kite wrote for this repository. */
  readonly written: readonly string[];
}

/** Nothing where Kite wrote no hook. */
export function checkCommitHook({ folder, isCommitted, written }: CommitHooks): readonly Check[] {
  const [first] = written;
  if (first === undefined) return [];
  const file = preCommitFile(folder);
  if (written.includes(file)) return [writtenCheck(file)];
  if (asksKite(file)) return [ok(commitHookCheck, `before a commit git runs ${file}, which asks Kite`)];
  const skipped = `git takes the hooks of this repository from ${folder} (core.hooksPath), so it skips Kite's: ${first}`;
  return [
    isCommitted
      ? warn(commitHookCheck, skipped, `add this line to ${file}: ${preCommitLine}`)
      : warn(commitHookCheck, skipped, advise("install it there, too", commitHookInstallLine)),
  ];
}

function writtenCheck(file: string): Check {
  const state = preCommitState(file);
  if (state === "none")
    return warn(commitHookCheck, `Kite's hook ${file} is gone, so no commit is checked`, again);
  if (state === "changed") {
    const todo = `look at the changes; to have Kite's own hook again: rm ${shellArgument(file)} && ${commitHookInstallLine}`;
    return warn(commitHookCheck, `somebody changed Kite's hook ${file}`, todo);
  }
  if (state === "others") {
    const detail = `another hook took the place of Kite's in ${file}, so no commit is checked`;
    const kept = keptFile(file);
    // An install keeps the hook that is there under this name.
    return existsSync(kept)
      ? warn(
          commitHookCheck,
          detail,
          `put one of ${file} and ${kept} elsewhere; then install again: ${commitHookInstallLine}`,
        )
      : warn(
          commitHookCheck,
          detail,
          advise("install again, which keeps that one and runs it first", commitHookInstallLine),
        );
  }
  const gone = preCommitPrograms(file).find(program => !existsSync(program));
  if (gone !== undefined)
    return warn(commitHookCheck, `${file} runs ${gone}, which is gone, so no commit is checked`, again);
  if (!isExecutable(file))
    return warn(
      commitHookCheck,
      `git skips ${file}, which is not executable`,
      advise("make it so", `chmod +x ${shellArgument(file)}`),
    );
  return ok(commitHookCheck, `before each commit of this repository git asks Kite: ${file}`);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return false;
  }
}
