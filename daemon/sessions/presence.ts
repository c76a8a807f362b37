/**
 * The signs of life, turns, agents and open files of sessions: `query` shows them, but the log does not store them. Turns,
 * questions to a person and agents outlive a restart by a file of their own (presence-file.ts); every session gets one full
 * grace.
 */

import { limits } from "../../protocol/limits.ts";
import type { Doing } from "../../protocol/schemas/session.ts";
import { BoundedMap } from "../bounded-map.ts";
import { addToSet, removeFromSet, type Sets } from "../core/frame/collections.ts";
import type { Clock } from "../engine/clock.ts";

// Names in the order in which they were seen, the latest first. Each operation costs the same however many there are.

interface Place {
  readonly name: string;
  newer: Place | null;
  older: Place | null;
}

export class Recency {
  readonly #places = new Map<string, Place>();
  #latest: Place | null = null;

  get size(): number {
    return this.#places.size;
  }

  /** Makes the name the latest; adds it if it is new. */
  seen(name: string): void {
    const known = this.#places.get(name);
    if (known !== undefined && known === this.#latest) return;
    const place = known ?? { name, newer: null, older: null };
    if (known === undefined) this.#places.set(name, place);
    else this.#unlink(known);
    place.newer = null;
    place.older = this.#latest;
    if (this.#latest !== null) this.#latest.newer = place;
    this.#latest = place;
  }

  delete(name: string): void {
    const place = this.#places.get(name);
    if (place === undefined) return;
    this.#places.delete(name);
    this.#unlink(place);
  }

  /** Yields the names, the latest first. The caller must not change the order meanwhile. */
  *[Symbol.iterator](): Generator<string, void> {
    for (let place = this.#latest; place !== null; place = place.older) yield place.name;
  }

  #unlink({ newer, older }: Place): void {
    if (newer === null) this.#latest = older;
    else newer.older = older;
    if (older !== null) older.newer = newer;
  }
}

/** The signs of life of one agent. Times are core time in milliseconds. */
export interface Pulse {
  /** A turn of its runs. */
  active: boolean;
  /** Since when `active` has this value. */
  since: number;
  /** The same as wall time, which goes on while the machine sleeps. */
  sinceWall: number;
  /** An event said whether a turn of its runs; else `active` says nothing. */
  isReported: boolean;
  /** Its own last sign of life. */
  signAt: number;
  /** The agent's present step in its turn, since `at`. Null: no event named one, or no turn runs. */
  doing: (Doing & { readonly at: number }) | null;
  /** When its turn ended by an error, if nothing came after; else null. */
  failedAt: number | null;
  /** Until then one more sign of work changes nothing for anybody. Whoever waits for one takes this back. */
  settledUntil: number;
  /** The user's settings under which that holds; null: nobody asked for them. */
  settledUnder: object | null;
}

/** What an agent asks a person since `at`, as the client words it. */
interface Dialog {
  readonly text: string;
  readonly at: number;
}

export interface Presence extends Pulse {
  /** Core time of the last sign of life of any of its agents, in ms. */
  seenAt: number;
  /** Its project, once it is known to be registered. */
  project: string | null;
  /** Since when a signal has stopped its process; null: it runs. */
  stoppedAt: number | null;
  /** The transcript that its latest event named; null: none did. */
  transcript: string | null;
  /** What waits for a person, by agent (null: the main one); the latest last. */
  readonly dialogs: BoundedMap<string | null, Dialog>;
  /** Why the session's repository is unknown; null if it is known. */
  unplaced: string | null;
  /** Its client runs in a container with other paths. */
  isContained: boolean;
  /** The prompt that the main agent answers; null if unknown. */
  prompt: string | null;
  /** Kite woke it, and no prompt of its came since. */
  woken: boolean;
  /** The name that its client said last; null if it said none. */
  title: string | null;
  readonly agents: Map<string, AgentPresence>;
  /** Files touched, latest last: path by key. */
  readonly files: BoundedMap<string, string>;
  /** Another number after each change of the files; 0: no file yet. */
  filesRevision: number;
}

interface AgentPresence extends Pulse {
  seenAt: number;
  /** The agent that started this one; empty: the main agent; null: not looked up. */
  parent: string | null;
  /** Whether the main agent started it, perhaps through other agents. */
  descends: boolean;
}

export class PresenceTable {
  readonly #clock: Clock;
  readonly #rows = new Map<string, Presence>();
  /** The sessions that have a file open, by its key. */
  readonly #openIn: Sets<string, string> = new Map();
  #touches = 0;
  #filesRevision = 0;
  /** By project: its sessions by their last signs of life. */
  readonly #recent = new Map<string, Recency>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** All rows, by session. */
  get rows(): ReadonlyMap<string, Presence> {
    return this.#rows;
  }

  /** Rises whenever a row was given to be changed: while it stays the same, all rows do. */
  get touches(): number {
    return this.#touches;
  }

  /** Returns the row of a session, to be changed at once and not later; a new row counts as seen now. */
  of(session: string): Presence {
    this.#touches += 1;
    const known = this.#rows.get(session);
    if (known !== undefined) return known;
    const seenAt = this.#clock.now();
    const row: Presence = {
      seenAt,
      project: null,
      stoppedAt: null,
      transcript: null,
      dialogs: new BoundedMap({ entriesMax: limits.agentsPerSessionMax }),
      unplaced: null,
      isContained: false,
      prompt: null,
      woken: false,
      title: null,
      agents: new Map(),
      files: new BoundedMap({
        entriesMax: limits.touchedMax,
        onDelete: key => removeFromSet(this.#openIn, key, session),
      }),
      filesRevision: 0,
      // Last: after it V8 adds each further field by itself, ten times as slowly.
      ...pulse(false, this.#clock),
    };
    this.#rows.set(session, row);
    return row;
  }

  /** Notes a sign of life of a session, and of the agent within it if given. */
  seen(session: string, agent: string | null = null): Presence {
    const row = this.of(session);
    row.seenAt = this.#clock.now();
    if (row.project !== null) this.#recent.get(row.project)?.seen(session);
    if (agent !== null && (row.agents.has(agent) || row.agents.size < limits.agentsPerSessionMax)) {
      const known = row.agents.get(agent);
      if (known === undefined)
        row.agents.set(agent, {
          ...pulse(true, this.#clock),
          seenAt: row.seenAt,
          parent: null,
          descends: false,
        });
      else {
        known.seenAt = row.seenAt;
        setTurn(known, true, this.#clock);
      }
    }
    return row;
  }

  /** The signs of one agent; undefined if it is not known. */
  pulse(session: string, agent: string | null): Pulse | undefined {
    const row = this.#rows.get(session);
    return agent === null ? row : row?.agents.get(agent);
  }

  /** Returns the row of an agent as an earlier daemon knew it; null if the session has no room for it. */
  recalled(session: string, agent: string): AgentPresence | null {
    const row = this.of(session);
    if (row.agents.size >= limits.agentsPerSessionMax) return null;
    const now = this.#clock.now();
    const recalled = { ...pulse(false, this.#clock), seenAt: now, parent: null, descends: false };
    row.agents.set(agent, recalled);
    return recalled;
  }

  /** Notes that a turn of the agent runs, or that none does; with `failed` its last one ended by an error. */
  turn(session: string, agent: string | null, active: boolean, failed = false): void {
    const own = this.pulse(session, agent);
    if (own === undefined) return;
    this.#touches += 1;
    setTurn(own, active, this.#clock);
    own.failedAt = failed ? this.#clock.now() : null;
  }

  /** Notes what an agent does in its turn. A report may come late, so it does not replace what the agent does now. */
  did(session: string, agent: string | null, doing: Doing): void {
    const own = this.pulse(session, agent);
    if (own === undefined || !own.active) return;
    const isPast = doing.verb !== "writes" && doing.verb !== "runs";
    const isBusy = own.doing?.verb === "writes" || own.doing?.verb === "runs";
    if (isPast && isBusy && own.doing?.what !== doing.what) return;
    own.doing = { ...doing, at: this.#clock.now() };
  }

  /** Notes a prompt to the main agent. If an earlier prompt's turn was interrupted, nobody told of the end of what it did. */
  prompted(session: string, prompt: string | null): void {
    const row = this.of(session);
    if (row.prompt !== prompt) row.doing = null;
    row.prompt = prompt;
    row.woken = false;
  }

  /** The known agents of the session whose locks this one inherits; null is the main agent. */
  ancestors(session: string, agent: string | null): readonly (string | null)[] {
    const agents = this.#rows.get(session)?.agents;
    const row = agent === null ? undefined : agents?.get(agent);
    const all: (string | null)[] = row?.descends === true ? [null] : [];
    for (let parent = row?.parent; parent && !all.includes(parent); parent = agents?.get(parent)?.parent) {
      all.push(parent);
    }
    return all;
  }

  /** Notes the project of a session, which comes from a sign of life. */
  placed(session: string, project: string): void {
    const row = this.#rows.get(session) ?? this.of(session);
    if (row.project === project) return;
    this.#leaveProject(session, row);
    row.project = project;
    const recency = this.#recent.get(project) ?? new Recency();
    this.#recent.set(project, recency);
    recency.seen(session);
  }

  /** The sessions of a project, the one with the latest sign of life first. */
  latestIn(project: string): Iterable<string> {
    return this.#recent.get(project) ?? [];
  }

  /** Whether a turn of the session's main agent or of an agent within it runs, as far as events said. */
  isInTurn(session: string): boolean {
    const row = this.#rows.get(session);
    return row !== undefined && [row, ...row.agents.values()].some(({ active }) => active);
  }

  silentMs(session: string): number {
    return this.#clock.now() - (this.#rows.get(session) ?? this.of(session)).seenAt;
  }

  /** Notes that the session has the file open; evicts the oldest files. */
  touched(session: string, path: string, key: string): void {
    const row = this.of(session);
    row.files.set(key, path);
    this.#filesRevision += 1;
    row.filesRevision = this.#filesRevision;
    addToSet(this.#openIn, key, session);
  }

  /** Other sessions that have the file open. */
  *alsoOpen(session: string, key: string): Generator<string, void> {
    for (const other of this.#openIn.get(key) ?? []) if (other !== session) yield other;
  }

  forget(session: string): void {
    this.#touches += 1;
    const row = this.#rows.get(session);
    if (row === undefined) return;
    for (const [key] of row.files.entries()) removeFromSet(this.#openIn, key, session);
    this.#leaveProject(session, row);
    this.#rows.delete(session);
  }

  /** Removes rows of sessions that do not live, left by late events. Costs one comparison if there are none. */
  keepOnly(live: ReadonlyMap<string, unknown>): void {
    if (this.#rows.size <= live.size) return;
    for (const session of this.#rows.keys()) if (!live.has(session)) this.forget(session);
  }

  #leaveProject(session: string, { project }: Presence): void {
    const recency = project === null ? undefined : this.#recent.get(project);
    recency?.delete(session);
    if (project !== null && recency?.size === 0) this.#recent.delete(project);
  }
}

/** Returns what the session's client asked a person last, of all that still waits; null: nothing does. */
export function latestDialog({ dialogs }: Presence): Dialog | null {
  let latest: Dialog | null = null;
  for (const dialog of dialogs.values()) latest = dialog;
  return latest;
}

function pulse(active: boolean, clock: Clock): Pulse {
  const now = clock.now();
  return {
    active,
    since: now,
    sinceWall: clock.wall(),
    isReported: active,
    signAt: now,
    doing: null,
    failedAt: null,
    settledUntil: 0,
    settledUnder: null,
  };
}

function setTurn(own: Pulse, active: boolean, clock: Clock): void {
  if (own.active !== active || !own.isReported) {
    own.since = clock.now();
    own.sinceWall = clock.wall();
  }
  if (own.active !== active) own.settledUntil = 0;
  own.active = active;
  own.isReported = true;
  if (active) own.failedAt = null;
  else own.doing = null;
}
