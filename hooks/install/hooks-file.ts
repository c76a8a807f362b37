/** Puts Kite's hooks into a client's file of settings, with a record of what it did, and takes them out again. */
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import {
  backUp,
  backUpName,
  digest,
  linkTarget,
  named,
  readText,
  refuseLinked,
  removeText,
  replaceText,
  retried,
  whileLocked,
} from "./file.ts";
import { type Created, isEmpty } from "./hooks-text.ts";
import { type ProgramOptions, programFiles, putProgram, removeIfEmpty, removeProgram } from "./program.ts";
import { type Install, readInstalls, writeInstalls } from "./records.ts";

/** How an empty file of settings looks. */
export interface FileFormat {
  /** The text of a new file. */
  readonly empty: string;
  isEmpty(text: string): boolean;
}

const json: FileFormat = { empty: "{}\n", isEmpty };

export interface HooksFileOptions {
  readonly paths: KitePaths;
  /** The settings file as the client names it; it may be a link. */
  readonly settings: string;
  /** The client's name in the record; absent: Claude Code, whose records have none. */
  readonly client?: string;
  /** The settings are a project's committed ones: git keeps the old file. */
  readonly shared: boolean;
  /** Absent: JSON. */
  readonly format?: FileFormat;
  /** Returns the wanted text; `before` lists the objects that an earlier install created. Throws SettingsRefused. */
  readonly plan: (
    text: string,
    before: Created | null,
  ) => { readonly text: string; readonly created: Created | null };
}

/** A client's file with what Kite puts into it, and takes out again. */
export interface ClientFile extends HooksFileOptions {
  readonly without: Without;
}

export interface PutHooks {
  readonly file: string;
  /** False if the settings already had every entry. */
  readonly changed: boolean;
  readonly backup: string | null;
}

/** Returns the settings file's text after `putHooksFile`, without writing it. */
export function previewHooksFile({
  settings,
  plan,
  format = json,
}: Pick<HooksFileOptions, "settings" | "plan" | "format">): string {
  const file = linkTarget(settings);
  return named(file, () => plan(readText(file, limits.settingsBytes) ?? format.empty, null).text);
}

/** A file that an install would write. */
export interface PlannedFile {
  readonly path: string;
  /** `write`: one of Kite's own, which it writes again each time. */
  readonly does: "create" | "change" | "keep" | "write";
}

export interface PlannedFiles {
  readonly settings: PlannedFile;
  /** A copy of the settings. */
  readonly copy: string | null;
  readonly programs: readonly string[];
  readonly record: string;
}

/** Returns the files that `putHooksFile` would write. */
export function plannedHooksFile(options: HooksFileOptions): PlannedFiles {
  const { paths, settings, shared } = options;
  const file = linkTarget(settings);
  const old = readText(file, limits.settingsBytes);
  const does = old === null ? "create" : previewHooksFile(options) === old ? "keep" : "change";
  const known = readInstalls(paths.installs).find(one => one.file === file);
  const hasCopy = shared || known?.madeFile === true || (known?.backup ?? null) !== null;
  return {
    settings: { path: file, does },
    copy: does === "change" && !hasCopy ? backUpName(file) : null,
    programs: programFiles(paths.bin),
    record: paths.installs,
  };
}

/**
 * Adds Kite's hooks to a settings file. Installs the program first, so that no entry names a missing file. A second
 * call changes nothing. If the file is unusable, throws a sentence for the person and leaves the file unchanged.
 */
export async function putHooksFile(
  options: HooksFileOptions,
  program: Omit<ProgramOptions, "paths">,
): Promise<PutHooks> {
  const { paths, settings, format = json } = options;
  const file = linkTarget(settings);
  const now = readText(file, limits.settingsBytes);
  if (named(file, () => options.plan(now ?? format.empty, null)).text !== now) refuseLinked(file);
  const programChanged = putProgram({ paths, ...program });
  return await whileLocked(paths.installs, async () => {
    const installs = readInstalls(paths.installs);
    const known = installs.find(i => i.file === file);
    const record = (install: Install) =>
      writeInstalls(paths.installs, [...installs.filter(i => i !== known), install]);
    const madeFolder = mkdirSync(dirname(file), { recursive: true }) !== undefined;
    const { backup, changed } = await whileLocked(file, () =>
      retried(file, () => putNow({ ...options, file, known, madeFolder, record })),
    );
    return { file, changed: changed || programChanged, backup };
  });
}

interface Put extends HooksFileOptions {
  readonly file: string;
  readonly known: Install | undefined;
  readonly madeFolder: boolean;
  readonly record: (install: Install) => void;
}

