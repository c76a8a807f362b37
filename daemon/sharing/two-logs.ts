/**
 * This machine's log and the one that it shares, as one. The tasks, messages, context and debates of a shared project go to
 * the shared log, all else to the machine's own.
 *
 * Invariants: each entry is in exactly one log. Kite splits an acknowledgement or an import that touches both. The rows that
 * the outbox has of a session go to the shared log before the session's own commands. A caller gets one answer, with this
 * machine's names. Nobody waits for a store that is known to be away.
 */
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import { sharedCommands } from "../core/apply.ts";
import type { Actor, Retry } from "../core/frame/actors.ts";
import { inboxOf } from "../core/messages/inbox.ts";
import { emptyState } from "../core/snapshot.ts";
import type { State } from "../core/state.ts";
import type { Command, CommandOf, Grant, Reply } from "../core/tables/entries.ts";
import { type Caller, messageIdsIn, restarting } from "../engine/answers.ts";
import type { Clock } from "../engine/clock.ts";
import type { Engine, Log } from "../engine/engine.ts";
import type { LogView } from "../engine/log-view.ts";
import { importBoth } from "./import-both.ts";
import type { SharedNames } from "./names.ts";
import { staleOf } from "./reads.ts";
import { whoMakesRoomInBoth } from "./room.ts";
import type { SharedStore } from "./shared-store.ts";

/** Refusals of a log that has not heard of the speaker, or not lately: its node tells it, and the command goes once more. */
const unheardOf: ReadonlySet<string> = new Set(["unknown_node", "unknown_session", "session_ended"]);

export interface TwoLogsParts {
  readonly own: Engine;
  readonly store: SharedStore;
  readonly names: SharedNames;
  readonly clock: Clock;
}

