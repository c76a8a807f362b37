/** The log that has a project's tasks, messages, context and debates: this machine's own, or one that machines share. */

import type { KiteEvent } from "../../protocol/events.ts";
import type { Actor } from "../core/frame/actors.ts";
import type { State } from "../core/state.ts";
import type { CommandType, CoreEvent, Entry, Step } from "../core/tables/entries.ts";

/**
 * A log's state, and what this machine's sessions are called in it. Whoever reads tasks, messages, context or debates takes
 * them from the log of their project.
 *
 * Invariant: in each log, this machine's projects are called what they are, and so are its sessions without an `@` in their
 * ids.
 */
export interface LogView {
  /** The state after the last entry that this machine knows; read-only. It is another object after a rebuild. */
  readonly state: State;
  /** Core time there now. */
  readonly now: number;
  /** As of when the state is known, by wall time in milliseconds; null: nothing of it is. Absent or undefined: as of now. */
  readonly asOfMs?: number | null | undefined;
  /** Returns where a node's sessions are; null: on this machine. */
  elsewhere(node: string): Elsewhere | null;
  /** Returns who an actor of this machine is there. Returns an actor that the log does not know as it is. */
  actor(actor: Actor): Actor;
}

/** Another machine, as it was seen last. */
export interface Elsewhere {
  readonly machine: string;
  /** It gave no sign of life for `limits.nodeAwayMs`. */
  readonly isAway: boolean;
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

/** Returns the machine of a live session of the log; null: it is this one. */
export function elsewhereOf(log: LogView, session: string): Elsewhere | null {
  const node = log.state.sessions.live.get(session)?.node;
  return node === undefined ? null : log.elsewhere(node);
}

/** Returns what this machine's own log calls a session of this machine that `log` calls so; undefined: it has ended. */
export function idHere({ state }: Logs, log: LogView, session: string): string | undefined {
  const { live } = state.sessions;
  if (elsewhereOf(log, session) !== null) return undefined;
  if (live.has(session)) return session;
  return [...live.keys()].find(id => idIn(log, id) === session);
}

/** Returns the logs in which a session may have messages: this machine's own, which writes of locks and merges, and its project's. */
export function mailLogs(logs: Logs, session: string): readonly LogView[] {
  const [own, ...shared] = logs.logs;
  const its = shared.length === 0 || own === undefined ? null : logOfSession(logs, session);
  return its === null || own === undefined || its.state === own.state ? logs.logs.slice(0, 1) : [own, its];
}

/** Returns what a log calls a session of this machine. */
export function idIn(log: LogView, session: string): string {
  return log.actor({ session, agent: null, incarnation: 0 }).session;
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
    elsewhere: () => null,
    actor: actor => actor,
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

/** Who hears of shared projects. */
export interface SharedListener {
  /** Something happened there. */
  told(events: readonly CoreEvent[]): void;
  /** What a project has may be anything else now: its store was reached. */
  reached(): void;
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
