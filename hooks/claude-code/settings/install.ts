/** Installs Kite's hooks into a settings file, and uninstalls them. */
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import type { KitePaths } from "../../../protocol/paths.ts";
import {
  backUp,
  backUpName,
  digest,
  named,
  refuseLinked,
  removeText,
  replaceText,
  retried,
} from "../../install/file.ts";
import { whileLocked } from "../../install/lock-file.ts";
import {
  programFiles,
  programPaths,
  putProgram,
  removeIfEmpty,
  removeProgram,
} from "../../install/program.ts";
import { readText } from "../../install/read-file.ts";
import { addAllow, removeAllow, toolsRule } from "./allow-text.ts";
import { groupsFor, type HookProgram } from "./command.ts";
import { type Install, readInstalls, writeInstalls } from "./installs.ts";
import { readPlugins } from "./plugins.ts";
import { portableGroups } from "./portable.ts";
import { linkTarget } from "./project.ts";
import { programScripts } from "./scripts.ts";
import { addHooks, type Created, isEmpty, removeHooks } from "./settings-text.ts";
import { addStatusLine, removeStatusLine } from "./status-line-text.ts";

/** The text of a new settings file. */
const noSettings = "{}\n";

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

export interface Installed {
  readonly file: string;
  /** False if the settings already had every entry. */
  readonly changed: boolean;
  readonly backup: string | null;
  readonly events: readonly string[];
}

type Wanted = Pick<
  InstallOptions,
  "paths" | "hookProgram" | "home" | "everyEvent" | "allow" | "shared" | "statusLine"
>;

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
  const file = linkTarget(options.settings);
  return named(file, () => planned(readText(file, limits.settingsBytes) ?? noSettings, options, null).text);
}

/** A file that an `install` would write. */
export interface PlannedFile {
  readonly path: string;
  /** `write`: one of Kite's own, which it writes again each time. */
  readonly does: "create" | "change" | "keep" | "write";
}

/** Returns the files that an `install` would write for hooks: the settings, a copy of them, the programs, Kite's record. */
export function plannedFiles(options: Wanted & Pick<InstallOptions, "settings">): {
  readonly settings: PlannedFile;
  readonly copy: string | null;
  readonly programs: readonly string[];
  readonly record: string;
} {
  const { paths, settings, shared } = options;
  const file = linkTarget(settings);
  const old = readText(file, limits.settingsBytes);
  const does = old === null ? "create" : preview(options) === old ? "keep" : "change";
  const known = readInstalls(paths.installs).find(one => one.file === file);
  const hasCopy = shared || known?.madeFile === true || (known?.backup ?? null) !== null;
  return {
    settings: { path: file, does },
    copy: does === "change" && !hasCopy ? backUpName(file) : null,
    programs: programFiles(paths.bin),
    record: paths.installs,
  };
}

