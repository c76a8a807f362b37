/** Git commands that write the working tree: which uncommitted work they may wipe. */

import { hole, type Value } from "../shell/variables.ts";
import { changeRules, putting, whileThere } from "./change-rules.ts";
import { type Arguments, has, readArguments } from "./options.ts";
import { outputRules } from "./output-rules.ts";
import { losingFiles, takesBack } from "./patch.ts";
import { all, index, only, onlyOrAll, operands, type Patch, type Reach, type Rule, tree } from "./reach.ts";
import { reflog, stash, updateRef } from "./stash-rules.ts";

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
  if (isStaged) return index("restore --staged", reached);
  const source = given.options.findLast(({ name }) => isSource(name))?.value ?? null;
  // Without a source it takes the files from the index, except those that it writes there, too.
  if (source === null && !has(given, "-S", "--staged")) return tree("restore", reached);
  return putting(tree("restore", reached), source === null ? [] : [source]);
};

function isSource(name: string): boolean {
  return has({ words: [], after: null, options: [{ name, value: null }] }, "-s", "--source");
}

const clean: Rule = args => {
  const given = readArguments(args, { short: "e", long: ["--exclude"] });
  if (has(given, "-n", "--dry-run")) return null;
  const ignored = has(given, "-x", "-X") ? { ignored: true } : {};
  // Forced twice it removes repositories, too.
  const forces = given.options.filter(({ name }) => name === "-f" || name === "--force").length;
  const further = forces > 1 ? ({ further: { into: "all", isWhole: true } } as const) : {};
  // With -X it keeps new files.
  return { ...tree("clean", onlyOrAll(operands(given)), !has(given, "-X")), ...ignored, ...further };
};

/** A submodule is removed with everything in it. */
const wholeSubmodules = { further: { into: "submodules", isWhole: true } } as const;

const remove: Rule = args => {
  const given = readArguments(args, { long: ["--pathspec-from-file"] });
  const paths = operands(given);
  const isUnclear = has(given, "--pathspec-from-file");
  if (has(given, "-n", "--dry-run") || (paths.length === 0 && !isUnclear)) return null;
  const reached = isUnclear ? ({ paths: null, unclear: true } as const) : only(paths);
  if (has(given, "--cached")) return index("rm --cached", reached);
  return { ...tree("rm", reached), ...(has(given, "-f", "--force") ? wholeSubmodules : {}) };
};

const move: Rule = args => {
  const given = readArguments(args, {});
  const paths = operands(given);
  const target = paths.at(-1);
  if (has(given, "-n", "--dry-run") || paths.length < 2 || target === undefined) return null;
  const reach = tree("mv", only(paths));
  if (!has(given, "-f", "--force")) return reach;
  if (paths.some(({ known }) => !known)) return { ...reach, untracked: true, ignored: true };
  // It overwrites the target, or moves into the target if that is a folder.
  const inside = paths.slice(0, -1).map(({ text }) => `${target.text}/${text.replace(/^.*\/(?=[^/])/s, "")}`);
  return { ...reach, over: [target.text, ...inside] };
};

/** With -R it removes work from files. Else it keeps uncommitted work, unless the patch is a reversed one. */
const apply: Rule = (args, { input, reversed, patch }) => {
  const given = readArguments(args, {
    short: "pC",
    long: ["--directory", "--exclude", "--include", "--build-fake-ancestor"],
  });
  const isLooking = has(given, "--check", "--stat", "--numstat", "--summary") && !has(given, "--apply");
  if (isLooking) return null;
  const isRead = operands(given).every(({ whole }) => whole === "-");
  const isBack = has(given, "-R", "--reverse");
  const shown = isRead && !has(given, "-p", "--directory") ? patch : null;
  // It may put in what the patch shows, or take that back.
  if (shown !== null && takesBack(shown, isBack) && !has(given, "--cached"))
    return takingBack(isBack ? "apply -R" : "apply", shown);
  if (isBack && shown === null && !has(given, "--cached")) return tree("apply -R");
  const forwards =
    has(given, "--cached") || shown !== null ? null : losing(given, isRead ? input : null, reversed);
  if (forwards !== null) return forwards;
  return has(given, "--cached", "--index", "-3", "--3way") ? index("apply --index") : null;
};

