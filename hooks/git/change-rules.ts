/**
 * Git commands that bring other commits into the working tree, or take them out.
 *
 * Without force git refuses to overwrite uncommitted work, except in ignored files: the command reaches only what it
 * changes. Some commands may do anything: those with force, with a stash of their own, or with words that only the
 * shell knows. So may those with `--merge`, which writes both sides into the files and unstages what is staged.
 */
import type { TreeChange } from "../../protocol/guard.ts";
import type { Value } from "../shell/variables.ts";
import {
  type Arguments,
  all,
  has,
  index,
  type Options,
  pathsOf,
  pathsOrAll,
  type Reach,
  type Rule,
  readArguments,
  tree,
} from "./options.ts";

const changeless = {
  by: "target",
  revisions: [],
  orPath: false,
  loses: "nothing",
  during: [],
  stashes: [],
} as const;

/** The command reaches only what it changes; everything if only the shell knows a word, which may be any option. */
function changing(name: string, words: readonly Value[], change: Partial<TreeChange>): Reach {
  const reach = tree(name);
  return words.every(({ known }) => known) ? { ...reach, changes: { ...changeless, ...change } } : reach;
}

/**
 * The command puts the files of revisions, or of HEAD, over the working tree. Uncommitted work in known files is lost,
 * in ignored files if a revision has them. Work in unknown files is lost, too, unless git refuses that.
 */
export function writesFrom(
  reach: Reach,
  from: readonly Value[],
  { orPath = false, isRefused = false } = {},
): Reach {
  if (from.some(({ known }) => !known)) return { ...reach, untracked: !isRefused, ignored: true };
  const revisions = from.length === 0 ? ["HEAD"] : from.map(revision);
  const force = isRefused ? {} : ({ isForced: true } as const);
  return { ...reach, changes: { ...changeless, by: "files", revisions, orPath, loses: "tracked", ...force } };
}

/** The files of a commit overwrite ignored files. Of all others git refuses to overwrite uncommitted work. */
export function overIgnored(reach: Reach, commit: Value, by: TreeChange["by"]): Reach {
  const revisions = commit.known ? [commit.text] : [];
  return { ...reach, changes: { ...changeless, by, revisions, loses: "ignored" } };
}

/** The command does nothing unless one of these is in the repository's directory. */
export function ifExists(reach: Reach, during: readonly string[], loses: TreeChange["loses"] = "all"): Reach {
  return { ...reach, changes: { ...changeless, loses, during } };
}

/** `-` is the previous branch. */
function revision({ text }: Value): string {
  return text === "-" ? "@{-1}" : text;
}

const checkout: Rule = args => {
  const parsedArgs = readArguments(args, {
    short: "bB",
    long: ["--orphan", "--conflict", "--pathspec-from-file"],
  });
  const { words, after } = parsedArgs;
  const [first] = words;
  const force = forceOf(parsedArgs, "-f", "--force");
  if (after !== null && after.length > 0) return fromTree(tree("checkout", pathsOf(after)), first);
  if (has(parsedArgs, "--pathspec-from-file"))
    return fromTree(tree("checkout", { paths: null, unclear: true }), first);
  if (has(parsedArgs, "-b", "-B", "--orphan", "-d", "--detach")) return fromHead("checkout", words, force);
  if (first === undefined) return force === null ? null : forced("checkout", [], force);
  if (isPath(first) || has(parsedArgs, "--ours", "--theirs")) return tree("checkout", pathsOf(words));
  if (words.length > 1) return fromTree(tree("checkout", pathsOf(words)), first);
  const orPath = after === null && !has(parsedArgs, "-t", "--track");
  if (force !== null) return forced("checkout", words, force, orPath);
  return isHead(first) ? null : changing("checkout", words, { revisions: [revision(first)], orPath });
};

/** Files taken from a revision, or without one from the index, which has only files that git knows. */
function fromTree(reach: Reach, revision: Value | undefined): Reach {
  return revision === undefined ? reach : writesFrom(reach, [revision]);
}

/**
 * How a command treats uncommitted work: `merges` keeps files that git does not know; null: no force. With plain force
 * only newer versions of git keep them.
 */
type Force = "forces" | "merges" | null;

