/**
 * This machine's log and the projects that it shares, as one log. What belongs to the tasks, messages, context and debates of a
 * shared project goes to the store, all else to the machine's own log.
 *
 * Invariants: each command is in exactly one of them; an acknowledgement that touches both is split. A caller gets one answer.
 * Nobody waits for a store that is known to be away, and an event's answer waits for none that is slow. A copy calls this
 * machine's sessions and project as the machine's own log does, so whoever reads it translates nothing.
 */
import { createHash } from "node:crypto";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { TaskImportReply } from "../../protocol/schemas/task.ts";
import { BoundedMap } from "../bounded-map.ts";
import { sharedCommands } from "../core/apply.ts";
import type { Actor, Retry } from "../core/frame/actors.ts";
import { inboxOf } from "../core/messages/inbox.ts";
import { hasNothing, isIdle, whoMakesRoom } from "../core/sessions/room.ts";
import { sharedProjects, sharingOf } from "../core/sharing.ts";
import type { State } from "../core/state.ts";
import type { Command, CommandOf, CoreEvent, Entry, Grant, Reply, Step } from "../core/tables/entries.ts";
import { type Session, sessionsAt, suspendedAt } from "../core/tables/sessions.ts";
import { machinePartRules, partRules } from "../core/work/shared-parts.ts";
import { type Caller, messageIdsIn } from "../engine/answers.ts";
import type { Clock } from "../engine/clock.ts";
import type { Engine, Log } from "../engine/engine.ts";
import { type Elsewhere, type LogView, ownView } from "../engine/log-view.ts";
import { type HeldClaim, SharedProject } from "./project.ts";
import type { PartValue, Present } from "./roster.ts";
import { calledHere, idInCopy } from "./rows.ts";
import type { Store } from "./store.ts";

/** Commands of the own log after which others may see other sessions of this machine. */
const ofSessions: ReadonlySet<Command["type"]> = new Set<Command["type"]>([
  ...(["session_begin", "session_rename", "session_end", "session_suspend", "elapse"] as const),
  ...(["agent_begin", "agent_end"] as const),
]);

export interface SharedLogParts {
  readonly own: Engine;
  readonly store: Store;
  readonly clock: Clock;
  /** What the paths of kept copies begin with; null: none are kept. */
  readonly copies: string | null;
  /** Hears what happened in a shared project; `isOwn`: this machine did it. */
  readonly onEvents: (project: SharedProject, events: readonly CoreEvent[], isOwn: boolean) => void;
  /** A request of this machine was done in a shared project. */
  readonly onDone: (command: Command) => void;
  /** What happened lately in a project is not known event by event. `held`: what this machine's agents worked on before. */
  readonly onGap: (project: SharedProject, held: readonly HeldClaim[]) => void;
  /** The store was reached, and the copy is what it has. */
  readonly onReached: (project: SharedProject) => void;
}

interface Opened {
  readonly project: SharedProject;
  readonly view: LogView;
}

export class SharedLog implements Log {
  readonly #parts: SharedLogParts;
  readonly #own: Engine;
  readonly #ownView: LogView;
  readonly #opened = new Map<string, Opened>();
  /** The session that the process of a session had before, by the id of the later one. */
  readonly #before = new BoundedMap<string, string>({ entriesMax: limits.sessionNamesKeptMax });
  readonly #saving: NodeJS.Timeout;
  #count = 0;
  /** Of the own log, when the others were last to see what it tells. */
  #partsRevision = 0;
  /** Until then events do not wait for the store, which was too slow for one. */
  #slowUntilMs = 0;

  constructor(parts: SharedLogParts) {
    this.#parts = parts;
    this.#own = parts.own;
    this.#ownView = parts.own.logOf(null);
    this.#saving = setInterval(() => void this.#save(), limits.storeCopyPauseMs);
    for (const { project, as } of sharedProjects(parts.own.state)) this.open(project, as);
  }

