/** Trail lines of the store that machines share: what became of it and of its machines, and what a person changed. */

import type { StoreLeaveReply, StoreShareReply, StoreState } from "../../protocol/schemas/store.ts";
import { duration } from "../../protocol/text.ts";
import type { State } from "../core/state.ts";
import type { Entry, Reply } from "../core/tables/entries.ts";
import type { TrailLine } from "../trail/line.ts";
import { storeLeft } from "./condition.ts";
import type { Copied, Sharing } from "./share.ts";

/** Returns what became of the store between two states of it. */
export function changeLines(before: StoreState, after: StoreState, at: number): TrailLine[] {
  // A start that has not tried yet is no news; that it tried in vain is.
  const isNews =
    (before.is !== after.is || (after.is === "opening" && before.why === null && after.why !== null)) &&
    // Who left is told so with what came back.
    after.code !== storeLeft.code;
  const lines = [
    ...(isNews ? [lineOf(at, becameOf(before, after, at))] : []),
    ...(after.wentBackAt === null || after.wentBackAt === before.wentBackAt ? [] : [wentBack(after, at)]),
  ];
  if (after.leaveUndoneAt !== undefined && after.leaveUndoneAt !== before.leaveUndoneAt)
    lines.push(lineOf(at, { type: "leave_undone", why: leaveUndone }));
  const { why = null } = after.unmoved ?? {};
  if (why !== null && why !== before.unmoved?.why)
    lines.push(lineOf(at, { type: "move_broke_off", why: `${why}; Kite goes on moving it by itself` }));
  // What is known of the others is as of an earlier moment.
  return after.is === "open" ? [...lines, ...machineLines(before, after, at)] : lines;
}

function becameOf(before: StoreState, after: StoreState, at: number): Partial<TrailLine> {
  const because = after.why === null ? "" : `: ${reasonIn(after.why)}`;
  const what = { type: after.is, ...(after.code === undefined ? {} : { code: after.code }) };
  switch (after.is) {
    case "open": {
      const after = before.since === null ? "" : ` again after ${duration(Math.max(0, at - before.since))}`;
      return { ...what, why: `${before.where} is open${after}` };
    }
    case "away":
      return { ...what, why: `${after.where} does not answer${because}; locks and edits go on without it` };
    case "refused":
      return { ...what, why: `${after.where} ${refusedWords(after.code)}${because}` };
    default:
      return { ...what, why: `${after.where} is not reached${because}` };
  }
}

/** Returns an error's reason, without that it is about the store: the line says that. */
function reasonIn(why: string): string {
  return why.replace(/^the store \S+ cannot be used now: /, "");
}

/** Its tables may be gone, or not those that this machine joined. */
function refusedWords(code: string | undefined): string {
  return code === "store_away" ? "cannot be used now" : "does not take this machine";
}

const leaveUndone =
  "kite store leave broke off, and Kite took out again what it had copied back: this machine is still in the store; to leave: kite store leave";

function wentBack({ where }: StoreState, at: number): TrailLine {
  const why = `${where} went back: a backup was restored, or a standby that lagged took over; tasks and messages of just before may be gone`;
  return lineOf(at, { type: "went_back", why });
}

const machineNow = { here: "is back", away: "fell silent", lost: "is lost, and so are its agents" } as const;

/** Returns which of the other machines came, fell silent, are back, or left. */
function machineLines(before: StoreState, after: StoreState, at: number): TrailLine[] {
  // At a start the machines are not new: this daemon only learns of them.
  if (before.nodes.length === 0) return [];
  const known = new Map(before.nodes.map(({ machine, is }) => [machine, is]));
  const lines: string[] = [];
  for (const { machine, is } of after.nodes) {
    const was = known.get(machine);
    known.delete(machine);
    if (machine === after.machine || was === is) continue;
    lines.push(`${machine} ${was === undefined ? "joined the store" : machineNow[is]}`);
  }
  for (const machine of known.keys()) if (machine !== before.machine) lines.push(`${machine} left the store`);
  return lines.map(why => lineOf(at, { event: "machine_changed", why }));
}