export class TwoLogs implements Log {
  readonly #own: Engine;
  readonly #store: SharedStore;
  readonly #names: SharedNames;
  readonly #clock: Clock;
  readonly #ownView: LogView;
  /** The state of a store that was never reached: nothing is known. */
  readonly #nothing = emptyState();
  /** Shared proposals that may still be called unheard, by the number that their callers got. */
  readonly #numbers = new BoundedMap<number, { readonly log: Engine; readonly n: number }>({
    entriesMax: limits.storeUnheardMax,
  });
  #count = 0;
  /** Until then events do not wait for the store, which was too slow for one. */
  #slowUntilMs = 0;

  constructor({ own, store, names, clock }: TwoLogsParts) {
    this.#own = own;
    this.#store = store;
    this.#names = names;
    this.#clock = clock;
    this.#ownView = own.logOf(null);
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

  logOf(project: string | null): LogView {
    return project === null || this.#names.project(project) === null
      ? this.#ownView
      : this.#sharedView(project);
  }

  get logs(): readonly LogView[] {
    return this.#own.state.outbox.projects.size === 0
      ? [this.#ownView]
      : [this.#ownView, this.#sharedView(null)];
  }

  submit(command: Command, caller: Caller): number {
    if (command.type === "task_import") {
      const isShared = ({ project }: { readonly project: string }) => this.#names.project(project) !== null;
      const [there, here] = [command.tasks.filter(isShared), command.tasks.filter(one => !isShared(one))];
      if (there.length > 0 && here.length > 0) return importBoth(this, command, { there, here }, caller);
    }
    if (command.type === "session_begin") return this.#begin(command, caller);
    const project = this.#sharedProjectOf(command);
    if (project === null) return this.#own.submit(command, caller);
    return this.#share(
      command.type === "message_ack" ? this.#ackOwn(command) : command,
      project,
      this.#settling(command, caller),
      true,
    );
  }

  submitWithRetry(command: Command): void {
    if (this.#sharedProjectOf(command) === null) {
      this.#own.submitWithRetry(command);
      return;
    }
    // Until the daemon's next start nobody takes it.
    if (this.#store.isOver) return;
    const again = () =>
      this.#clock.at(this.#clock.now() + limits.fullRetryMs, () => this.submitWithRetry(command));
    this.submit(command, { answer: () => {}, failed: again });
  }

  submitAndWait(command: Command): Promise<Reply> {
    if (command.type === "inbox_take" && this.#sharedProjectOf(command) !== null)
      return this.#takeSoon(command);
    return new Promise(resolve => this.submit(command, { answer: resolve }));
  }

  proposer(log: LogView): Pick<Engine, "submitAndWait" | "submitWithRetry"> {
    return log === this.#ownView ? this.#own : this;
  }

  abandon(n: number): void {
    if (n > 0) this.#own.abandon(n);
  }

  undelivered(n: number, grant: Grant, kept?: Retry): void {
    this.#own.undelivered(n, grant, kept);
  }

  unheard(n: number, kept: Retry): void {
    const shared = this.#numbers.get(n);
    if (n > 0) this.#own.unheard(n, kept);
    else if (shared?.log === this.#store.engine) shared?.log.unheard(shared.n, kept);
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

  close(): Promise<void> {
    return this.#own.close();
  }

  /** Returns the project of this machine whose shared log the command belongs to, or null: the machine's own log. */
  #sharedProjectOf(command: Command): string | null {
    if (!sharedCommands.has(command.type) || command.type === "node_leave") return null;
    // A freeze is about the files of this machine.
    if (command.type === "broadcast" && command.hold !== null) return null;
    const project =
      command.type === "notes_told" ? this.#projectToldOf(command.session) : this.#projectOf(command);
    if (project === undefined || this.#names.project(project) === null) return null;
    const mail = mailIn(command);
    return mail !== null && this.#sharedMail(mail).length === 0 ? null : project;
  }

  /** Returns the project of a session by its id in the shared log; undefined: it is none there, or has ended. */
  #projectToldOf(id: string): string | undefined {
    const { outbox, sessions } = this.#own.state;
    return sessions.live.get(outbox.sessions.get(id)?.session ?? "")?.project;
  }

  #projectOf(command: Command): string | undefined {
    const speaker = "actor" in command ? command.actor : "by" in command ? command.by : null;
    const session =
      typeof speaker === "object" && speaker !== null
        ? this.#own.state.sessions.live.get(speaker.session)
        : undefined;
    if (session !== undefined) return session.project;
    if (command.type === "task_import") return command.tasks[0]?.project;
    return "project" in command ? command.project : undefined;
  }

  /** Returns which of the messages are not of this machine's own log, or of both: a freeze and a merge write there. */
  #sharedMail({ actor, messages }: Mail): readonly string[] {
    const own = this.#own.state.messages;
    const { state, actor: named } = this.#sharedView(null);
    const [key, sharedKey] = [inboxOf(actor), inboxOf(named(actor))];
    const isIn = (at: typeof own, id: string, inbox: string) => at.all.get(id)?.letters.has(inbox) === true;
    return messages.filter(id => !isIn(own, id, key) || isIn(state.messages, id, sharedKey));
  }

  /** Acknowledges what this machine's own log has of these messages, and returns the rest. */
  #ackOwn(command: CommandOf<"message_ack"> & { readonly type: "message_ack" }): Command {
    const { actor, messages } = command;
    const own = messages.filter(
      id => this.#own.state.messages.all.get(id)?.letters.has(inboxOf(actor)) === true,
    );
    if (own.length > 0) this.#own.submitWithRetry({ ...command, messages: own });
    return { ...command, messages: this.#sharedMail(command) };
  }

  /** Ends first the session that makes room, if the own log would end one that has something in the shared log. */
  #begin(command: CommandOf<"session_begin"> & { readonly type: "session_begin" }, caller: Caller): number {
    const { state } = this.#own;
    const gives =
      state.outbox.sessions.size === 0 ? null : whoMakesRoomInBoth(state, this.#store.state, command);
    if (gives !== null && "ok" in gives) {
      this.#refuse(gives, { answer: caller.answer });
      return this.#nextNumber();
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

  #share(command: Command, project: string, caller: Caller, mayRepeat: boolean): number {
    const number = this.#nextNumber();
    const { engine, refusal } = this.#store;
    if (engine === null || refusal !== null) {
      this.#refuse(refusal ?? this.#away(), caller);
      return number;
    }
    const named = this.#names.inward(command);
    if (named === null) {
      const again = () => this.#share(command, project, caller, false);
      // The session may begin with an entry that is on its way.
      if (mayRepeat) void this.#own.upToDate().then(again);
      // The session has ended: whoever repeats a command would do so for ever.
      else setImmediate(() => caller.answer(unregistered));
      return number;
    }
    // What the log has to know of the speaker goes ahead.
    this.#store.flush();
    // Whoever repeats until the log says, or gives back what comes late, hears what becomes of it.
    const once =
      caller.failed === undefined && command.type !== "inbox_take" ? this.#onceInTime(caller) : now;
    const retry = retryOf(command);
    if (retry !== undefined) this.#store.unsettled.sent(retry);
    const settle = this.#store.endings.sent(engine.state, named);
    const failed = () => {
      settle(null);
      once(() => caller.failed?.());
    };
    const n = engine.submit(named, {
      answer: reply => {
        settle(reply);
        const isUnheardOf = !reply.ok && unheardOf.has(reply.code);
        if (this.#isOfEnded(reply)) once(() => (caller.failed ?? (() => caller.answer(unknown)))());
        else if (isUnheardOf && mayRepeat) once(() => this.#repeat(command, project, caller));
        else once(() => caller.answer(this.#names.outward(reply, project)));
      },
      ...(caller.failed === undefined ? {} : { failed }),
    });
    if (retry !== undefined) this.#numbers.set(number, { log: engine, n });
    return number;
  }

  /** A number that the own log gives to none of its proposals. */
  #nextNumber(): number {
    this.#count -= 1;
    return this.#count;
  }

  /** Whether the answer is that of a log which ended, to be opened anew, while the daemon goes on. */
  #isOfEnded(reply: Reply): boolean {
    return !reply.ok && reply.code === restarting.code && this.#store.refusal?.code !== restarting.code;
  }

  /** Returns a caller that hears again that the outcome is not known, and not that the store is away, until it is known. */
  #settling(command: Command, caller: Caller): Caller {
    const retry = retryOf(command);
    if (retry === undefined) return caller;
    const { unsettled } = this.#store;
    const wasOpen = unsettled.has(retry);
    const answer = (reply: Reply) => {
      const isOpen = unsettled.answered(retry, reply, wasOpen);
      caller.answer(isOpen && !reply.ok && reply.code === "store_away" ? unknown : reply);
    };
    return caller.failed === undefined ? { answer } : { answer, failed: () => caller.failed?.() };
  }

  /** Returns what answers the caller, once: after `limits.storeAnswerMs` it hears that the outcome is not known. */
  #onceInTime(caller: Caller): (answer: () => void) => void {
    let isOver = false;
    const once = (answer: () => void) => {
      if (isOver) return;
      isOver = true;
      cancel();
      answer();
    };
    const cancel = this.#clock.at(this.#clock.now() + limits.storeAnswerMs, () =>
      once(() => caller.answer(unknown)),
    );
    return once;
  }

  #repeat(command: Command, project: string, caller: Caller): void {
    void this.#store.tellUnknown().then(isTold => {
      if (isTold) this.#share(command, project, caller, false);
      else this.#refuse(this.#away(), caller);
    });
  }

  /** As a log does: never within the call. */
  #refuse(refusal: Refusal, caller: Caller): void {
    setImmediate(() => {
      if (caller.failed === undefined) caller.answer(refusal);
      else caller.failed();
    });
  }

  #away(): Refusal {
    return (
      this.#store.refusal ?? refuse("store_away", `the store ${this.#store.where} is not open yet; try again`)
    );
  }

  /**
   * Takes messages for the answer to an event, which does not wait long for the store. After it waited in vain, the next
   * events do not wait at all.
   */
  #takeSoon(command: CommandOf<"inbox_take"> & { readonly type: "inbox_take" }): Promise<Reply> {
    const { actor } = command;
    if (this.#clock.now() < this.#slowUntilMs) return Promise.resolve(this.#away());
    return new Promise(resolve => {
      let isOver = false;
      const cancel = this.#clock.at(this.#clock.now() + limits.storeHookMs, () => {
        isOver = true;
        this.#slowUntilMs = this.#clock.now() + limits.storeHookPauseMs;
        resolve(this.#away());
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

  /** `project`: of this machine; null: all that are shared. */
  #sharedView(project: string | null): LogView {
    const [store, names, nothing, clock] = [this.#store, this.#names, this.#nothing, this.#clock];
    return {
      get state() {
        return store.state ?? nothing;
      },
      get now() {
        return store.engine?.now ?? Math.max(clock.now(), store.state?.t ?? 0);
      },
      get asOfMs() {
        return staleOf(store)?.asOfMs;
      },
      project: own => names.project(own) ?? own,
      actor: actor => names.actor(actor) ?? actor,
      outward: shown => names.outward(shown, project),
    };
  }
}

const unknown = refuse(
  "outcome_unknown",
  "the shared store has not answered yet: look whether it was done, or repeat the request with the same requestId",
);

function retryOf(command: Command): Retry | undefined {
  return "retry" in command ? command.retry : undefined;
}

interface Mail {
  readonly actor: Actor;
  readonly messages: readonly string[];
}

/** Returns the messages of an agent that the command acknowledges or answers; null: it does neither. */
function mailIn(command: Command): Mail | null {
  if (command.type === "message_ack") return command;
  if (command.type !== "message_send" || command.actor === null || command.replyTo === null) return null;
  return { actor: command.actor, messages: [command.replyTo] };
}

/** Answers a caller that waits as long as the log takes. */
function now(answer: () => void): void {
  answer();
}

const unregistered = refuse("unknown_session", "the session is not registered; send register first");
