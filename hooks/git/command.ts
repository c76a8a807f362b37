/** One call of git: where it works, and what it may reach there. */

import { topFolder } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";
import { programOf } from "../shell/launchers.ts";
import { sourceOf } from "../shell/output.ts";
import { readShell } from "../shell/parser.ts";
import { walkShell } from "../shell/simple.ts";
import { asValue, enter, hole, type Value, type Where } from "../shell/variables.ts";
import type { Budget, Invocation } from "../shell/walk.ts";
import {
  type Arguments,
  all,
  has,
  index,
  type Options,
  operands,
  type Patch,
  patchBy,
  pathsOf,
  pathsOrAll,
  type Reach,
  type Rule,
  readArguments,
  reverses,
  takeAll,
} from "./options.ts";
import { refUseOf } from "./refs.ts";
import { treeRules } from "./tree-rules.ts";

// Git commands that write the index or a commit: whose changes they may include.

const unclear = { paths: null, unclear: true } as const;

/** A named path is added as it is, and a folder may have a file's name: any form may include others' changes. */
const add: Rule = args => {
  const parsedArgs = readArguments(args, { long: ["--chmod", "--pathspec-from-file"] });
  const paths = operands(parsedArgs);
  if (has(parsedArgs, "-n", "--dry-run", "--refresh")) return null;
  const isPicking = has(
    parsedArgs,
    "-p",
    "--patch",
    "-i",
    "--interactive",
    "-e",
    "--edit",
    "-N",
    "--intent-to-add",
  );
  // With -N it adds new files to the index without their content.
  if (isPicking)
    return { ...index("add", pathsOrAll(paths)), untracked: has(parsedArgs, "-N", "--intent-to-add") };
  const ignored = has(parsedArgs, "-f", "--force") ? ({ ignored: true } as const) : {};
  const whole = has(parsedArgs, "-A", "--all", "--no-ignore-removal") ? "add -A" : null;
  const name = whole ?? (has(parsedArgs, "-u", "--update") ? "add -u" : "add");
  const isKnownOnly = name === "add -u" || has(parsedArgs, "--renormalize");
  if (has(parsedArgs, "--pathspec-from-file"))
    return { ...takeAll(name, unclear, false, !isKnownOnly), ...ignored };
  if (paths.length > 0) return { ...takeAll(name, pathsOf(paths), false, !isKnownOnly), ...ignored };
  if (name === "add" && !isKnownOnly) return null;
  return { ...takeAll(name, all, false, !isKnownOnly), ...ignored };
};

const committing: Options = {
  short: "mFCct",
  attached: "Su",
  long: [
    "--message",
    "--file",
    "--reuse-message",
    "--reedit-message",
    "--template",
    "--author",
    "--date",
    "--cleanup",
    "--fixup",
    "--squash",
    "--trailer",
    "--pathspec-from-file",
  ],
};

const commit: Rule = (args, { input }) => {
  const parsedArgs = readArguments(args, committing);
  const reach = committed(parsedArgs);
  if (reach === null) return null;
  const message = messageOf(parsedArgs, input);
  return {
    ...reach,
    ...(message === null ? {} : { message }),
    ...(has(parsedArgs, "-n", "--no-verify") ? { skipsHooks: true } : {}),
  };
};

/** With paths it commits these alone, whatever else is staged. */
function committed(parsedArgs: Arguments): Reach | null {
  const paths = operands(parsedArgs);
  if (has(parsedArgs, "--dry-run", "--short", "--porcelain", "--long")) return null;
  const includes = has(parsedArgs, "-i", "--include");
  if (has(parsedArgs, "-a", "--all")) return takeAll("commit -a", all, true);
  if (has(parsedArgs, "--pathspec-from-file")) return takeAll("commit", unclear, includes);
  if (has(parsedArgs, "-p", "--patch", "--interactive")) return index("commit", pathsOrAll(paths), true);
  // With --include it also commits whatever else is staged.
  if (paths.length > 0 && includes)
    return { ...takeAll("commit -i", pathsOf(paths), true), also: index("commit", all, true) };
  if (paths.length > 0) return takeAll("commit", pathsOf(paths), true);
  return index("commit", all, !has(parsedArgs, "-o", "--only"));
}