  /** Begins to share a project of this machine, which all machines call `name`. */
  open(local: string, name: string): SharedProject {
    const { store, copies, onEvents, onGap, onReached } = this.#parts;
    const project: SharedProject = new SharedProject({
      ...{ store, name, local },
      onEvents: (events, isOwn) => onEvents(project, events, isOwn),
      path: copies === null ? null : `${copies}-${digestOf(local)}`,
      present: () => this.#present(name),
      ofMachine: () => this.#toldOf(name),
      onGap: held => onGap(project, held),
      onReached: () => onReached(project),
    });
    const view = viewOf(project, store);
    this.#opened.set(local, { project, view });
    store.add(project);
    return project;
  }

  /** Shares a project no more. Its sessions go from the store with the next step, and their claims are free. */
  end(local: string): void {
    const opened = this.#opened.get(local);
    this.#opened.delete(local);
    opened?.project.end();
  }

  /** Returns the shared project that this machine calls so. */
  projectAt(local: string): SharedProject | undefined {
    return this.#opened.get(local)?.project;
  }

  /** The shared projects, with each clone of one for itself. */
  *projects(): Generator<SharedProject, void> {
    for (const { project } of this.#opened.values()) yield project;
  }

  /** An entry of the own log was applied. */
  stepped({ command }: Entry, { events }: Step): void {
    if (command.type === "project_share" || command.type === "project_left") this.#follow(command.project);
    const { partsRevision } = this.#own.state;
    const isSame = partsRevision === this.#partsRevision;
    this.#partsRevision = partsRevision;
    if (isSame && !ofSessions.has(command.type)) return;
    if (command.type === "session_begin")
      for (const { event } of events)
        if (event.event === "session_ended" && event.cause === "continued")
          this.#before.set(command.session, event.id);
    for (const { project } of this.#opened.values()) project.presentChanged();
  }

  /** Opens a project that is shared now, and ends one that is shared no more. */
  #follow(local: string): void {
    const sharing = sharingOf(this.#own.state, local);
    if (sharing === undefined) this.end(local);
    else if (!this.#opened.has(local)) this.open(local, sharing.as);
  }

  /** Returns the clones that share this name. */
  #localsOf(name: string): ReadonlySet<string> {
    const locals = new Set<string>();
    for (const [local, { project }] of this.#opened) if (project.name === name) locals.add(local);
    return locals;
  }

  /** Returns what others have to know of this machine in the project. */
  #toldOf(name: string): readonly PartValue[] {
    const { state } = this.#own;
    const locals = this.#localsOf(name);
    return [...machinePartRules(state)].flatMap(([part, rules]) => {
      const told = locals.size === 0 ? null : rules.tell(state, locals);
      return told === null ? [] : [{ agent: null, part, told }];
    });
  }

  *#present(name: string): Generator<Present, void> {
    const locals = this.#localsOf(name);
    const { state } = this.#own;
    const rules = [...partRules(state)];
    for (const session of state.sessions.live.values()) {
      if (!locals.has(session.project)) continue;
      const { id, branch, client, registeredAt, agents, incarnations } = session;
      yield {
        ...{ id, name: session.name, branch, client, registeredAt, agents, incarnations },
        before: this.#beforeOf(id),
        parts: rules.flatMap(([part, { tell }]) =>
          tell === undefined ? [] : [...tell(state, id)].map(([agent, told]) => ({ agent, part, told })),
        ),
      };
    }
  }

  /** Returns the sessions that the process had before this one, the latest first. */
  #beforeOf(session: string): readonly string[] {
    const found = new Set<string>();
    for (
      let id = this.#before.get(session);
      id !== undefined && id !== session && !found.has(id);
      id = this.#before.get(id)
    )
      found.add(id);
    return [...found];
  }

  get state(): State {
    return this.#own.state;
  }

  get epoch(): number {
    return this.#own.epoch;
  }

  get voided(): readonly number[] {
    return this.#own.voided;
  }

  get now(): number {
    return this.#own.now;
  }

