/** Installs Kite's hooks into a settings file of Claude Code, and uninstalls them. */

import { existsSync } from "node:fs";
import { limits } from "../../../protocol/limits.ts";
import type { KitePaths } from "../../../protocol/paths.ts";
import { shellWord } from "../../../protocol/text.ts";
import {
  digest,
  linkTarget,
  named,
  readText,
  replaceText,
  retried,
  SettingsRefused,
  whileLocked,
} from "../../install/file.ts";
import {
  type PlannedFiles,
  type PutHooks,
  plannedHooksFile,
  previewHooksFile,
  putHooksFile,
  takeOutHooksFile,
  type Uninstalled,
} from "../../install/hooks-file.ts";
import { addHooks, type Created, type HookProgram, isOurs, removeHooks } from "../../install/hooks-text.ts";
import { append, member, parseObject, readValue, remove, replace } from "../../install/json-text.ts";
import { programPaths, programScripts } from "../../install/program.ts";
import { installsOf, readInstalls, writeInstalls } from "../../install/records.ts";
import { groupsFor, portableGroups } from "./entries.ts";

// Adds and removes Kite's permission rule in the text of the client's settings.

/** The rule lets agents call Kite's tools without asking a person each time. */
export const toolsRule = "mcp__kite";

/** The objects created for the rule, which its removal removes too. */
interface AllowMade {
  readonly permissions: boolean;
  readonly list: boolean;
}

/** Returns the settings with the rule in `permissions.allow`; `made` is null if it was already there. */
export function addAllow(
  text: string,
  rule: string,
): { readonly text: string; readonly made: AllowMade | null } {
  const { root, permissions, list } = placesIn(text);
  if (permissions === null) {
    return {
      text: append(text, root, "permissions", { allow: [rule] }),
      made: { permissions: true, list: true },
    };
  }
  if (list === null) {
    return { text: append(text, permissions, "allow", [rule]), made: { permissions: false, list: true } };
  }
  if (list.children.some(child => readValue(text, child.value) === rule)) return { text, made: null };
  return { text: append(text, list, null, rule), made: { permissions: false, list: false } };
}

/** Returns the settings without the rule, and without objects that were created for it and are empty now. */
export function removeAllow(text: string, rule: string, made: AllowMade): string {
  const { list } = placesIn(text);
  const index = list?.children.findIndex(child => readValue(text, child.value) === rule) ?? -1;
  if (list === null || index === -1) return text;
  let next = remove(text, list, index);
  if (!made.list) return next;
  const after = placesIn(next);
  if (after.list === null || after.permissions === null || after.list.children.length > 0) return next;
  next = remove(next, after.permissions, indexOf(after.permissions.children, "allow"));
  const { root, permissions } = placesIn(next);
  const isOver = made.permissions && permissions?.children.length === 0;
  return isOver ? remove(next, root, indexOf(root.children, "permissions")) : next;
}

function placesIn(text: string) {
  const root = parseObject(text);
  const permissions = member(root, "permissions")?.value ?? null;
  if (permissions === null) return { root, permissions, list: null };
  if (permissions.kind !== "object") throw new SettingsRefused('"permissions" is not an object');
  const list = member(permissions, "allow")?.value ?? null;
  if (list !== null && list.kind !== "array") throw new SettingsRefused('"permissions.allow" is not a list');
  return { root, permissions, list };
}

function indexOf(children: readonly { readonly key: string }[], key: string): number {
  return children.findLastIndex(child => child.key === key);
}

// Puts Kite's status line into the text of the client's settings, around an existing one, and takes it out again.

/** What there was before Kite's: null for no status line, else its command. */
interface StatusLineMade {
  readonly before: string | null;
}

/**
 * Returns the settings with Kite's status line. An existing one runs within it and keeps its other settings. `made` is
 * null if Kite's was already there. Throws SettingsRefused if the existing one has another form.
 */