/** The words that give the commit its message; null: there are none, or only the shell knows them. */
function messageOf({ options }: Arguments, input: string | null): readonly string[] | null {
  const words: string[] = [];
  let chars = 0;
  for (const { name, value } of options) {
    const isText = /^(?:-m|--m\w*)$/.test(name);
    if (!isText && !/^(?:-F|--fi\w*)$/.test(name)) continue;
    if (value?.known !== true) return null;
    const isRead = !isText && value.text === "-";
    if (isRead && (input === null || input.includes(hole))) return null;
    words.push(isText || isRead ? "-m" : "-F", isRead ? (input ?? "") : value.text);
    chars += words.at(-1)?.length ?? 0;
  }
  return words.length === 0 || chars > limits.ownMessageChars ? null : words;
}

const updateIndex: Rule = args => {
  const parsedArgs = readArguments(args, { long: ["--chmod", "--cacheinfo"] });
  const paths = operands(parsedArgs);
  const isLooking = paths.length === 0 && has(parsedArgs, "--refresh", "--really-refresh");
  if (args.length === 0 || isLooking) return null;
  const isRemoving = has(parsedArgs, "--force-remove");
  const reach = index(isRemoving ? "update-index --force-remove" : "update-index", pathsOrAll(paths));
  return { ...reach, untracked: has(parsedArgs, "--add") };
};

/** A setting with which git finds no working tree, or another one. One for all repositories is no concern of this one. */
const config: Rule = args => {
  const set = settingOf({ name: asValue("config"), args });
  const key = set?.key;
  if (set === null || set.value === null || (key !== "core.bare" && key !== "core.worktree")) return null;
  const parsedArgs = readArguments(args, configuring);
  if (has(parsedArgs, ...readingSettings, "--global", "--system", "--blob")) return null;
  const file = parsedArgs.options.find(({ name }) => name === "-f" || name === "--file")?.value ?? null;
  if (file !== null && !/^(?:\.\/)?\.git\/config(?:\.worktree)?$/.test(file.text)) return null;
  if (key === "core.bare" && !/^(?:true|yes|on|[1-9]\d*)$/i.test(set.value)) return null;
  const value = set.value.includes(hole) ? "" : set.value;
  const none = { commits: false, paths: [], untracked: false, needsIndex: false } as const;
  return { name: `git config ${key}`, reach: "place", ...none, sets: { key, value } };
};

const readingSettings = [
  "-l",
  "--list",
  "--get",
  "--get-all",
  "--get-regexp",
  "--get-urlmatch",
  "-e",
  "--edit",
];

const indexRules: ReadonlyMap<string, Rule> = new Map([
  ["config", config],
  ["add", add],
  ["stage", add],
  ["commit", commit],
  ["update-index", updateIndex],
]);

/** Where a git command works; null: only the shell knows, or the line does not say. */
interface Place {
  readonly dir: string | null;
  /** The command works there, or in a folder below. */
  readonly isBelow?: true;
  /** Where the command works if `dir` does not exist. */
  readonly stays?: string;
  readonly gitDir: string | null;
  readonly workTree: string | null;
}

/** A call of git with its own options read: the command's name, and the words after it. */
export interface GitCall {
  readonly place: Place;
  readonly name: Value;
  readonly args: readonly Value[];
  /** The text of its standard input, with holes; null: not known. */
  readonly input: string | null;
  /** Its pathspecs match without regard to case. */
  readonly isAnyCase: boolean;
  /** Settings of the call itself (`-c alias.x=...`), by lower-case names. */
  readonly settings: ReadonlyMap<string, string>;
  /** The call stands for any number of rounds of a loop. */
  readonly isRepeated: boolean;
}

/** Options of git itself, before the command's name, whose value may be the next word. */
const valued: ReadonlySet<string> = new Set([
  "-C",
  "-c",
  "--git-dir",
  "--work-tree",
  "--namespace",
  "--super-prefix",
  "--config-env",
  "--attr-source",
]);

/** With one of these git only prints information. */
const telling =
  /^(?:-v|--version|-h|--help|--html-path|--man-path|--info-path|--exec-path|--list-cmds(?:=.*)?)$/;