  get logs(): readonly LogView[] {
    // Clones that share one name have the same rows: one of them shows these.
    const names = new Map([...this.#opened.values()].map(one => [one.project.name, one.view]));
    return [this.#ownView, ...names.values()];
  }

  logOf(project: string | null): LogView {
    return this.#opened.get(project ?? "")?.view ?? this.#ownView;
  }

  proposer(log: LogView): Pick<Engine, "submitAndWait" | "submitWithRetry"> {
    return log === this.#ownView ? this.#own : this;
  }

  submit(command: Command, caller: Caller): number {
    if (command.type === "session_begin") return this.#begin(command, caller);
    if (command.type === "task_import" && this.#opened.size > 0) {
      const [first, ...more] = this.#piecesOf(command);
      if (first !== undefined && more.length > 0) return this.#importAll([first, ...more], caller);
    }
    return this.#submit(command, caller);
  }

  /** Returns the import as one for each log that it is about. */
  #piecesOf(command: TaskImport): TaskImport[] {
    const groupOf = ({ project }: { readonly project: string }) =>
      this.#opened.has(project) ? project : null;
    const groups = new Set(command.tasks.map(groupOf));
    return [...groups].map(group => ({
      ...command,
      tasks: command.tasks.filter(task => groupOf(task) === group),
    }));
  }

  /** Imports one after the other: what is there already is skipped, so a repeat may do so again. */
  #importAll([next, ...others]: readonly [TaskImport, ...TaskImport[]], caller: Caller): number {
    const [second, ...more] = others;
    if (second === undefined) return this.#submit(next, caller);
    const answer = (first: Reply) => {
      if (!first.ok) return caller.answer(first);
      const rest = (reply: Reply) => caller.answer(reply.ok ? bothImported(first, reply) : reply);
      this.#importAll([second, ...more], { ...caller, answer: rest });
    };
    return this.#submit(next, { ...caller, answer });
  }

  #submit(command: Command, caller: Caller): number {
    const project = this.#projectOf(command);
    if (project === undefined) return this.#own.submit(command, caller);
    this.#count -= 1;
    if (sharingOf(this.#own.state, project.local)?.is === "leaving") {
      setImmediate(() => (caller.failed === undefined ? caller.answer(leaving) : caller.failed()));
      return this.#count;
    }
    const asked = command.type === "message_ack" ? this.#ackOwn(command) : command;
    const named = this.#named(asked, project);
    if (named === null) {
      setImmediate(() => caller.answer(unregistered));
      return this.#count;
    }
    const { retry, ...plain } = named as Command & { readonly retry?: Retry };
    const { node } = this.#parts.store.options;
    const request =
      retry === undefined
        ? undefined
        : { id: JSON.stringify([node, retry.by, retry.requestId]), digest: retry.digest };
    void project.submit(plain as Command, request).then(({ reply }) => {
      if (reply.ok) this.#parts.onDone(command);
      const failed = !reply.ok && reply.code === "store_away" ? caller.failed : undefined;
      if (failed === undefined) caller.answer(reply);
      else failed();
    });
    return this.#count;
  }

  /** Ends first the session that makes room, if the own log would end one that has something in a shared project. */
  #begin(command: CommandOf<"session_begin"> & { readonly type: "session_begin" }, caller: Caller): number {
    const gives = this.#opened.size === 0 ? null : this.#whoMakesRoom(command);
    if (gives !== null && "ok" in gives) {
      setImmediate(() => caller.answer(gives));
      this.#count -= 1;
      return this.#count;
    }
    if (gives !== null)
      this.#own.submitWithRetry({
        type: "session_end",
        session: gives.id,
        incarnation: null,
        cause: "ended",
      });
    return this.#own.submit(command, caller);
  }

  /**
   * Returns the session that has to end before this one begins. Null: there is room, or the own log's choice has nothing in its
   * shared project either. Refuses if every session that the own log may end has something there.
   */
  #whoMakesRoom({ session, anchor }: CommandOf<"session_begin">): Session | Refusal | null {
    const { state } = this.#own;
    const goesOn = anchor !== null && suspendedAt(state.sessions, anchor) !== undefined;
    if (state.sessions.live.has(session) || goesOn) return null;
    const first = whoMakesRoom(state, anchor);
    if (first === undefined || this.#hasNothingThere(first)) return null;
    const others = isIdle(state, first)
      ? [...state.sessions.idle].flatMap(id => state.sessions.live.get(id) ?? [])
      : anchor === null
        ? []
        : sessionsAt(state.sessions, anchor).filter(one => hasNothing(state, one));
    const gives = others.find(one => this.#hasNothingThere(one));
    const error = `no session can make room for ${session}: each has a lock, a wait, a task or an unread message here or in the shared store; end some first`;
    return gives ?? refuse("too_many_sessions", error);
  }

  /** It may have something in a project that nobody has read. */
  #hasNothingThere({ id, project }: Session): boolean {
    const shared = this.projectAt(project);
    if (shared === undefined) return true;
    return shared.version > 0 && hasNothing(shared.state, { id: idInCopy(id, shared.names) });
  }

  submitWithRetry(command: Command): void {
    if (this.#projectOf(command) === undefined) {
      this.#own.submitWithRetry(command);
      return;
    }
    const { clock } = this.#parts;
    const again = () => clock.at(clock.now() + limits.fullRetryMs, () => this.submitWithRetry(command));
    this.submit(command, { answer: () => {}, failed: again });
  }

  submitAndWait(command: Command): Promise<Reply> {
    if (command.type === "inbox_take" && this.#projectOf(command) !== undefined)
      return this.#takeSoon(command);
    return new Promise(resolve => this.submit(command, { answer: resolve }));
  }

  /** Takes messages for the answer to an event, which waits for no slow store: what comes late is unread again. */
  #takeSoon(command: CommandOf<"inbox_take"> & { readonly type: "inbox_take" }): Promise<Reply> {
    const { clock } = this.#parts;
    const { actor } = command;
    if (clock.now() < this.#slowUntilMs) return Promise.resolve(slow);
    return new Promise(resolve => {
      let isOver = false;
      const cancel = clock.at(clock.now() + limits.storeHookMs, () => {
        isOver = true;
        this.#slowUntilMs = clock.now() + limits.storeHookPauseMs;
        resolve(slow);
      });
      this.submit(command, {
        answer: reply => {
          cancel();
          if (!isOver) return resolve(reply);
          const messages = messageIdsIn(reply);
          if (messages.length > 0)
            this.submitWithRetry({ type: "inbox_told", actor, messages, heard: false });
        },
      });
    });
  }

  /** Returns the shared project that the command belongs to; undefined: it is the own log's. */
  #projectOf(command: Command): SharedProject | undefined {
    if (this.#opened.size === 0 || !sharedCommands.has(command.type)) return undefined;
    // A freeze is about the files of this machine.
    if (command.type === "broadcast" && command.hold !== null) return undefined;
    const project = this.#opened.get(this.#localOf(command) ?? "")?.project;
    const mail = mailIn(command);
    if (project === undefined || mail === null) return project;
    return mail.messages.every(id => this.#isOwnMail(mail.actor, id)) ? undefined : project;
  }

  #localOf(command: Command): string | undefined {
    const session = this.#own.state.sessions.live.get(speakerOf(command)?.session ?? "");
    if (session !== undefined) return session.project;
    if (command.type === "task_import") return command.tasks[0]?.project;
    return "project" in command ? command.project : undefined;
  }

  /** Whether the letter is of this machine's own log: freezes, merges and Kite itself write there. */
  #isOwnMail(actor: Actor, message: string): boolean {
    return this.#own.state.messages.all.get(message)?.letters.has(inboxOf(actor)) === true;
  }

  /** Acknowledges what this machine's own log has of these messages, and returns the rest. */
  #ackOwn(command: CommandOf<"message_ack"> & { readonly type: "message_ack" }): Command {
    const own = command.messages.filter(id => this.#isOwnMail(command.actor, id));
    if (own.length === 0) return command;
    this.#own.submitWithRetry({ ...command, messages: own });
    return { ...command, messages: command.messages.filter(id => !own.includes(id)) };
  }

  /** Returns the command as the copy takes it, without a path; null: its speaker is no session of this machine. */
  #named(command: Command, { names }: SharedProject): Command | null {
    const found: Record<string, unknown> = { ...command };
    for (const field of ["by", "actor"] as const) {
      const one = found[field] as Actor | null | undefined;
      if (one === undefined || one === null) continue;
      if (!this.#own.state.sessions.live.has(one.session)) return null;
      found[field] = { ...one, session: idInCopy(one.session, names) };
    }
    if ("cwd" in found) found["cwd"] = "";
    for (const field of ["to", "participants"] as const) {
      const whom = found[field];
      if (typeof whom === "string") found[field] = calledHere(whom, names);
      else if (Array.isArray(whom)) found[field] = whom.map(one => calledHere(String(one), names));
    }
    return found as unknown as Command;
  }

  abandon(n: number): void {
    if (n > 0) this.#own.abandon(n);
  }

  undelivered(n: number, grant: Grant, kept?: Retry): void {
    this.#own.undelivered(n, grant, kept);
  }

  /** A refusal of the store is kept for nobody: who repeats the request is heard anew. */
  unheard(n: number, kept: Retry): void {
    if (n > 0) this.#own.unheard(n, kept);
  }

  read(read: (state: State) => void): Promise<void> {
    return this.#own.read(read);
  }

  upToDate(): Promise<void> {
    return this.#own.upToDate();
  }

  outputReleased(): Promise<void> {
    return this.#own.outputReleased();
  }

  async #save(): Promise<void> {
    for (const { project } of this.#opened.values()) await project.save();
  }

  async close(): Promise<void> {
    clearInterval(this.#saving);
    await this.#parts.store.close();
    await this.#save();
    await this.#own.close();
  }
}

