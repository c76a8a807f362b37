/** Merges of the nodes that come back, whose authors' tasks are in the shared log: each is told there once. */

import { mergesPart } from "../../../daemon/core/lead/merges.ts";
import type { State } from "../../../daemon/core/state.ts";
import type { Proposal, Reply } from "../../../daemon/core/tables/entries.ts";
import type { Log } from "./log.ts";
import type { Node } from "./node.ts";

/** A branch with a task of the shared log comes back from its merge. `n`: no other merge has it. */
export function mergeComesBack(node: Node, n: number): void {
  const author = { session: "s1", agent: null, name: "its author" };
  const runner = { name: `r${n}`, bound: { node: "local", epoch: 1, connection: n } };
  const place = { project: "/p", base: `refs/heads/b${n}`, by: null, wallMs: n };
  const merges = [{ branch: "refs/heads/work", author, tasks: ["t-1"], after: [] }];
  node.enter({ type: "merge_queue", runner, ...place, rebase: false, checkOnly: false, merges });
  const taken = node.enter({ type: "merge_take", runner, ...place, drain: false });
  const merge =
    taken?.ok === true ? (taken["merge"] as { readonly id: string; readonly runs: number }) : null;
  if (merge === null) throw new Error(`the merge ${n} of ${node.id} does not run`);
  const reason = { code: "conflict", text: "conflicts", files: [], more: 0, output: null } as const;
  const outcome = { is: "returned", reason } as const;
  node.do({ type: "merge_report", by: null, runner, merge: merge.id, run: merge.runs, outcome, wallMs: n });
}

/** Yields a sentence if the shared log does not know of the node's merges what the node would tell now. */
export function* unknownMerges({ id, log }: Node, { mergesThere }: State): Generator<string> {
  const [is, told] = [mergesPart.tell(log.state), mergesThere.get(id) ?? null].map(one => namesOf(one));
  if (is !== told) yield `${id} has the merges ${is}, and in the shared log ${told}`;
}

/** The ids of authors in rows are as of the latest change of a merge. */
function namesOf(rows: unknown): string {
  if (!Array.isArray(rows)) return "none";
  return rows.map(({ id, state, changedAt }) => `${id} ${state} ${changedAt}`).join(", ");
}

/** Sees what the shared log applies. */
export class MergesTold {
  readonly #told = new Set<string>();

  /** Enters it. Throws if it applies what an entry before it said of the same merge. Returns whether it applies such a one. */
  enter(log: Log, proposal: Pick<Proposal, "origin" | "command">): readonly [Reply | null, boolean] {
    const { origin, command } = proposal;
    const relayed = () => log.state.leases.all.get(origin.node)?.relayed;
    const before = relayed();
    const reply = log.enter(proposal);
    const isApplied = relayed() !== before;
    if (command.type !== "relayed" || command.command.type !== "task_return" || !isApplied)
      return [reply, false];
    const key = `${origin.node} ${command.command.wallMs}`;
    if (this.#told.has(key)) throw new Error(`the merge ${key} came back twice`);
    this.#told.add(key);
    return [reply, true];
  }
}