function addStatusLine(
  text: string,
  program: string,
): { readonly text: string; readonly made: StatusLineMade | null } {
  const { root, line, command } = statusLinePlaces(text);
  if (line === null) {
    const value = { type: "command", command: shellWord(program) };
    return { text: append(text, root, "statusLine", value), made: { before: null } };
  }
  const before = command === null ? null : readValue(text, command);
  if (command === null || typeof before !== "string") {
    throw new SettingsRefused('"statusLine" has no "command" that Kite could run within its own');
  }
  if (before.includes(program)) return { text, made: null };
  const around = `${shellWord(program)} ${shellWord(before)}`;
  return { text: replace(text, command, around), made: { before } };
}

/** Returns the settings with what was there before Kite's status line; unchanged if another one took its place. */
function removeStatusLine(text: string, program: string, { before }: StatusLineMade): string {
  const { root, command } = statusLinePlaces(text);
  const there = command === null ? null : readValue(text, command);
  if (command === null || typeof there !== "string" || !there.includes(program)) return text;
  if (before !== null) return replace(text, command, before);
  const index = root.children.findLastIndex(child => child.key === "statusLine");
  return remove(text, root, index);
}

function statusLinePlaces(text: string) {
  const root = parseObject(text);
  const line = member(root, "statusLine")?.value ?? null;
  const command = line?.kind === "object" ? (member(line, "command")?.value ?? null) : null;
  return { root, line, command };
}

export interface InstallOptions {
  readonly paths: KitePaths;
  /** The settings file as the client names it; it may be a link. */
  readonly settings: string;
  /** The folder of the bundled hook clients, and the Node that runs one of them. */
  readonly dist: string;
  readonly node: string;
  /** The launcher gets the variables that a daemon needs. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly hookProgram: HookProgram;
  /** `KITE_HOME`, if it is set. */
  readonly home: string | null;
  /** Also forward the events of every message and every batch of calls. */
  readonly everyEvent: boolean;
  /** Let agents use Kite's tools without asking a person each time. */
  readonly allow: boolean;
  /** The settings are a project's committed ones: the entries hold on every machine, and git keeps the old file. */
  readonly shared: boolean;
  /** Show what the session holds and waits for in the client's status line, too. */
  readonly statusLine: boolean;
}

export interface Installed extends PutHooks {
  readonly events: readonly string[];
}

type Wanted = Pick<
  InstallOptions,
  "paths" | "hookProgram" | "home" | "everyEvent" | "allow" | "shared" | "statusLine"
>;

/** What an install created in the settings. */
interface Made extends Created {
  /** Present if Kite added the rule that allows its tools. */
  readonly allow?: AllowMade;
  /** Present if Kite put its status line there. */
  readonly statusLine?: StatusLineMade;
}

function wantedGroups({
  paths,
  hookProgram,
  home,
  everyEvent,
  shared,
}: Wanted): ReturnType<typeof groupsFor> {
  if (shared) return portableGroups({ origin: "shared", everyEvent });
  return groupsFor({ program: programPaths(paths.bin), hookProgram, home, everyEvent });
}

/** Returns the settings file's text after an `install`, without writing it. */
export function preview(options: Wanted & Pick<InstallOptions, "settings">): string {
  return previewHooksFile({ settings: options.settings, plan: planOf(options) });
}

/** Returns the files that an `install` would write for hooks: the settings, a copy of them, the programs, Kite's record. */
export function plannedFiles(options: Wanted & Pick<InstallOptions, "settings">): PlannedFiles {
  return plannedHooksFile({ ...options, plan: planOf(options) });
}

