/**
 * What this machine shares with others, as one part of its daemon. Only a daemon with a store loads it.
 *
 * Invariants: a start never waits for the store, and a stop for `limits.storeCloseMs` at most. An agent hears once, by a message
 * in its machine's own log, that a claim of its own in a shared project is gone. It hears of nothing that its own session did.
 * What became of the store and its machines is told once: as an event, and as lines of the trail.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import type { KiteEvent } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";
import { personName } from "../../protocol/names.ts";
import {
  type ReturnRow,
  type StoreLeaveReply,
  type StoreNodeRow,
  type StoreRow,
  type StoreShareReply,
  type StoreState,
  storeRowsMax,
} from "../../protocol/schemas/store.ts";
import { duration } from "../../protocol/text.ts";
import { type SharedThrough, sharedProjects, sharingOf } from "../core/sharing.ts";
import type { CoreEvent, Entry, Reply, Step } from "../core/tables/entries.ts";
import { assigneeOf } from "../core/tasks/replies.ts";
import type { Clock } from "../engine/clock.ts";
import type { Engine } from "../engine/engine.ts";
import type { SharedListener } from "../engine/log-view.ts";
import type { DaemonOptions } from "../options.ts";
import { type EventHub, inboxEvent } from "../server/events.ts";
import { areEndings, becameOf, tellGone } from "../sessions/claim-watch.ts";
import type { TrailLine } from "../trail/line.ts";
import { readStoreAddress } from "./address.ts";
import { StoreUnfit } from "./errors.ts";
import { type Moved, Moves } from "./moves.ts";
import { bootId, machineName, openNode, schema, storeConnection } from "./private-files.ts";
import type { HeldClaim, SharedProject } from "./project.ts";
import { ownIdOf } from "./rows.ts";
import { SharedLog } from "./shared-log.ts";
import { Store, type StoreOptions, storeLimits } from "./store.ts";

/** What it needs of the daemon. */
export interface SharedParts {
  readonly own: Engine;
  readonly clock: Clock;
  readonly events: EventHub;
  /** Writes what events say into the trail. */
  readonly note: (events: readonly CoreEvent[]) => void;
  /** Writes a line of it. */
  readonly write: (line: TrailLine) => void;
  readonly onTrouble: (message: string, error: unknown) => void;
}

/** Who this machine is in the store, and where the store is. */
type Settings = Pick<
  StoreOptions,
  "address" | "setting" | "connectTo" | "node" | "machine" | "binding" | "goneMs"
>;

type SharedOptions = Pick<DaemonOptions, "paths" | "config" | "version" | "log">;

/** Opens what this machine shares: the projects are there at once, and the store as soon as it can be reached. */
export function openShared(options: SharedOptions, parts: SharedParts): Shared {
  const shared = new Shared(options, parts);
  shared.start();
  return shared;
}

export class Shared {
  readonly own: Engine;
  readonly store: Store;
  readonly log: SharedLog;
  readonly moves: Moves;
  readonly #parts: SharedParts;
  readonly #listeners: SharedListener[] = [];
  /** Who waits until the store is open, or of no use. */
  readonly #waiting = new Set<() => void>();
  /** The state that was told last. */
  #shown: StoreState;
  #left: { readonly isTold: boolean } | null = null;

