/** Calls of Kite itself: the client does not say which of its agents makes a call, so the event before it does. */

import { limits } from "../../protocol/limits.ts";
import type { HookAction } from "../seam/slices.ts";
import { isShell, programOf } from "../shell/launchers.ts";
import { readShell } from "../shell/parser.ts";
import { walkShell } from "../shell/simple.ts";
import { type Invocation, wholeBudget } from "../shell/walk.ts";
import { withInbox } from "./answers/inbox.ts";
import { type Actor, type Event, inputText, within } from "./event.ts";
import { atWork, begin, otherEvent, type Plan, type Row } from "./plan-parts.ts";

/** A tool of Kite's server, named `kite`, added by hand or by a plugin. */
export function isOwnTool(tool: string): boolean {
  return /^mcp__(?:plugin_.+_)?kite__/.test(tool);
}

/** Whether the call shows the agent's inbox. */
function readsInbox(event: Event): boolean {
  return /[_-]kite_inbox$/.test(event.tool ?? "") || (inputText(event, "command") ?? "").includes(" inbox");
}

/** An agent that only reads and runs has no other event to hear with. A call that shows the inbox itself shows it once. */
export function withNews(event: Event, actor: Actor, plan: Plan): Plan {
  const isTold = plan.actions.some(({ do: act }) => act === "inbox");
  return isTold || readsInbox(event) ? plan : withInbox(event, actor, event.cwd ?? "/", plan);
}

/** The call follows with the same tool use id. */
export const ownTool: Row = (event, actor, context) => {
  const { toolUseId, cwd } = event;
  if (toolUseId === null || cwd === null) return otherEvent(event, actor, context);
  const { session, agent } = actor;
  const use: HookAction = {
    do: "record_tool_use",
    session,
    ...(agent === undefined ? {} : { agent }),
    toolUseId,
    cwd,
    promptId: event.prompt,
    isBackground: false,
  };
  return { actions: [...begin(event, actor), atWork(event, actor), use] };
};

/**
 * Records the shell line of a `kite` command: when the command asks which agent typed it, its words tell. (A variable in
 * front of the line would tell, too, but then the person's own rule `Bash(kite *)` would not match the line any more.)
 */
export function typed(event: Event, { session, agent }: Actor, plan: Plan): Plan {
  const command = within(event.raw["tool_input"], "command");
  const { toolUseId, cwd } = event;
  if (typeof command !== "string" || !mentionsKite.test(command) || toolUseId === null || cwd === null)
    return plan;
  const who = { session, ...(agent === undefined ? {} : { agent }) };
  const use: HookAction = {
    do: "record_tool_use",
    ...who,
    toolUseId,
    cwd,
    command: command.slice(0, limits.typedChars),
    promptId: event.prompt,
    isBackground: within(event.raw["tool_input"], "run_in_background") === true,
  };
  return { ...plan, actions: [use, ...plan.actions] };
}

/** Matches too much rather than too little: a recorded line does no harm. */
const mentionsKite = /(?:^|[\s;&|({"'`/])kite\s/;

// Finds commands of Kite that only a person may run, and that a shell line runs so that Kite cannot see whose they are.

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
