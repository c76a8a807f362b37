/** Runs the actions of one hook event in order, up to the first refusal or the first gate that holds back. */

import { lstatSync, readFileSync, renameSync, unlinkSync } from "node:fs";
import * as z from "zod";
import { actionTraits, type HookAction, type HookOutcome } from "../../hooks/seam/slices.ts";
import { limits } from "../../protocol/limits.ts";
import { holdsOf } from "../core/locks/release.ts";
import { rowsOfActor, rowsOfSession } from "../core/tables/locks.ts";
import { type LeadingParts, leadActions, leadHooks, leadPoints } from "../leading.ts";
import type { Services } from "../options.ts";
import { rescueActions } from "../rescue/wiped.ts";
import { checkOwnFiles, lock } from "./edits/edit.ts";
import { settleGrants } from "./edits/edit-lock.ts";
import { flightEnd, shellEnd } from "./edits/write-actions.ts";
import {
  type ActionHandler,
  type ActionOf,
  actorOfAction,
  type EndEvent,
  type HookEvent,
  propose,
} from "./event.ts";
import { guard, releaseIndex, releaseIndexes } from "./guard/guard.ts";
import { endLineFlight, plainFiles, releaseLineFiles } from "./guard/plain-files.ts";
import { agentGone, inbox, notes } from "./inbox.ts";
import { type HookParts, type HookPartsOptions, hookParts, type Kept, type Needs } from "./parts.ts";
import { glance, listPeersInTurn } from "./peers.ts";
import type { HookPoints } from "./points.ts";
import {
  awaitRelease,
  begin,
  clientIdle,
  clientTask,
  contextLost,
  end,
  heartbeat,
  promptSubmitted,
  reconcile,
  recordResult,
  recordToolUse,
  suspend,
  turnEnd,
  turnOver,
} from "./sessions.ts";
import { stops } from "./verdict.ts";

// The actions of the base.

const baseActions = {
  begin,
  heartbeat,
  check_own_files: checkOwnFiles,
  lock,
  client_task: clientTask,
  client_idle: clientIdle,
  record_result: recordResult,
  context_lost: contextLost,
  guard,
  plain_files: plainFiles,
  release_line_files: releaseLineFiles,
  flight_end: flightEnd,
  shell_end: shellEnd,
  release_index: releaseIndex,
  renew: (event, action) => propose(event, "renew", { type: "lease_renew", actor: event.actor(action) }),
  record_tool_use: recordToolUse,
  turn_end: turnEnd,
  reconcile,
  suspend,
  inbox,
  notes,
  end,
  list_peers: listPeersInTurn,
  glance,
  prompt_submitted: promptSubmitted,
  await_release: awaitRelease,
} satisfies { readonly [D in HookAction["do"]]?: ActionHandler<D> };

// What does each action, and who joins in at the points of the base, in this order.

const actionHandlers: { readonly [D in HookAction["do"]]: ActionHandler<D> } = {
  ...baseActions,
  ...leadActions,
  ...rescueActions,
};

/** Returns the parts of both halves. */
export function keptByHooks(services: Services, options: HookPartsOptions): Kept<LeadingParts> {
  const trusted = leadHooks.trustedReader(options);
  const base = hookParts(services, { ...options, trusted, trustedIn: leadHooks.trustedIn });
  return leadHooks.parts(services, base, { ...options, trusted });
}

/** Returns the slices at the points of the base, with `more`. */
export function pointsOf(services: Services, parts: Kept<LeadingParts>, more: HookPoints): HookPoints {
  return [...leadPoints(services, parts), ...more];
}

/** The table has one handler for each name; the compiler cannot see that an action gets its own. */
type AnyHandler = ActionHandler<HookAction["do"]>;