function forceOf(parsedArgs: Arguments, ...names: readonly string[]): Force {
  if (has(parsedArgs, ...names)) return "forces";
  return has(parsedArgs, "-p", "--patch", "-m", "--merge", "--conflict") ? "merges" : null;
}

/** Goes to a branch or a commit over uncommitted work. */
function forced(name: string, words: readonly Value[], force: Force, orPath = false): Reach {
  return writesFrom(tree(name), words.slice(0, 1), { orPath, isRefused: force === "merges" });
}

const switchTo: Rule = args => {
  const parsedArgs = readArguments(args, {
    short: "cC",
    long: ["--create", "--force-create", "--orphan", "--conflict"],
  });
  const { words } = parsedArgs;
  const force = forceOf(parsedArgs, "-f", "--force", "--discard-changes");
  // An orphan branch removes all files.
  if (has(parsedArgs, "--orphan"))
    return force === null ? changing("switch", [], { revisions: [""] }) : tree("switch");
  if (has(parsedArgs, "-c", "-C", "--create", "--force-create", "-d", "--detach")) {
    return fromHead("switch", words, force);
  }
  if (words.length === 0) return null;
  if (force !== null) return forced("switch", words, force, true);
  return changing("switch", words, { revisions: words.slice(0, 1).map(revision), orPath: true });
};

/** A new branch at HEAD leaves every file as it is. */
function fromHead(name: string, words: readonly Value[], force: Force): Reach | null {
  const [start] = words;
  if (force !== null) return forced(name, words, force);
  if (start === undefined || isHead(start)) return null;
  return changing(name, words, { revisions: [revision(start)] });
}

function isHead({ text, known }: Value): boolean {
  return known && (text === "HEAD" || text === "@");
}