/** Returns the wanted settings; `before` lists the objects that an earlier install created. */
function planned(text: string, wanted: Wanted, before: Created | null): ReturnType<typeof addHooks> {
  const { bin } = wanted.paths;
  let { text: next, created } = addHooks(text, wantedGroups(wanted), bin, before);
  const also = (more: Partial<Created>) => {
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
}

/**
 * Adds Kite's hooks to a settings file. Installs the program first, so that no entry names a missing file. A second
 * call changes nothing. If the file is unusable, throws a sentence for the person and leaves the file unchanged.
 */
export async function install(options: InstallOptions): Promise<Installed> {
  const { paths, settings, dist, node, env } = options;
  const file = linkTarget(settings);
  const groups = wantedGroups(options);
  const plan = (text: string, before: Install | undefined) =>
    named(file, () => planned(text, options, before?.created ?? null));
  const now = readText(file, limits.settingsBytes);
  if (plan(now ?? noSettings, undefined).text !== now) refuseLinked(file);
  const scripts = programScripts(programPaths(paths.bin), options);
  const programChanged = putProgram({ paths, dist, node, env, scripts });
  return await whileLocked(paths.installs, async () => {
    const installs = readInstalls(paths.installs);
    const known = installs.find(i => i.file === file);
    const record = (install: Install) =>
      writeInstalls(paths.installs, [...installs.filter(i => i !== known), install]);
    const madeFolder = mkdirSync(dirname(file), { recursive: true }) !== undefined;
    const { backup, changed } = await whileLocked(file, () =>
      retried(file, () => putHooks({ file, known, madeFolder, isShared: options.shared, plan, record })),
    );
    const events = [...new Set(groups.map(([event]) => event))];
    return { file, changed: changed || programChanged, backup, events };
  });
}

interface Put {
  readonly file: string;
  readonly known: Install | undefined;
  readonly madeFolder: boolean;
  readonly isShared: boolean;
  readonly plan: (text: string, before: Install | undefined) => ReturnType<typeof addHooks>;
  readonly record: (install: Install) => void;
}

/** Writes the record before the settings: after a crash in between, uninstall finds the record and no entries. */
function putHooks({ file, known, madeFolder, isShared, plan, record }: Put): {
  readonly backup: string | null;
  readonly changed: boolean;
} | null {
  const old = readText(file, limits.settingsBytes);
  const before = old === null ? undefined : known;
  const { text, created } = plan(old ?? noSettings, before);
  const kind = isShared ? ({ isShared } as const) : {};
  if (text === old) {
    if (before === undefined) {
      record({ file, backup: null, madeFile: false, madeFolder: false, sha256: null, created, ...kind });
    }
    return { backup: before?.backup ?? null, changed: false };
  }
  const copy = old === null || isShared || before?.madeFile || before?.backup ? null : backUp(file, old);
  const backup = before?.backup ?? copy;
  const othersWrote = before !== undefined && old !== null && digest(old) !== before.sha256;
  record({
    file,
    backup,
    madeFile: before?.madeFile ?? old === null,
    madeFolder: before?.madeFolder ?? madeFolder,
    sha256: othersWrote ? null : digest(text),
    created,
    ...kind,
  });
  if (replaceText(file, text, 0o644, old)) return { backup, changed: true };
  if (copy !== null) rmSync(copy, { force: true });
  return null;
}

export interface Uninstalled {
  readonly file: string;
  /** `restored`: byte for byte as before; `edited`: only Kite's entries removed, because others wrote meanwhile. */
  readonly result: "restored" | "edited" | "nothing_there";
  /** The file is gone, as it was before Kite wrote it. */
  readonly isGone?: true;
}

/** Removes Kite's hooks from one settings file, and the files that `install` put beside it. Throws as `install` does. */
export async function uninstall(paths: KitePaths, settings: string): Promise<Uninstalled> {
  const file = linkTarget(settings);
  if (!existsSync(paths.home)) return await takeOut(paths, file, undefined);
  return await whileLocked(paths.installs, async () => {
    const installs = readInstalls(paths.installs);
    const before = installs.find(i => i.file === file);
    const done = await takeOut(paths, file, before);
    const others = installs.filter(i => i !== before);
    if (others.length > 0 || before !== undefined || done.result !== "nothing_there")
      keepRecords(paths, others);
    return done;
  });
}

/** Returns the recorded settings files of this person that hold Kite's hooks. */
export function installedFiles(paths: KitePaths): readonly string[] {
  return readInstalls(paths.installs).flatMap(i => (i.isShared === true ? [] : [i.file]));
}

/** Returns the recorded settings files that a team commits. */
export function sharedFiles(paths: KitePaths): readonly string[] {
  return readInstalls(paths.installs).flatMap(i => (i.isShared === true ? [i.file] : []));
}

/** Forgets a team's settings file and leaves it as it is. On this machine its entries do nothing without the program. */
export async function forget(paths: KitePaths, file: string): Promise<void> {
  await whileLocked(paths.installs, () => {
    const installs = readInstalls(paths.installs);
    keepRecords(
      paths,
      installs.filter(i => i.file !== file),
    );
  });
}

/** Writes the records that are left; without any, removes the programs that only hooks run. */
function keepRecords(paths: KitePaths, installs: readonly Install[]): void {
  if (installs.length > 0) {
    writeInstalls(paths.installs, installs);
    return;
  }
  rmSync(paths.installs, { force: true });
  if (readPlugins(paths.plugins).length === 0) removeProgram(paths.bin);
}

async function takeOut(paths: KitePaths, file: string, before: Install | undefined): Promise<Uninstalled> {
  const result = existsSync(file)
    ? await whileLocked(file, () => retried(file, () => takeOutNow(paths.bin, file, before)))
    : "nothing_there";
  if (before?.backup) rmSync(before.backup, { force: true });
  if (before?.madeFolder && existsSync(dirname(file))) removeIfEmpty(dirname(file));
  return { file, result, ...(result !== "nothing_there" && !existsSync(file) ? { isGone: true } : {}) };
}

/** Takes Kite's status line out of a settings file, and keeps the hooks there. Throws as `install` does. */
export async function uninstallStatusLine(paths: KitePaths, settings: string): Promise<StatusLineTaken> {
  const file = linkTarget(settings);
  const nothing = { file, taken: "nothing_there" } as const;
  if (!existsSync(paths.installs) || !existsSync(file)) return nothing;
  return await whileLocked(paths.installs, async () => {
    const installs = readInstalls(paths.installs);
    const before = installs.find(i => i.file === file);
    const made = before?.created?.statusLine;
    if (before === undefined || before.created === null || made === undefined) return nothing;
    const { statusLine: _, ...created } = before.created;
    const taken = await whileLocked(file, () =>
      retried(file, () => {
        const old = readText(file, limits.settingsBytes) ?? noSettings;
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

function takeOutNow(bin: string, file: string, before: Install | undefined): Uninstalled["result"] | null {
  const old = readText(file, limits.settingsBytes);
  if (old === null) return "nothing_there";
  const original = before?.backup ? readText(before.backup, limits.settingsBytes) : null;
  const untouched = before !== undefined && digest(old) === before.sha256;
  if (untouched && before.madeFile) return removeText(file, old) ? "restored" : null;
  if (untouched && original !== null) return replaceText(file, original, 0o644, old) ? "restored" : null;
  const text = named(file, () => {
    const without = removeHooks(old, bin, before?.created ?? null);
    const { allow, statusLine } = before?.created ?? {};
    const asked = allow === undefined ? without : removeAllow(without, toolsRule, allow);
    return statusLine === undefined
      ? asked
      : removeStatusLine(asked, programPaths(bin).statusLine, statusLine);
  });
  if (text === old) return "nothing_there";
  const isGone = before?.madeFile && isEmpty(text);
  const done = isGone ? removeText(file, old) : replaceText(file, text, 0o644, old);
  return done ? "edited" : null;
}
