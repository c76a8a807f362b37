/** What `kite install` gave the person's shell, and how `kite uninstall` takes it back. */
import { lstatSync, mkdirSync, readlinkSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { InstallFailed, readText, removeText, replaceText, retried } from "../../hooks/install/file.ts";
import { removeIfEmpty } from "../../hooks/install/program.ts";
import { readRecords, writeRecords } from "../../hooks/install/records.ts";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { isObject } from "../../protocol/wire.ts";

/** `link`: a link to `text`. `lines`: `text` was added to a file, which Kite made if `madeFile`. */
export interface ShellPart {
  readonly kind: "link" | "lines";
  readonly file: string;
  readonly text: string;
  readonly madeFile: boolean;
}

/** Throws InstallFailed if the record cannot be read. */
export function shellParts({ shell }: KitePaths): readonly ShellPart[] {
  return readRecords(shell, "parts", isPart);
}

/** Comes before the part itself: after a crash in between, an uninstall finds a part that is not there. */
export function recordPart(paths: KitePaths, part: ShellPart): void {
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  const others = shellParts(paths).filter(({ kind, file }) => kind !== part.kind || file !== part.file);
  writeRecords(paths.shell, "parts", [...others, part]);
}

/** A part that was taken back, or why it was not. */
export interface PartTaken {
  readonly file: string;
  readonly result: "removed" | "edited" | "changed";
}

/** Takes back all parts that are still as Kite wrote them, and forgets the others. */
export function takeShellParts(paths: KitePaths): readonly PartTaken[] {
  const taken = shellParts(paths).flatMap(part => (part.kind === "link" ? takeLink(part) : takeLines(part)));
  rmSync(paths.shell, { force: true });
  return taken;
}

function takeLink({ file, text }: ShellPart): PartTaken[] {
  const there = lstatSync(file, { throwIfNoEntry: false });
  if (there === undefined) return [];
  if (!there.isSymbolicLink() || readlinkSync(file) !== text) return [{ file, result: "changed" }];
  rmSync(file);
  return [{ file, result: "removed" }];
}

function takeLines({ file, text, madeFile }: ShellPart): PartTaken[] {
  return retried(file, () => {
    const old = readText(file, limits.settingsBytes);
    if (old === null) return [];
    const at = old.indexOf(text);
    if (at === -1) return [{ file, result: "changed" }];
    const next = old.slice(0, at) + old.slice(at + text.length);
    if (next !== "" || !madeFile)
      return replaceText(file, next, 0o644, old) ? [{ file, result: "edited" }] : null;
    if (!removeText(file, old)) return null;
    removeIfEmpty(dirname(file));
    return [{ file, result: "removed" }];
  });
}

function isPart(value: unknown): value is ShellPart {
  return (
    isObject(value) &&
    (value["kind"] === "link" || value["kind"] === "lines") &&
    typeof value["file"] === "string" &&
    typeof value["text"] === "string" &&
    typeof value["madeFile"] === "boolean"
  );
}

/** Refuses to go on where somebody else's file would be overwritten. */
export function refuseTaken(file: string): void {
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined)
    throw new InstallFailed(`${file} is there meanwhile; Kite did not change it`);
}