/** Returns how readers see a shared project. */
function viewOf(project: SharedProject, store: Store): LogView {
  const view = ownView({
    get state() {
      return project.state;
    },
    get now() {
      return Math.max(project.state.t, store.nowMs);
    },
  });
  const actor = (one: Actor): Actor => ({ ...one, session: idInCopy(one.session, project.names) });
  const elsewhere = (node: string) => elsewhereIn(store, node);
  return Object.defineProperty(Object.assign(view, { actor, elsewhere }), "asOfMs", {
    get: () => (store.refusal === null ? undefined : project.asOfMs || null),
  });
}

/** Returns the machine of a node's sessions, as it was seen last; null: it is this one. */
function elsewhereIn({ options, nodes }: Store, node: string): Elsewhere | null {
  if (node === options.node) return null;
  const seen = nodes.find(one => one.node === node);
  return { machine: seen?.machine ?? node, isAway: seen?.isAway ?? true };
}

function speakerOf(command: Command): Actor | null {
  const speaker = "actor" in command ? command.actor : "by" in command ? command.by : null;
  return typeof speaker === "object" && speaker !== null && "session" in speaker ? speaker : null;
}

interface Mail {
  readonly actor: Actor;
  readonly messages: readonly string[];
}

/** Returns the messages of an agent that the command acknowledges, reports or answers; null: it does nothing of that. */
function mailIn(command: Command): Mail | null {
  if (command.type === "message_ack" || command.type === "inbox_told") return command;
  if (command.type !== "message_send" || command.actor === null || command.replyTo === null) return null;
  return { actor: command.actor, messages: [command.replyTo] };
}

/** A name of a file for the project's copy. */
function digestOf(local: string): string {
  return createHash("sha256").update(local).digest("hex").slice(0, 16);
}

type TaskImport = CommandOf<"task_import"> & { readonly type: "task_import" };

/** Returns the reply to an import whose tasks went into two logs. */
function bothImported(first: Reply, second: Reply): Reply {
  const [a, b] = [first as unknown as TaskImportReply, second as unknown as TaskImportReply];
  return {
    ok: true,
    imported: a.imported + b.imported,
    skipped: [...a.skipped, ...b.skipped],
    debatesDropped: [...a.debatesDropped, ...b.debatesDropped],
  } satisfies TaskImportReply;
}

const unregistered: Refusal = refuse("unknown_session", "the session is not registered; send register first");

const leaving: Refusal = refuse(
  "store_busy",
  "this machine is leaving the shared store; nothing was changed, try again in a moment",
);

const slow: Refusal = refuse("store_away", "the shared store is slow; its messages come with a later event");
