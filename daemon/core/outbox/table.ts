/**
 * What a node's own log has for the log that it shares with others: a transactional outbox. The entry that changes a session
 * leaves a row for the other nodes here, in the same step. The daemon relays the row until the shared log has it.
 *
 * Invariants: numbers rise. Only the latest of a session's states waits. `sessions` has what the outbox last published of
 * each live incarnation in a shared project, and `agents` of the agents there. `parts` names what it published in rows of
 * their own, for a session's first incarnation. There are at most `limits.outboxMax` rows; past that, one row that names all
 * live sessions stands for them. At most `limits.outboxOnceMax` rows have events, and the oldest go first.
 *
 * What the daemon does with the shared log's replies:
 * - `node_renew`: if `isNew`, or if `relayed` comes after `last` (`isAfter` in `nodes/table.ts`), it enters `sharing_set`
 *   here with that `relayed`, and relays no row before. The latter means that an older copy of the home was put back, and
 *   that the clock was set back, too. The shared log would take the outbox's numbers for repeats.
 * - `relayed`, with `ok` or a refusal of its command: it enters `outbox_sent` here with the row's number. On `outbox_gap` it
 *   sends all rows again, on `unknown_node` it renews the lease first; after `node_twice` it speaks no more.
 */

import type { Limits } from "../../../protocol/limits.ts";
import type { JsonValue } from "../../../protocol/schemas/context.ts";
import { Records, sets, sorted, unique } from "../frame/records.ts";
import { head, valueList } from "../frame/saved-rows.ts";
import type { OutboxNumber, Relayable, Traits } from "../nodes/commands.ts";

export interface OutboxRow {
  readonly number: OutboxNumber;
  /** A later row with this key takes the place of this one; null: it stays. */
  readonly key: string | null;
  readonly command: Relayable;
  /**
   * The row has an event, not a state, so no later row says the same. It keeps its number until the shared log has it, so
   * that a repeat changes nothing there.
   */
  readonly isOnce?: true;
}

/** What was last published of an incarnation. */
export interface PublishedSession {
  /** Its id in the shared log. */
  readonly id: string;
  readonly session: string;
  /** The `seq` of the entry that began the incarnation. */
  readonly begun: number;
  readonly project: string;
  readonly name: string;
  readonly branch: string | null;
  /** Its agent client, if that is known. */
  readonly client?: string;
  /** Its node lost it. */
  readonly isLost?: true;
  readonly traits?: Traits;
}

/** What was last published of an agent within an incarnation. */
export interface PublishedAgent {
  /** The incarnation's id in the shared log. */
  readonly id: string;
  readonly agent: string;
  readonly name: string;
  readonly traits?: Traits;
}

/** A part of an actor that is published: see `parts` in `tables/entries.ts`. */
export interface PublishedPart {
  /** The id in the shared log of the session's first incarnation. */
  readonly id: string;
  readonly agent: string | null;
  readonly part: string;
}

export const outboxRecords = new Records("rows", ({ number }: OutboxRow) => `${number.epoch}.${number.n}`, {
  byKey: unique(({ key }) => key),
  places: sorted(({ number }) => placeOfNumber(number)),
  once: sets(({ isOnce }) => (isOnce === true ? "once" : null)),
});

/** Returns a sort key for the number: the order of these is that of the numbers. */
export function placeOfNumber({ epoch, n }: OutboxNumber): string {
  return [epoch, n].map(part => String(part).padStart(digits, "0")).join(".");
}

/** As many as the largest safe integer has. */
const digits = 16;

/** Returns the row at such a sort key. */
export function rowAtPlace({ rows }: Outbox, place: string): OutboxRow | undefined {
  return rows.get(place.split(".").map(Number).join("."));
}

export const publishedSessionRecords = new Records("sessions", ({ id }: PublishedSession) => id, {
  bySession: sets(({ session }) => session),
});

export const publishedAgentRecords = new Records("agents", (row: PublishedAgent) => agentKey(row), {
  agentsOf: sets(({ id }: PublishedAgent) => id),
});

