/** The log that has a project's tasks, messages, context and debates: this machine's own, or one that machines share. */

import type { KiteEvent } from "../../protocol/events.ts";
import type { Actor } from "../core/frame/actors.ts";
import type { State } from "../core/state.ts";
import type { CommandType, Entry, Step } from "../core/tables/entries.ts";

/**
 * A log's state, with what this machine's sessions and projects are called in it. Whoever reads tasks, messages, context or
 * debates takes them from the log of their project, and passes what it shows of them through `outward`.
 *
 * Invariant: in the log of this machine alone everything is called what it is.
 */
export interface LogView {
  /** The state after the last entry that this machine knows; read-only. It is another object after a rebuild. */
  readonly state: State;
  /** Core time there now. */
  readonly now: number;
  /** As of when the state is known, by wall time in milliseconds; null: nothing of it is. Absent or undefined: as of now. */
  readonly asOfMs?: number | null | undefined;
  /** Returns what a project of this machine is called there. */
  project(project: string): string;
  /** Returns who an actor of this machine is there. Returns an actor that the log does not know as it is. */
  actor(actor: Actor): Actor;
  /** Returns a row or a reply of that log with this machine's ids, names and projects. What people and agents wrote stays. */
  outward<Shown>(shown: Shown): Shown;
}

/** What reads of all logs need: the state of this machine's own log, and the views of that one and of those that it shares. */
export interface Logs extends Pick<LogView, "state" | "now"> {
  logOf(project: string | null): LogView;
  readonly logs: readonly LogView[];
}

/** Returns the log that has the tasks and messages of a session of this machine. */
export function logOfSession(logs: Logs, session: string): LogView {
  return logs.logOf(logs.state.sessions.live.get(session)?.project ?? null);
}

/** Returns the logs in which a session may have messages: this machine's own, which writes of locks and merges, and its project's. */
export function mailLogs(logs: Logs, session: string): readonly LogView[] {
  const [own, ...shared] = logs.logs;
  const its = shared.length === 0 || own === undefined ? null : logOfSession(logs, session);
  return its === null || own === undefined || its.state === own.state ? logs.logs.slice(0, 1) : [own, its];
}

/** Returns the id of a session of this machine in a log. In a shared log, each of its terminals has an id of its own. */
export function idsIn({ state }: Pick<Logs, "state">, log: LogView, session: string): string[] {
  const ordinals = state.sessions.live.get(session)?.incarnations.map(({ ordinal }) => ordinal) ?? [0];
  const ids = ordinals.map(incarnation => log.actor({ session, agent: null, incarnation }).session);
  return [...new Set(ids)];
}

/** Yields the logs that may have notices for a session, each with what the session is called there: first its own. */
export function* noteIds(logs: Logs, session: string): Generator<readonly [log: LogView, id: string], void> {
  const [own, ...shared] = logs.logs;
  if (own !== undefined) yield [own, session];
  if (shared.length === 0 || own === undefined) return;
  const log = logOfSession(logs, session);
  if (log.state !== own.state) for (const id of idsIn(logs, log, session)) yield [log, id];
}

/** Returns the view of a log that one machine has for itself. */
export function ownView(log: Pick<LogView, "state" | "now">): LogView {
  return {
    get state() {
      return log.state;
    },
    get now() {
      return log.now;
    },
    project: project => project,
    actor: actor => actor,
    outward: shown => shown,
  };
}

// Who sees the steps of the engine. A listener is called for what it wants alone, since most steps concern nobody.

export interface Listener {
  /** It sees each step of one of these commands. */
  readonly commands?: readonly CommandType[];
  /** It sees each step with one of these events; `all`: with any event. */
  readonly events?: readonly KiteEvent["event"][] | "all";
  stepped(entry: Entry, step: Step): void;
}

interface Listening {
  readonly commands: ReadonlySet<CommandType>;
  readonly events: ReadonlySet<KiteEvent["event"]>;
  readonly isAll: boolean;
  readonly listener: Listener;
}

/** Listeners in the order in which they were added. Each is called once for a step. */
export class Listeners {
  readonly #all: Listening[] = [];

  add(...listeners: readonly Listener[]): void {
    for (const listener of listeners) {
      const { commands = [], events = [] } = listener;
      const isAll = events === "all";
      const some = new Set(isAll ? [] : events);
      this.#all.push({ commands: new Set(commands), events: some, isAll, listener });
    }
  }

  /** Takes a listener out again; it is no error if it was not added. */
  remove(listener: Listener): void {
    const at = this.#all.findIndex(one => one.listener === listener);
    if (at !== -1) this.#all.splice(at, 1);
  }

  /** Calls the listeners that want the step. */
  tell(entry: Entry, step: Step): void {
    const { type } = entry.command;
    for (const { commands, events, isAll, listener } of this.#all) {
      let isWanted = commands.has(type) || (isAll && step.events.length > 0);
      for (const { event } of step.events) isWanted ||= events.has(event.event);
      if (isWanted) listener.stepped(entry, step);
    }
  }
}