/** Whether no branch can have this name: `.`, `src/`, `*.ts`, `./a`, `.gitignore`. */
function isPath({ text, known }: Value): boolean {
  return known && /[*?[ ]|\/$|^[/:]|(?:^|\/)\./.test(text);
}

const reset: Rule = args => {
  const parsedArgs = readArguments(args, { long: ["--pathspec-from-file"] });
  const modes = ["--soft", "--mixed", "--hard", "--merge", "--keep"];
  const modeOption = parsedArgs.options.findLast(({ name }) => modes.some(mode => matches(name, mode)))?.name;
  const mode = modes.find(each => modeOption !== undefined && matches(modeOption, each));
  // It writes no file, but makes committed work uncommitted.
  if (mode === "--soft") return index("reset --soft");
  const { words, after } = parsedArgs;
  if (mode === undefined || mode === "--mixed") {
    const [first] = words;
    const isFile = first !== undefined && (isPath(first) || /\.[A-Za-z]\w*$/.test(first.text));
    // One word may be a revision or a path; of several the first may be, too.
    const paths = after ?? (words.length > 1 || isFile ? words : []);
    return index(
      "reset",
      has(parsedArgs, "--pathspec-from-file") ? { paths: null, unclear: true } : pathsOrAll(paths),
    );
  }
  if (mode === "--hard") return writesFrom(tree("reset --hard"), words.slice(0, 1));
  const loses = mode === "--merge" ? "staged" : "nothing";
  const revisions = words.length === 0 ? ["HEAD"] : words.slice(0, 1).map(revision);
  return changing(`reset ${mode}`, words, { revisions, loses });
};

function matches(name: string, mode: string): boolean {
  return has({ words: [], after: null, options: [{ name, value: null }] }, mode);
}

/** Whether the command stashes: by an option, else by the settings of these names. */
function stashing(parsedArgs: Arguments, ...keys: readonly string[]): Pick<TreeChange, "loses" | "stashes"> {
  if (has(parsedArgs, "--autostash")) return { loses: "tracked", stashes: [] };
  return { loses: "nothing", stashes: has(parsedArgs, "--no-autostash") ? [] : keys };
}

const upstream = "@{upstream}";

const merge: Rule = args => {
  const parsedArgs = readArguments(args, {
    short: "mFXs",
    long: ["--message", "--file", "--strategy", "--strategy-option", "--into-name", "--cleanup"],
  });
  if (has(parsedArgs, "--quit")) return null;
  if (has(parsedArgs, "--continue")) return index("merge --continue", all, true);
  if (has(parsedArgs, "--abort")) return ifExists(tree("merge"), ["MERGE_HEAD"], "staged");
  const { words } = parsedArgs;
  const revisions = words.length === 0 ? [upstream] : words.map(revision);
  return changing("merge", words, {
    by: "merge",
    revisions,
    ...stashing(parsedArgs, "merge.autostash"),
  });
};

const rebase: Rule = args => {
  const parsedArgs = readArguments(args, {
    short: "xXsC",
    attached: "S",
    long: ["--exec", "--onto", "--strategy", "--strategy-option", "--whitespace", "--empty"],
  });
  if (has(parsedArgs, "--quit", "--edit-todo", "--show-current-patch")) return null;
  if (has(parsedArgs, "--continue")) return index("rebase --continue", all, true);
  if (has(parsedArgs, "--abort", "--skip")) return ifExists(tree("rebase"), ["rebase-merge", "rebase-apply"]);
  // The commands that it runs between the commits may do anything.
  if (has(parsedArgs, "-x", "--exec")) return tree("rebase");
  const { words } = parsedArgs;
  const onto = parsedArgs.options.findLast(({ name }) => name === "--onto")?.value ?? null;
  const isRoot = has(parsedArgs, "--root");
  const [base, branch] = isRoot ? [null, words[0]] : [words[0] ?? null, words[1]];
  const first = onto ?? base;
  const target = first === null ? (isRoot ? "" : upstream) : revision(first);
  return changing("rebase", onto === null ? words : [...words, onto], {
    revisions: branch === undefined ? [target] : [target, revision(branch)],
    ...stashing(parsedArgs, "rebase.autostash"),
  });
};

/** What git will fetch is not known, so what is known of the branch counts. */
const pull: Rule = args => {
  const parsedArgs = readArguments(args, {
    short: "sXjo",
    long: ["--strategy", "--strategy-option", "--depth", "--jobs", "--server-option", "--upload-pack"],
  });
  if (has(parsedArgs, "--dry-run")) return null;
  const { words } = parsedArgs;
  const [remote, ...refs] = words;
  const named = refs.map(({ text }) => `refs/remotes/${remote?.text ?? ""}/${text.replace(/^\+|:.*$/g, "")}`);
  return changing("pull", words, {
    by: "merge",
    revisions: refs.length === 0 ? [upstream] : named,
    ...stashing(parsedArgs, "merge.autostash", "rebase.autostash"),
  });
};

/** Applies commits one by one, or takes them back. */
function picking(name: string, head: string): Rule {
  const options: Options = {
    short: "mX",
    attached: "S",
    long: ["--mainline", "--strategy", "--strategy-option"],
  };
  return args => {
    const parsedArgs = readArguments(args, options);
    if (has(parsedArgs, "--quit")) return null;
    if (has(parsedArgs, "--continue")) return index(`${name} --continue`, all, true);
    if (has(parsedArgs, "--abort", "--skip")) return ifExists(tree(name), [head, "sequencer"], "staged");
    const { words } = parsedArgs;
    const parent = parsedArgs.options.findLast(
      ({ name: option }) => matches(option, "--mainline") || option === "-m",
    )?.value;
    const mainline = /^[1-9]$/.test(parent?.text ?? "") ? { mainline: Number(parent?.text) } : {};
    return changing(name, words, { by: "commits", revisions: words.map(revision), ...mainline });
  };
}

/** What a patch changes is not known, but git applies none to a file with uncommitted changes. */
const am: Rule = args => {
  const parsedArgs = readArguments(args, { short: "pC", attached: "S" });
  if (has(parsedArgs, "--quit", "--show-current-patch")) return null;
  if (has(parsedArgs, "--continue", "--resolved", "-r")) return index("am --continue", all, true);
  if (has(parsedArgs, "--abort", "--skip")) return ifExists(tree("am"), ["rebase-apply"]);
  return changing("am", parsedArgs.words, {});
};

export const changeRules: ReadonlyMap<string, Rule> = new Map([
  ["checkout", checkout],
  ["switch", switchTo],
  ["reset", reset],
  ["merge", merge],
  ["rebase", rebase],
  ["pull", pull],
  ["cherry-pick", picking("cherry-pick", "CHERRY_PICK_HEAD")],
  ["revert", picking("revert", "REVERT_HEAD")],
  ["am", am],
]);
