/**
 * Hands a merge that came back to its author: the tasks become pending, and a message says why. For an author that has
 * ended, the message goes to the agent that spawned it, else to a lead of the project; the merge keeps which message it is,
 * or that there was nobody to write to.
 *
 * Invariants: only tasks of the author change, and none that an active task builds on; no merge fails to come back
 * because a message cannot be sent. Tasks that machines share are in another log: the outbox tells that one.
 */

import type { MergeReasonCode } from "../../../../protocol/lead/merge.ts";
import type { ActorRow } from "../../../../protocol/schemas/lock.ts";
import type { Actor } from "../../actor.ts";
import { actorRow } from "../../locks/replies.ts";
import { postNotice } from "../../messages/send.ts";
import { nodeOf } from "../../nodes/shared-ids.ts";
import { publishOnce, sharedActorOf } from "../../outbox/publish.ts";
import type { Step } from "../../outcome.ts";
import type { State } from "../../state.ts";
import { returnAll } from "../../tasks/return.ts";
import { bytesOf } from "../debates/tell.ts";
import { leadsOf } from "../health/leads.ts";
import { leadsOf as leadsIn } from "../roles/role-of.ts";
import { spawnAt } from "../spawns/table.ts";
import type { MergeReport } from "./commands.ts";
import { shortName } from "./replies.ts";
import { type Merge, putMerge } from "./table.ts";

/** The author's tasks that are pending again, and those that the log which machines share makes pending. */
interface Returned {
  readonly here: readonly string[];
  readonly there: readonly string[];
}

/** Makes the author's tasks pending again. `shared`: those of the log which machines share, as far as this machine knows it. */
export function returnTasks(
  state: State,
  merge: Merge,
  { by, wallMs, shared = [] }: Pick<MergeReport, "by" | "wallMs" | "shared">,
  step: Step,
): Returned {
  const { id, author, tasks, project, reason } = merge;
  if (author === null || tasks.length === 0) return { here: [], there: [] };
  const asked = { tasks, author: author.id };
  const cameBack = `the merge ${id} came back`;
  // What was done before the project was shared is in this log.
  const own = { ...asked, cause: `${cameBack}: ${reason?.text ?? ""}` };
  const here = returnAll(state, own, { by, wallMs }, state.outbox.node, step);
  if (!state.outbox.projects.has(project)) return { here, there: [] };
  // A check's name and its words stay on this machine.
  const cause = `${cameBack}: ${causes[reason?.code ?? "unmergeable"] ?? "it was not merged"}`;
  const from = sharedActorOf(state, by);
  const isTold = publishOnce(state, { type: "task_return", ...asked, cause, by: from, wallMs });
  return { here, there: isTold ? shared.filter(one => !here.includes(one)) : [] };
}

const causes: { readonly [C in MergeReasonCode]?: string } = {
  conflict: "its branch conflicts with the one that it goes into",
  red_check: "a check of it is red",
  unmergeable: "its branch cannot be merged",
};

/** Writes to the author, or to who leads it if it has ended; not to who ran the merge itself. */
export function tellAuthor(state: State, merge: Merge, tasks: Returned, by: Actor | null, step: Step): void {
  const { project, changedAt: wallMs } = merge;
  const isMarked = state.rules >= 2;
  const reader = isMarked ? readerOf(state, merge) : parentOrAuthor(state, merge);
  if (reader !== null && reader.id === by?.session && reader.agent === by.agent) return;
  const text = reader === null ? "" : wordsFor(state, merge, tasks, reader);
  const posted = { actor: by, project, text, bytes: bytesOf(text), wallMs };
  const sent = reader === null ? null : postNotice(state, posted, [reader], step);
  const [to] = sent?.to ?? [];
  const isUnheard = sent === null || to === undefined;
  // A person at a terminal reads the output of the merge.
  if (!isMarked || (isUnheard && by === null)) return;
  putMerge(state.merges, { ...merge, notice: isUnheard ? null : { message: sent.id, to } });
}

/** Returns the author if it lives, else an agent that leads it or its project; null: there is none. */
function readerOf(state: State, { author, project }: Merge): ActorRow | null {
  if (author !== null && isAliveIn(state, author, project)) return author;
  const leads =
    author === null
      ? leadsIn(state, project)
      : leadsOf(state, { session: author.id, agent: author.agent }, project);
  for (const { session, agent } of leads) {
    const incarnation = state.sessions.live.get(session)?.incarnations[0]?.ordinal ?? 0;
    const row = actorRow(state, { session, agent, incarnation });
    if (isAliveIn(state, row, project)) return row;
  }
  return null;
}

/** The same under rules of level 1: the author, else who spawned it. */
function parentOrAuthor(state: State, { author, project }: Merge): ActorRow | null {
  if (author === null || isAliveIn(state, author, project)) return author;
  const parent = spawnAt(state.spawns, author.id)?.parent ?? null;
  return parent !== null && isAliveIn(state, parent, project) ? parent : null;
}

function isAliveIn({ sessions }: State, { id, agent }: ActorRow, project: string): boolean {
  const session = sessions.live.get(id);
  return session?.project === project && (agent === null || session.agents.has(agent));
}

function wordsFor(
  state: State,
  { id, branch, base, reason, author }: Merge,
  { here, there }: Returned,
  reader: ActorRow,
): string {
  const isAuthor = author !== null && author.id === reader.id && author.agent === reader.agent;
  const { text = "", files = [], more = 0, output = null } = reason ?? {};
  const named = [...files, ...(more > 0 ? [`${more} more`] : [])].join(", ");
  const which = named === "" ? "" : ` Files: ${named}.`;
  const claim = isAuthor ? ", claim it first" : "";
  const again = here.length === 0 ? "" : ` Pending again${claim}: ${here.join(", ")}.`;
  const soon =
    there.length === 0
      ? ""
      : ` Pending again as soon as the shared store has it${claim}: ${there.join(", ")}.`;
  // No line to run with the names in it: git allows `$(...)` in the name of a branch.
  const next = isAuthor
    ? "Mend it on your branch, commit, and have it merged again (kite merge)."
    : `${whoseText(state, author, reader)}. Have it mended on that branch, by you or by another agent (kite spawn), and merged again (kite merge).`;
  const end = output === null || output === "" ? "" : ` The end of its output: ${output}`;
  return `${shortName(branch)} was not merged into ${shortName(base)} (${id}): ${text}.${which}${again}${soon} ${next}${end}`;
}

/** Why the reader hears of a branch that is not its own. */
function whoseText({ spawns }: State, author: ActorRow | null, reader: ActorRow): string {
  if (author === null) return "Whose branch it is, Kite does not know, and you lead this project";
  if (nodeOf(author.id) !== null) return `${author.name}, whose branch it is, works on another machine`;
  const isParent = spawnAt(spawns, author.id)?.parent?.id === reader.id;
  return `${author.name}, ${isParent ? "which you spawned" : "whose branch it is"}, has ended`;
}
