/**
 * The git commands in a shell line that reach the working tree or the index, or that move HEAD, branches or remotes.
 *
 * The reader sees what the line itself shows; behind an unknown program, a call of git in its words counts. It does not
 * see what scripts, `make` and interpreters run, nor other machines. It does not see words from files, or from programs
 * outside `shell/output.ts`. Nor does it see variables, functions and aliases set elsewhere, or both values of a
 * variable that an `if` sets.
 */

import type { AliasedCommand, GuardedCommand } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";
import { programOf } from "../shell/launchers.ts";
import { readShell } from "../shell/parser.ts";
import { walkShell } from "../shell/simple.ts";
import { hole } from "../shell/variables.ts";
import type { Invocation, Written } from "../shell/walk.ts";
import { type Budget, wholeBudget } from "../shell/walk.ts";
import {
  expandAlias,
  type GitCall,
  gitCall,
  gitWords,
  isGitsOwn,
  placeOf,
  reachOf,
  reversedBy,
  settingOf,
} from "./command.ts";
import { all, has, isGentle, type Patch, type Reach, readArguments } from "./options.ts";
import { emptied, overwrites, overwritten } from "./overwrites.ts";

/** A guarded command; `unclear` if its paths are not known, so that it counts as reaching everything. */
export interface Guarded extends GuardedCommand {
  readonly unclear: boolean;
}

export interface ShellGuard {
  readonly commands: readonly Guarded[];
  /** Commands whose names git itself does not have. */
  readonly aliases: readonly AliasedCommand[];
  /** Why a part of the line could not be read. That part passes. null: all of it was read. */
  readonly unread: string | null;
}

interface Found {
  readonly commands: Guarded[];
  readonly aliases: AliasedCommand[];
  unread: string | null;
  /** What the line itself sets in git's configuration, by lower-case names. */
  readonly set: Map<string, string>;
  /** A patch by the line that removes uncommitted work; null: none. */
  reversed: Patch | null;
  /** What was left out past the bound; `wiping`: the last command stands for it. */
  leftOut: "nothing" | "taking" | "wiping";
  /** Words of the programs so far: a program may have made a folder that it names. */
  readonly words: string[];
  /** The number of aliases that led here. */
  readonly depth: number;
  readonly budget: Budget;
  /** The known variables of the line's shell. */
  readonly env: ReadonlyMap<string, string>;
}

function nothingYet({ env, set = new Map() }: Pick<Found, "env"> & Partial<Pick<Found, "set">>): Found {
  return {
    commands: [],
    aliases: [],
    unread: null,
    set,
    reversed: null,
    leftOut: "nothing",
    words: [],
    depth: 0,
    budget: wholeBudget(),
    env,
  };
}

/**
 * Reads a line that begins in `dir`; `env` are the known variables of its shell. Never throws, whatever the line holds;
 * its time and its result are bounded.
 */
export function guardShell(
  line: string,
  dir: string,
  env: ReadonlyMap<string, string> = new Map(),
): ShellGuard {
  const found = nothingYet({ env });
  look(found, line, dir);
  const { commands, aliases, unread } = found;
  return { commands, aliases, unread };
}

