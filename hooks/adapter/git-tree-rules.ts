/** Git commands that write the working tree: what uncommitted work they may wipe. */
import { has, type Options, readArguments } from "./git-options.ts";
import { all, index, only, onlyOrAll, operands, type Reach, type Rule, tree } from "./git-reach.ts";
import type { Value } from "./shell-state.ts";

/** Branches change under everybody's feet; a new one made where one stands changes nothing. */
const checkout: Rule = args => {
  const given = readArguments(args, {
    short: "bB",
    long: ["--orphan", "--conflict", "--pathspec-from-file"],
  });
  const { words, after } = given;
  const isForced = has(given, "-f", "--force");
  if (after !== null && after.length > 0) return tree("checkout", only(after));
  if (has(given, "--pathspec-from-file")) return tree("checkout", { paths: null, unclear: true });
  if (has(given, "-b", "-B", "--orphan", "-d", "--detach")) return fromHead("checkout", words, isForced);
  const [first] = words;
  if (first === undefined) return isForced || has(given, "-p", "--patch") ? tree("checkout") : null;
  if (words.length > 1 || isPath(first) || has(given, "--ours", "--theirs")) {
    return tree("checkout", only(words));
  }
  return isHead(first) && !isForced && !has(given, "-p", "--patch") ? null : tree("checkout");
};

const switchTo: Rule = args => {
  const given = readArguments(args, {
    short: "cC",
    long: ["--create", "--force-create", "--orphan", "--conflict"],
  });
  const isForced = has(given, "-f", "--force", "--discard-changes");
  if (has(given, "--orphan")) return tree("switch");
  if (has(given, "-c", "-C", "--create", "--force-create", "-d", "--detach")) {
    return fromHead("switch", given.words, isForced);
  }
  return given.words.length === 0 ? null : tree("switch");
};

/** A branch that begins where one stands leaves every file as it is. */
function fromHead(name: string, [start]: readonly Value[], isForced: boolean): Reach | null {
  return !isForced && (start === undefined || isHead(start)) ? null : tree(name);
}

function isHead({ text, known }: Value): boolean {
  return known && (text === "HEAD" || text === "@");
}

