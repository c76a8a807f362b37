/**
 * The stash list: which uncommitted work `git stash` puts away, and which entries a command takes. Git refuses to bring
 * an entry back over uncommitted work, except in ignored files: so its entries alone decide.
 */
import type { StashUse } from "../../protocol/guard.ts";
import { asValue, hole, type Value } from "../shell/variables.ts";
import { overIgnored, putting } from "./change-rules.ts";
import { has, type Options, readArguments } from "./options.ts";
import { all, onlyOrAll, operands, type Reach, type Rule, tree } from "./reach.ts";

/** Reads the words after `git stash`. */
export const stash: Rule = args => {
  const [first] = args;
  if (first !== undefined && !first.known)
    return { ...tree("stash"), unclear: true, stash: { does: "take_all" } };
  const isPush = first === undefined || first.text.startsWith("-");
  const sub = isPush ? "push" : first.text;
  switch (sub) {
    case "push":
      return pushed(isPush ? args : args.slice(1));
    case "save":
      return putting({ ...tree("stash save", all, isUntracked(args)), ...ignoredToo(args), ...made }, []);
    case "store":
      return entries("stash store", made.stash);
    case "pop":
    case "apply":
    case "branch":
      return broughtBack(sub, args.slice(1));
    case "drop":
      return entries("stash drop", { does: "take", entry: entryOf(named(args.slice(1))) });
    case "clear":
      return entries("stash clear", { does: "take_all" });
    default:
      return null;
  }
};

const stashed: Options = { short: "m", long: ["--message", "--pathspec-from-file"] };

function pushed(args: readonly Value[]): Reach {
  const given = readArguments(args, stashed);
  const isUnclear = has(given, "--pathspec-from-file");
  const paths = isUnclear ? ({ paths: null, unclear: true } as const) : onlyOrAll(operands(given));
  const isPart = has(given, "-p", "--patch", "-S", "--staged") ? ({ isPart: true } as const) : {};
  const stash = { ...made.stash, ...isPart };
  return putting({ ...tree("stash push", paths, isUntracked(args)), ...ignoredToo(args), stash }, []);
}

/** The entry's files overwrite ignored ones. `branch` begins with a branch's name, and goes to the entry's commit. */
function broughtBack(sub: "pop" | "apply" | "branch", args: readonly Value[]): Reach {
  const which = named(args, sub === "branch" ? 1 : 0);
  const entry = entryOf(which);
  const commit = typeof entry === "number" ? asValue(`stash@{${entry}}`) : which;
  const reach = overIgnored(tree(`stash ${sub}`), commit, sub === "branch" ? "target" : "commits");
  return { ...reach, stash: { does: sub === "apply" ? "copy" : "take", entry } };
}

/** The word that names the entry; without one it is the latest. */
function named(args: readonly Value[], at = 0): Value {
  const words = operands(readArguments(args, {}));
  // A word that only the shell knows may be any number of words.
  return words.slice(0, at + 1).find(({ known }) => !known) ?? words[at] ?? asValue("0");
}

/** The entry's position, or the beginning of its commit's id; null: the word may stand for any. */
function entryOf({ text, known }: Value): number | string | null {
  if (!known) return null;
  const [, position] = /^(?:(?:refs\/)?stash@\{)?(\d{1,9})\}?$/.exec(text) ?? [];
  if (position !== undefined) return Number(position);
  if (/^(?:refs\/)?stash$/.test(text)) return 0;
  return /^[\da-f]{4,64}$/i.test(text) ? text.toLowerCase() : null;
}

/** The command reaches no file, only entries. */
function entries(name: string, use: StashUse): Reach {
  return { name: `git ${name}`, reach: "stash", commits: false, ...all, untracked: false, stash: use };
}

const made = { stash: { does: "make" } } as const;

function ignoredToo(args: readonly Value[]): { readonly ignored?: true } {
  return has(readArguments(args, stashed), "-a", "--all") ? { ignored: true } : {};
}

function isUntracked(args: readonly Value[]): boolean {
  return has(readArguments(args, stashed), "-u", "--include-untracked", "-a", "--all");
}

const isStash = ({ text }: Value) => /^(?:refs\/)?stash$/.test(text);

/** Deletes the list with its ref, or puts an entry on top of it. */
export const updateRef: Rule = (args, { input }) => {
  const given = readArguments(args, { short: "m" });
  if (has(given, "--stdin")) return updated(input);
  const [ref, value] = operands(given);
  if (ref === undefined || ref.text !== "refs/stash") return null;
  if (has(given, "-d")) return entries("update-ref -d", { does: "take_all" });
  const isNone = value !== undefined && /^0*$/.test(value.text);
  return isNone ? entries("update-ref", { does: "take_all" }) : entries("update-ref", made.stash);
};

/** Its instructions, one a line, or each ended by a NUL. */
function updated(input: string | null): Reach | null {
  if (input === null || input.includes(hole)) return null;
  const lines = input.split(/[\n\0]/);
  if (lines.some(line => /^(?:delete refs\/stash\b|update refs\/stash 0+\b)/.test(line)))
    return entries("update-ref --stdin", { does: "take_all" });
  return lines.some(line => /^(?:update|create) refs\/stash\b/.test(line))
    ? entries("update-ref --stdin", made.stash)
    : null;
}

/** Without a time of its own git never expires stash entries. */
export const reflog: Rule = ([sub, ...args]) => {
  if (sub?.known !== true) return null;
  const given = readArguments(args, { long: ["--expire", "--expire-unreachable"] });
  const refs = operands(given);
  if (has(given, "-n", "--dry-run")) return null;
  const isAll = has(given, "--all") || refs.some(ref => isStash(ref) || !ref.known);
  const times = given.options.filter(({ name }) => /^--expire/.test(name));
  const isTimed = times.some(({ value }) => !/^(?:never|false)$/.test(value?.text ?? ""));
  if (sub.text === "expire" && isAll && isTimed) return entries("reflog expire", { does: "take_all" });
  if (sub.text === "drop" && isAll) return entries("reflog drop", { does: "take_all" });
  const stashes = refs.filter(({ text, known }) => !known || /^(?:refs\/)?stash@\{/.test(text));
  if (sub.text !== "delete" || stashes.length === 0) return null;
  const [first = asValue("0")] = stashes;
  // Each one that goes changes the positions of the others.
  const entry = stashes.length === 1 ? entryOf(first) : null;
  return entries("reflog delete", { does: "take", entry });
};