/** Returns null if git runs no command. */
export function gitCall({ isRepeated, ...invocation }: Invocation): GitCall | null {
  const { values, dir, isBelow, stays = null, exported, input } = invocation;
  const fromEnv = { gitDir: exported.get("GIT_DIR"), workTree: exported.get("GIT_WORK_TREE") };
  let at: Where = { dir, isBelow };
  // A variable with an unknown value may lead anywhere.
  let isLost = [fromEnv.gitDir, fromEnv.workTree].some(value => value?.includes(hole));
  let gitDir: string | null = isLost ? null : (fromEnv.gitDir ?? null);
  let workTree: string | null = isLost ? null : (fromEnv.workTree ?? null);
  const settings = new Map(settingsOf(exported));
  let isAnyCase = !/^(?:0|false|no|off|)$/i.test(exported.get("GIT_ICASE_PATHSPECS") ?? "");
  for (let i = 1; i < values.length; i += 1) {
    const word = values[i];
    if (word === undefined) break;
    if (!/^-./.test(word.text)) {
      // With -C git refuses to work if the folder does not exist.
      const isHere = !isLost && at.dir === dir && !at.isBelow && stays !== null && stays !== dir;
      const place = {
        ...(isLost ? { dir: null } : wordsOf(at)),
        ...(isHere ? { stays } : {}),
        gitDir,
        workTree,
      };
      return {
        place,
        name: word,
        args: values.slice(i + 1),
        input,
        isAnyCase,
        settings,
        isRepeated: isRepeated ?? false,
      };
    }
    if (word.known && telling.test(word.text)) return null;
    isAnyCase ||= word.text === "--icase-pathspecs";
    const equals = word.text.startsWith("--") ? word.text.indexOf("=") : -1;
    const option = equals === -1 ? word.text : word.text.slice(0, equals);
    if (!valued.has(option)) continue;
    const value = equals === -1 ? values[++i] : { ...word, text: word.text.slice(equals + 1) };
    if (value === undefined) return null;
    if (option === "-C") at = enter(at, value);
    else if (option === "-c") note(settings, value.whole);
    else if (option === "--config-env") note(settings, value.text.replace(/=.*$/s, `=${hole}`));
    else if (option === "--git-dir" || option === "--work-tree") {
      isLost ||= !value.known;
      if (option === "--git-dir") gitDir = value.text;
      else workTree = value.text;
    }
  }
  return null;
}

function wordsOf({ dir, isBelow }: Where): Pick<Place, "dir" | "isBelow"> {
  return dir !== null && isBelow ? { dir, isBelow } : { dir };
}

/** A setting without a value is true. */
function note(settings: Map<string, string>, setting: string): void {
  const equals = setting.indexOf("=");
  const key = equals === -1 ? setting : setting.slice(0, equals);
  settings.set(key.toLowerCase(), equals === -1 ? "true" : setting.slice(equals + 1));
}

/** Settings from the environment: one pair of variables each. */
function settingsOf(exported: ReadonlyMap<string, string>): readonly (readonly [string, string])[] {
  return [...exported].flatMap(([variable, key]) => {
    const [, number] = /^GIT_CONFIG_KEY_(\d+)$/.exec(variable) ?? [];
    if (number === undefined) return [];
    return [[key.toLowerCase(), exported.get(`GIT_CONFIG_VALUE_${number}`) ?? hole] as const];
  });
}

const configuring: Options = { short: "f", long: ["--file", "--blob", "--type", "--default", "--comment"] };

/** What `git config` sets, or unsets (a value of null); null if it does neither. */
export function settingOf({
  name,
  args,
}: Pick<GitCall, "name" | "args">): { readonly key: string; readonly value: string | null } | null {
  if (name.text !== "config") return null;
  const parsedArgs = readArguments(args, configuring);
  const words = operands(parsedArgs);
  const [verb] = words;
  const [key, value] = verb?.text === "set" || verb?.text === "unset" ? words.slice(1) : words;
  if (key?.known !== true) return null;
  const isUnset = verb?.text === "unset" || has(parsedArgs, "--unset", "--unset-all");
  if (isUnset) return { key: key.text.toLowerCase(), value: null };
  return value === undefined ? null : { key: key.text.toLowerCase(), value: value.whole };
}

/** The patch of a call that removes uncommitted work; null if it writes none. */
export function reversedBy({ name, args }: GitCall): Patch | null {
  const patch = patchBy(name.text, args);
  return patch !== null && reverses(patch, false) ? patch : null;
}

/** The call of git whose whole output a text is; null: it is something else. */
export function callBehind(text: string | null): GitCall | null {
  const source = sourceOf(text);
  if (source === null) return null;
  return gitCall({ ...source, isBelow: false, exported: new Map(), input: null });
}