/** Writes the record before the settings: after a crash in between, uninstall finds the record and no entries. */
function putNow({
  file,
  known,
  madeFolder,
  shared,
  client,
  plan,
  format = json,
  record,
}: Put): Omit<PutHooks, "file"> | null {
  const old = readText(file, limits.settingsBytes);
  const before = old === null ? undefined : known;
  const { text, created } = named(file, () => plan(old ?? format.empty, before?.created ?? null));
  const kind = {
    ...(shared ? ({ isShared: true } as const) : {}),
    ...(client === undefined ? {} : { client }),
  };
  if (text === old) {
    if (before === undefined) {
      record({ file, backup: null, madeFile: false, madeFolder: false, sha256: null, created, ...kind });
    }
    return { backup: before?.backup ?? null, changed: false };
  }
  const copy = old === null || shared || before?.madeFile || before?.backup ? null : backUp(file, old);
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

/** Returns the settings without what Kite added. Throws SettingsRefused. */
export type Without = (text: string, created: Created | null) => string;

/** Removes Kite's hooks from one settings file, and the files that the install put beside it. Throws as it does. */
export async function takeOutHooksFile(
  paths: KitePaths,
  settings: string,
  without: Without,
  format: FileFormat = json,
): Promise<Uninstalled> {
  const file = linkTarget(settings);
  if (!existsSync(paths.home)) return await takeOut(file, undefined, without, format);
  return await whileLocked(paths.installs, async () => {
    const installs = readInstalls(paths.installs);
    const before = installs.find(i => i.file === file);
    const done = await takeOut(file, before, without, format);
    const others = installs.filter(i => i !== before);
    if (others.length > 0 || before !== undefined || done.result !== "nothing_there")
      keepRecords(paths, others);
    return done;
  });
}

/**
 * Runs `work`, in which the client itself changes a recorded file for Kite, and notes the new text as Kite's. So a
 * later removal still restores the file byte for byte, if nobody else had changed it before.
 */
export async function whileClientWrites<T>(
  paths: KitePaths,
  settings: string,
  work: () => Promise<T>,
): Promise<T> {
  const file = linkTarget(settings);
  const before = readText(file, limits.settingsBytes);
  const done = await work();
  await whileLocked(paths.installs, () => {
    const installs = readInstalls(paths.installs);
    const known = installs.find(i => i.file === file);
    const after = readText(file, limits.settingsBytes);
    if (known === undefined || before === null || after === null || digest(before) !== known.sha256) return;
    writeInstalls(paths.installs, [
      ...installs.filter(i => i !== known),
      { ...known, sha256: digest(after) },
    ]);
  });
  return done;
}

/** Forgets a settings file and leaves it as it is. */
export async function forget(paths: KitePaths, file: string): Promise<void> {
  await whileLocked(paths.installs, () => {
    const installs = readInstalls(paths.installs);
    keepRecords(
      paths,
      installs.filter(i => i.file !== file),
    );
  });
}

/** Writes the records that are left; without any, and without a plugin, removes the programs that only hooks run. */
function keepRecords(paths: KitePaths, installs: readonly Install[]): void {
  if (installs.length > 0) {
    writeInstalls(paths.installs, installs);
    return;
  }
  rmSync(paths.installs, { force: true });
  if (!existsSync(paths.plugins)) removeProgram(paths.bin);
}

async function takeOut(
  file: string,
  before: Install | undefined,
  without: Without,
  format: FileFormat,
): Promise<Uninstalled> {
  const result = existsSync(file)
    ? await whileLocked(file, () => retried(file, () => takeOutNow(file, before, without, format)))
    : "nothing_there";
  if (before?.backup) rmSync(before.backup, { force: true });
  if (before?.madeFolder && existsSync(dirname(file))) removeIfEmpty(dirname(file));
  return { file, result, ...(result !== "nothing_there" && !existsSync(file) ? { isGone: true } : {}) };
}

function takeOutNow(
  file: string,
  before: Install | undefined,
  without: Without,
  format: FileFormat,
): Uninstalled["result"] | null {
  const old = readText(file, limits.settingsBytes);
  if (old === null) return "nothing_there";
  const original = before?.backup ? readText(before.backup, limits.settingsBytes) : null;
  const untouched = before !== undefined && digest(old) === before.sha256;
  if (untouched && before.madeFile) return removeText(file, old) ? "restored" : null;
  if (untouched && original !== null) return replaceText(file, original, 0o644, old) ? "restored" : null;
  const text = named(file, () => without(old, before?.created ?? null));
  if (text === old) return "nothing_there";
  const isGone = before?.madeFile && format.isEmpty(text);
  const done = isGone ? removeText(file, old) : replaceText(file, text, 0o644, old);
  return done ? "edited" : null;
}
