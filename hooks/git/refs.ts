/**
 * What a git command does to HEAD, to branches and to an operation in progress, as far as its own words tell. A word that only
 * the shell knows makes the command unclear, and nobody is refused anything for it.
 */

import type { HeadMove, PushUse, RefUse } from "../../protocol/guard.ts";
import type { Value } from "../shell/variables.ts";
import { type Arguments, has, type Options, operands, readArguments } from "./options.ts";

/** What the call's settings have of a name; undefined: the line does not say. */
type Settings = ReadonlyMap<string, string>;

/** Reads the words after a command's name; null: it leaves HEAD, branches and operations alone. */
type RefRule = (args: readonly Value[], settings: Settings) => RefUse | null;

/** The value of the last of these options; null: none was given, or it has none. */
function optionValue({ options }: Arguments, ...names: readonly string[]): Value | null {
  const isOne = (option: Arguments["options"][number]) =>
    has({ words: [], after: null, options: [option] }, ...names);
  return options.findLast(isOne)?.value ?? null;
}

/** A revision as git's plumbing reads it; null: only the shell knows it. */
function revisionOf(word: Value | null | undefined): string | null {
  if (word == null) return "HEAD";
  if (!word.known) return null;
  return word.text === "-" ? "@{-1}" : word.text;
}

/** A name; null: only the shell knows it. */
function nameOf(word: Value | null | undefined): string | null {
  return word?.known === true ? word.text : null;
}

const branchOptions: Options = {
  short: "bBcC",
  long: ["--orphan", "--conflict", "--pathspec-from-file", "--create", "--force-create"],
};

