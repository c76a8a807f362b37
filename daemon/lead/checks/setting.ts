/**
 * The checks that a project's `.kite/config.json` names. Any agent may write that file: names and texts are bounded, and
 * nothing here runs a command. A person trusts the text of all checks at once, by its hash.
 */
import { createHash } from "node:crypto";
import { type Gates, gateNames } from "../../../protocol/lead/roles.ts";
import { limits } from "../../../protocol/limits.ts";
import { quote } from "../../../protocol/text.ts";
import { isObject } from "../../../protocol/wire.ts";
import { globProblem } from "../../config/glob.ts";
import type { Section } from "../../config/setting.ts";

export interface Check {
  readonly name: string;
  /** A line for `sh -c`, run at the top of the worktree. */
  readonly command: string;
  /** Globs from the top of the worktree: the check matters only if one of their files changed; null: always. */
  readonly when: readonly string[] | null;
}

/** A letter first, so that no name is an option or a file's. */
const namePattern = new RegExp(`^[A-Za-z][A-Za-z0-9_.:-]{0,${limits.checkNameChars - 1}}$`);

/** Returns the valid checks of the setting `checks`, in the file's order; adds a sentence for each problem. */
export function checksIn(value: unknown, path: string, problems: string[]): readonly Check[] {
  if (value === undefined) return [];
  if (!isObject(value)) {
    problems.push(`${path}: checks is ignored: expected an object like {"test": {"command": "npm test"}}`);
    return [];
  }
  const checks: Check[] = [];
  for (const [name, fields] of Object.entries(value)) {
    const found = checkOf(name, fields);
    if (typeof found === "string") problems.push(`${path}: the check ${quote(name)} is ignored: ${found}`);
    else if (checks.length < limits.checksMax) checks.push(found);
    else problems.push(`${path}: the check ${quote(name)} is ignored: at most ${limits.checksMax} count`);
  }
  return checks;
}

/**
 * Returns the setting `setup`: a shell line that makes a fresh worktree ready for the checks, once before the first one;
 * null if there is none. Adds a sentence if it is invalid.
 */
export function setupIn(value: unknown, path: string, problems: string[]): string | null {
  if (value === undefined) return null;
  if (isCommand(value)) return value;
  const error = `expected a shell line of at most ${limits.checkCommandChars} characters, like "npm ci"`;
  problems.push(`${path}: setup is ignored: ${error}`);
  return null;
}

const checks: Section<readonly Check[]> = {
  read: checksIn,
  elsewhere: "checks belong to a project: name them in its .kite/config.json",
};

const setup: Section<string | null> = {
  read: setupIn,
  elsewhere: "a setup belongs to a project: name it in its .kite/config.json",
};

export const checkSections = { checks, setup };

function isCommand(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value.trim() !== "" &&
    !value.includes("\0") &&
    value.length <= limits.checkCommandChars
  );
}

/** Returns a check, or what is wrong with it. */
function checkOf(name: string, fields: unknown): Check | string {
  if (!namePattern.test(name)) {
    return `a name begins with a letter and has up to ${limits.checkNameChars} letters, digits and _ . : -`;
  }
  if (!isObject(fields)) return 'expected an object like {"command": "npm test"}';
  for (const field of Object.keys(fields))
    if (field !== "command" && field !== "when")
      return `${quote(field)} is not known; known are command, when`;
  const { command, when } = fields;
  if (!isCommand(command)) {
    return `command must be a shell line of at most ${limits.checkCommandChars} characters`;
  }
  if (when === undefined) return { name, command, when: null };
  const globs: readonly unknown[] = Array.isArray(when) ? when : [when];
  const texts = globs.filter(glob => typeof glob === "string");
  if (texts.length !== globs.length || globs.length === 0 || globs.length > limits.checkGlobsMax) {
    return `when must be a glob, or a list of 1 to ${limits.checkGlobsMax} globs`;
  }
  for (const glob of texts) {
    if (glob.length > limits.globBytes) return `a glob of when has more than ${limits.globBytes} characters`;
    const problem = globProblem(glob);
    if (problem !== null) return `when: ${problem}`;
  }
  return { name, command, when: texts };
}

/** Returns the hash of a command's text, by which results name it. */
export function commandHash(command: string): string {
  return createHash("sha256").update(command).digest("hex");
}

/** What a project's file says that a person trusts at once: its checks, its gates (null: it sets none) and its setup. */
export interface TrustedParts {
  readonly checks: readonly Check[];
  readonly gates: Gates | null;
  /** A line for `sh -c`; absent or null: it names none. */
  readonly setup?: string | null;
}

/** Returns the hash of everything that checks, gates and setup say, by which a person trusts them. */
export function trustHash({ checks, gates, setup = null }: TrustedParts): string {
  const rows = checks.map(({ name, command, when }) => [name, command, when]);
  const named = gates === null ? null : gateNames.map(gate => gates[gate]);
  // Without a setup, and without gates, the text is the one that it was before there were any.
  const parts = setup !== null ? [rows, named, setup] : named === null ? rows : [rows, named];
  const text = JSON.stringify(parts);
  return createHash("sha256").update(text).digest("hex");
}