/** Runs the event's plan. The caller settles its delivery when it knows whether the client got the answer. */
export async function runPlan(event: HookEvent, parts: HookParts): Promise<readonly HookOutcome[]> {
  const { plan, grants, presence } = event;
  noteSigns(event);
  const outcomes: HookOutcome[] = [];
  let isRefused = false;
  let isDenied = false;
  let isStopped = false;
  try {
    for (const action of plan.actions) {
      const traits = actionTraits[action.do];
      if (isRefused && !traits.afterRefusal) continue;
      // The tool is denied: it needs no lock and no look at others' files.
      if (isDenied && traits.waits) continue;
      const handle: AnyHandler = actionHandlers[action.do];
      const done = handle(event, action, parts);
      // Nearly every action is done at once, and a wait for nothing costs a turn of the microtasks.
      const outcome = done instanceof Promise ? await done : done;
      if (outcome === null) continue;
      outcomes.push(outcome);
      const stopsIt = "verdict" in outcome && stops(event, outcome.verdict);
      isStopped ||= stopsIt;
      isDenied ||= stopsIt && (traits.holdsBack || !outcome.ok);
      // Where Kite only observes, a tool that it would deny runs like any other.
      isRefused ||= isDenied || (!outcome.ok && outcome.verdict !== "deny");
    }
  } finally {
    // A tool whose action failed runs.
    if (grants.length > 0) settleGrants(grants, !isStopped);
  }
  const { session, agent, doing } = plan;
  if (session !== null && doing !== null) {
    // Only now does a write have its lock.
    if (isStopped) presence.did(session, agent, { ...doing, verb: "refused" });
    else if (!isRefused) presence.did(session, agent, doing);
  }
  return outcomes;
}

/** A heartbeat is a sign of life as its event comes: the actions before it may wait for the log. */
function noteSigns({ presence, clock, plan }: HookEvent): void {
  for (const action of plan.actions) {
    if (action.do !== "heartbeat" || (action.agent === undefined && action.agentName !== undefined)) continue;
    const own = presence.pulse(action.session, action.agent ?? null);
    if (own !== undefined) own.signAt = clock.now();
  }
}

// Takes the ends of calls, turns and sessions that came while no daemon took them: the hook clients leave a line for each.
//
// Invariants: a line ends only what began before it and had no later event; taken twice it changes nothing. A line's event
// holds ids alone, so its plan may ask for more than an end: that is left out.

const lineSchema = z.object({
  /** Wall time in milliseconds. */
  at: z.number(),
  pid: z.number(),
  event: z.record(z.string(), z.string()),
  /** The client whose event it is; absent: Claude Code. */
  client: z.string().optional(),
});

type Line = z.infer<typeof lineSchema>;

/** Takes the lines that hook clients left at `path`, the oldest first, and removes them. Returns how many there were. */
export async function takeUnheardEnds(services: Services & HookParts, path: string): Promise<number> {
  if (services.entry.adapters.size === 0) return 0;
  let count = 0;
  // One that a daemon was taking when it was killed, the older half, and the rest.
  for (const file of [`${path}.taken`, `${path}.old`, path]) {
    const text = textOf(file, `${path}.taken`);
    if (text === null) continue;
    for (const line of linesOf(text)) {
      await take(services, line);
      count += 1;
    }
    unlinkSync(`${path}.taken`);
  }
  return count;
}