  constructor(options: SharedOptions, parts: SharedParts) {
    this.#parts = parts;
    const { own, clock, onTrouble } = parts;
    const { paths, config, version, log } = options;
    this.own = own;
    this.store = new Store({
      ...settingsOf(config.values, paths),
      ...{ program: version, limits: storeLimits, expected: expectedOf(own), onTrouble },
      onCondition: ({ is, why }) => {
        // A stop is no change of the store.
        if (is === "closed") return;
        log[is === "open" ? "info" : "warn"]({ why }, `the shared store is ${is}`);
        this.#look();
        if (is !== "away") for (const go of [...this.#waiting]) go();
      },
      onNodes: isNew => {
        if (isNew) this.#parts.write(joinedLine(this.state, clock.wall()));
        if (this.store.condition.is === "open") this.#look();
      },
    });
    this.log = new SharedLog({
      ...{ own, clock, copies: paths.storeCopy, store: this.store },
      onEvents: (project, events, isOwn) => this.#told(project, events, isOwn),
      onDone: command => {
        const event = inboxEvent({ command }, own.state);
        if (event !== null) parts.events.tell({ ...event }, [event.by.id], event.project);
      },
      onGap: (project, held) => {
        for (const one of held) this.#lookAt(project, one);
        this.#look();
        for (const listener of this.#listeners) listener.reached();
      },
      onReached: () => {
        this.moves.goOn();
        for (const listener of this.#listeners) listener.reached();
      },
    });
    this.moves = new Moves({
      ...{ own, clock, onTrouble, log: this.log, store: this.store },
      onMoved: (sharing, moved) => {
        for (const line of movedLines(sharing, moved, clock.wall())) parts.write(line);
      },
      onEnded: () => this.#look(),
    });
    this.#shown = this.state;
  }

  start(): void {
    this.store.start();
    this.moves.goOn();
  }

  /** Why nothing can be done with the store now; null: it is open. */
  get refusal(): Refusal | null {
    return this.#left === null ? this.store.refusal : storeLeft;
  }

  /** Resolves with null as soon as the store is open, else with why it is not, at the latest after `limits.storeOpenMs`. */
  reach(): Promise<Refusal | null> {
    const { clock } = this.#parts;
    const { is } = this.store.condition;
    if (this.#left !== null || (is !== "opening" && is !== "away")) return Promise.resolve(this.refusal);
    return new Promise(resolve => {
      const go = () => {
        cancel();
        this.#waiting.delete(go);
        resolve(this.refusal);
      };
      const cancel = clock.at(clock.now() + limits.storeOpenMs, go);
      this.#waiting.add(go);
    });
  }

  /** Whether the store was told that this machine left; null: it has not left. */
  get left(): { readonly isTold: boolean } | null {
    return this.#left;
  }

  /** This machine left the store: nothing goes there until the daemon's next start. */
  hasLeft(isTold: boolean): void {
    this.#left = { isTold };
    this.#look();
  }

  /** The store as screens show it, but for whether edits are coordinated, which needs no store. */
  get row(): StoreRow {
    const { where, options, wentBackMs, tells } = this.store;
    const shown = conditionOf(this.store, this.#left !== null);
    const asOf = this.asOfMs ?? null;
    const { unmoved, leaveUndoneMs } = this.moves;
    const unfit = this.copies().flatMap(one => one.unfit.map(row => `${one.name}: ${row}`));
    return {
      where: where.replace(/^postgresql:\/\/|\?.*$/g, ""),
      node: options.node,
      machine: this.store.nodes.length === 0 ? null : this.store.machine,
      ...shown,
      wentBackAt: wentBackMs,
      ...(asOf === null || shown.is === "away" ? {} : { asOf }),
      ...(leaveUndoneMs === null ? {} : { leaveUndoneAt: leaveUndoneMs }),
      ...(unmoved === null ? {} : { unmoved }),
      ...(unfit.length === 0 ? {} : { unfit: unfit.slice(0, limits.idsNamedMax) }),
      ...(tells ? {} : { polls: true }),
    };
  }

  /** As of when shared projects are known, by wall time in milliseconds; null: one is not known. Undefined: as of now. */
  get asOfMs(): number | null | undefined {
    const times = this.refusal === null ? [] : this.copies().map(({ asOfMs }) => asOfMs);
    return times.length === 0 ? undefined : Math.min(...times) || null;
  }

  /** The same with its machines. */
  get state(): StoreState {
    return { ...this.row, nodes: this.nodes.map(({ machine, is }) => ({ machine, is })) };
  }

  /** The nodes as they were seen last, this one first, then by their machines' names. */
  get nodes(): readonly StoreNodeRow[] {
    const { nodes, options } = this.store;
    const sessions = new Map<string, number>();
    for (const { state } of this.copies())
      for (const [node, ids] of state.sessions.byNode)
        sessions.set(node, (sessions.get(node) ?? 0) + ids.size);
    const rows = nodes.map(({ node, machine, program, seenMs, isAway, isGone }): StoreNodeRow => {
      const is = isGone ? "gone" : isAway ? "away" : "here";
      const renewedAgoMs = Math.max(0, Date.now() - seenMs);
      const isThis = node === options.node;
      return { node, machine, isThis, is, renewedAgoMs, version: program, sessions: sessions.get(node) ?? 0 };
    });
    const byName = (a: StoreNodeRow, b: StoreNodeRow) => (a.machine < b.machine ? -1 : 1);
    return rows.sort((a, b) => Number(b.isThis) - Number(a.isThis) || byName(a, b)).slice(0, storeRowsMax);
  }

  /** Returns a copy of each shared project: clones that share one name have the same rows. */
  copies(): SharedProject[] {
    return [...new Map([...this.log.projects()].map(one => [one.name, one])).values()];
  }

  /** Tells what became of the store, if it is another state than the one that was told last. */
  #look(): void {
    const { clock, events, write } = this.#parts;
    const [state, before] = [this.state, this.#shown];
    if (JSON.stringify(state) === JSON.stringify(before)) return;
    this.#shown = state;
    events.tell({ event: "store_changed", store: state }, [], "");
    for (const line of changeLines(before, state, clock.wall())) write(line);
  }

  /** For handlers, which load nothing of the store before there is one. */
  trailFields(reply: Reply): Partial<TrailLine> {
    return askedFields(reply);
  }

  /** The listener hears of each event of shared projects from now on. */
  listen(listener: SharedListener): void {
    this.#listeners.push(listener);
  }

  #told(project: SharedProject, events: readonly CoreEvent[], isOwn: boolean): void {
    // What the own log tells of this machine was told already.
    const { node } = this.store.options;
    const isToldAlready = ({ event, about, from }: CoreEvent) =>
      from === node ||
      (ofSessions.has(event.event) && about.every(id => ownIdOf(id, project.names) !== null));
    const news = events.filter(event => !isToldAlready(event));
    this.#parts.events.publishBeside(news);
    // Each machine's trail has what its own sessions did.
    if (isOwn) this.#parts.note(news);
    for (const event of events) this.#lookAtEnd(project, event, isOwn);
    for (const listener of this.#listeners) listener.told(events);
  }

  /** Tells the agent whose claim an event ended, unless its own session did that. */
  #lookAtEnd({ state, names }: SharedProject, { event, worker, by }: CoreEvent, isOwn: boolean): void {
    if (worker === undefined || !areEndings.has(event.event) || !("task" in event)) return;
    const isReopened = event.event === "task_released" && event.cause === "reopened";
    // What nobody asked for on this machine, an end of a session, is known to who has the session.
    if (isReopened || (isOwn && by === undefined) || by?.id === worker.id) return;
    const [task, session] = [state.tasks.all.get(event.task), ownIdOf(worker.id, names)];
    if (task === undefined || session === null || !this.own.state.sessions.live.has(session)) return;
    // It may have been free for a while before somebody took it.
    const taker = task.state.status === "active" ? assigneeOf(state, task) : null;
    const name = by === null ? personName("agent") : (by?.name ?? taker?.name ?? null);
    const actor = { session, agent: worker.agent, incarnation: 0 };
    tellGone(this.#parts, actor, { ...task, now: task }, becameOf(task, name));
  }

  /** What happened is not known event by event: tells the agent of a claim if it has it no more. */
  #lookAt({ state, names }: SharedProject, { task, claimer }: HeldClaim): void {
    const now = state.tasks.all.get(task.id);
    const whose = now === undefined ? null : assigneeOf(state, now);
    const session = ownIdOf(claimer.session, names);
    if (whose?.id === claimer.session || session === null || !this.own.state.sessions.live.has(session))
      return;
    const became = `${becameOf(now, whose?.name ?? null)} while the shared store or this machine was away`;
    tellGone(this.#parts, { ...claimer, session }, { ...task, now }, became);
  }

  /**
   * An entry of the own log was applied. Returns its step as it is told: a move copies or removes tasks and values here, but
   * nobody made, ended or deleted them.
   */
  stepped(entry: Entry, step: Step): Step {
    this.log.stepped(entry, step);
    const isMove = ({ event: { event }, project }: CoreEvent) =>
      (event.startsWith("task_") || event === "context_changed") &&
      sharingOf(this.own.state, project) !== undefined;
    return step.events.some(isMove) ? { ...step, events: step.events.filter(one => !isMove(one)) } : step;
  }

  close(): void {
    this.moves.close();
    for (const go of [...this.#waiting]) go();
  }
}

/** Events that the own log has of its own sessions. */
const ofSessions: ReadonlySet<KiteEvent["event"]> = new Set<KiteEvent["event"]>([
  ...(["session_started", "session_ended", "session_lost", "session_renamed"] as const),
  ...(["session_duplicated", "role_changed", "declared"] as const),
]);

/** Returns how the store is, in the words of the wire. */
function conditionOf(
  { condition: { is, why, code, sinceMs }, hasOpened }: Store,
  hasLeft: boolean,
): Pick<StoreRow, "is" | "since" | "why" | "code"> {
  const since = null;
  if (hasLeft || is === "closed") return { is: "refused", since, why: storeLeft.error, code: storeLeft.code };
  if (is === "unfit") return { is: "refused", since, why, code };
  if (is === "away") return hasOpened ? { is, since: sinceMs, why } : { is: "opening", since, why };
  return { is, since, why: null };
}

const storeLeft = refuse(
  "store_none",
  "this machine left the store, and its setting is still there; to finish that: kite store leave",
);

/** Returns who this machine is in the store, and how it gets there. If something is in its way, each try says so. */
function settingsOf(
  { store, storeGoneMs: goneMs }: DaemonOptions["config"]["values"],
  paths: DaemonOptions["paths"],
): Settings {
  const address = readStoreAddress(store);
  const node = openNode(paths);
  const own = "ok" in node || node.is !== "own" ? null : node.node;
  const binding = own === null ? "" : bindingOf(readFileSync(paths.storeNode, "utf8"));
  const connectTo = () => {
    if ("ok" in address) throw new StoreUnfit(address.error);
    if ("ok" in node) throw new StoreUnfit(node.error);
    if (node.is === "copied") throw new StoreUnfit(node.error, { code: "node_twice" });
    const connection = storeConnection(address, paths);
    if ("ok" in connection) throw new StoreUnfit(connection.error);
    return connection;
  };
  const known = "ok" in address ? address : storeConnection(address, paths);
  return {
    ...{ connectTo, binding, node: own ?? "none", machine: machineName(), goneMs },
    setting: "ok" in address ? "the store" : address.text,
    address: "ok" in known ? nowhere : known,
  };
}

const nowhere = { hosts: [], database: "", user: "", schema };

/** What tells this home from a copy of it that has the same id, also from one on a copy of the machine's disk. */
export function bindingOf(node: string, boot = bootId()): string {
  return createHash("sha256").update(`${node}\n${boot}`).digest("hex");
}

/** Returns the store with which this machine shares projects, or null. */
function expectedOf({ state }: Engine): SharedThrough | null {
  for (const { store } of sharedProjects(state)) return store;
  return null;
}

// Lines of the trail: what became of the store and of its machines, and what a person changed.

/** Returns what became of the store between two states of it. */
export function changeLines(before: StoreState, after: StoreState, at: number): TrailLine[] {
  // A start that has not tried yet is no news; that it tried in vain is. Who left is told so with what came back.
  const hasFailed = after.is === "opening" && before.why === null && after.why !== null;
  const isNews = (before.is !== after.is || hasFailed) && after.code !== storeLeft.code;
  const lines = [
    ...(isNews ? [lineOf(at, becameLine(before, after, at))] : []),
    ...(after.wentBackAt === null || after.wentBackAt === before.wentBackAt ? [] : [wentBack(after, at)]),
  ];
  if (after.leaveUndoneAt !== undefined && after.leaveUndoneAt !== before.leaveUndoneAt)
    lines.push(lineOf(at, { type: "leave_undone", why: leaveUndone }));
  const { why = null } = after.unmoved ?? {};
  if (why !== null && why !== before.unmoved?.why)
    lines.push(lineOf(at, { type: "move_broke_off", why: `${why}; Kite goes on moving it by itself` }));
  // What is known of the others is as of an earlier moment.
  return after.is === "open" ? [...lines, ...machineLines(before, after, at)] : lines;
}

function becameLine(before: StoreState, after: StoreState, at: number): Partial<TrailLine> {
  // The line says by itself that it is about the store.
  const why = after.why?.replace(/^the store \S+ cannot be used now: /, "");
  const because = why === undefined ? "" : `: ${why}`;
  const what = { type: after.is, ...(after.code === undefined ? {} : { code: after.code }) };
  switch (after.is) {
    case "open": {
      const again = before.since === null ? "" : ` again after ${duration(Math.max(0, at - before.since))}`;
      return { ...what, why: `${before.where} is open${again}` };
    }
    case "away":
      return { ...what, why: `${after.where} does not answer${because}; locks and edits go on without it` };
    case "refused": {
      const refused = after.code === "store_away" ? "cannot be used now" : "does not take this machine";
      return { ...what, why: `${after.where} ${refused}${because}` };
    }
    default:
      return { ...what, why: `${after.where} is not reached${because}` };
  }
}

const leaveUndone =
  "kite store leave broke off, and Kite took out again what it had copied back: this machine is still in the store; to leave: kite store leave";

function wentBack({ where }: StoreState, at: number): TrailLine {
  const why = `${where} went back: a backup was restored, or a standby that lagged took over; tasks and messages of just before may be gone`;
  return lineOf(at, { type: "went_back", why });
}

const machineNow = { here: "is back", away: "fell silent", gone: "is gone, and its agents' claims are free" };

/** Returns which of the other machines came, fell silent, are back, or left. */
function machineLines(before: StoreState, after: StoreState, at: number): TrailLine[] {
  // At a start the machines are not new: this daemon only learns of them.
  if (before.nodes.length === 0) return [];
  const known = new Map(before.nodes.map(({ machine, is }) => [machine, is]));
  const lines: string[] = [];
  for (const { machine, is } of after.nodes) {
    const was = known.get(machine);
    known.delete(machine);
    if (machine === after.machine || was === is) continue;
    lines.push(`${machine} ${was === undefined ? "joined the store" : machineNow[is]}`);
  }
  for (const machine of known.keys()) if (machine !== before.machine) lines.push(`${machine} left the store`);
  return lines.map(why => lineOf(at, { event: "machine_changed", why }));
}

/** Returns the fields of the line of a person's request, besides who asked and how it was answered. */
export function askedFields(reply: Reply): Partial<TrailLine> {
  const what = { rule: "store", type: null };
  if (!reply.ok) return what;
  if ("as" in reply) {
    const { project, as } = reply as unknown as StoreShareReply;
    const copied = `copied: ${copiedText(reply as unknown as StoreShareReply)}`;
    return { ...what, project, why: `shared as ${as}; ${copied}` };
  }
  if ("projects" in reply) {
    const left = reply as unknown as StoreLeaveReply;
    const knows = left.told ? "" : "; the store does not know it";
    return { ...what, why: `this machine left the store; back here: ${copiedText(left)}${knows}` };
  }
  return { ...what, why: "this home has an id of its own in the store from the next start on" };
}

/** Returns what the daemon moved of a shared project by itself, since a move broke off. */
export function movedLines(
  { project, as }: { readonly project: string; readonly as: string },
  moved: Moved,
  at: number,
): TrailLine[] {
  const { tasks, context, leftOut, released, returns, stays } = moved;
  const notes = [leftOut, released, returns, stays].reduce((sum, { length }) => sum + length, 0);
  if (tasks + context + notes === 0) return [];
  const lost = released.length === 0 ? "" : `; claims of this machine that are gone: ${released.join(", ")}`;
  const why = `what was left here of ${as} is in the store now: ${copiedText(moved)}${lost}`;
  return [lineOf(at, { type: "moved", project, why })];
}

/** Returns how much was copied, which tasks have another number, which changes the store does not have, and what it has again. */
function copiedText({ tasks, context, numbers, leftOut, returns, stays, more = {} }: Moved): string {
  const moved = numbers.map(({ before, after, project }) => {
    const where = project === undefined ? "" : ` (${project})`;
    return `#${before} is #${after} now${where}`;
  });
  const changes = leftOut.map(({ number, fields }) => `#${number} (${fields.join(", ")})`);
  const named = (one: ReturnRow) => ("key" in one ? `key ${one.key}` : `#${one.number}`);
  return [
    `tasks ${tasks}, context keys ${context}`,
    ...listText("; numbers that changed: ", moved, more.numbers),
    ...listText("; changed here, and not taken over: ", changes, more.leftOut),
    ...listText(
      "; the store did not have these any more, and has them again: ",
      returns.map(named),
      more.returns,
    ),
    ...listText("; removed here, and still in the store: ", stays.map(named), more.stays),
  ].join("");
}

function listText(what: string, rows: readonly string[], besides = 0): readonly string[] {
  if (rows.length === 0) return [];
  const more = Math.max(0, rows.length - rowsShownMax) + besides;
  return [`${what}${rows.slice(0, rowsShownMax).join(", ")}${more === 0 ? "" : ` and ${more} more`}`];
}

const rowsShownMax = 20;

/** Returns that this home is in the store, in which it was not, or under another id. */
export function joinedLine({ where, node, machine }: StoreState, at: number): TrailLine {
  // As in `kite store`.
  const who = `${machine ?? "this machine"}, node ${node.slice(0, 8)}`;
  return lineOf(at, { event: "store_joined", why: `${where}: this machine is in it as ${who}` });
}

function lineOf(at: number, more: Partial<TrailLine>): TrailLine {
  const nobody = { id: null, agent: null, name: null, project: null, type: null, file: null };
  return { at, event: "store_changed", ...nobody, decision: "note", rule: "store", ...more };
}