/** Returns that the log does not take what a node says of sessions that are not its own. */
export function refusedLines(
  { origin }: Entry,
  reply: Reply | null,
  state: State | null,
  at: number,
): TrailLine[] {
  if (reply === null || reply.ok || reply.code !== "not_yours") return [];
  const machine = state?.leases.all.get(origin.node)?.machine ?? origin.node;
  return [lineOf(at, { event: "machine_refused", code: reply.code, why: `${machine}: ${reply.error}` })];
}

/** Returns the fields of a person's request, besides who asked and how it was answered. */
export function askedFields(reply: Reply): Partial<TrailLine> {
  const what = { rule: "store", type: null };
  if (!reply.ok) return what;
  if ("as" in reply) {
    const { project, as } = reply as unknown as StoreShareReply;
    const copied = `copied: ${copiedText(reply as unknown as StoreShareReply)}`;
    return { ...what, project, why: `shared as ${as}; ${copied}` };
  }
  if ("projects" in reply) {
    const left = reply as unknown as StoreLeaveReply;
    const knows = left.told ? "" : "; the store does not know it";
    return { ...what, why: `this machine left the store; back here: ${copiedText(left)}${knows}` };
  }
  return { ...what, why: "this home has an id of its own in the store from the next start on" };
}

/** Returns what the daemon moved of a shared project by itself, since a move broke off. */
export function movedLine([project, as]: Sharing, copied: Copied, at: number): TrailLine[] {
  const { tasks, context, leftOut, released, returns } = copied;
  if (tasks + context + leftOut.length + released.length + returns.length === 0) return [];
  const lost = released.length === 0 ? "" : `; claims of this machine that are gone: ${released.join(", ")}`;
  const why = `what was left here of ${as} is in the store now: ${copiedText(copied)}${lost}`;
  return [lineOf(at, { type: "moved", project, why })];
}

/** Returns how much was copied, which tasks have another number, which changes the store does not have, and what it has again. */
function copiedText({ tasks, context, numbers = [], leftOut, returns, more = {} }: Copied): string {
  const moved = numbers.map(({ before, after, project }) => {
    const where = project === undefined ? "" : ` (${project})`;
    return `#${before} is #${after} now${where}`;
  });
  const changes = leftOut.map(({ number, fields, kept = [] }) => {
    const texts = kept.length === 0 ? "" : `; kept as ${kept.join(", ")}`;
    return `#${number} (${fields.join(", ")}${texts})`;
  });
  const names = returns.map(one => ("key" in one ? `key ${one.key}` : `#${one.number}`));
  return [
    `tasks ${tasks}, context keys ${context}`,
    ...listText("; numbers that changed: ", moved, more.numbers),
    ...listText("; changed here, and not taken over: ", changes, more.leftOut),
    ...listText("; the store did not have these any more, and has them again: ", names, more.returns),
  ].join("");
}

function listText(what: string, rows: readonly string[], besides = 0): readonly string[] {
  if (rows.length === 0) return [];
  const more = Math.max(0, rows.length - rowsShownMax) + besides;
  return [`${what}${rows.slice(0, rowsShownMax).join(", ")}${more === 0 ? "" : ` and ${more} more`}`];
}

const rowsShownMax = 20;

/** Returns that this home is in the store, in which it was not, or under another id. `before`: its id then, or empty. */
export function joinedLine({ where, node, machine }: StoreState, before: string, at: number): TrailLine {
  const who = `${machine ?? "this machine"}, node ${node.slice(0, idChars)}`;
  const was = before === "" ? "" : `; it was node ${before.slice(0, idChars)} before`;
  return lineOf(at, { event: "store_joined", why: `${where}: this machine is in it as ${who}${was}` });
}

/** How much of a node's id is shown, as in `kite store`. */
const idChars = 8;

function lineOf(at: number, more: Partial<TrailLine>): TrailLine {
  const nobody = { id: null, agent: null, name: null, project: null, type: null, file: null };
  return { at, event: "store_changed", ...nobody, decision: "note", rule: "store", ...more };
}
