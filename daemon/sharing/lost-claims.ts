/**
 * Tells agents of this machine whose claims are gone when the store is back: it was away, this daemon was down, or the machine was
 * silent for so long that the claims ended.
 *
 * Invariant: an agent hears once of each, by a message in its machine's own log; what it did itself is not told to it.
 */
import { limits } from "../../protocol/limits.ts";
import type { Actor } from "../core/actor.ts";
import { nodeOf } from "../core/nodes/shared-ids.ts";
import type { State } from "../core/state.ts";
import { assigneeOf } from "../core/tasks/replies.ts";
import { claimerOf, numberOf, type Task } from "../core/tasks/table.ts";
import type { Clock } from "../engine/clock.ts";
import type { Condition } from "./condition.ts";
import { actorHere } from "./names.ts";
import type { SharedStore } from "./shared-store.ts";

interface Held {
  readonly task: Task;
  readonly claimer: Actor;
}

export class LostClaims {
  readonly #store: SharedStore;
  readonly #clock: Clock;
  /** What agents of this machine worked on when the store was known last; null: it is known now. */
  #before: readonly Held[] | null;

  constructor(store: SharedStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#before = this.#held();
  }

  /** The store is something else now. */
  changed(is: Condition["is"]): void {
    if (is !== "open") {
      this.#before ??= this.#held();
      return;
    }
    const before = this.#before ?? [];
    this.#before = null;
    const { state } = this.#store;
    if (state !== null) for (const held of before) this.#look(state, held);
  }

  #held(): readonly Held[] {
    const { state, node } = this.#store;
    if (state === null) return [];
    const found: Held[] = [];
    for (const [session, ids] of state.tasks.claims) {
      if (nodeOf(session) !== node) continue;
      for (const id of ids) {
        const task = state.tasks.all.get(id);
        const claimer = task === undefined ? null : claimerOf(task);
        // The table goes on, and changes its rows.
        if (task !== undefined && claimer !== null) found.push({ task: { ...task }, claimer });
      }
    }
    return found;
  }

  #look(state: State, { task, claimer }: Held): void {
    const { own } = this.#store;
    const now = state.tasks.all.get(task.id);
    const whose = now === undefined ? null : assigneeOf(state, now);
    const actor = actorHere(own.state, claimer);
    const session = actor === null ? undefined : own.state.sessions.live.get(actor.session);
    if (whose?.id === claimer.session || actor === null || session === undefined) return;
    const text = `Kite: ${nameOf(task)} is no longer yours: ${becameOf(now, whose?.name)} while the shared store or this machine was away. Look at it again before you go on with it.`;
    const to = [{ id: actor.session, agent: actor.agent, name: session.name ?? actor.session }];
    const requestId = `${task.id} ${now?.updatedAt ?? ""}`;
    own.submitWithRetry({
      ...{ type: "message_import", project: session.project, from: kite, to, text },
      ...{ bytes: Buffer.byteLength(text), urgent: true, broadcast: false, at: this.#clock.wall() },
      retry: { by: "lost claims", requestId, digest: "" },
    });
  }
}

const kite = { id: "kite", agent: null, name: "Kite" } as const;

function nameOf(task: Task): string {
  return `task #${numberOf(task)} ${JSON.stringify(task.description.slice(0, limits.quoteChars))}`;
}

function becameOf(now: Task | undefined, name: string | undefined): string {
  if (now === undefined) return "it was removed";
  if (now.state.status === "active") return `${name ?? "a person"} took it`;
  if (now.state.status === "pending") return "it was given back";
  return `${name ?? "a person"} ended it`;
}
