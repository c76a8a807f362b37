/** The latest failed call of each agent. In memory only: after a restart nobody is sent on for an old failure. */
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import { type Actor, actorKey } from "../core/frame/actors.ts";

interface Failure {
  readonly tool: string;
  readonly error: string;
}

interface Failed extends Failure {
  /** The agent was sent on for this failure. */
  readonly isTold: boolean;
  /** How often in a row the agent was sent on since a call of its succeeded. */
  readonly sentOn: number;
}

/** An agent is sent on once for a failure, and `limits.sentOnMax` times in a row at most. */
export class ToolFailures {
  readonly #failed = new BoundedMap<string, Failed>({ entriesMax: limits.gatedActorsMax });

  failed(actor: Actor, failure: Failure): void {
    const sentOn = this.#failed.get(actorKey(actor))?.sentOn ?? 0;
    this.#failed.set(actorKey(actor), { ...failure, isTold: false, sentOn });
  }

  succeeded(actor: Actor): void {
    this.#failed.delete(actorKey(actor));
  }

  /** Returns the failure for which the agent is to be sent on; null if there is none. */
  pending(actor: Actor): Failure | null {
    const failed = this.#failed.get(actorKey(actor));
    return failed === undefined || failed.isTold || failed.sentOn >= limits.sentOnMax ? null : failed;
  }

  /** The agent was told of its failure. */
  told(actor: Actor): void {
    const failed = this.#failed.get(actorKey(actor));
    if (failed !== undefined)
      this.#failed.set(actorKey(actor), { ...failed, isTold: true, sentOn: failed.sentOn + 1 });
  }
}