/** Returns how an install makes the wanted settings; `before` lists the objects that an earlier install created. */
function planOf(wanted: Wanted): (text: string, before: Made | null) => ReturnType<typeof addHooks<Made>> {
  const { bin } = wanted.paths;
  return (text, before) => {
    const isKites = (entry: unknown) => isOurs(entry, bin);
    let { text: next, created }: { text: string; created: Made | null } = addHooks(
      text,
      wantedGroups(wanted),
      isKites,
      before,
    );
    const also = (more: Partial<Made>) => {
      created = { ...(created ?? { hooks: false, events: [] }), ...more };
    };
    if (wanted.allow) {
      const { text: allowed, made } = addAllow(next, toolsRule);
      next = allowed;
      if (made !== null) also({ allow: made });
    }
    if (wanted.statusLine) {
      const { text: shown, made } = addStatusLine(next, programPaths(bin).statusLine);
      next = shown;
      if (made !== null) also({ statusLine: made });
    }
    return { text: next, created };
  };
}

/** Adds Kite's hooks to a settings file. A second call changes nothing. Throws as `putHooksFile` does. */
export async function install(options: InstallOptions): Promise<Installed> {
  const { paths, dist, node, env } = options;
  const scripts = programScripts(programPaths(paths.bin), options);
  const done = await putHooksFile({ ...options, plan: planOf(options) }, { dist, node, env, scripts });
  return { ...done, events: [...new Set(wantedGroups(options).map(([event]) => event))] };
}

/** Removes Kite's hooks from one settings file, and the files that `install` put beside it. Throws as `install` does. */
export async function uninstall(paths: KitePaths, settings: string): Promise<Uninstalled> {
  const { bin } = paths;
  return await takeOutHooksFile(paths, settings, (text, created: Made | null) => {
    const without = removeHooks(text, entry => isOurs(entry, bin), created);
    const { allow, statusLine } = created ?? {};
    const withoutAllow = allow === undefined ? without : removeAllow(without, toolsRule, allow);
    return statusLine === undefined
      ? withoutAllow
      : removeStatusLine(withoutAllow, programPaths(bin).statusLine, statusLine);
  });
}

/** Returns the recorded settings files of this person that hold Kite's hooks. */
export function installedFiles({ installs }: KitePaths): readonly string[] {
  return installsOf(installs, null).flatMap(i => (i.isShared === true ? [] : [i.file]));
}

/** Returns the recorded settings files that a team commits. */
export function sharedFiles({ installs }: KitePaths): readonly string[] {
  return installsOf(installs, null).flatMap(i => (i.isShared === true ? [i.file] : []));
}

/** Takes Kite's status line out of a settings file, and keeps the hooks there. Throws as `install` does. */
export async function uninstallStatusLine(paths: KitePaths, settings: string): Promise<StatusLineTaken> {
  const file = linkTarget(settings);
  const nothing = { file, taken: "nothing_there" } as const;
  if (!existsSync(paths.installs) || !existsSync(file)) return nothing;
  return await whileLocked(paths.installs, async () => {
    const installs = readInstalls(paths.installs);
    const before = installs.find(i => i.file === file);
    const all: Made | null = before?.created ?? null;
    if (before === undefined || all?.statusLine === undefined) return nothing;
    const { statusLine: made, ...created } = all;
    const taken = await whileLocked(file, () =>
      retried(file, () => {
        const old = readText(file, limits.settingsBytes) ?? "{}\n";
        const text = named(file, () => removeStatusLine(old, programPaths(paths.bin).statusLine, made));
        // Settings that nobody else wrote are still restored byte for byte by a later uninstall.
        const sha256 = digest(old) === before.sha256 ? digest(text) : null;
        writeInstalls(paths.installs, [
          ...installs.filter(i => i !== before),
          { ...before, created, sha256 },
        ]);
        if (text === old) return "nothing_there";
        if (!replaceText(file, text, 0o644, old)) return null;
        return made.before === null ? "removed" : "restored";
      }),
    );
    return { file, taken };
  });
}

export interface StatusLineTaken {
  readonly file: string;
  /** `restored`: the one from before Kite's is there again; `removed`: there was none. */
  readonly taken: "restored" | "removed" | "nothing_there";
}
