/** Differences for a terminal, as JSON and as patches. */

import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { findProgram } from "../../daemon/facts/programs.ts";
import { limits } from "../../protocol/limits.ts";
import { searchPath } from "../../protocol/paths.ts";
import type { Env } from "../context/programs.ts";
import { patchOf } from "../rescue/rescue.ts";
import { authorName, diffLines } from "../rescue/shown.ts";
import { isBinary, type Texts } from "../rescue/texts.ts";
import { type Cell, clean, counted, listed, paint, type Screen, table } from "../view/text.ts";
import type { Change } from "./changes.ts";

const nothing = Buffer.alloc(0);

function isText({ before, after }: Change): boolean {
  return !(isBinary(before ?? nothing) || isBinary(after ?? nothing));
}

/** The fields of `--json`. Throws `ProgramFailed`. */
export async function changeJson(texts: Texts, change: Change): Promise<object> {
  const { before, after, ...rest } = change;
  const diff = await texts.unified(before ?? nothing, after ?? nothing);
  return { ...rest, how: howOf(change), isText: isText(change), diff: diff.toString("utf8") };
}

function howOf({ was, before, after }: Change): "added" | "deleted" | "renamed" | "changed" {
  if (after === null) return "deleted";
  if (before === null) return "added";
  return was === null ? "changed" : "renamed";
}

interface Count {
  readonly added: number;
  readonly taken: number;
}

function countOf(hunks: Buffer): Count {
  const signs = hunks.toString("latin1").split("\n");
  const count = (sign: string) => signs.filter(line => line.startsWith(sign)).length;
  return { added: count("+"), taken: count("-") };
}

/** What of a file somebody changed, below a line that says whose it is. Throws `ProgramFailed`. */
export async function changeLines(texts: Texts, change: Change, screen: Screen): Promise<readonly string[]> {
  const [old, fresh] = [change.before ?? nothing, change.after ?? nothing];
  const head = `In ${paint(screen, "bold", clean(change.file))}${howText(change)}${whoseText(change)}`;
  if (!isText(change)) return [`${head}: no text, ${old.length} bytes became ${fresh.length}`];
  const hunks = await texts.unified(old, fresh);
  const { added, taken } = countOf(hunks);
  return [`${head}  +${added} −${taken}`, ...diffLines(hunks, screen)];
}

function howText(change: Change): string {
  const how = howOf(change);
  if (change.was !== null) return `, which was ${clean(change.was)}`;
  return how === "changed" ? "" : `, ${how}`;
}

function whoseText({ writers, isWhole }: Change): string {
  if (writers === null) return "";
  const names = `  ${listed(writers.map(authorName))}`;
  if (writers.length < 2) return names;
  return `${names}, ${isWhole ? "not told apart: Kite keeps no versions of it" : "in the same lines"}`;
}

/** A row for each file and writer, and the sum. Throws `ProgramFailed`. */
export async function statLines(texts: Texts, changes: readonly Change[], screen: Screen): Promise<string[]> {
  let [added, taken] = [0, 0];
  const rows: Cell[][] = [];
  for (const change of changes) {
    const { file, was, before, after, writers } = change;
    const hunks = isText(change) ? await texts.unified(before ?? nothing, after ?? nothing) : nothing;
    const count = countOf(hunks);
    added += count.added;
    taken += count.taken;
    const size = `${before?.length ?? 0} → ${after?.length ?? 0} bytes`;
    rows.push([
      isText(change) ? `+${count.added} −${count.taken}` : size,
      { text: howOf(change), style: "dim" },
      { text: was === null ? clean(file) : `${clean(was)} → ${clean(file)}`, style: "bold" },
      listed((writers ?? []).map(authorName)),
    ]);
  }
  const files = new Set(changes.map(({ path }) => path)).size;
  const columns = [{}, {}, { min: 12, cut: "middle" as const }, { min: 8, max: 40 }];
  return [...table(rows, columns, screen, 1), ` ${counted(files, "file")}, +${added} −${taken}`];
}

/** Patches, one after the other; `left` are files that are no text. Throws `ProgramFailed`. */
export async function patches(
  texts: Texts,
  changes: readonly Change[],
): Promise<{ readonly patch: Buffer; readonly left: readonly string[] }> {
  const parts: Buffer[] = [];
  const left: string[] = [];
  for (const change of changes) {
    const bytes = await patchOf(texts, change);
    if (bytes === null) left.push(change.file);
    else parts.push(bytes);
  }
  return { patch: Buffer.concat(parts), left };
}

// The pager of a person, as git finds it: by GIT_PAGER, the person's own git settings, PAGER, else less. What a repository's
// settings name never runs, nor does a program that lies in the project.

interface PagerPlace {
  readonly env: Env;
  readonly cwd: string;
  /** Directories of projects: no program below one runs. */
  readonly projects: readonly string[];
}

/** Returns the shell line of the pager; null: print without one. */
export async function pagerFor({ env, cwd, projects }: PagerPlace): Promise<string | null> {
  const git = findProgram("git", { env, workedIn: [cwd, ...projects] })?.path;
  if (git === undefined) return null;
  // In a folder of its own git has the person's settings alone.
  const folder = mkdtempSync(join(tmpdir(), "kite-pager-"));
  try {
    const own = Object.entries(env).filter(([name]) => !name.startsWith("GIT_") || isPersons.test(name));
    const alone = { ...Object.fromEntries(own), GIT_CEILING_DIRECTORIES: dirname(folder) };
    const ask = (...words: string[]) => answer(git, words, folder, alone);
    const set = env["GIT_PAGER"] === undefined ? await ask("config", "--get", "pager.diff") : null;
    if (set !== null && /^(?:false|no|off|0)$/i.test(set)) return null;
    const isLine = set !== null && !/^(?:true|yes|on|1)?$/i.test(set);
    const line = isLine ? set : await ask("var", "GIT_PAGER");
    return line === null || line === "" || line === "cat" ? null : line;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Variables that a person sets for all repositories. */
const isPersons = /^GIT_(?:PAGER|CONFIG_GLOBAL|CONFIG_SYSTEM|CONFIG_NOSYSTEM)$/;

function answer(git: string, words: readonly string[], cwd: string, env: Env): Promise<string | null> {
  const options = { cwd, env: { ...env }, timeout: limits.spawnProgramMs };
  return new Promise(resolve => {
    execFile(git, [...words], options, (error, out) => resolve(error === null ? out.trim() : null));
  });
}

/** Shows the text in the pager until the person leaves it. False: the pager did not run, and nothing was shown. */
export function page(line: string, text: string, { env, projects }: PagerPlace): Promise<boolean> {
  const outside = searchPath(env["PATH"])
    .split(delimiter)
    .filter(entry => !projects.some(one => entry === one || entry.startsWith(`${one}/`)));
  const own = { LESS: "FRX", LV: "-c", ...env, PATH: outside.join(delimiter) };
  const child = spawn("/bin/sh", ["-c", line], { env: own, stdio: ["pipe", "inherit", "inherit"] });
  // Ctrl-C is for the pager, which goes on.
  const ignore = () => {};
  process.on("SIGINT", ignore);
  return new Promise(resolve => {
    const end = (isShown: boolean) => {
      process.off("SIGINT", ignore);
      resolve(isShown);
    };
    child.once("error", () => end(false));
    // As a shell says that there is no such program, or that it cannot run.
    child.once("close", code => end(code !== 126 && code !== 127));
    // A person may leave before the end of the text.
    child.stdin.on("error", ignore);
    child.stdin.end(text);
  });
}
