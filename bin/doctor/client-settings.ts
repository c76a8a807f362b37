/** Checks the settings files of the client: whether it reads them, runs their hooks, and finds all of Kite's entries. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { HookEntry } from "../../hooks/claude-code/settings/entries.ts";
import { groupsFor } from "../../hooks/claude-code/settings/entries.ts";
import {
  enabledPlugin,
  projectRoot,
  settingsAt,
  userSettings,
} from "../../hooks/claude-code/settings/files.ts";
import { InstallFailed, linkTarget, readText, replaceText } from "../../hooks/install/file.ts";
import { isOurs } from "../../hooks/install/hooks-text.ts";
import { member, parseObject, remove } from "../../hooks/install/json-text.ts";
import { programPaths } from "../../hooks/install/program.ts";
import { installsOf } from "../../hooks/install/records.ts";
import { limits } from "../../protocol/limits.ts";
import { shellArgument } from "../../protocol/text.ts";
import { isObject } from "../../protocol/wire.ts";
import type { ProcessContext } from "../process-context.ts";
import type { Check } from "../view/doctor.ts";
import { counted, listed } from "../view/text.ts";
import { advise, aside, fail, ok, warn } from "./advice.ts";
import { type FoundHook, hooksIn, installLine, optionsOf, readSettings } from "./installed.ts";
import { adviseInstall } from "./obstacles.ts";
import { damaged, oddFile } from "./odd-file.ts";
import { brokenPlugin } from "./plugin.ts";

const check = "hooks";

/** Settings that an administrator sets for every user of the machine. */
const managedFiles: readonly string[] = [
  "/etc/claude-code/managed-settings.json",
  "/Library/Application Support/ClaudeCode/managed-settings.json",
];

export function checkClientSettings(
  world: ProcessContext,
  managed: readonly string[] = managedFiles,
): Check[] {
  const { paths, env } = world;
  const odd = oddFile(paths.installs);
  if (odd !== null) {
    const detail = `${odd.what}, so Kite does not know where it is installed`;
    const line = odd.line ?? "";
    return [
      fail(
        check,
        detail,
        line === "" ? odd.advice : advise("mend it, and install again", line, "kite install"),
      ),
    ];
  }
  let recorded: readonly string[];
  try {
    recorded = installsOf(paths.installs, null).map(({ file }) => file);
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    const line = aside(paths.installs);
    const advice = advise("put it aside, and install again", line, "kite install");
    return [fail(check, damaged(paths.installs), advice)];
  }
  const user = userSettings(env);
  const around = settingsAt(projectRoot(world.cwd));
  const files = [...new Set([user, ...around, ...recorded].map(linkTarget))];
  const checks: Check[] = [];
  let installed = 0;
  let plugin: string | null = null;
  for (const file of files) {
    const read = readSettings(file);
    if (read === null) {
      if (recorded.includes(file)) checks.push(...removed(world, file, user));
      continue;
    }
    if ("unreadable" in read) {
      const { unreadable, advice } = read;
      const todo =
        typeof advice === "string" ? `${advice}; Claude Code uses nothing of the file until then` : advice;
      checks.push(fail(check, unreadable, todo));
      continue;
    }
    const { settings } = read;
    checks.push(...switchedOff(file, settings));
    const hooks = hooksIn(settings);
    checks.push(...ofOtherHomes(world, file, user, hooks));
    const id = enabledPlugin(settings);
    if (id !== null) {
      plugin = id;
      checks.push(...brokenPlugin(world, file, id));
    }
    const ours = hooks.filter(({ entry }) => isOurs(entry, paths.bin));
    if (ours.length === 0 && !recorded.includes(file)) continue;
    installed += 1;
    checks.push(...incomplete(world, file, user, ours));
  }
  for (const file of managed) checks.push(...byAdministrator(file));
  if (installed > 0 || plugin !== null) {
    const entries = installed === 0 ? [] : [`all entries in ${counted(installed, "settings file")}`];
    const detail = [...entries, ...(plugin === null ? [] : [`by the plugin ${plugin}`])].join(", and ");
    return checks.length === 0 ? [ok(check, detail)] : checks;
  }
  if (recorded.length > 0 && checks.length > 0) return checks;
  const say = "in one project: kite install --project; in all projects";
  const advice = adviseInstall(world, say, "kite install", user);
  return [...checks, warn(check, "not installed; sessions do not register", advice)];
}

function removed(world: ProcessContext, file: string, user: string): Check[] {
  // A project that is gone needs no hooks.
  if (file !== linkTarget(user) && !existsSync(dirname(dirname(file)))) return [];
  const line = installLine(file, user, { everyEvent: false, node: false });
  const advice = adviseInstall(world, "install again", line, file);
  return [fail(check, `${file} was removed, and Kite's entries with it`, advice)];
}

function switchedOff(file: string, settings: Readonly<Record<string, unknown>>): Check[] {
  if (settings["disableAllHooks"] !== true) return [];
  const does = `remove "disableAllHooks" from ${file}`;
  const detail = `"disableAllHooks" is true in ${file}: Claude Code runs no hooks at all`;
  return [fail(check, detail, { todo: does, fix: { does, work: () => withoutSwitch(file) } })];
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
  return [fail(check, detail, "ask the administrator to allow Kite's hooks")];
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
    return fail(check, detail, advise("keep one; to remove the other", line));
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
    const line = installLine(file, user, optionsOf(ours, paths.bin));
    return [fail(check, detail, adviseInstall(world, "install again", line, file))];
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
  const line = installLine(file, user, { everyEvent, node });
  return [fail(check, detail, adviseInstall(world, "install again", line, file))];
}

function keyOf({ event, matcher, entry }: FoundHook): string {
  return JSON.stringify([event, matcher ?? null, isObject(entry) ? Object.entries(entry).sort() : entry]);
}
