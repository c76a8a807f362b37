/** The git commands in a shell line that reach the working tree or the index. */
import type { AliasedCommand, GuardedCommand } from "../../protocol/adapter.ts";
import { limits } from "../../protocol/limits.ts";
import { type GitCall, gitCall, isGitsOwn, placeOf, reachOf } from "./git-command.ts";
import { readShell } from "./shell-commands.ts";
import type { Value } from "./shell-state.ts";
import { type Invocation, walkShell } from "./shell-walk.ts";
import { programOf } from "./shell-wrappers.ts";

/** A guarded command, and whether its paths could not be told, so that it counts as reaching everything. */
export interface Guarded extends GuardedCommand {
  readonly unclear: boolean;
}

export interface ShellGuard {
  readonly commands: readonly Guarded[];
  /** Git commands by names that git itself does not have. */
  readonly aliases: readonly AliasedCommand[];
  /** Why not all of the line could be read; what could not passes. null: all of it was. */
  readonly unread: string | null;
}

interface Found {
  readonly commands: Guarded[];
  readonly aliases: AliasedCommand[];
  unread: string | null;
}

/** Reads a line that begins in `dir`. Never throws, whatever the line holds; bounded in time and in what it gives. */
export function guardShell(line: string, dir: string): ShellGuard {
  const found: Found = { commands: [], aliases: [], unread: null };
  look(found, line, dir);
  return found;
}

function look(found: Found, line: string, dir: string): void {
  const { node, unread } = readShell(line);
  found.unread ??= unread;
  const tooMuch = walkShell(node, dir, invocation => {
    if (isGit(invocation.values)) take(found, invocation);
  });
  found.unread ??= tooMuch;
}

/** `git`, wherever it lies. */
function isGit(values: readonly Value[]): boolean {
  return programOf(values) === "git";
}

function take(found: Found, invocation: Invocation): void {
  const call = gitCall(invocation);
  if (call === null) return;
  if (found.commands.length + found.aliases.length >= limits.guardedCommandsMax) {
    found.unread ??= "it has too many git commands";
    return;
  }
  if (!call.name.known) {
    found.unread ??= "which git command it runs is known to the shell alone";
    return;
  }
  const { text: name } = call.name;
  if (name === "submodule") {
    const guarded = inSubmodules(call);
    if (guarded !== null) return void found.commands.push(guarded);
  }
  const reach = reachOf(call);
  if (reach !== null) {
    const { elsewhere: _, unclear = false, ...rest } = reach;
    found.commands.push({ ...rest, ...placeOf(call, reach), unclear });
  } else if (!isGitsOwn(name) && /^[\w.-]{1,80}$/.test(name)) found.aliases.push(aliased(call, name));
}

/** `submodule foreach` hands its words to a shell in every submodule. */
function inSubmodules({ place, args }: GitCall): Guarded | null {
  const [sub, ...words] = args.filter(({ text }, i) => !text.startsWith("-") || isAfterWord(args, i));
  if (sub?.text !== "foreach") return null;
  const inner: Found = { commands: [], aliases: [], unread: null };
  look(inner, words.map(({ text }) => text).join(" "), "/");
  if (!inner.commands.some(({ reach }) => reach === "tree")) return null;
  const name = "git submodule foreach";
  return { name, ...place, reach: "tree", commits: false, paths: null, untracked: true, unclear: false };
}

/** Whether an option belongs to the command that is run, not to `foreach` in front of it. */
function isAfterWord(args: readonly Value[], i: number): boolean {
  return args.slice(0, i).filter(({ text }) => !text.startsWith("-")).length > 1;
}

/** Git puts an alias's text in place of its name; with a `!` in front it is a line for a shell. */
function aliased(call: GitCall, name: string): AliasedCommand {
  const { place, args } = call;
  return {
    name,
    ...place,
    commandsOf: text => {
      const found: Found = { commands: [], aliases: [], unread: null };
      if (text.startsWith("!")) {
        look(found, text.slice(1), place.dir ?? "/");
        // It runs at the top of the worktree, with words that come after it.
        const { dir } = place;
        return found.commands.map(each => ({ ...each, paths: null, ...(dir === null ? { dir } : {}) }));
      }
      const values: Value[] = [{ text: "git", known: true }];
      const dir = place.dir ?? "/";
      const { node } = readShell(text);
      walkShell(node, dir, ({ values: words }) => values.push(...words));
      take(found, { values: [...values, ...args], dir: place.dir, exported: new Map() });
      return found.commands.map(each => ({ ...each, gitDir: place.gitDir, workTree: place.workTree }));
    },
  };
}
