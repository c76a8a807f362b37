/**
 * Tells an agent of this machine that a task is no longer its own. A person, a lead or another agent gave the task back or
 * ended it.
 *
 * Invariants: the agent hears once of each, by a message of Kite in the machine's own log. It hears of nothing that its own
 * session did. Nor does it hear of what another part reports: the release of an agent, or a merge that came back.
 */
import { limits } from "../../protocol/limits.ts";
import type { ActorRow } from "../../protocol/schemas/lock.ts";
import type { Actor, Retry } from "../core/frame/actors.ts";
import type { State } from "../core/state.ts";
import type { Command, CoreEvent, Entry } from "../core/tables/entries.ts";
import { answererOf } from "../core/tables/naming.ts";
import { numberOf, type Task } from "../core/tables/tasks.ts";
import { whoOf } from "../core/tasks/replies.ts";
import type { Clock } from "../engine/clock.ts";
import type { Engine } from "../engine/engine.ts";
import type { Listener } from "../engine/log-view.ts";

/** A log whose claims are watched. */
export interface ClaimLog {
  /** Null: nothing is known of it yet. */
  readonly state: State | null;
  /** Whether agents of this machine have their tasks of the project in this log. */
  hasProject(project: string): boolean;
  /** Returns who an actor of the log is on this machine; null: none of its live ones. */
  actorHere(actor: Actor): Actor | null;
  /** Returns what agents read of the person who made the entry. */
  personOf(entry: Entry): string;
}

/** Where the messages go: the machine's own log. */
export interface Post {
  readonly own: Pick<Engine, "state" | "submitWithRetry">;
  readonly clock: Pick<Clock, "wall">;
}

/** What became of a task that was an agent's; absent: it was removed. */
export type GoneTask = Pick<Task, "id" | "number" | "description"> & { readonly now: Task | undefined };

/** Events of claims that end. Others, as `task_updated`, name who works on the task, too, and it stays theirs. */
const endings = ["task_completed", "task_failed", "task_released"] as const;
export const areEndings: ReadonlySet<string> = new Set(endings);

/** Returns what tells agents of claims that a step of the log ends; it may be called for any step. */
export function claimWatch(post: Post, log: ClaimLog): Listener {
  return {
    events: endings,
    stepped: (entry, { events }) => {
      for (const event of events) look(post, log, entry, event);
    },
  };
}

function look(post: Post, log: ClaimLog, entry: Entry, { event, worker }: CoreEvent): void {
  const { state } = log;
  if (worker === undefined || state === null || !("task" in event) || !areEndings.has(event.event)) return;
  const task = state.tasks.all.get(event.task);
  const isReopened = event.event === "task_released" && event.cause === "reopened";
  if (task === undefined || isReopened || !log.hasProject(task.project)) return;
  const actor = log.actorHere(actorOf(worker));
  if (actor === null) return;
  const { command } = entry;
  // The log ended the session, which lives here and does not know of it.
  const isEnded = command.type === "elapse" && !state.sessions.live.has(worker.id);
  const doer = doerOf(command);
  const isOthers = doer !== undefined && (doer === null || log.actorHere(doer)?.session !== actor.session);
  if (!isEnded && !isOthers) return;
  const name = doer === undefined ? null : (whoOf(state, doer)?.name ?? log.personOf(entry));
  tellGone(post, actor, { ...task, now: task }, becameOf(task, name));
}

/** Returns who ended a claim by a request, null for a person; undefined: nobody did so, or another part tells the agent. */
export function doerOf(command: Command): Actor | null | undefined {
  // With a cause it is a part of the release of the agent, which is told of all that it had.
  const isRelease = command.type === "task_release" && command.cause === undefined;
  return isRelease || command.type === "task_update" ? command.by : undefined;
}

function actorOf({ id, agent }: ActorRow): Actor {
  return { session: id, agent, incarnation: 0 };
}

/** Returns what became of the task; `name`: who did that, null: nobody is known. */
export function becameOf(now: Task | undefined, name: string | null): string {
  if (now === undefined) return "it was removed";
  const { status } = now.state;
  if (status === "active") return `${name ?? "somebody else"} took it`;
  if (status === "pending") return name === null ? "it was given back" : `${name} gave it back`;
  return `${name ?? "a person"} ended it`;
}

/** Writes to an agent of this machine that a task is no longer its own; `became`: a sentence without its end. */
export function tellGone({ own, clock }: Post, actor: Actor, task: GoneTask, became: string): void {
  const requestId = `${task.id} ${task.now?.updatedAt ?? ""}`;
  const retry = { by: "claims that are gone", requestId, digest: "" };
  const letter = letterTo(own.state, actor, { text: goneText(task, became), at: clock.wall(), retry });
  if (letter !== null) own.submitWithRetry(letter);
}

/** Returns what an agent reads of a task that is no longer its own; `became`: a sentence without its end. */
export function goneText(task: Pick<Task, "id" | "number" | "description">, became: string): string {
  const named = `task #${numberOf(task)} ${JSON.stringify(task.description.slice(0, limits.quoteChars))}`;
  return `Kite: ${named} is no longer yours: ${became}. Look at it again before you go on with it.`;
}

/** Returns an urgent message of Kite to an agent of this machine, for the machine's own log; null: its session has ended. */
export function letterTo(
  own: State,
  actor: Actor,
  { text, at, retry }: { readonly text: string; readonly at: number; readonly retry: Retry },
): Command | null {
  const { session: id, agent } = answererOf(own, actor);
  const session = own.sessions.live.get(id);
  if (session === undefined) return null;
  return {
    ...{ type: "message_import", project: session.project, from: kite, text },
    ...{ to: [{ id, agent, name: session.name ?? id }], bytes: Buffer.byteLength(text) },
    ...{ urgent: true, broadcast: false, at, retry },
  };
}

const kite = { id: "kite", agent: null, name: "Kite" } as const;
