/**
 * What this machine's sessions and projects are called in the shared log, and back.
 *
 * Invariants: nothing of a path leaves the machine; what people and agents wrote is never changed. A session that the outbox
 * did not tell of has no name there.
 */
import { personIdOf, personOnWire } from "../../protocol/names.ts";
import type { Actor } from "../core/frame/actors.ts";
import { personAt } from "../core/nodes/people.ts";
import { nodeOf, ownIdOf } from "../core/nodes/shared-ids.ts";
import { sharedIdOf } from "../core/outbox/publish.ts";
import type { State } from "../core/state.ts";
import type { Command } from "../core/tables/entries.ts";
import { sessionsNamedLike } from "../core/tables/sessions.ts";

/** Fields of rows, replies and events that hold what people and agents wrote: nothing in it is changed, however it looks. */
export const written: ReadonlySet<string> = new Set([
  ...["text", "description", "result", "reason", "value", "key", "labels", "label", "prefix"],
  ...["question", "claim", "because", "hypothesis", "verdict", "branch"],
  ...["role", "team", "task", "plan", "path", "paths", "sees", "will", "wills", "settledBy", "evidence"],
  ...["mismatches"],
]);

/** Fields that hold the name of a session. `name` does beside the session's id. */
const ofSessions: ReadonlySet<string> = new Set([
  ...["createdBy", "assigneeName", "fromName", "undelivered", "was"],
]);

/** Those of them that may hold the name of a person of some machine. */
const ofPeople: ReadonlySet<string> = new Set(["createdBy", "fromName"]);

/** Fields of a command, as far as they name sessions, projects and places. */
interface Naming {
  by?: Actor | null;
  actor?: Actor | null;
  project?: string;
  cwd?: string;
  to?: string | null;
  participants?: readonly string[] | null;
  tasks?: readonly unknown[];
}

export interface NamesOptions {
  readonly node: string;
  /** This machine's own state. */
  readonly own: () => State;
  /** The shared log's; null: it is not known yet. */
  readonly shared: () => State | null;
}

export class SharedNames {
  readonly #options: NamesOptions;
  /** What own ids end with in the shared log. */
  readonly #ending: RegExp;
  /** The id of this machine's person there. */
  readonly #person: string;

  constructor(options: NamesOptions) {
    this.#options = options;
    this.#person = personIdOf(options.node);
    this.#ending = new RegExp(`@${options.node}\\.\\d+\\.\\d+`, "g");
  }

  /** Returns what the shared log calls a project of this machine; null: it is not shared. */
  project(project: string): string | null {
    return this.#options.own().outbox.projects.get(project) ?? null;
  }

