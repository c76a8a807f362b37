/**
 * Tells agents of this machine whose claims in the shared log are gone. It does so at once while the log is open. When the
 * log opens anew, it compares with what was known before. Meanwhile the store was away, this daemon was down, or the machine
 * was silent for so long that claims ended.
 *
 * Invariants: an agent hears once of each, by a message in its machine's own log. It hears of nothing that its own session
 * did, also if the store went away meanwhile. What is known outlives a kill of the daemon: see `claims-file.ts`.
 */
import { personName } from "../../protocol/names.ts";
import type { State } from "../core/state.ts";
import type { Entry, Step } from "../core/tables/entries.ts";
import { claimerOf } from "../core/tables/tasks.ts";
import { assigneeOf } from "../core/tasks/replies.ts";
import type { Clock } from "../engine/clock.ts";
import type { Listener } from "../engine/log-view.ts";
import { becameOf, type ClaimLog, claimWatch, type Post, tellGone } from "../sessions/claim-watch.ts";
import { ClaimsFile, type Held } from "./claims-file.ts";
import type { Condition } from "./condition.ts";
import { actorHere, type SharedNames } from "./names.ts";
import type { SharedStore } from "./shared-store.ts";

export interface LostClaimsOptions {
  readonly store: SharedStore;
  readonly names: SharedNames;
  readonly clock: Clock;
  /** Where the claims are kept; null: nowhere. */
  readonly path: string | null;
  readonly onTrouble: (message: string, error: unknown) => void;
}

/** Steps after which agents may have other claims. */
const changing: ReadonlySet<string> = new Set([
  ...["task_claimed", "task_completed", "task_failed", "task_released", "task_updated"],
  // A session goes on under another id, with its claims.
  ...["session_started", "session_ended"],
]);

export class LostClaims {
  readonly #store: SharedStore;
  readonly #post: Post;
  readonly #file: ClaimsFile;
  readonly #watch: Listener;
  /** What agents of this machine worked on when the store was known last; null: it is known now. */
  #before: readonly Held[] | null;
  #isSaving = false;

  constructor({ store, names, clock, path, onTrouble }: LostClaimsOptions) {
    this.#store = store;
    this.#post = { own: store.own, clock };
    this.#file = new ClaimsFile({ path, where: store.where, onTrouble });
    this.#before = this.#file.before ?? this.#held();
    this.#watch = claimWatch(this.#post, logOf(store, names));
    const { endings } = store;
    endings.onSent = () => this.#save();
    endings.onSettled = (task, isOver) => {
      if (isOver) this.#before = this.#before?.filter(held => held.task.id !== task) ?? null;
      this.#saveSoon();
    };
  }

  /** The store is something else now. */
  changed(is: Condition["is"]): void {
    if (is !== "open") {
      this.#before ??= this.#held();
      // Nothing of it is this machine's any more.
      if (this.#store.left !== null) this.#file.save([]);
      return;
    }
    const before = this.#before ?? [];
    this.#before = null;
    const { state } = this.#store;
    if (state !== null) for (const held of before) this.#look(state, held);
    this.#store.endings.shown();
    this.#saveSoon();
  }

  /** A step of the shared log, as it is there. */
  stepped(entry: Entry, step: Step): void {
    // What comes while the log is opened is looked at when it is open.
    if (this.#before !== null || !step.events.some(({ event }) => changing.has(event.event))) return;
    this.#watch.stepped(entry, step);
    this.#saveSoon();
  }

  #held(): readonly Held[] {
    const { state, node } = this.#store;
    if (state === null) return [];
    const found: Held[] = [];
    for (const session of state.sessions.byNode.get(node) ?? []) {
      for (const id of state.tasks.claims.get(session) ?? []) {
        const task = state.tasks.all.get(id);
        const claimer = task === undefined ? null : claimerOf(task);
        if (task === undefined || claimer === null) continue;
        const { number, description } = task;
        found.push({ task: { id, ...(number === undefined ? {} : { number }), description }, claimer });
      }
    }
    return found;
  }

  #look(state: State, { task, claimer, isEnding = false }: Held): void {
    const { own, endings } = this.#store;
    if (isEnding || endings.has(task.id)) return;
    const now = state.tasks.all.get(task.id);
    const whose = now === undefined ? null : assigneeOf(state, now);
    const actor = actorHere(own.state, claimer);
    if (whose?.id === claimer.session || actor === null) return;
    const became = `${becameOf(now, whose?.name ?? null)} while the shared store or this machine was away`;
    tellGone(this.#post, actor, { ...task, now }, became);
  }

  /** Once for all steps of a turn: a move of a project may claim hundreds of tasks. */
  #saveSoon(): void {
    if (this.#isSaving) return;
    this.#isSaving = true;
    setImmediate(() => {
      this.#isSaving = false;
      this.#save();
    });
  }

  #save(): void {
    // The claims of before are still to be looked at.
    if (this.#before !== null) return;
    const { endings } = this.#store;
    this.#file.save(
      this.#held().map(held => (endings.isOwn(held.task.id) ? { ...held, isEnding: true } : held)),
    );
  }
}

function logOf(store: SharedStore, names: SharedNames): ClaimLog {
  return {
    get state() {
      return store.state;
    },
    hasProject: project => names.projectsOf(project).length > 0,
    actorHere: actor => actorHere(store.own.state, actor),
    personOf({ origin: { node } }) {
      if (node === store.node) return personName("agent");
      const machine = store.state?.leases.all.get(node)?.machine;
      return machine === undefined ? "a person of another machine" : `a person at ${machine}`;
    },
  };
}