/** What no branch can be called: `.`, `src/`, `*.ts`, `./a`, `.gitignore`. */
function isPath({ text, known }: Value): boolean {
  return known && /[*?[ ]|\/$|^[/:]|(?:^|\/)\./.test(text);
}

const restore: Rule = args => {
  const given = readArguments(args, {
    short: "s",
    long: ["--source", "--conflict", "--pathspec-from-file"],
  });
  const paths = operands(given);
  const isUnclear = has(given, "--pathspec-from-file");
  if (paths.length === 0 && !isUnclear && !has(given, "-p", "--patch")) return null;
  const reached = isUnclear ? ({ paths: null, unclear: true } as const) : onlyOrAll(paths);
  const isStaged = has(given, "-S", "--staged") && !has(given, "-W", "--worktree");
  return isStaged ? index("restore --staged", reached) : tree("restore", reached);
};

const reset: Rule = args => {
  const given = readArguments(args, { long: ["--pathspec-from-file"] });
  const modes = ["--soft", "--mixed", "--hard", "--merge", "--keep"];
  const asked = given.options.findLast(({ name }) => modes.some(mode => matches(name, mode)))?.name;
  const mode = modes.find(each => asked !== undefined && matches(asked, each));
  if (mode === "--soft") return null;
  if (mode === undefined || mode === "--mixed") return index("reset", onlyOrAll(given.after ?? []));
  return tree(`reset ${mode}`);
};

function matches(name: string, mode: string): boolean {
  return has({ words: [], after: null, options: [{ name, value: null }] }, mode);
}

const stash: Rule = args => {
  const [first] = args;
  if (first !== undefined && !first.known) return { ...tree("stash"), unclear: true };
  const isPush = first === undefined || first.text.startsWith("-");
  const sub = isPush ? "push" : first.text;
  switch (sub) {
    case "push":
      return pushed(isPush ? args : args.slice(1));
    case "save":
      return tree("stash save", all, isUntracked(args));
    case "pop":
    case "apply":
    case "branch":
    case "drop":
    case "clear":
      return tree(`stash ${sub}`);
    default:
      return null;
  }
};

const stashed: Options = { short: "m", long: ["--message", "--pathspec-from-file"] };

function pushed(args: readonly Value[]): Reach {
  const given = readArguments(args, stashed);
  const isUnclear = has(given, "--pathspec-from-file");
  const paths = isUnclear ? ({ paths: null, unclear: true } as const) : onlyOrAll(operands(given));
  return tree("stash push", paths, isUntracked(args));
}

function isUntracked(args: readonly Value[]): boolean {
  return has(readArguments(args, stashed), "-u", "--include-untracked", "-a", "--all");
}

const clean: Rule = args => {
  const given = readArguments(args, { short: "e", long: ["--exclude"] });
  return has(given, "-n", "--dry-run") ? null : tree("clean", onlyOrAll(operands(given)), true);
};

const remove: Rule = args => {
  const given = readArguments(args, { long: ["--pathspec-from-file"] });
  const paths = operands(given);
  const isUnclear = has(given, "--pathspec-from-file");
  if (has(given, "-n", "--dry-run") || (paths.length === 0 && !isUnclear)) return null;
  const reached = isUnclear ? ({ paths: null, unclear: true } as const) : only(paths);
  return has(given, "--cached") ? index("rm --cached", reached) : tree("rm", reached);
};

const move: Rule = args => {
  const given = readArguments(args, {});
  const paths = operands(given);
  return has(given, "-n", "--dry-run") || paths.length < 2 ? null : tree("mv", only(paths));
};

/** What puts other commits into the working tree, or takes them out; with one of `idle` it does not. */
function moving(name: string, idle: readonly string[], options: Options = {}): Rule {
  return args => (has(readArguments(args, options), ...idle) ? null : tree(name));
}

const merge: Rule = args => {
  const given = readArguments(args, {
    short: "mFXs",
    long: ["--message", "--file", "--strategy", "--strategy-option", "--into-name", "--cleanup"],
  });
  if (has(given, "--quit")) return null;
  return has(given, "--continue") ? index("merge --continue", all, true) : tree("merge");
};

/** Backwards it takes work out of the files; forwards it goes beside what is there. */
const apply: Rule = args => {
  const given = readArguments(args, {
    short: "pC",
    long: ["--directory", "--exclude", "--include", "--build-fake-ancestor"],
  });
  const isLooking = has(given, "--check", "--stat", "--numstat", "--summary") && !has(given, "--apply");
  if (isLooking) return null;
  if (has(given, "-R", "--reverse") && !has(given, "--cached")) return tree("apply -R");
  return has(given, "--cached", "--index", "-3", "--3way") ? index("apply --index") : null;
};

const checkoutIndex: Rule = args => {
  const given = readArguments(args, { long: ["--prefix", "--stage"] });
  if (!has(given, "-f", "--force") || has(given, "--prefix", "--temp")) return null;
  if (has(given, "-a", "--all", "--stdin")) return tree("checkout-index -f");
  const paths = operands(given);
  return paths.length === 0 ? null : tree("checkout-index -f", only(paths));
};

const readTree: Rule = args => {
  const given = readArguments(args, { long: ["--prefix", "--index-output", "--exclude-per-directory"] });
  if (has(given, "-n", "--dry-run", "--index-output")) return null;
  const isWriting = has(given, "-u") && has(given, "-m", "--reset");
  return isWriting ? tree("read-tree -u") : index("read-tree");
};

const bisect: Rule = ([sub, ...args]) => {
  if (sub === undefined) return null;
  if (!sub.known) return { ...tree("bisect"), unclear: true };
  if (/^(?:log|view|visualize|terms|help)$/.test(sub.text)) return null;
  const long = ["--term-new", "--term-bad", "--term-old", "--term-good"];
  const given = readArguments(args, { long });
  // It begins when it knows a bad and a good one.
  if (sub.text === "start" && (given.words.length < 2 || has(given, "--no-checkout"))) return null;
  return tree("bisect");
};

const submodule: Rule = args => {
  const long = ["--reference", "--depth", "--jobs", "--filter", "--branch", "--name"];
  const given = readArguments(args, { short: "jb", long });
  const [sub, ...words] = given.words;
  if (sub === undefined) return null;
  if (!sub.known) return { ...tree("submodule"), unclear: true };
  const paths = onlyOrAll([...words, ...(given.after ?? [])]);
  if (sub.text === "update") return tree("submodule update", paths);
  if (sub.text === "deinit") return tree("submodule deinit", paths, true);
  return sub.text === "add" ? index("submodule add") : null;
};

const sparseCheckout: Rule = ([sub]) => {
  if (sub === undefined) return null;
  if (!sub.known) return { ...tree("sparse-checkout"), unclear: true };
  return /^(?:init|set|add|reapply|disable|clean)$/.test(sub.text) ? tree("sparse-checkout") : null;
};

const worktree: Rule = ([sub, ...args]) => {
  if (sub?.known !== true || sub.text !== "remove") return null;
  const [elsewhere] = operands(readArguments(args, {}));
  return elsewhere === undefined ? null : { ...tree("worktree remove", all, true), elsewhere };
};

export const treeRules: ReadonlyMap<string, Rule> = new Map([
  ["checkout", checkout],
  ["switch", switchTo],
  ["restore", restore],
  ["reset", reset],
  ["stash", stash],
  ["clean", clean],
  ["rm", remove],
  ["mv", move],
  ["merge", merge],
  [
    "rebase",
    moving("rebase", ["--quit", "--edit-todo", "--show-current-patch"], {
      short: "xXs",
      long: ["--exec", "--onto", "--strategy", "--strategy-option"],
    }),
  ],
  ["pull", moving("pull", ["--dry-run"], { short: "sXjo", long: ["--strategy", "--strategy-option"] })],
  ["cherry-pick", moving("cherry-pick", ["--quit"], { short: "mX" })],
  ["revert", moving("revert", ["--quit"], { short: "mX" })],
  ["am", moving("am", ["--quit", "--show-current-patch"], { short: "pC" })],
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
