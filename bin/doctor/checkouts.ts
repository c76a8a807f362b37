/**
 * Checkouts in which sessions work and git fails, or works on other files: `core.bare` and `core.worktree` in the
 * repository's own files. No program is run for it.
 */

import { lstatSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { SessionRow } from "../../protocol/session-rows.ts";
import { shellArgument } from "../../protocol/text.ts";
import { advise, type Check, fail } from "./results.ts";

/** A checkout that git does not see as its own files. */
interface LostCheckout {
  readonly detail: string;
  /** The line that takes the setting back. */
  readonly line: string;
}

/** Each worktree of these sessions is looked at once. */
export function lostCheckouts(sessions: readonly Pick<SessionRow, "worktree">[]): readonly LostCheckout[] {
  const worktrees = new Set(sessions.map(({ worktree }) => worktree));
  return [...worktrees].flatMap(worktree => lostCheckout(worktree) ?? []);
}

function lostCheckout(worktree: string): LostCheckout | null {
  const files = settingsOf(worktree);
  for (const file of files) {
    const { bare, worktree: other } = coreOf(textOf(file) ?? "");
    const of = files.length === 1 && file.endsWith(".worktree") ? "--worktree " : "";
    const line = (words: string) => `git -C ${shellArgument(worktree)} config ${of}${words}`;
    if (bare === true) {
      const detail = `git fails in ${worktree}, where sessions work: core.bare is true in ${file}`;
      return { detail, line: line("core.bare false") };
    }
    if (other === null || resolve(dirname(file), other) === worktree) continue;
    const detail = `git works on ${resolve(dirname(file), other)} in place of ${worktree}, where sessions work: core.worktree is set in ${file}`;
    return { detail, line: line("--unset core.worktree") };
  }
  return null;
}

/** Git ignores both settings of the common file in a linked worktree, which may have a file of its own. */
function settingsOf(worktree: string): readonly string[] {
  const entry = join(worktree, ".git");
  const stat = lstatSync(entry, { throwIfNoEntry: false });
  if (stat?.isDirectory() === true) return [join(entry, "config")];
  const target = stat?.isFile() === true ? /^gitdir: (.+)/.exec(textOf(entry) ?? "")?.[1] : undefined;
  if (target === undefined) return [];
  const gitDir = resolve(worktree, target);
  // A submodule's directory is not a linked worktree's: its `core.worktree` leads back.
  return [join(gitDir, textOf(join(gitDir, "commondir")) === null ? "config" : "config.worktree")];
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // What cannot be read is not known to be wrong.
    return null;
  }
}

/** The last values of the section `core` in a file of git's settings. */
function coreOf(text: string): { readonly bare: boolean; readonly worktree: string | null } {
  let isCore = false;
  let bare = false;
  let worktree: string | null = null;
  for (const raw of text.split("\n")) {
    const [, section, rest = ""] = /^\s*\[([^\]]*)\](.*)$/.exec(raw) ?? [null, null, raw];
    if (typeof section === "string") isCore = section.trim().toLowerCase() === "core";
    const [, key = "", value = null] =
      /^\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*?))?\s*(?:[#;].*)?$/.exec(rest) ?? [];
    if (!isCore || key === "") continue;
    if (key.toLowerCase() === "bare") bare = value === null || /^"?(?:true|yes|on|[1-9]\d*)"?$/i.test(value);
    if (key.toLowerCase() === "worktree") worktree = value === null ? null : value.replace(/^"(.*)"$/, "$1");
  }
  return { bare, worktree };
}

/** A row for each lost checkout; none where git finds all of them. */
export function checkCheckouts(sessions: readonly Pick<SessionRow, "worktree">[]): readonly Check[] {
  return lostCheckouts(sessions).map(({ detail, line }) =>
    fail("checkout", detail, advise("take the setting back", line)),
  );
}
