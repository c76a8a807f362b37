/** What a spawned agent is told of itself, in its client's system prompt. */

import { roleNamed } from "../../../daemon/core/lead/declarations.ts";
import type { GateMode } from "../../../protocol/lead/roles.ts";
import { heldTo, rightsOf } from "../../../protocol/lead/roles.ts";
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { limits } from "../../../protocol/limits.ts";
import { personName } from "../../../protocol/names.ts";
import { frame, quote } from "../../../protocol/text.ts";

export interface Briefing {
  readonly row: SpawnRow;
  /** What its task is called in its project, and its description, if it has a task. */
  readonly task: { readonly named: string; readonly description: string } | null;
  /** Whether Kite holds it to the role that it begins with. */
  readonly mode: GateMode;
  /** Agents that worked at it before, the latest first. */
  readonly earlier: readonly SpawnRow[];
  /** Whether it works in a worktree of its own. */
  readonly isApart: boolean;
}

/** Returns the text; words of others are quoted in a frame that says so. */
export function briefingOf({ row, task, mode, earlier, isApart }: Briefing): string {
  const { name, role, parent } = row;
  const who = parent === null ? personName("agent") : `the agent ${quote(parent.name)}`;
  const own = [
    `You are ${name}, an agent that ${who} started with Kite.${role === null ? "" : roleText(role, mode)}`,
    isApart
      ? "You work in a git worktree of your own. Commit your work on its branch; others merge it."
      : "You work in the same directory as others. Kite tells you if they hold a file.",
    ...(task === null
      ? []
      : [
          `Your task is ${task.named}; Kite claims it for you when you start. When it is done, say so with its result ` +
            `(kite_task_complete, or: kite task done ${task.named} RESULT). If you cannot do it, say why (kite_task_fail, or: kite task fail ${task.named} REASON).`,
        ]),
    "Nobody may be watching. If you need an answer, ask for it in a message (kite_message), and say in your last words what you did.",
  ];
  const known = [
    ...(task === null ? [] : [`the task: ${quote(task.description, limits.taskTextChars)}`]),
    ...earlier.slice(0, limits.spawnEarlierMax).map(earlierLine),
  ];
  return [own.join("\n"), ...(known.length === 0 ? [] : [frame, ...known.map(line => `- ${line}`)])].join(
    "\n",
  );
}

/** A word that names no role of Kite's is only told. */
function roleText(word: string, mode: GateMode): string {
  const role = roleNamed(word);
  const what = role === null ? "" : ` As ${role}, ${rightsOf(role)}. ${heldTo(role, mode)}.`;
  return ` Your role is ${word}.${what}`;
}

/** Returns the agents that had the task or the place of this one before, the latest first. */
export function earlierOf(row: SpawnRow, others: readonly SpawnRow[]): SpawnRow[] {
  const place = new Set<string>();
  for (let at: SpawnRow | undefined = row; at?.replaces != null && !place.has(at.replaces); ) {
    const before: string = at.replaces;
    place.add(before);
    at = others.find(one => one.id === before);
  }
  const isEarlier = ({ id, task }: SpawnRow) => place.has(id) || (row.task !== null && task === row.task);
  return others.filter(one => one.id !== row.id && isEarlier(one)).reverse();
}

/** The prompt of an agent that was spawned with a task and no words. */
export function promptOf(task: string, description: string): string {
  return `Do task ${task}: ${quote(description, limits.taskTextChars)}`;
}

function earlierLine({ name, branch, state, reason, output }: SpawnRow): string {
  const where = branch === null ? "" : ` on branch ${quote(branch)}`;
  const why = reason === null ? "" : `: ${quote(reason, limits.spawnReasonChars)}`;
  const said = output === null ? "" : `; it said last ${quote(output.slice(-limits.quoteChars))}`;
  return `an earlier agent, ${name}, worked at it${where} and is ${state}${why}${said}`;
}