/** `checkout` and `switch` of a branch or a commit, and of a new branch. */
function goesTo(by: Extract<HeadMove["by"], "checkout" | "switch">, parsedArgs: Arguments): RefUse | null {
  const { words, after } = parsedArgs;
  const [first] = words;
  const isCheckout = by === "checkout";
  const made = isCheckout ? ["-b", "-B"] : ["-c", "-C", "--create", "--force-create"];
  const move = { does: "move", by } as const;
  if (has(parsedArgs, ...made)) {
    const isForced = has(parsedArgs, isCheckout ? "-B" : "-C", "--force-create");
    const newBranch = nameOf(optionValue(parsedArgs, ...made));
    return { ...move, to: revisionOf(first), newBranch, ...(isForced ? { isForced: true } : {}) };
  }
  if (has(parsedArgs, "--orphan"))
    return {
      ...move,
      to: revisionOf(first),
      newBranch: nameOf(optionValue(parsedArgs, "--orphan")),
      isOrphan: true,
    };
  if (has(parsedArgs, "-d", "--detach")) return { ...move, to: revisionOf(first), isDetached: true };
  // Several words are paths, or a revision and paths.
  if (first === undefined || words.length > 1 || (after !== null && after.length > 0)) return null;
  const to = revisionOf(first);
  if (has(parsedArgs, "-t", "--track")) {
    const newBranch = to?.replace(/^(?:refs\/)?(?:remotes\/)?[^/]*\//, "") ?? null;
    return { ...move, to, newBranch };
  }
  const mayBePath = isCheckout && after === null;
  return { ...move, to, ...(mayBePath ? { orPath: true } : {}) };
}

const checkout: RefRule = args => {
  const parsedArgs = readArguments(args, branchOptions);
  const isOfFiles = has(parsedArgs, "-p", "--patch", "--ours", "--theirs", "--pathspec-from-file");
  return isOfFiles ? null : goesTo("checkout", parsedArgs);
};

const switchTo: RefRule = args => goesTo("switch", readArguments(args, branchOptions));

/** Without a commit it stays where it is, but ends a merge. */
const reset: RefRule = args => {
  const parsedArgs = readArguments(args, { long: ["--pathspec-from-file"] });
  const { words, after } = parsedArgs;
  const isOfFiles = has(parsedArgs, "-p", "--patch", "--pathspec-from-file");
  if (isOfFiles || words.length > 1 || (after !== null && after.length > 0)) return null;
  const hasMode = has(parsedArgs, "--soft", "--mixed", "--hard", "--merge", "--keep");
  const mayBePath = !hasMode && after === null && words.length === 1;
  const to = revisionOf(words[0]);
  return { does: "move", by: "reset", to, ...(mayBePath ? { orPath: true } : {}) };
};

/** `--continue`, `--abort` and the like; null: none of them. */
function ending(operation: string, parsedArgs: Arguments): RefUse | null {
  for (const how of ["continue", "skip", "abort", "quit"] as const)
    if (has(parsedArgs, `--${how}`)) return { does: "end", operation, how };
  return has(parsedArgs, "--resolved") ? { does: "end", operation, how: "continue" } : null;
}

const rebase: RefRule = args => {
  const parsedArgs = readArguments(args, {
    short: "xXsC",
    attached: "S",
    long: ["--exec", "--onto", "--strategy", "--strategy-option", "--whitespace", "--empty"],
  });
  const end = ending("rebase", parsedArgs);
  if (end !== null || has(parsedArgs, "--edit-todo", "--show-current-patch")) return end;
  const { words } = parsedArgs;
  const isRoot = has(parsedArgs, "--root");
  const branch = isRoot ? words[0] : words[1];
  const base = optionValue(parsedArgs, "--onto") ?? (isRoot ? null : (words[0] ?? null));
  const isSure = has(parsedArgs, "-i", "--interactive", "-x", "--exec", "-f", "--force-rebase", "--no-ff");
  const isMoving = isSure || isRoot || has(parsedArgs, "--onto", "-p", "--preserve-merges");
  return {
    does: "move",
    by: "rebase",
    to: base === null ? (isRoot ? "HEAD" : "@{upstream}") : revisionOf(base),
    ...(isMoving ? {} : { ifApart: true }),
    ...(branch === undefined ? {} : { branch: nameOf(branch) }),
  };
};

/** A pull rewrites only with a rebase: by its option, else by a setting. */
const pull: RefRule = (args, settings) => {
  const parsedArgs = readArguments(args, {
    short: "sXjo",
    attached: "r",
    long: ["--strategy", "--strategy-option", "--depth", "--jobs", "--server-option", "--upload-pack"],
  });
  if (has(parsedArgs, "--dry-run")) return null;
  if (has(parsedArgs, "--no-rebase", "--ff-only")) return { does: "add" };
  const option = parsedArgs.options.findLast(one =>
    has({ words: [], after: null, options: [one] }, "-r", "--rebase"),
  );
  const setting = settings.get("pull.rebase");
  const chosen = option === undefined ? setting : (option.value?.text ?? "true");
  if (chosen !== undefined && isNo(chosen)) return { does: "add" };
  const [remote, ref] = parsedArgs.words;
  const isClear = [remote, ref].every(word => word === undefined || word.known);
  const branch = ref?.text.replace(/^\+|:.*$/g, "") ?? "";
  const folder = remote?.text === "." ? "" : `refs/remotes/${remote?.text ?? ""}/`;
  const named = ref === undefined ? "@{upstream}" : `${folder}${branch}`;
  const ifSet = chosen === undefined ? ({ ifSet: "pull.rebase" } as const) : {};
  return { does: "move", by: "pull", to: isClear ? named : null, ifApart: true, ...ifSet };
};

function isNo(text: string): boolean {
  return /^(?:false|no|off|0|)$/i.test(text);
}

/** Adds commits to the branch, unless it goes on with an operation or ends it. */
function adding(operation: string, options: Options): RefRule {
  return args => {
    const parsedArgs = readArguments(args, options);
    if (has(parsedArgs, "--show-current-patch")) return null;
    return ending(operation, parsedArgs) ?? { does: "add" };
  };
}

const commit: RefRule = args => {
  const parsedArgs = readArguments(args, {
    short: "mFCct",
    attached: "Su",
    long: "message file reuse-message reedit-message template author date cleanup fixup squash trailer"
      .split(" ")
      .map(name => `--${name}`),
  });
  if (has(parsedArgs, "--dry-run", "--short", "--porcelain", "--long")) return null;
  return has(parsedArgs, "--amend") ? { does: "rewrite" } : { does: "add" };
};

const bisect: RefRule = ([sub]) => {
  const name = nameOf(sub);
  if (name === null || /^(?:log|view|visualize|terms|help)$/.test(name)) return null;
  if (name === "start" || name === "replay") return { does: "move", by: "bisect", to: null };
  return { does: "end", operation: "bisect", how: name === "reset" ? "abort" : "continue" };
};

const branch: RefRule = args => {
  const parsedArgs = readArguments(args, { short: "u", long: ["--set-upstream-to"] });
  const [first, second] = operands(parsedArgs);
  const move = { does: "move", by: "branch" } as const;
  if (has(parsedArgs, "-d", "-D", "--delete")) {
    const branches = operands(parsedArgs).flatMap(word => nameOf(word) ?? []);
    return { does: "delete", branches, ...(has(parsedArgs, "-r", "--remotes") ? { isRemote: true } : {}) };
  }
  if (first === undefined || has(parsedArgs, "-r", "--remotes")) return null;
  if (has(parsedArgs, "-m", "-M", "--move"))
    return second === undefined
      ? { ...move, to: "HEAD", newBranch: nameOf(first) }
      : { ...move, to: "HEAD", newBranch: nameOf(second), onlyOn: nameOf(first) };
  if (!has(parsedArgs, "-f", "--force")) return null;
  return { ...move, to: revisionOf(second), onlyOn: nameOf(first) };
};

const symbolicRef: RefRule = args => {
  const parsedArgs = readArguments(args, { short: "m" });
  const [ref, target] = operands(parsedArgs);
  if (target === undefined || nameOf(ref) !== "HEAD" || has(parsedArgs, "-d", "--delete")) return null;
  return { does: "move", by: "symbolic-ref", to: nameOf(target) };
};

const updateRef: RefRule = args => {
  const parsedArgs = readArguments(args, { short: "m" });
  const [ref, to] = operands(parsedArgs);
  const name = nameOf(ref);
  const onlyOn = name?.startsWith("refs/heads/") === true ? name.slice("refs/heads/".length) : null;
  if (has(parsedArgs, "-d")) return onlyOn === null ? null : { does: "delete", branches: [onlyOn] };
  if (to === undefined || (name !== "HEAD" && onlyOn === null)) return null;
  const move = { does: "move", by: "update-ref", to: revisionOf(to) } as const;
  return onlyOn === null ? move : { ...move, onlyOn };
};

/** `stash branch NAME` goes to a new branch at the commit on which the entry was made. */
const stash: RefRule = ([sub, ...args]) => {
  if (nameOf(sub) !== "branch") return null;
  const [name, entry] = operands(readArguments(args, {}));
  const which = entry === undefined ? "stash@{0}" : nameOf(entry);
  const at = which !== null && /^\d+$/.test(which) ? `stash@{${which}}` : which;
  return { does: "move", by: "stash branch", to: at === null ? null : `${at}^`, newBranch: nameOf(name) };
};

const push: RefRule = args => {
  const parsedArgs = readArguments(args, {
    short: "o",
    long: ["--repo", "--receive-pack", "--exec", "--push-option"],
  });
  if (has(parsedArgs, "-n", "--dry-run")) return null;
  const [remote, ...refs] = operands(parsedArgs);
  const isClear = operands(parsedArgs).every(({ known }) => known);
  const isForced = has(parsedArgs, "-f", "--force", "--force-with-lease", "--mirror");
  const use: PushUse = {
    does: "push",
    remote: remote === undefined ? nameOf(optionValue(parsedArgs, "--repo")) : nameOf(remote),
    refs: isClear ? refs.map(({ text }) => text) : null,
    ...(isForced ? { isForced: true } : {}),
    ...(has(parsedArgs, "-d", "--delete") ? { isDeleting: true } : {}),
    ...(has(parsedArgs, "--all", "--branches", "--mirror") ? { isAll: true } : {}),
    ...(has(parsedArgs, "--tags") ? { isTags: true } : {}),
  };
  return use;
};

/** Logs of refs keep commits that no ref has. */
const reflog: RefRule = ([sub, ...args]) => {
  const parsedArgs = readArguments(args, { long: ["--expire", "--expire-unreachable"] });
  if (has(parsedArgs, "-n", "--dry-run")) return null;
  if (nameOf(sub) === "drop") return { does: "expire", by: "reflog" };
  const times = parsedArgs.options.filter(({ name }) => /^--expire/.test(name));
  const isTimed = times.some(({ value }) => !/^(?:never|false)$/.test(value?.text ?? ""));
  return nameOf(sub) === "expire" && isTimed ? { does: "expire", by: "reflog" } : null;
};

/** Without a time of its own git deletes only what is older than two weeks. */
const gc: RefRule = args => {
  const prune = optionValue(readArguments(args, {}), "--prune");
  return prune === null || prune.text === "never" ? null : { does: "expire", by: "prune" };
};

const prune: RefRule = args => {
  const parsedArgs = readArguments(args, { long: ["--expire"] });
  if (has(parsedArgs, "-n", "--dry-run")) return null;
  return { does: "expire", by: "prune" };
};

/** Words that name commits; what it would take to read its options is not told apart. */
const filterBranch: RefRule = args => {
  const filters = "env tree index parent msg commit tag-name subdirectory".split(" ");
  const long = [...filters.map(name => `--${name}-filter`), "--original", "--state-branch"];
  const parsedArgs = readArguments(args, { short: "d", long });
  const words = operands(parsedArgs);
  const isAll = [...words, ...args].some(({ text }) => text === "--all" || text === "--branches");
  if (isAll) return { does: "rewrite", revisions: ["--branches"] };
  const named = words.flatMap(({ text, known }) => (known && /^[^-\s][^\s]*$/.test(text) ? [text] : []));
  return { does: "rewrite", revisions: named };
};

const picking: Options = {
  short: "mX",
  attached: "S",
  long: ["--mainline", "--strategy", "--strategy-option"],
};

const refRules: ReadonlyMap<string, RefRule> = new Map([
  ["checkout", checkout],
  ["switch", switchTo],
  ["reset", reset],
  ["rebase", rebase],
  ["pull", pull],
  [
    "merge",
    adding("merge", {
      short: "mFXs",
      long: ["--message", "--file", "--strategy", "--strategy-option", "--into-name", "--cleanup"],
    }),
  ],
  ["cherry-pick", adding("cherry-pick", picking)],
  ["revert", adding("revert", picking)],
  ["am", adding("am", { short: "pC", attached: "S" })],
  ["commit", commit],
  ["bisect", bisect],
  ["branch", branch],
  ["symbolic-ref", symbolicRef],
  ["update-ref", updateRef],
  ["stash", stash],
  ["push", push],
  ["reflog", reflog],
  ["gc", gc],
  ["prune", prune],
  ["filter-branch", filterBranch],
  ["filter-repo", () => ({ does: "rewrite", revisions: ["--branches"] })],
]);

/** What a call does to HEAD, branches and operations; null: nothing. */
export function refUseOf(name: string, args: readonly Value[], settings: Settings): RefUse | null {
  return refRules.get(name)?.(args, settings) ?? null;
}
