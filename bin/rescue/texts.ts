/**
 * Compares and merges contents by git, on temporary files in a folder of our own. No settings, attributes, drivers or
 * filters of a project or a person count. Contents are bytes; lines are compared as such.
 */

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findProgram } from "../../daemon/facts/programs.ts";
import { limits } from "../../protocol/limits.ts";
import { searchPath } from "../../protocol/paths.ts";
import type { VersionRow } from "../../protocol/schemas/rescue.ts";
import { plain } from "../../protocol/text.ts";
import { type Env, ProgramFailed } from "../context/programs.ts";
import type { OnDisk } from "./versions.ts";

/** A place where two texts differ: `[start, start + lines)` of the one stands for that of the other. Counts from 0. */
export interface Hunk {
  readonly before: { readonly start: number; readonly lines: number };
  readonly after: { readonly start: number; readonly lines: number };
}

/** What a merge gives; `conflicts` counts the places where both sides changed the same lines, which the text marks. */
interface Merged {
  readonly content: Buffer;
  readonly conflicts: number;
}

/** What the sides of a conflict are called in the text. */
interface Labels {
  readonly now: string;
  readonly other: string;
}

export class Texts {
  readonly #git: string;
  readonly #folder: string;
  readonly #env: Env;
  #n = 0;

  private constructor(git: string, env: Env) {
    this.#git = git;
    this.#folder = mkdtempSync(join(tmpdir(), "kite-texts-"));
    this.#env = {
      PATH: searchPath(env["PATH"]),
      HOME: this.#folder,
      LC_ALL: "C",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_ATTR_NOSYSTEM: "1",
      // The folder for temporary files may be in a repository.
      GIT_CEILING_DIRECTORIES: dirname(this.#folder),
    };
  }

  /** Null: git is not installed. It is never one of the project in `cwd`. */
  static open({ env, cwd }: { readonly env: Env; readonly cwd: string }): Texts | null {
    const git = findProgram("git", { env, workedIn: [cwd] });
    return git === null ? null : new Texts(git.path, env);
  }

