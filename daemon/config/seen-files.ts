/**
 * Which of the files that a person changes by Kite's commands something else has changed. `seen/` holds a copy of each, as
 * Kite's commands left it or as a person saw it at last; an empty copy stands for a file that was not there. A file that
 * differs from its copy was changed by no command of Kite. Without a copy nothing is known, so the daemon's start makes one.
 */
import { mkdirSync, readFileSync, renameSync, type Stats, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import type { ChangedFileRow } from "../../protocol/schemas/overview.ts";

type Paths = Pick<KitePaths, "seen" | "config" | "trusted">;

/** The setting of these files in `KitePaths`, with the longest text that counts. */
const files = {
  config: { name: "config.json", bytesMax: limits.smallFileBytes },
  trusted: { name: "trusted.json", bytesMax: limits.trustedBytes },
} as const;

export type SeenFile = keyof typeof files;
const names: readonly SeenFile[] = ["config", "trusted"];

/** Copies each file that has no copy yet. */
export function keepUnseen(paths: Paths): void {
  for (const file of names) if (textOf(copyOf(paths, file), file) === null) markSeen(paths, file);
}

/** A person has seen the file as it is now. */
export function markSeen(paths: Paths, file: SeenFile): void {
  writeCopy(paths, file, textOf(paths[file], file) ?? "");
}

/** Makes the change of one of Kite's commands in the copy, too, so that what something else changed still differs. */
export function changeSeen(paths: Paths, file: SeenFile, change: (text: string | null) => string): void {
  const copy = textOf(copyOf(paths, file), file);
  if (copy !== null) writeCopy(paths, file, change(copy === "" ? null : copy));
}

/** Returns whether something else changed the file. */
export function isChanged(paths: Paths, file: SeenFile): boolean {
  const copy = textOf(copyOf(paths, file), file);
  return copy !== null && copy !== (textOf(paths[file], file) ?? "");
}

/** Returns the text of the entries by project that a file's text has; null: it has another form. */
export type EntriesIn = (text: string) => ReadonlyMap<string, string> | null;

/** What the daemon tells of them. */
export class SeenFiles {
  readonly #paths: Paths;
  readonly #trustedIn: EntriesIn;
  readonly #onChange: (row: ChangedFileRow) => void;
  #stamp = "";
  #rows: readonly ChangedFileRow[] = [];

  /** `onChange` hears of each change when it is noticed. */
  constructor(paths: Paths, trustedIn: EntriesIn, onChange: (row: ChangedFileRow) => void) {
    this.#paths = paths;
    this.#trustedIn = trustedIn;
    this.#onChange = onChange;
  }

  /** Returns the changed files. Costs four stats while nothing changes. */
  changed(): readonly ChangedFileRow[] {
    const paths = this.#paths;
    const stamp = names.flatMap(file => [stampOf(paths[file]), stampOf(copyOf(paths, file))]).join(" ");
    if (stamp === this.#stamp) return this.#rows;
    this.#stamp = stamp;
    this.#rows = names.filter(file => isChanged(paths, file)).map(file => this.#row(file));
    for (const row of this.#rows) this.#onChange(row);
    return this.#rows;
  }

  #row(file: SeenFile): ChangedFileRow {
    const paths = this.#paths;
    const stat = statOf(paths[file]);
    const row = { file: files[file].name, changedAt: stat === undefined ? null : Math.round(stat.mtimeMs) };
    if (file !== "trusted") return { ...row, lost: [], gained: [] };
    const [before, now] = [copyOf(paths, file), paths[file]].map(
      path => this.#trustedIn(textOf(path, file) ?? "") ?? new Map<string, string>(),
    );
    const missing = (of: typeof now, from: typeof now) =>
      [...(of ?? [])].filter(([project, text]) => from?.get(project) !== text).map(([project]) => project);
    const max = limits.changedProjectsMax;
    return { ...row, lost: missing(before, now).slice(0, max), gained: missing(now, before).slice(0, max) };
  }
}

function copyOf({ seen }: Paths, file: SeenFile): string {
  return join(seen, files[file].name);
}

/** Undefined if nothing is there, or the system does not let this user look: `kite doctor` says who may not open which folder. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return undefined;
  }
}

function stampOf(path: string): string {
  const stat = statOf(path);
  return stat === undefined ? "-" : `${stat.ino} ${stat.size} ${stat.mtimeMs}`;
}

/** Returns the file's text; null if it is missing. What is no file, is too long, or cannot be read counts as empty. */
function textOf(path: string, file: SeenFile): string | null {
  const stat = statOf(path);
  if (stat === undefined) return null;
  if (!stat.isFile() || stat.size > files[file].bytesMax) return "";
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function writeCopy(paths: Paths, file: SeenFile, text: string): void {
  const copy = copyOf(paths, file);
  mkdirSync(paths.seen, { recursive: true, mode: 0o700 });
  writeFileSync(`${copy}.${process.pid}`, text, { mode: 0o600 });
  renameSync(`${copy}.${process.pid}`, copy);
}
