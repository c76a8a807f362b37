/** Bugs that histories of daemons over one store have to find. */
import type { Change } from "./build.ts";

export interface PlantedInStore extends Change {
  readonly bug: string;
  /** Words of a fault that tells this bug. */
  readonly tells: RegExp;
}

export const plantedInStore: readonly PlantedInStore[] = [
  {
    bug: "a task that somebody claims is claimed once more",
    file: "daemon/core/tasks/claim.ts",
    find: 'if (status === "active" && (claimerOf(task) !== null || by === null))',
    put: 'if (status === "active" && by === null)',
    tells: /fits no order|was acknowledged, and the log has/,
  },
  {
    bug: "compare-and-set takes a version of before",
    file: "daemon/core/context.ts",
    find: "if (ifVersion === null || ifVersion === version) return null;",
    put: "if (ifVersion === null || ifVersion <= version) return null;",
    tells: /fits no order|was acknowledged, and the log has/,
  },
  {
    bug: "a reply is kept for all machines' senders of one name",
    file: "daemon/core/retries.ts",
    find: "return { ...retry, by: `",
    put: "return node.length > 0 ? retry : { ...retry, by: `",
    tells: /was acknowledged, and the log has|was told|was refused/,
  },
  {
    bug: "an append whose answer is lost counts as not stored",
    file: "daemon/journal/postgres/appends.ts",
    find: "return isSent || isUnsure;",
    put: "return isSent && isUnsure;",
    tells: /was refused as not stored, and is entry/,
  },
  {
    bug: "what an append brought back passes what is missing before it",
    file: "daemon/journal/postgres/delivery.ts",
    find: "stored[0]?.entry.seq !== this.#position.seq + 1",
    put: "(stored[0]?.entry.seq ?? 0) <= this.#position.seq",
    tells:
      /heard nothing|threw in a daemon|ended by itself|another state|was acknowledged|fits no order|was told|is not shared/,
  },
];