/** Moves the file, so that clients begin a new one, and reads it; null: there is none. */
function textOf(file: string, moved: string): string | null {
  if (lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return null;
  if (file !== moved) renameSync(file, moved);
  return readFileSync(moved, "utf8").slice(-limits.unheardEndsBytes);
}

/** A killed client leaves half a line. */
function* linesOf(text: string): Generator<Line, void> {
  for (const line of text.split("\n")) {
    const parsed = lineSchema.safeParse(parsedLine(line));
    if (parsed.success) yield parsed.data;
  }
}

function parsedLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

async function take(services: Services & HookParts, { at, pid, event, client }: Line): Promise<void> {
  const { engine, clock, entry, config, calls } = services;
  const adapter = entry.adapters.get(client);
  if (adapter === undefined) return;
  const from = { socket: entry.socket, home: config.ownFiles.home, calls: calls.ids };
  const context = { env: {}, ppid: pid, ...from, waitMs: 0, wake: false };
  const { session: id } = adapter.plan(event, context);
  const session = id === null ? undefined : engine.state.sessions.live.get(id);
  // An id that began anew after the line is another session.
  if (session === undefined || session.registeredAt > at) return;
  const plan = adapter.plan({ ...event, cwd: session.cwd }, context);
  const atMs = at + engine.now - clock.wall();
  const { node, facts, presence, recorder } = services;
  const ending = { node, engine, clock, facts, presence, recorder, plan };
  for (const action of plan.actions) await endBy(ending, services, action, atMs);
}

/** Does what the action ends, as of `atMs` (core time). */
async function endBy(event: EndEvent, parts: HookParts, action: HookAction, atMs: number): Promise<void> {
  switch (action.do) {
    case "flight_end":
      await flightEnd(event, action, parts);
      return;
    case "shell_end":
      await releaseIndexes(event, actorOfAction(event, action), action.toolUseId);
      await endLineFlight(event, actorOfAction(event, action), action.toolUseId);
      return;
    case "turn_end":
      await turnEndUnheardEnds(event, parts, action, atMs);
      return;
    case "heartbeat":
      atRest(event, action, atMs);
      return;
    case "suspend":
    case "end":
      if (hasLater(event, atMs)) return;
      await (action.do === "end" ? end(event, action, parts) : suspend(event, action, parts));
      return;
    default:
      return;
  }
}

async function turnEndUnheardEnds(
  event: EndEvent,
  { calls, points }: Needs<"calls" | "points">,
  action: ActionOf<"turn_end">,
  untilMs: number,
): Promise<void> {
  const { engine, presence } = event;
  const actor = actorOfAction(event, action);
  const rows = rowsOfActor(engine.state.locks.actors, actor);
  const isLater = rows.some(row => holdsOf(engine.state, row).some(({ touched }) => touched > untilMs));
  await engine.submitAndWait({ type: "turn_end", actor, keepPrompt: null, untilMs });
  if (isLater || isInLaterTurn(presence.pulse(actor.session, actor.agent), untilMs)) return;
  calls.tasks.turnEnded(actor);
  if (actor.agent === null) turnOver(points, actor.session);
}

/** The agent's turn is over, or the agent. */
function atRest(services: Services, action: ActionOf<"heartbeat">, atMs: number): void {
  const { presence } = services;
  const { session, agent = null, active, ended = false, stopped = false, failed = false } = action;
  const row = presence.of(session);
  const dialog = row.dialogs.get(agent);
  // A person has answered, or is asked no more.
  if (dialog !== undefined && dialog.at <= atMs) row.dialogs.delete(agent);
  if (active !== false && !ended) return;
  if (isInLaterTurn(presence.pulse(session, agent), atMs)) return;
  presence.turn(session, agent, false, failed);
  if (!ended || agent === null || !row.agents.delete(agent)) return;
  agentGone(services, session, agent, stopped);
}

/** Whether anything of the session is known to have come after `atMs`. */
function hasLater({ engine, presence, plan: { session } }: EndEvent, atMs: number): boolean {
  if (session === null) return false;
  const { state } = engine;
  const row = presence.rows.get(session);
  const held = rowsOfSession(state.locks.actors, session, null).flatMap(one => holdsOf(state, one));
  const pulses = row === undefined ? [] : [row, ...row.agents.values()];
  return held.some(({ touched }) => touched > atMs) || pulses.some(pulse => isInLaterTurn(pulse, atMs));
}

function isInLaterTurn(
  pulse: { readonly active: boolean; readonly since: number } | undefined,
  atMs: number,
): boolean {
  return pulse?.active === true && pulse.since > atMs;
}
