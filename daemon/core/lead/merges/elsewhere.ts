/**
 * Merges of other machines: a merge and its queue stay in the log of the repository's machine, and the others see a row.
 *
 * Invariants: a node tells of its merges in shared projects alone, of those that wait or run and of the last that came back, at
 * most `limits.mergesToldMax` of each; no path, reason or output is in a row; what a node told goes with it.
 */

import type { MergeThere } from "../../../../protocol/lead/merge.ts";
import { limits } from "../../../../protocol/limits.ts";
import type { JsonValue } from "../../../../protocol/schemas/context.ts";
import { nodeOf } from "../../nodes/shared-ids.ts";
import { sharedActorOf } from "../../outbox/publish.ts";
import type { Step } from "../../outcome.ts";
import type { NodePart } from "../../points.ts";
import type { Handler } from "../../rules.ts";
import type { State } from "../../state.ts";
import type { MergeCommands } from "./commands.ts";
import { shortName } from "./replies.ts";
import { isOpen, type Merge, moves } from "./table.ts";

/** What the node says of its merges, under the name that `mergesChange` gives. */
export const mergesPart: NodePart<State> = {
  tell(state) {
    const shared = [...state.merges.all.values()].filter(
      ({ project, checkOnly }) => state.outbox.projects.has(project) && !checkOnly,
    );
    const open = shared.filter(isOpen).slice(0, limits.mergesToldMax);
    const returned = shared.filter(one => one.state === "returned").slice(-limits.mergesToldMax);
    const rows = [...returned, ...open].map(merge => rowOf(state, merge));
    return rows.length === 0 ? null : rows;
  },
  take(state, node, value, step) {
    const { mergesThere } = state;
    const before = mergesThere.get(node) ?? [];
    const rows = Array.isArray(value) ? value.filter(isMergeThere).slice(0, 2 * limits.mergesToldMax) : [];
    if (rows.length === 0) mergesThere.delete(node);
    else mergesThere.set(node, rows);
    pushEvents(state, node, [before, rows], step);
  },
};

/** Tells the other nodes which merges are new, have another state, or are told of no more. */
function pushEvents(
  { leases }: State,
  node: string,
  [before, rows]: readonly [readonly MergeThere[], readonly MergeThere[]],
  step: Step,
): void {
  const machine = leases.all.get(node)?.machine ?? node;
  const left = new Map(before.map(row => [row.id, row]));
  const push = ({ id: merge, project, branch, base }: MergeThere, state: MergeThere["state"] | null) => {
    const event = { event: "merge_elsewhere_changed", merge, machine, project, branch, base, state } as const;
    step.events.push({ event, about: [], project, from: node });
  };
  for (const row of rows) {
    if (left.get(row.id)?.state !== row.state) push(row, row.state);
    left.delete(row.id);
  }
  for (const row of left.values()) push(row, null);
}

const partName = "merges";

/** Something of the merges may have changed. */
export function mergesChange(state: State): void {
  for (const { nodePartChanges } of state.points) nodePartChanges?.(state, partName);
}

/** Returns the handler, after which the others are told of what it changed. */
export function telling<T extends keyof MergeCommands>(handler: Handler<T, State>): Handler<T, State> {
  return (state, command, meta, step) => {
    handler(state, command, meta, step);
    mergesChange(state);
  };
}

function rowOf(state: State, { id, project, branch, base, author, state: is, changedAt }: Merge) {
  const actor = author === null ? null : { session: author.id, agent: author.agent, incarnation: 0 };
  const isForeign = author !== null && nodeOf(author.id) !== null;
  return {
    id,
    project: state.outbox.projects.get(project) ?? "",
    branch: shortName(branch),
    base: shortName(base),
    author: isForeign ? author.id : (sharedActorOf(state, actor)?.session ?? null),
    authorName: author?.name ?? null,
    state: is,
    changedAt,
  } satisfies MergeThere;
}

function isMergeThere(row: JsonValue): row is MergeThere & { readonly [field: string]: JsonValue } {
  if (typeof row !== "object" || row === null || Array.isArray(row)) return false;
  const { id, project, branch, base, author, authorName, state, changedAt } = row as Partial<MergeThere>;
  const texts = [id, project, branch, base, author ?? "", authorName ?? ""];
  const isShort = texts.every(text => typeof text === "string" && text.length <= limits.branchChars);
  return isShort && typeof state === "string" && Object.hasOwn(moves, state) && typeof changedAt === "number";
}

/** Yields a sentence for each node that told of merges and has no lease. */
export function* checkMergesThere({ mergesThere, leases }: State): Generator<string> {
  for (const node of mergesThere.keys())
    if (!leases.all.has(node)) yield `node ${node} told of merges, and is not known`;
}
