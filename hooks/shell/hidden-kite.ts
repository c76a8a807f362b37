/** Finds commands of Kite that only a person may run, and that a shell line runs so that Kite cannot see whose they are. */
import { wholeBudget } from "./budget.ts";
import { walkShell } from "./line.ts";
import { readShell } from "./parser.ts";
import type { Invocation } from "./walk.ts";
import { isShell, programOf } from "./wrappers.ts";

type Marks = ReadonlyMap<string, string>;

/** Programs whose own program outlives the shell above it. */
const detaches = new Set(["setsid", "nohup"]);

/** By the command's first word: which further words make it a person's. */
const deeds: Readonly<Record<string, RegExp>> = {
  role: /^[^-]/,
  task: /^(?:approve|edit|done|fail|release|retry|cancel|import)\b/,
  thaw: /^/,
  resume: /^/,
  unlock: /(?:^|\s)--force\b/,
  release: /^/,
  stop: /^/,
  replace: /^/,
  agents: /^(?:stop|replace|prune|tend)\b/,
  spawn: /^/,
  rename: /^/,
  trust: /^/,
  check: /(?:^|\s)--trust\b/,
  debate: /^close\b.*--force\b/,
  config: /^(?:set|unset)\b/,
  store: /^(?:join|share|leave|rejoin)\b/,
  off: /^/,
  down: /^/,
  up: /(?:^|\s)--empty\b/,
  repair: /^/,
  doctor: /(?:^|\s)--fix\b/,
  install: /^/,
  uninstall: /^/,
};

/**
 * Returns the first such command, in two words at most; null: the line has none, as far as its words tell. `variables` are
 * those by which `kite` knows that an agent runs it.
 */
export function hiddenDeed(line: string, dir: string | null, variables: readonly string[]): string | null {
  if (!/kite\s/.test(line)) return null;
  if (!/setsid|nohup|env|unset/.test(line) && !variables.some(name => line.includes(name))) return null;
  const marks: Marks = new Map(variables.map(name => [name, "an agent's"]));
  let found: string | null = null;
  let isDetached = false;
  const look = (invocation: Invocation) => {
    const { values, via = [], isGuess } = invocation;
    if (found !== null || isGuess === true) return;
    const isOut = via.some(name => detaches.has(name));
    found = deedIn(invocation, marks, isOut || isDetached);
    // What that shell runs comes next.
    if (isOut && isShell(programOf(values))) isDetached = true;
  };
  walkShell(readShell(line).node, dir, look, null, wholeBudget(), marks);
  return found;
}

function deedIn({ values, exported }: Invocation, marks: Marks, isDetached: boolean): string | null {
  const [first, ...rest] = values.slice(1).map(({ text }) => text);
  if (first === undefined || programOf(values) !== "kite") return null;
  const more = Object.hasOwn(deeds, first) ? deeds[first] : undefined;
  if (more === undefined || !more.test(rest.join(" "))) return null;
  const isBare = [...marks].some(([name, value]) => exported.get(name) !== value);
  return isBare || isDetached ? `kite ${first}` : null;
}