/** Returns the key of an agent within an incarnation, which its row in the outbox has, too. */
export function agentKey({ id, agent }: Pick<PublishedAgent, "id" | "agent">): string {
  return `${id}\n${agent}`;
}

export const publishedPartRecords = new Records("parts", (row: PublishedPart) => partKey(row), {
  partsOf: sets(({ id }: PublishedPart) => id),
});

/** Returns the key of an actor's part, which its row in the outbox has, too: no other key begins so. */
export function partKey({ id, agent, part }: PublishedPart): string {
  return `\n${part}\n${agentKey({ id, agent: agent ?? "" })}`;
}

type OutboxTables = ReturnType<typeof outboxRecords.empty> &
  ReturnType<typeof publishedSessionRecords.empty> &
  ReturnType<typeof publishedAgentRecords.empty> &
  ReturnType<typeof publishedPartRecords.empty>;

export interface Outbox extends OutboxTables {
  readonly limits: Limits;
  /** This node's id in the shared log; empty: it shares nothing. */
  node: string;
  /** The level of rules of the shared log, as far as that is known. */
  level: number;
  last: OutboxNumber;
  /** The count of the daemon's start that gave the last number. */
  start: number;
  /** The names of the shared projects in the shared log, by their names here. */
  readonly projects: Map<string, string>;
  /** What was last published of the node itself, by the names of the parts: see `nodeParts` in `tables/entries.ts`. */
  readonly nodeParts: Map<string, JsonValue>;
}

export function noOutbox(limits: Limits): Outbox {
  const publishedTables = {
    ...publishedSessionRecords.empty(),
    ...publishedAgentRecords.empty(),
    ...publishedPartRecords.empty(),
  };
  const nothing = { node: "", level: 0, last: { epoch: 0, n: 0 }, start: 0 };
  return {
    ...outboxRecords.empty(),
    ...publishedTables,
    ...nothing,
    limits,
    projects: new Map(),
    nodeParts: new Map(),
  };
}

export const outboxRows = {
  head: head(
    ({ node, level, last, start, projects, nodeParts }: Outbox): { readonly outbox?: Stored } =>
      // A node that shares nothing any more keeps its numbers: if it shares again, they go on.
      last.epoch === 0 && node === ""
        ? {}
        : {
            outbox: {
              ...{ node, last, start, projects: [...projects] },
              ...(level === 0 ? {} : { level }),
              ...(nodeParts.size === 0 ? {} : { nodeParts: [...nodeParts] }),
            },
          },
    (outbox, { outbox: stored }) => {
      if (stored === undefined) return;
      outbox.node = stored.node;
      outbox.last = stored.last;
      outbox.start = stored.start ?? 0;
      outbox.level = stored.level ?? 0;
      for (const [project, as] of stored.projects) outbox.projects.set(project, as);
      for (const [part, value] of stored.nodeParts ?? []) outbox.nodeParts.set(part, value);
    },
  ),
  lists: {
    outbox: valueList(
      ({ rows }: Outbox) => rows,
      (outbox, row: OutboxRow) => outboxRecords.put(outbox, row),
    ),
    outboxTold: valueList(
      ({ sessions }: Outbox) => sessions,
      (outbox, row: PublishedSession) => publishedSessionRecords.put(outbox, row),
    ),
    outboxAgents: valueList(
      ({ agents }: Outbox) => agents,
      (outbox, row: PublishedAgent) => publishedAgentRecords.put(outbox, row),
    ),
    outboxParts: valueList(
      ({ parts }: Outbox) => parts,
      (outbox, row: PublishedPart) => {
        // Earlier programs published the files of branches, too.
        if (row.part !== "branch_files") publishedPartRecords.put(outbox, row);
      },
    ),
  },
};

interface Stored extends Pick<Outbox, "node" | "last"> {
  readonly start?: number;
  readonly level?: number;
  readonly nodeParts?: readonly (readonly [string, JsonValue])[];
  readonly projects: readonly (readonly [string, string])[];
}