  /** Returns this machine's projects that the shared log calls so: clones of one repository have one name. */
  projectsOf(shared: string): readonly string[] {
    const found: string[] = [];
    for (const [project, as] of this.#options.own().outbox.projects) if (as === shared) found.push(project);
    return found;
  }

  /** Returns who the actor is in the shared log, or null if the outbox did not tell of it. */
  actor(actor: Actor): Actor | null {
    return actorThere(this.#options.own(), actor);
  }

  /** Returns the command as the shared log takes it; null: its speaker is not known there. */
  inward(command: Command): Command | null {
    const named = { ...command } as Command & Naming;
    for (const field of ["by", "actor"] as const) {
      const one = named[field];
      if (one === undefined || one === null) continue;
      const there = this.actor(one);
      if (there === null) return null;
      named[field] = there;
    }
    if (named.project !== undefined) named.project = this.project(named.project) ?? named.project;
    if (named.cwd !== undefined) named.cwd = "";
    if (typeof named.to === "string") named.to = this.#recipient(named.to);
    if (Array.isArray(named.participants))
      named.participants = named.participants.map(one => this.#recipient(one));
    if (command.type === "task_import") {
      named.tasks = command.tasks.map(task => ({
        ...task,
        project: this.project(task.project) ?? task.project,
      }));
    }
    return named;
  }

  /** An id names one session; a name is looked up in the shared log, which knows all who have it. */
  #recipient(to: string): string {
    return sessionThere(this.#options.own(), to, 0) ?? to;
  }

  /** Returns what the shared log shows as this machine calls it; `project`: the one of which its name is meant. */
  outward<Shown>(shown: Shown, project: string | null): Shown {
    return this.#out(shown, project, "") as Shown;
  }

  #out(value: unknown, project: string | null, field: string, ofSession = false): unknown {
    if (typeof value === "string") return this.#textOut(value, project, field, ofSession);
    if (value === null || typeof value !== "object" || field === "value") return value;
    if (Array.isArray(value)) return value.map(one => this.#out(one, project, field));
    const found: Record<string, unknown> = {};
    const { id } = value as { readonly id?: unknown };
    if (id === this.#person) return null;
    const isSession = typeof id === "string" && nodeOf(id) !== null;
    for (const [key, one] of Object.entries(value)) {
      // The name is a hypothesis's, or a task's in its request.
      const isOther = key === "name" && !isSession;
      found[key] = isOther ? one : this.#out(one, project, key, key === "name" || ofSessions.has(key));
    }
    return found;
  }

  #textOut(text: string, project: string | null, field: string, ofSession: boolean): string | null {
    if (written.has(field) || text === "") return text;
    if (text === this.#person) return null;
    if (ofPeople.has(field) && this.#isOwnPerson(text)) return field === "fromName" ? personOnWire : null;
    if (field === "project") return this.#projectOut(text, project);
    return ofSession ? this.#nameOut(text) : text.replace(this.#ending, "");
  }

  #isOwnPerson(name: string): boolean {
    const machine = this.#options.shared()?.leases.all.get(this.#options.node)?.machine;
    return machine !== undefined && name === personAt(machine);
  }

  #projectOut(shared: string, project: string | null): string {
    const own = this.projectsOf(shared);
    return project !== null && own.includes(project) ? project : (own[0] ?? shared);
  }

  /** An own session's name without the machine, if no other machine has one of that name in the project. */
  #nameOut(text: string): string {
    const state = this.#options.shared();
    const machine = state?.leases.all.get(this.#options.node)?.machine;
    if (state === null || machine === undefined) return text;
    const [, name = "", agent = ""] = /^([^@]+)@[^/]*(\/.*)?$/s.exec(text) ?? [];
    if (name === "" || text !== `${name}@${machine}${agent}`) return text;
    for (const project of new Set(this.#options.own().outbox.projects.values()))
      for (const other of sessionsNamedLike(state.sessions, project, `${name}@`))
        if (nodeOf(other.id) !== this.#options.node) return text;
    return `${name}${agent}`;
  }
}

/** Returns who an actor of this machine is in the shared log, or null if the outbox did not tell of it. */
export function actorThere(own: State, { session, agent, incarnation }: Actor): Actor | null {
  const id = sessionThere(own, session, incarnation);
  return id === null ? null : { session: id, agent, incarnation: 0 };
}

function sessionThere({ outbox, sessions }: State, session: string, incarnation: number): string | null {
  const known = sessions.live.get(session)?.incarnations;
  const one = known?.find(({ ordinal }) => ordinal === incarnation) ?? known?.[0];
  return one === undefined ? null : sharedIdOf(outbox, session, one.begun);
}

/** Returns who an actor of the shared log is on this machine, or null if it is none of its live ones. */
export function actorHere(own: State, { session: id, agent }: Actor): Actor | null {
  const session = ownIdOf(id) ?? "";
  const known = own.sessions.live.get(session)?.incarnations ?? [];
  const one = known.find(({ begun }) => sharedIdOf(own.outbox, session, begun) === id);
  return one === undefined ? null : { session, agent, incarnation: one.ordinal };
}