/** The patch in a text, if a call of git writes it in the same folder. */
export function patchIn(text: string | null, { dir, isBelow, gitDir, workTree }: Place): Patch | null {
  const call = callBehind(text);
  if (call === null || !call.name.known || dir === null || isBelow) return null;
  const { place } = call;
  const isHere =
    place.dir === dir && !place.isBelow && place.gitDir === gitDir && place.workTree === workTree;
  return isHere ? patchBy(call.name.text, call.args) : null;
}

/** The words of a call of git, also of a program that is one command of it: `git-stash`. null: another program. */
export function gitWords(values: readonly Value[]): readonly Value[] | null {
  const program = programOf(values);
  if (program === "git") return values;
  const [, name] = /^git-(.+)$/.exec(program ?? "") ?? [];
  if (name === undefined || !(treeRules.has(name) || indexRules.has(name))) return null;
  return [asValue("git"), asValue(name), ...values.slice(1)];
}

/** What the call may reach; null: neither files nor index nor refs. `reversed`: a patch the line wrote before. */
export function reachOf(call: GitCall, reversed: Patch | null): Reach | null {
  const { name, args, input, isAnyCase, place, settings } = call;
  if (!name.known || isAskingForHelp(args)) return null;
  const commandInput = { input, reversed, patch: patchIn(input, place) };
  const reach = (treeRules.get(name.text) ?? indexRules.get(name.text))?.(args, commandInput) ?? null;
  const refs = refUseOf(name.text, args, settings);
  if (reach === null) return refs === null ? null : { ...refsOnly(name.text), refs };
  const whole = refs === null ? reach : { ...reach, refs };
  return isAnyCase ? { ...whole, paths: null } : whole;
}

function refsOnly(name: string): Reach {
  const nothing = { commits: false, paths: null, untracked: false, needsIndex: false } as const;
  return { name: `git ${name}`, reach: "refs", ...nothing };
}

/** Only the first word cannot be an option's value. */
function isAskingForHelp([first]: readonly Value[]): boolean {
  return first?.known === true && (first.text === "-h" || first.text === "--help");
}

/** The place that a command reaches. `worktree remove` and `move` reach another worktree than they are called in. */
export function placeOf({ place }: GitCall, { elsewhere, fromTop }: Reach): Place {
  if (fromTop && place.dir !== null) return { ...place, dir: `${place.dir}/${topFolder}` };
  if (elsewhere === undefined) return place;
  const { dir, isBelow = false } = place;
  return { ...wordsOf(enter({ dir, isBelow }, elsewhere)), gitDir: null, workTree: null };
}

/** Whether git itself has a command of this name, so that it cannot be an alias. Only the usual commands are listed. */
export function isGitsOwn(name: string): boolean {
  return treeRules.has(name) || indexRules.has(name) || harmless.has(name);
}

const harmless: ReadonlySet<string> = new Set(
  (
    "annotate archive blame branch bundle cat-file check-attr check-ignore cherry clone column commit-graph " +
    "commit-tree config count-objects credential describe diff diff-files diff-index diff-tree difftool " +
    "fast-export fast-import fetch for-each-ref for-each-repo format-patch fsck gc grep hash-object help " +
    "init interpret-trailers lfs log ls-files ls-remote ls-tree maintenance merge-base merge-file merge-tree " +
    "mergetool mktree name-rev notes pack-refs prune push range-diff reflog remote repack replace rerere " +
    "rev-list rev-parse shortlog show show-branch show-ref status stripspace symbolic-ref tag update-ref " +
    "var verify-commit verify-tag version whatchanged worktree write-tree"
  ).split(" "),
);

// What git runs in the place of an alias: a line for a shell, or a command of its own. Pure.

/** A line that a shell runs with these arguments, or the words of a call of git. */
type Expanded =
  | { readonly line: string; readonly args: readonly string[] }
  | { readonly words: readonly Value[] };

/** Git replaces an alias's name by its text; a text with a `!` in front is a line for a shell. */
export function expandAlias({ args, settings }: GitCall, text: string, budget: Budget): Expanded {
  if (text.startsWith("!")) return { line: `${text.slice(1)} "$@"`, args: args.map(({ whole }) => whole) };
  const values: Value[] = [asValue("git")];
  const { node } = readShell(text);
  walkShell(node, "/", ({ values: words }) => values.push(...words), null, budget);
  // The settings of the call hold for the alias's command, too.
  const settingWords = [...settings].flatMap(([key, value]) => [asValue("-c"), asValue(`${key}=${value}`)]);
  const [git = asValue("git"), ...rest] = values;
  return { words: [git, ...settingWords, ...rest, ...args] };
}
