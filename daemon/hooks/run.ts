/** Runs the actions of one hook event in order, up to the first refusal or the first gate that holds back. */

import { lstatSync, readFileSync, renameSync, unlinkSync } from "node:fs";
import * as z from "zod";
import type { HookPlan } from "../../hooks/seam/plan.ts";
import { actionTraits, type HookAction, type HookOutcome } from "../../hooks/seam/slices.ts";
import { limits } from "../../protocol/limits.ts";
import { holdsOf } from "../core/locks/release.ts";
import { rowsOfActor, rowsOfSession } from "../core/tables/locks.ts";
import { leadActions, leadHooks, leadParts } from "../leading.ts";
import type { Services } from "../options.ts";
import { rescueActions, rescuePart } from "../rescue/wiped.ts";
import type { Call } from "../server/call.ts";
import { checkOwnFiles, lock } from "./edits/edit.ts";
import { type Grants, settleGrants } from "./edits/edit-lock.ts";
import { flightEnd, shellEnd } from "./edits/write-actions.ts";
import {
  type ActionHandler,
  type ActionOf,
  actorOfAction,
  type EventRun,
  propose,
  type Run,
  Scope,
} from "./event.ts";
import { guard, releaseIndex, releaseIndexes } from "./guard/guard.ts";
import { endLineFlight, plainFiles, releaseLineFiles } from "./guard/plain-files.ts";
import { agentGone, inbox, notes } from "./inbox.ts";
import { type HookServices, type HookServicesOptions, hookServices } from "./parts.ts";
import { glance, listPeersInTurn } from "./peers.ts";
import { type Delivery, type HookPart, hookPoints } from "./points.ts";
import { branchPart } from "./session-work.ts";
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
  renew: (run, action) => propose(run, "renew", { type: "lease_renew", actor: actorOfAction(run, action) }),
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

export const actionHandlers: { readonly [D in HookAction["do"]]: ActionHandler<D> } = {
  ...baseActions,
  ...leadActions,
  ...rescueActions,
};

const parts: readonly HookPart<HookServices>[] = [branchPart, ...leadParts];
const pointsWithRescue = hookPoints<HookServices>([...parts, rescuePart]);
const pointsWithout = hookPoints<HookServices>(parts);

/** Returns `services` with those of hooks, of both halves. */
export function allHookServices(services: Services, options: HookServicesOptions) {
  const trusted = leadHooks.trustedReader(options);
  const points = options.config.values.rescue === "off" ? pointsWithout : pointsWithRescue;
  const base = hookServices(services, { ...options, trusted, trustedIn: leadHooks.trustedIn, points });
  return leadHooks.services(base, { ...options, trusted });
}

/** The table has one handler for each name; the compiler cannot see that an action gets its own. */
type AnyHandler = ActionHandler<HookAction["do"]>;

/** Runs the plan. The caller settles `delivery` when it knows whether the client got the answer. */
export async function runPlan(
  services: HookServices,
  call: Call,
  plan: HookPlan,
  delivery: Delivery,
): Promise<readonly HookOutcome[]> {
  const grants: Grants = [];
  const run: Run = { services, call, plan, delivery, scope: new Scope(services), grants };
  noteSigns(services, plan);
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
      const done = handle(run, action);
      // Nearly every action is done at once, and a wait for nothing costs a turn of the microtasks.
      const outcome = done instanceof Promise ? await done : done;
      if (outcome === null) continue;
      outcomes.push(outcome);
      const stopsIt = "verdict" in outcome && stops(services, outcome.verdict);
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
    if (isStopped) services.presence.did(session, agent, { ...doing, verb: "refused" });
    else if (!isRefused) services.presence.did(session, agent, doing);
  }
  return outcomes;
}

/** A heartbeat is a sign of life as its event comes: the actions before it may wait for the log. */
function noteSigns({ presence, clock }: HookServices, { actions }: HookPlan): void {
  for (const action of actions) {
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
export async function takeUnheardEnds(services: HookServices, path: string): Promise<number> {
  if (services.adapters.size === 0) return 0;
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

async function take(services: HookServices, { at, pid, event, client }: Line): Promise<void> {
  const adapter = services.adapters.get(client);
  if (adapter === undefined) return;
  const { engine, clock, socket, ownFiles, calls } = services;
  const context = { env: {}, ppid: pid, socket, home: ownFiles.home, waitMs: 0, wake: false, calls };
  const { session: id } = adapter.plan(event, context);
  const session = id === null ? undefined : engine.state.sessions.live.get(id);
  // An id that began anew after the line is another session.
  if (session === undefined || session.registeredAt > at) return;
  const plan = adapter.plan({ ...event, cwd: session.cwd }, context);
  const atMs = at + engine.now - clock.wall();
  for (const action of plan.actions) await endBy({ services, plan }, action, atMs);
}

/** Does what the action ends, as of `atMs` (core time). */
async function endBy(run: EventRun, action: HookAction, atMs: number): Promise<void> {
  const { services, plan } = run;
  switch (action.do) {
    case "flight_end":
      await flightEnd(run, action);
      return;
    case "shell_end":
      await releaseIndexes(services, actorOfAction(run, action), action.toolUseId);
      await endLineFlight(services, actorOfAction(run, action), action.toolUseId);
      return;
    case "turn_end":
      await turnEndUnheardEnds(run, action, atMs);
      return;
    case "heartbeat":
      atRest(services, action, atMs);
      return;
    case "suspend":
    case "end":
      if (hasLater(services, plan, atMs)) return;
      await (action.do === "end" ? end(run, action) : suspend(run, action));
      return;
    default:
      return;
  }
}

async function turnEndUnheardEnds(
  run: EventRun,
  action: ActionOf<"turn_end">,
  untilMs: number,
): Promise<void> {
  const { engine, presence, clientTasks } = run.services;
  const actor = actorOfAction(run, action);
  const rows = rowsOfActor(engine.state.locks.actors, actor);
  const isLater = rows.some(row => holdsOf(engine.state, row).some(({ touched }) => touched > untilMs));
  await engine.submitAndWait({ type: "turn_end", actor, keepPrompt: null, untilMs });
  if (isLater || isInLaterTurn(presence.pulse(actor.session, actor.agent), untilMs)) return;
  clientTasks.turnEnded(actor);
  if (actor.agent === null) turnOver(run.services, actor.session);
}

/** The agent's turn is over, or the agent. */
function atRest(services: HookServices, action: ActionOf<"heartbeat">, atMs: number): void {
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
function hasLater({ engine, presence }: HookServices, { session }: HookPlan, atMs: number): boolean {
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
