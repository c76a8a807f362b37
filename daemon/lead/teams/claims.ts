/**
 * Which agent took which task of a client's list by a call that passed. In memory only: it bridges the moment until the
 * client's file says so, and it is all that is known of agents without a name, which only share a list.
 */
import { limits } from "../../../protocol/limits.ts";
import { BoundedMap } from "../../bounded-map.ts";
import type { Whose } from "../../core/tables/messages.ts";

export interface Claim extends Whose {
  /** The member for which the agent works, as an agent of its session. */
  readonly member: Member;
  /** Core time in milliseconds; null: a person is asked, or the call was refused, so only the task's file counts. */
  readonly at: number | null;
}

/** Who works on a task: a session's main agent or a teammate within its process, together with its own subagents. */
export interface Member {
  /** null: the main agent. */
  readonly agent: string | null;
  /** Its name, and its team; null: it is in none. */
  readonly name: string | null;
  readonly team: string | null;
}

/** A claim with the one before it, which counts again if the answer to the later call is lost. */
interface Taken {
  claim: Claim;
  before: Taken | undefined;
  isLost: boolean;
}

export class Claims {
  readonly #byTask = new BoundedMap<string, Taken>({ entriesMax: limits.teamFactsMax });

  /**
   * Notes that the agent takes the task. The caller tells the returned function whether the client got the answer; if
   * not, the claim is undone.
   */
  take(task: string, claim: Claim): (heard: boolean) => void {
    const taken: Taken = { claim, before: this.#byTask.get(task), isLost: false };
    this.#byTask.set(task, taken);
    return heard => {
      if (heard) {
        taken.before = undefined;
        return;
      }
      taken.isLost = true;
      if (this.#byTask.get(task) !== taken) return;
      let left = taken.before;
      while (left?.isLost) left = left.before;
      if (left === undefined) this.#byTask.delete(task);
      else this.#byTask.set(task, left);
    };
  }

  /** The task is nobody's, or another agent's whose call is not known. */
  drop(task: string): void {
    this.#byTask.delete(task);
  }

  /** A person is asked whether the agent's calls may take the task, or they did not run: only its file tells. */
  doubt(task: string, { session, agent }: Whose): void {
    const tail = `\n${task}`;
    for (const [key, taken] of this.#byTask.entries()) {
      const { claim } = taken;
      const isIts = claim.session === session && claim.agent === agent && key.endsWith(tail);
      if (isIts) taken.claim = { ...claim, at: null };
    }
  }

  /** The claim that counts: of a task in progress, or one that its file cannot show yet. */
  of(task: string, isInProgress: boolean, now: number): Claim | null {
    const claim = this.#byTask.get(task)?.claim;
    if (claim === undefined) return null;
    if (isInProgress) return claim;
    return claim.at !== null && now - claim.at < limits.teamClaimMs ? claim : null;
  }
}
