/** Git commands that write the working tree: which uncommitted work they may wipe. */

import type { StashUse } from "../../protocol/guard.ts";
import { asValue, hole, type Value } from "../shell/variables.ts";
import { changeRules, ifExists, overIgnored, writesFrom } from "./change-rules.ts";
import {
  type Arguments,
  all,
  filesLost,
  has,
  index,
  type Options,
  operands,
  type Patch,
  pathsOf,
  pathsOrAll,
  type Reach,
  type Rule,
  readArguments,
  reverses,
  tree,
} from "./options.ts";

// Git commands that only print, but may write their output over a file.

/** The command writes into the file that its option names. */
function writesOutput(name: string, short: string, ...options: readonly string[]): Rule {
  return args => {
    const parsedArgs = readArguments(args, { short, long: options });
    const isFile = (option: string) =>
      has({ ...parsedArgs, options: [{ name: option, value: null }] }, ...options);
    return overFile(name, parsedArgs.options.findLast(option => isFile(option.name))?.value ?? null);
  };
}

/** A file that only the shell knows is hardly another one's. */
function overFile(name: string, file: Value | null): Reach | null {
  return file?.known ? { ...tree(name, pathsOf([file]), true), needsIndex: false } : null;
}

const bundle: Rule = args => {
  const [sub, file = null] = operands(readArguments(args, { long: ["--version"] }));
  return sub?.text === "create" ? overFile("bundle create", file) : null;
};

const showCommands = [
  "diff",
  "diff-files",
  "diff-index",
  "diff-tree",
  "format-patch",
  "log",
  "show",
  "whatchanged",
];

const outputRules: ReadonlyMap<string, Rule> = new Map([
  ...showCommands.map(name => [name, writesOutput(`${name} --output`, "", "--output")] as const),
  ["archive", writesOutput("archive --output", "o", "-o", "--output")],
  ["bundle", bundle],
]);

// The stash list: which uncommitted work `git stash` puts away, and which entries a command takes. Git refuses to bring
// an entry back over uncommitted work, except in ignored files: so its entries alone decide.

/** Reads the words after `git stash`. */
const stash: Rule = args => {
  const [first] = args;
  if (first !== undefined && !first.known)
    return { ...tree("stash"), unclear: true, stash: { does: "take_all" } };
  const isPush = first === undefined || first.text.startsWith("-");
  const sub = isPush ? "push" : first.text;
  switch (sub) {
    case "push":
      return stashPush(isPush ? args : args.slice(1));
    case "save":
      return writesFrom(
        { ...tree("stash save", all, isUntracked(args)), ...ignoredToo(args), ...makesEntry },
        [],
      );
    case "store":
      return entries("stash store", makesEntry.stash);
    case "pop":
    case "apply":
    case "branch":
      return stashApply(sub, args.slice(1));
    case "drop":
      return entries("stash drop", { does: "take", entry: entryOf(entryWord(args.slice(1))) });
    case "clear":
      return entries("stash clear", { does: "take_all" });
    default:
      return null;
  }
};

const stashOptions: Options = { short: "m", long: ["--message", "--pathspec-from-file"] };

function stashPush(args: readonly Value[]): Reach {
  const parsedArgs = readArguments(args, stashOptions);
  const isUnclear = has(parsedArgs, "--pathspec-from-file");
  const paths = isUnclear ? ({ paths: null, unclear: true } as const) : pathsOrAll(operands(parsedArgs));
  const isPart = has(parsedArgs, "-p", "--patch", "-S", "--staged") ? ({ isPart: true } as const) : {};
  const stash = { ...makesEntry.stash, ...isPart };
  return writesFrom({ ...tree("stash push", paths, isUntracked(args)), ...ignoredToo(args), stash }, []);
}

/** The entry's files overwrite ignored ones. `branch` begins with a branch's name, and goes to the entry's commit. */
function stashApply(sub: "pop" | "apply" | "branch", args: readonly Value[]): Reach {
  const which = entryWord(args, sub === "branch" ? 1 : 0);
  const entry = entryOf(which);
  const commit = typeof entry === "number" ? asValue(`stash@{${entry}}`) : which;
  const reach = overIgnored(tree(`stash ${sub}`), commit, sub === "branch" ? "target" : "commits");
  return { ...reach, stash: { does: sub === "apply" ? "copy" : "take", entry } };
}