function takingBack(name: string, { isReversed, changes, ...paths }: Patch): Reach {
  const reach = tree(name, paths, isReversed);
  return changes === undefined ? reach : { ...reach, changes };
}

/** What a patch that the line wrote or shows removes from files. */
function losing(given: Arguments, input: string | null, reversed: Patch | null): Reach | null {
  if (reversed !== null) return takingBack("apply", reversed);
  if (input === null || input.includes(hole)) return null;
  const strip = Number(given.options.findLast(({ name }) => name === "-p")?.value?.text ?? 1);
  const directory = given.options.findLast(({ name }) => name === "--directory")?.value;
  if (directory?.known === false) return tree("apply", { paths: null, unclear: true }, true);
  const files = losingFiles(input, strip);
  const folder = directory === undefined || directory === null ? "" : `${directory.text}/`;
  const paths = files === null ? all : { paths: files.map(file => folder + file) };
  return files?.length === 0 ? null : { ...tree("apply", paths, true), fromTop: true };
}

const checkoutIndex: Rule = args => {
  const given = readArguments(args, { long: ["--prefix", "--stage"] });
  if (!has(given, "-f", "--force") || has(given, "--temp")) return null;
  const prefix = given.options.findLast(({ name }) => name === "--prefix")?.value ?? null;
  if (prefix !== null) return tree("checkout-index -f", prefixed(prefix), true);
  if (has(given, "-a", "--all", "--stdin")) return tree("checkout-index -f");
  const paths = operands(given);
  return paths.length === 0 ? null : tree("checkout-index -f", only(paths));
};

/** The prefix precedes every name as it is: files in its folder may be overwritten. */
function prefixed({ text, known }: Value): Pick<Reach, "paths" | "unclear"> {
  if (!known) return { paths: null, unclear: true };
  const folder = text.slice(0, text.lastIndexOf("/") + 1);
  return /^(?:$|\.[./]*$)/.test(folder) ? all : { paths: [folder] };
}

const readTree: Rule = args => {
  const given = readArguments(args, { long: ["--prefix", "--index-output", "--exclude-per-directory"] });
  if (has(given, "-n", "--dry-run", "--index-output")) return null;
  if (!has(given, "-u") || !has(given, "-m", "--reset")) return index("read-tree");
  return putting(tree("read-tree -u"), given.words, { isRefused: !has(given, "--reset") });
};

const bisect: Rule = ([sub, ...args]) => {
  if (sub === undefined) return null;
  if (!sub.known) return { ...tree("bisect"), unclear: true };
  if (/^(?:log|view|visualize|terms|help)$/.test(sub.text)) return null;
  const long = ["--term-new", "--term-bad", "--term-old", "--term-good"];
  const given = readArguments(args, { long });
  if (sub.text === "reset") return whileThere(tree("bisect"), ["BISECT_START"]);
  // It begins when it knows a bad and a good commit.
  if (sub.text === "start" && (given.words.length < 2 || has(given, "--no-checkout"))) return null;
  return tree("bisect");
};

const submodule: Rule = args => {
  const long = ["--reference", "--depth", "--jobs", "--filter", "--branch", "--name"];
  const given = readArguments(args, { short: "jb", long });
  const [sub, ...words] = given.words;
  if (sub === undefined) return null;
  if (!sub.known) return { ...tree("submodule"), unclear: true };
  if (sub.text === "add") return index("submodule add");
  // Unless forced, git refuses to overwrite uncommitted work in a submodule. Outside of them nothing is reached.
  if (!/^(?:update|deinit)$/.test(sub.text) || !has(given, "-f", "--force")) return null;
  const isWhole = sub.text === "deinit" ? ({ isWhole: true } as const) : {};
  const reach = tree(
    `submodule ${sub.text}`,
    onlyOrAll([...words, ...(given.after ?? [])]),
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
