/** Collisions that Kite kept from happening. */
import { BoundedMap } from "../../daemon/bounded-map.ts";
import type { TrailLine } from "../../daemon/trail/line.ts";
import { isResource } from "../../protocol/names.ts";
import { keyIn } from "../trail/filter.ts";
import { actorIn, type LockHistory } from "../trail/lock-history.ts";
import { ruleOf } from "../trail/stats.ts";

/** Pairs that are remembered, so that an agent which asks again counts once. */
const pairsMax = 20_000;

/**
 * Counts collisions: one agent asked to write a file while another agent held it, in the turn in which that one wrote it or was
 * about to. Without Kite both would have written the file within that turn. However often an agent asks while the other one has the
 * file, that is one collision; it is one for each agent that asks. A resource is no file. Where the log does not say who had the
 * file, nothing is counted: the true number may be higher.
 */
export class Collisions {
  readonly #pairs = new BoundedMap<string, true>({ entriesMax: pairsMax });
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Takes the next line; `history` knows the lines before it. */
  add(line: TrailLine, history: LockHistory): void {
    const isAsked = line.decision === "wait" || line.decision === "deny" || line.would !== undefined;
    if (!isAsked || ruleOf(line) !== "lock" || line.event === "file_unlock") return;
    const file = keyIn(line);
    if (file === null || isResource(line.file ?? "")) return;
    const asker = actorIn(line);
    const holder = history.otherHolder(file, asker);
    const who = holder?.who ?? line.holder;
    if (who === undefined) return;
    const pair = [file, who, holder?.at ?? "", asker].join("\n");
    if (this.#pairs.has(pair)) return;
    this.#pairs.set(pair, true);
    this.#count += 1;
  }
}