/** The word that names the entry; without one it is the latest. */
function entryWord(args: readonly Value[], at = 0): Value {
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

const makesEntry = { stash: { does: "make" } } as const;

function ignoredToo(args: readonly Value[]): { readonly ignored?: true } {
  return has(readArguments(args, stashOptions), "-a", "--all") ? { ignored: true } : {};
}

function isUntracked(args: readonly Value[]): boolean {
  return has(readArguments(args, stashOptions), "-u", "--include-untracked", "-a", "--all");
}

const isStash = ({ text }: Value) => /^(?:refs\/)?stash$/.test(text);

/** Deletes the list with its ref, or puts an entry on top of it. */
const updateRef: Rule = (args, { input }) => {
  const parsedArgs = readArguments(args, { short: "m" });
  if (has(parsedArgs, "--stdin")) return refUpdates(input);
  const [ref, value] = operands(parsedArgs);
  if (ref === undefined || ref.text !== "refs/stash") return null;
  if (has(parsedArgs, "-d")) return entries("update-ref -d", { does: "take_all" });
  const isNone = value !== undefined && /^0*$/.test(value.text);
  return isNone ? entries("update-ref", { does: "take_all" }) : entries("update-ref", makesEntry.stash);
};

/** Its instructions, one a line, or each ended by a NUL. */
function refUpdates(input: string | null): Reach | null {
  if (input === null || input.includes(hole)) return null;
  const lines = input.split(/[\n\0]/);
  if (lines.some(line => /^(?:delete refs\/stash\b|update refs\/stash 0+\b)/.test(line)))
    return entries("update-ref --stdin", { does: "take_all" });
  return lines.some(line => /^(?:update|create) refs\/stash\b/.test(line))
    ? entries("update-ref --stdin", makesEntry.stash)
    : null;
}

/** Without a time of its own git never expires stash entries. */
const reflog: Rule = ([sub, ...args]) => {
  if (sub?.known !== true) return null;
  const parsedArgs = readArguments(args, { long: ["--expire", "--expire-unreachable"] });
  const refs = operands(parsedArgs);
  if (has(parsedArgs, "-n", "--dry-run")) return null;
  const isAll = has(parsedArgs, "--all") || refs.some(ref => isStash(ref) || !ref.known);
  const times = parsedArgs.options.filter(({ name }) => /^--expire/.test(name));
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

const restore: Rule = args => {
  const parsedArgs = readArguments(args, {
    short: "s",
    long: ["--source", "--conflict", "--pathspec-from-file"],
  });
  const paths = operands(parsedArgs);
  const isUnclear = has(parsedArgs, "--pathspec-from-file");
  if (paths.length === 0 && !isUnclear && !has(parsedArgs, "-p", "--patch")) return null;
  const reached = isUnclear ? ({ paths: null, unclear: true } as const) : pathsOrAll(paths);
  const isStaged = has(parsedArgs, "-S", "--staged") && !has(parsedArgs, "-W", "--worktree");
  if (isStaged) return index("restore --staged", reached);
  const source = parsedArgs.options.findLast(({ name }) => isSource(name))?.value ?? null;
  // Without a source it takes the files from the index, except those that it writes there, too.
  if (source === null && !has(parsedArgs, "-S", "--staged")) return tree("restore", reached);
  return writesFrom(tree("restore", reached), source === null ? [] : [source]);
};

function isSource(name: string): boolean {
  return has({ words: [], after: null, options: [{ name, value: null }] }, "-s", "--source");
}

const clean: Rule = args => {
  const parsedArgs = readArguments(args, { short: "e", long: ["--exclude"] });
  if (has(parsedArgs, "-n", "--dry-run")) return null;
  const ignored = has(parsedArgs, "-x", "-X") ? { ignored: true } : {};
  // Forced twice it removes repositories, too.
  const forces = parsedArgs.options.filter(({ name }) => name === "-f" || name === "--force").length;
  const further = forces > 1 ? ({ further: { into: "all", isWhole: true } } as const) : {};
  // With -X it keeps new files.
  return {
    ...tree("clean", pathsOrAll(operands(parsedArgs)), !has(parsedArgs, "-X")),
    ...ignored,
    ...further,
  };
};

/** A submodule is removed with everything in it. */
const wholeSubmodules = { further: { into: "submodules", isWhole: true } } as const;

const remove: Rule = args => {
  const parsedArgs = readArguments(args, { long: ["--pathspec-from-file"] });
  const paths = operands(parsedArgs);
  const isUnclear = has(parsedArgs, "--pathspec-from-file");
  if (has(parsedArgs, "-n", "--dry-run") || (paths.length === 0 && !isUnclear)) return null;
  const reached = isUnclear ? ({ paths: null, unclear: true } as const) : pathsOf(paths);
  if (has(parsedArgs, "--cached")) return index("rm --cached", reached);
  return { ...tree("rm", reached), ...(has(parsedArgs, "-f", "--force") ? wholeSubmodules : {}) };
};

const move: Rule = args => {
  const parsedArgs = readArguments(args, {});
  const paths = operands(parsedArgs);
  const target = paths.at(-1);
  if (has(parsedArgs, "-n", "--dry-run") || paths.length < 2 || target === undefined) return null;
  const reach = tree("mv", pathsOf(paths));
  if (!has(parsedArgs, "-f", "--force")) return reach;
  if (paths.some(({ known }) => !known)) return { ...reach, untracked: true, ignored: true };
  // It overwrites the target, or moves into the target if that is a folder.
  const inside = paths.slice(0, -1).map(({ text }) => `${target.text}/${text.replace(/^.*\/(?=[^/])/s, "")}`);
  return { ...reach, over: [target.text, ...inside] };
};

/** With -R it removes work from files. Else it keeps uncommitted work, unless the patch is a reversed one. */
const apply: Rule = (args, { input, reversed, patch }) => {
  const parsedArgs = readArguments(args, {
    short: "pC",
    long: ["--directory", "--exclude", "--include", "--build-fake-ancestor"],
  });
  const isLooking =
    has(parsedArgs, "--check", "--stat", "--numstat", "--summary") && !has(parsedArgs, "--apply");
  if (isLooking) return null;
  const isRead = operands(parsedArgs).every(({ whole }) => whole === "-");
  const isBack = has(parsedArgs, "-R", "--reverse");
  const shown = isRead && !has(parsedArgs, "-p", "--directory") ? patch : null;
  // It may put in what the patch shows, or take that back.
  if (shown !== null && reverses(shown, isBack) && !has(parsedArgs, "--cached"))
    return reversal(isBack ? "apply -R" : "apply", shown);
  if (isBack && shown === null && !has(parsedArgs, "--cached")) return tree("apply -R");
  const forwards =
    has(parsedArgs, "--cached") || shown !== null
      ? null
      : patchLoss(parsedArgs, isRead ? input : null, reversed);
  if (forwards !== null) return forwards;
  return has(parsedArgs, "--cached", "--index", "-3", "--3way") ? index("apply --index") : null;
};

function reversal(name: string, { isReversed, changes, ...paths }: Patch): Reach {
  const reach = tree(name, paths, isReversed);
  return changes === undefined ? reach : { ...reach, changes };
}

/** What a patch that the line wrote or shows removes from files. */
function patchLoss(parsedArgs: Arguments, input: string | null, reversed: Patch | null): Reach | null {
  if (reversed !== null) return reversal("apply", reversed);
  if (input === null || input.includes(hole)) return null;
  const strip = Number(parsedArgs.options.findLast(({ name }) => name === "-p")?.value?.text ?? 1);
  const directory = parsedArgs.options.findLast(({ name }) => name === "--directory")?.value;
  if (directory?.known === false) return tree("apply", { paths: null, unclear: true }, true);
  const files = filesLost(input, strip);
  const folder = directory === undefined || directory === null ? "" : `${directory.text}/`;
  const paths = files === null ? all : { paths: files.map(file => folder + file) };
  return files?.length === 0 ? null : { ...tree("apply", paths, true), fromTop: true };
}

const checkoutIndex: Rule = args => {
  const parsedArgs = readArguments(args, { long: ["--prefix", "--stage"] });
  if (!has(parsedArgs, "-f", "--force") || has(parsedArgs, "--temp")) return null;
  const prefix = parsedArgs.options.findLast(({ name }) => name === "--prefix")?.value ?? null;
  if (prefix !== null) return tree("checkout-index -f", pathsBelow(prefix), true);
  if (has(parsedArgs, "-a", "--all", "--stdin")) return tree("checkout-index -f");
  const paths = operands(parsedArgs);
  return paths.length === 0 ? null : tree("checkout-index -f", pathsOf(paths));
};

/** The prefix precedes every name as it is: files in its folder may be overwritten. */
function pathsBelow({ text, known }: Value): Pick<Reach, "paths" | "unclear"> {
  if (!known) return { paths: null, unclear: true };
  const folder = text.slice(0, text.lastIndexOf("/") + 1);
  return /^(?:$|\.[./]*$)/.test(folder) ? all : { paths: [folder] };
}

const readTree: Rule = args => {
  const parsedArgs = readArguments(args, { long: ["--prefix", "--index-output", "--exclude-per-directory"] });
  if (has(parsedArgs, "-n", "--dry-run", "--index-output")) return null;
  if (!has(parsedArgs, "-u") || !has(parsedArgs, "-m", "--reset")) return index("read-tree");
  return writesFrom(tree("read-tree -u"), parsedArgs.words, { isRefused: !has(parsedArgs, "--reset") });
};

const bisect: Rule = ([sub, ...args]) => {
  if (sub === undefined) return null;
  if (!sub.known) return { ...tree("bisect"), unclear: true };
  if (/^(?:log|view|visualize|terms|help)$/.test(sub.text)) return null;
  const long = ["--term-new", "--term-bad", "--term-old", "--term-good"];
  const parsedArgs = readArguments(args, { long });
  if (sub.text === "reset") return ifExists(tree("bisect"), ["BISECT_START"]);
  // It begins when it knows a bad and a good commit.
  if (sub.text === "start" && (parsedArgs.words.length < 2 || has(parsedArgs, "--no-checkout"))) return null;
  return tree("bisect");
};

const submodule: Rule = args => {
  const long = ["--reference", "--depth", "--jobs", "--filter", "--branch", "--name"];
  const parsedArgs = readArguments(args, { short: "jb", long });
  const [sub, ...words] = parsedArgs.words;
  if (sub === undefined) return null;
  if (!sub.known) return { ...tree("submodule"), unclear: true };
  if (sub.text === "add") return index("submodule add");
  // Unless forced, git refuses to overwrite uncommitted work in a submodule. Outside of them nothing is reached.
  if (!/^(?:update|deinit)$/.test(sub.text) || !has(parsedArgs, "-f", "--force")) return null;
  const isWhole = sub.text === "deinit" ? ({ isWhole: true } as const) : {};
  const reach = tree(
    `submodule ${sub.text}`,
    pathsOrAll([...words, ...(parsedArgs.after ?? [])]),
    sub.text === "deinit",
  );
  return { ...reach, further: { into: "submodules", ...isWhole, isOnly: true } };
};

/** Git keeps what is uncommitted. Unless told otherwise, it removes ignored files with a folder that it leaves out. */
const sparseCheckout: Rule = ([sub, ...args]) => {
  if (sub === undefined) return null;
  if (!sub.known) return { ...tree("sparse-checkout"), unclear: true };
  if (sub.text === "clean") return { ...tree("sparse-checkout clean", all, true), ignored: true };
  if (!/^(?:init|set|add|reapply|disable)$/.test(sub.text)) return null;
  const isPlain = sub.text === "disable" || has(readArguments(args, {}), "--no-cone");
  // The files at the top stay.
  return { ...tree("sparse-checkout", { paths: ["*/*"] }), fromTop: true, ignored: !isPlain };
};

const worktree: Rule = ([sub, ...args]) => {
  if (sub?.known !== true) return null;
  const [elsewhere] = operands(readArguments(args, {}));
  if (elsewhere === undefined) return null;
  if (sub.text === "move") return { ...tree("worktree move"), reach: "place", displaces: "moves", elsewhere };
  if (sub.text !== "remove") return null;
  const further = { into: "all", isWhole: true } as const;
  const whole = { ...tree("worktree remove", all, true), ignored: true, further };
  return { ...whole, displaces: "removes", elsewhere };
};

export const treeRules: ReadonlyMap<string, Rule> = new Map([
  ...changeRules,
  ...outputRules,
  ["restore", restore],
  ["stash", stash],
  ["update-ref", updateRef],
  ["reflog", reflog],
  ["clean", clean],
  ["rm", remove],
  ["mv", move],
  ["apply", apply],
  ["checkout-index", checkoutIndex],
  ["read-tree", readTree],
  ["bisect", bisect],
  ["submodule", submodule],
  ["sparse-checkout", sparseCheckout],
  ["worktree", worktree],
  ["filter-branch", () => tree("filter-branch")],
  ["filter-repo", () => tree("filter-repo")],
]);
