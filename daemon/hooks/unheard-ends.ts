/**
 * Takes the ends of calls, turns and sessions that came while no daemon took them: the hook clients leave a line for each.
 *
 * Invariants: a line ends only what began before it and had no later event; taken twice it changes nothing. A line's event
 * holds ids alone, so its plan may ask for more than an end: that is left out.
 */
import { lstatSync, readFileSync, renameSync, unlinkSync } from "node:fs";
import * as z from "zod";
import type { HookPlan } from "../../hooks/seam/plan.ts";
import type { HookAction } from "../../hooks/seam/slices.ts";
import { limits } from "../../protocol/limits.ts";
import { holdsOf } from "../core/locks/release.ts";
import { rowsOfActor, rowsOfSession } from "../core/tables/locks.ts";
import { type ActionOf, actorOfAction, type EventRun } from "./action.ts";
import { releaseIndexes } from "./guard/guard.ts";
import { endLineFlight } from "./guard/plain-files.ts";
import type { HookServices } from "./hook-services.ts";
import { agentGone } from "./inbox.ts";
import { end, suspend, turnOver } from "./session-actions.ts";
import { flightEnd } from "./write-actions.ts";

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
      await turnEnd(run, action, atMs);
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

async function turnEnd(run: EventRun, action: ActionOf<"turn_end">, untilMs: number): Promise<void> {
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