  /** Removes the temporary files. */
  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Merges what changed from `base` to `other` into `now`. Null: one of them is no text. Throws `ProgramFailed`. */
  async merge(now: Buffer, base: Buffer, other: Buffer, labels: Labels): Promise<Merged | null> {
    if ([now, base, other].some(isBinary)) return null;
    const names = [labels.now, "before", labels.other].flatMap(label => ["-L", label]);
    const files = [now, base, other].map(content => this.#file(content));
    const { code, out, stderr } = await this.#run(["merge-file", "-p", "-q", ...names, ...files]);
    // Git returns the number of conflicts, and 255 for a failure.
    if (code < 0 || code > 127) throw failed("merge-file", stderr);
    return { content: out, conflicts: code };
  }

  /** Returns where the texts differ, in their order. Throws `ProgramFailed`. */
  async hunks(before: Buffer, after: Buffer): Promise<readonly Hunk[]> {
    const lines = (await this.#diff(before, after, 0)).toString("latin1").split("\n");
    return lines.flatMap(line => {
      const found = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
      return found === null ? [] : [{ before: side(found[1], found[2]), after: side(found[3], found[4]) }];
    });
  }

  /** Returns the hunks of a unified diff; empty if the texts are alike. Throws `ProgramFailed`. */
  async unified(before: Buffer, after: Buffer): Promise<Buffer> {
    const out = await this.#diff(before, after, 3);
    const start = out.indexOf("\n@@ ");
    return start === -1 ? Buffer.alloc(0) : out.subarray(start + 1);
  }

  async #diff(before: Buffer, after: Buffer, context: number): Promise<Buffer> {
    if (before.equals(after)) return Buffer.alloc(0);
    const how = ["--no-index", "--no-ext-diff", "--no-textconv", "--no-color", "--text", `-U${context}`];
    const files = [this.#file(before), this.#file(after)];
    const { code, out, stderr } = await this.#run(["diff", ...how, "--", ...files]);
    if (code !== 0 && code !== 1) throw failed("diff", stderr);
    return out;
  }

  #file(content: Buffer): string {
    this.#n += 1;
    const name = `f${this.#n}`;
    writeFileSync(join(this.#folder, name), content, { mode: 0o600 });
    return name;
  }

  #run(
    args: readonly string[],
  ): Promise<{ readonly code: number; readonly out: Buffer; readonly stderr: string }> {
    const options = {
      cwd: this.#folder,
      env: { ...this.#env },
      encoding: "buffer" as const,
      maxBuffer: limits.rescueFileBytes * 8,
      timeout: limits.spawnProgramMs,
    };
    return new Promise(resolve => {
      execFile(this.#git, ["--no-pager", ...args], options, (error, out, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ code, out, stderr: `${stderr.toString()} ${error?.message ?? ""}` });
      });
    });
  }
}

/** Whether it is no text, as git says: a zero byte is among the first. */
export function isBinary(content: Buffer): boolean {
  return content.subarray(0, 8000).includes(0);
}

/** Git counts lines from 1; a side without lines is named by the line before it. */
function side(start = "0", lines = "1"): Hunk["before"] {
  const count = Number(lines);
  return { start: count === 0 ? Number(start) : Number(start) - 1, lines: count };
}

function failed(command: string, stderr: string): ProgramFailed {
  return new ProgramFailed(`git ${command} failed: ${plain(stderr).slice(-500)}`);
}

/** The lines of a text with their ends, byte for byte. */
export function linesOf(content: Buffer): readonly string[] {
  return content.toString("latin1").match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** The text of such lines. */
export function contentOf(lines: readonly string[]): Buffer {
  return Buffer.from(lines.join(""), "latin1");
}

// What a file would have if kept work came back into it. Nothing is written here.

/**
 * What comes of it. `same`: the file has it already. `whole`: one version takes the place of all that is there. `conflict`: both
 * changed the same lines; `marked` has both, with git's marks.
 */
export type Outcome =
  | { readonly is: "same" }
  | { readonly is: "whole" | "merged"; readonly content: Buffer }
  | { readonly is: "conflict"; readonly conflicts: number; readonly marked: Buffer }
  | { readonly is: "unmerged"; readonly why: string };

/** A change: what was there before it, and after it. */
export interface Change {
  /** Null: nobody knows. */
  readonly before: Buffer | null;
  readonly after: Buffer;
}

/** Makes the changes one after the other in what the file has now. Throws `ProgramFailed`. */
export async function changed(
  texts: Texts | null,
  now: Buffer,
  changes: readonly Change[],
  labels: Labels,
): Promise<Outcome> {
  let content = now;
  let isMerged = false;
  let conflicts = 0;
  for (const { before, after } of changes) {
    if (content.equals(after)) continue;
    if (before?.equals(content) === true) {
      content = after;
      continue;
    }
    if (texts === null)
      return { is: "unmerged", why: "the file went on since, and git, which merges, is not installed" };
    const merged = await texts.merge(content, before ?? Buffer.alloc(0), after, labels);
    if (merged === null)
      return { is: "unmerged", why: "the file went on since, and it is no text that can be merged" };
    content = merged.content;
    conflicts += merged.conflicts;
    isMerged = true;
  }
  if (conflicts > 0) return { is: "conflict", conflicts, marked: content };
  if (content.equals(now)) return { is: "same" };
  return { is: isMerged ? "merged" : "whole", content };
}

/** When a version that a shell line or nobody left counts as the wipe's own result: this near to the wipe, in milliseconds. */
const nearMs = 60_000;

/**
 * Returns the version that has what a wipe left of a file: the first one after the wiped one, if nobody edited it then. Null:
 * there is none. `rows` are the versions of the file, the latest first.
 */
export function leftByWipe(
  rows: readonly VersionRow[],
  wiped: Pick<VersionRow, "version">,
  wipe: { readonly at: number; readonly by: VersionRow["by"] },
): VersionRow | null {
  const at = rows.findIndex(({ version }) => version === wiped.version);
  const next = at > 0 ? rows[at - 1] : undefined;
  if (next === undefined || Math.abs(next.at - wipe.at) > nearMs) return null;
  const isOwn = next.kind === "write" && next.by?.id === wipe.by?.id && !isEditTool(next.tool);
  return next.kind === "outside" || isOwn ? next : null;
}

/** Tools that edit a file have a capital; a shell line's program as a rule has none, and Kite's own commands are no wipe. */
function isEditTool(tool: string | null): boolean {
  return tool !== null && /^(?:[A-Z]|kite )/.test(tool);
}

/** What the file has, as bytes; null: it is no file. */
export function bytesOf(disk: OnDisk): Buffer | null {
  if (disk.is === "absent") return Buffer.alloc(0);
  return disk.is === "file" ? disk.content : null;
}