/** `args` are `$1` and so on; null: not known. */
function look(found: Found, line: string, dir: string | null, args: readonly string[] | null = null): void {
  const { node, unread } = readShell(line);
  found.unread ??= unread;
  const run = (invocation: Invocation): void => {
    const values = gitWords(invocation.values);
    if (values !== null) take(found, { ...invocation, values, stays: directoryIfCdFails(found, invocation) });
    else for (const one of [...overwrites(invocation), ...emptied(invocation)]) addTo(found, one);
    const makesNone = /^(?:cd|chdir|pushd|popd|test|\[|\[\[|echo|printf|set|exit|true|false|:)$/;
    if (makesNone.test(programOf(invocation.values) ?? "")) return;
    for (const { whole } of invocation.values.slice(1)) found.words.push(whole);
  };
  const wrote = (written: Written): void => {
    for (const one of overwritten(written)) addTo(found, one);
    found.words.push(written.file.whole);
  };
  const tooMuch = walkShell(node, dir, run, args, found.budget, found.env, wrote);
  found.unread ??= tooMuch;
}

/** Adds what is overwritten without git. Files of one folder are one command. */
function addTo(found: Found, one: Guarded): void {
  const { commands } = found;
  const isPlain = ({ paths, changes, empties }: Guarded) =>
    paths !== null && changes === undefined && empties === undefined;
  const last = commands.findLast(other => other.name === one.name && other.dir === one.dir && isPlain(other));
  const paths = [...(last?.paths ?? []), ...(one.paths ?? [])];
  if (last !== undefined && isPlain(one) && paths.length <= limits.guardPathsMax)
    commands.splice(commands.lastIndexOf(last), 1, { ...last, paths });
  else if (commands.length + found.aliases.length <= limits.guardedCommandsMax - 3) commands.push(one);
  else found.unread ??= "it overwrites too many files";
}

/** Where the command runs if `cd` fails. Null if an earlier command of the line may have created the folder. */
function directoryIfCdFails(
  { words }: Found,
  { values: [program], dir, stays = null }: Invocation,
): string | null {
  if (dir === null || stays === null || program === undefined) return null;
  const name = dir.slice(dir.lastIndexOf("/") + 1);
  return words.some(word => word.includes(name) || word.includes(hole)) ? null : stays;
}

function take(found: Found, invocation: Invocation): void {
  const call = gitCall(invocation);
  if (call === null) return;
  if (!call.name.known && invocation.isGuess) return;
  if (!call.name.known) {
    found.unread ??= onlyShell;
    return;
  }
  const { text: name } = call.name;
  // One reach may be two commands, and the last one stands for all that follow.
  const isFull = found.commands.length + found.aliases.length > limits.guardedCommandsMax - 3;
  if (name === "submodule" && !isFull) {
    const inThem = inSubmodules(found, call);
    if (inThem !== null) return void found.commands.push(inThem);
  }
  const set = invocation.isGuess ? null : settingOf(call);
  if (set !== null) note(found, set);
  const reversed = reversedBy(call);
  if (reversed !== null) found.reversed = found.reversed === null ? reversed : { ...all, isReversed: true };
  const once = reachOf(call, found.reversed);
  const reach = once === null ? null : withoutGuess(invocation, inRounds(call, once));
  if (reach === null && invocation.isGuess) return;
  if (isFull && reach?.reach === "refs") return;
  if (isFull) takeRest(found, call, reach);
  else if (reach !== null) {
    const { also, ...one } = reach;
    found.commands.push(guarded(found, call, one));
    if (also !== undefined) found.commands.push(guarded(found, call, also));
  } else if (!isGitsOwn(name) && /^[\w.-]{1,80}$/.test(name)) takeAlias(found, call, name);
}

/** In a loop whose rounds only the shell knows, a command that takes a stash entry may take any number of them. */
function inRounds<R extends Pick<Reach, "stash">>({ isRepeated }: GitCall, one: R): R {
  const isTaking = one.stash?.does === "take" || one.stash?.does === "copy";
  return isRepeated && isTaking ? { ...one, stash: { does: "take_all" } } : one;
}

/** Behind an unknown program what the call would do to refs is not told: nobody is refused anything for it. */
function withoutGuess({ isGuess }: Invocation, reach: Reach): Reach | null {
  if (!isGuess || reach.refs === undefined) return reach;
  const { refs: _, ...rest } = reach;
  return rest.reach === "refs" ? null : rest;
}

/** Past the bound: the same command on further paths, or one that may reach anything anywhere for all that may wipe. */
function takeRest(found: Found, call: GitCall, reach: Reach | null): void {
  const { text: name } = call.name;
  if (reach === null && isGitsOwn(name) && name !== "submodule") return;
  const last = found.commands.at(-1);
  if (reach !== null && reach.also === undefined && last !== undefined && found.leftOut === "nothing") {
    const one = guarded(found, call, reach);
    const paths = [...(last.paths ?? []), ...(one.paths ?? [])];
    const isSame = JSON.stringify({ ...one, paths: [] }) === JSON.stringify({ ...last, paths: [] });
    if (isSame && one.paths !== null && last.paths !== null && paths.length <= limits.guardPathsMax)
      return void found.commands.splice(-1, 1, { ...last, paths });
  }
  found.unread ??= "it has too many git commands";
  const wipes = ({ reach: what }: Reach) => what === "tree" || what === "stash" || what === "place";
  const isWiping = reach === null || wipes(reach) || (reach.also !== undefined && wipes(reach.also));
  if (found.leftOut === "wiping") return;
  found.leftOut = isWiping ? "wiping" : "taking";
  if (!isWiping) return;
  const anywhere = { dir: null, gitDir: null, workTree: null, paths: null, unclear: true } as const;
  const anything = { reach: "tree", commits: false, untracked: true, ignored: true } as const;
  found.commands.push({ name: `git ${name}`, ...anywhere, ...anything, stash: { does: "take_all" } });
}

function guarded(found: Found, call: GitCall, reach: Reach): Guarded {
  const { elsewhere, also: _, fromTop: _top, unclear = false, ...rest } = inLine(found, call, reach);
  const other = elsewhere === undefined ? {} : { elsewhere: elsewhere.known ? elsewhere.text : null };
  return { ...rest, ...placeOf(call, reach), ...other, ...furtherIn(found, call, rest), unclear };
}

const onlyShell = "which git command it runs is known to the shell alone";

function note({ set }: Found, { key, value }: { readonly key: string; readonly value: string | null }): void {
  if (value === null) set.delete(key);
  else if (set.size < limits.shellNamesMax) set.set(key, value);
}

/** Adds what the line itself sets for a command that changes little by itself: a stash, or the loss of staged work. */
function inLine({ commands, set }: Found, { settings }: GitCall, reach: Reach): Reach {
  const { changes } = reach;
  if (changes === undefined) return reach;
  const left = changes.stashes.filter(key => (settings.get(key) ?? set.get(key)) === undefined);
  const isStashing = changes.stashes.some(key => !isFalse(settings.get(key) ?? set.get(key) ?? "false"));
  const isStaged =
    changes.loses === "staged" && commands.some(({ reach: what }) => what === "index" || what === "take_all");
  if (isStashing || isStaged) return { ...reach, changes: { ...changes, stashes: left, loses: "tracked" } };
  // The line itself may begin it, but git begins nothing that would overwrite uncommitted work at its end.
  return { ...reach, changes: { ...changes, stashes: left } };
}

const recursing = /^(?:checkout|switch|reset|restore|read-tree)$/;

/** Whether the command reaches into submodules. Unless forced, git refuses to overwrite uncommitted work there. */
function furtherIn(
  { set }: Found,
  { name, args, settings }: GitCall,
  { reach, changes }: Reach,
): Pick<GuardedCommand, "further"> {
  if (!recursing.test(name.text) || reach !== "tree" || isGentle(changes)) return {};
  const parsedArgs = readArguments(args, {});
  if (has(parsedArgs, "--no-recurse-submodules")) return {};
  if (has(parsedArgs, "--recurse-submodules")) return { further: { into: "submodules" } };
  const setting = settings.get("submodule.recurse") ?? set.get("submodule.recurse");
  if (setting === undefined) return { further: { into: "submodules", isIfSet: true } };
  return isFalse(setting) ? {} : { further: { into: "submodules" } };
}

/** Whether git reads the value as false. */
function isFalse(value: string): boolean {
  return /^(?:false|no|off|0|)$/i.test(value);
}

/** An alias that the line itself sets counts here; the daemon asks git's configuration for the others. */
function takeAlias(found: Found, call: GitCall, name: string): void {
  const key = `alias.${name.toLowerCase()}`;
  const text = call.settings.get(key) ?? found.set.get(key);
  if (text === undefined) {
    found.aliases.push(aliased(found, call, name));
    return;
  }
  const inner = comesTo(found, call, text);
  found.commands.push(...inner.commands);
  found.aliases.push(...inner.aliases);
  found.unread ??= inner.unread;
}

/** `submodule foreach` passes its words to a shell in every submodule. */
function inSubmodules(found: Found, { place, args }: GitCall): Guarded | null {
  // Options after the second word belong to the command that is run, not to `foreach`.
  let count = 0;
  const [sub, ...words] = args.filter(({ text }) => {
    const isOption = text.startsWith("-");
    if (!isOption) count += 1;
    return !isOption || count > 1;
  });
  if (sub?.text !== "foreach") return null;
  if (found.depth >= limits.aliasDepthMax) {
    found.unread ??= "it does too much to be followed";
    return null;
  }
  const inner = {
    ...nothingYet({ env: found.env, set: found.set }),
    depth: found.depth + 1,
    budget: found.budget,
  };
  look(inner, words.map(({ whole }) => whole).join(" "), "/");
  found.unread ??= inner.unread;
  // Unless forced, git refuses to overwrite uncommitted work.
  const wiping = inner.commands.filter(({ reach, changes }) => reach === "tree" && !isGentle(changes));
  if (wiping.length === 0) return null;
  const isWhole = wiping.some(({ untracked, ignored }) => untracked || ignored);
  const further = { into: "submodules", isOnly: true, ...(isWhole ? { isWhole } : {}) } as const;
  const reached = { reach: "tree", commits: false, paths: null, untracked: true, unclear: false } as const;
  return { name: "git submodule foreach", ...place, ...reached, further };
}

function aliased({ set, depth, env }: Found, call: GitCall, name: string): AliasedCommand {
  const inner = (text: string) => comesTo({ ...nothingYet({ env, set }), depth }, call, text);
  return {
    name,
    ...call.place,
    commandsOf: text => inner(text).commands,
    aliasesOf: text => inner(text).aliases,
  };
}

/** Returns what the alias's text comes to. */
function comesTo({ set, depth, budget, env }: Found, call: GitCall, text: string): Found {
  const { dir, isBelow, gitDir, workTree } = call.place;
  const found: Found = { ...nothingYet({ env, set }), depth: depth + 1, budget };
  if (text.includes(hole)) found.unread = onlyShell;
  if (found.depth > limits.aliasDepthMax) return found;
  const expanded = expandAlias(call, text, budget);
  if ("line" in expanded) {
    look(found, expanded.line, isBelow ? null : dir, expanded.args);
    // It runs at the top of the worktree, with the words after the alias.
    const commands = found.commands.map(each => inRounds(call, { ...each, paths: null }));
    return { ...found, commands };
  }
  const { words } = expanded;
  take(found, { values: words, dir, isBelow: isBelow ?? false, exported: new Map(), input: null });
  return { ...found, commands: found.commands.map(each => inRounds(call, { ...each, gitDir, workTree })) };
}
