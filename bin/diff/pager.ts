/**
 * The pager of a person, as git finds it: by GIT_PAGER, the person's own git settings, PAGER, else less. What a repository's
 * settings name never runs, nor does a program that lies in the project.
 */
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { findProgram } from "../../daemon/facts/programs.ts";
import { limits } from "../../protocol/limits.ts";
import { searchPath } from "../../protocol/paths.ts";
import type { Env } from "../programs.ts";

export interface PagerPlace {
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
