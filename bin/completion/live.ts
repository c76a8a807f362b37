/** Names that only the daemon knows: sessions, tasks, locked files. */
import { relative } from "node:path";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import type { ProcessContext } from "../process-context.ts";
import { projectOf } from "../project.ts";
import { rowsOf } from "../with-daemon.ts";

/** One completion, and what the shell shows beside it. */
export interface Candidate {
  readonly value: string;
  readonly says: string;
}

/** What an argument names. */
export type NameKind = "agent" | "task" | "active_task" | "ready_task" | "finished_task" | "locked_file";

/** How long a person waits for a completion at most. */
const answerMs = 1_000;
const rowsMax = 200;

/**
 * Returns the names of these kinds, those of this project first; none without a daemon, which this starts not. Tasks have
 * their numbers, or ids if `typed` begins one.
 */
export async function liveNames(
  world: ProcessContext,
  kinds: readonly NameKind[],
  typed: string,
): Promise<Candidate[]> {
  const client = await world.connect({ name: "kite completion", timeoutMs: answerMs });
  try {
    const project = await projectOf(world.cwd);
    const isHere = (row: { readonly project: string }) => row.project === project;
    const found: Candidate[] = [];
    for (const kind of kinds) {
      if (kind === "agent") {
        const rows = await rowsOf(client, "sessions", {}, rowsMax);
        for (const { name, worktree, agents } of [...rows.filter(isHere), ...rows.filter(r => !isHere(r))]) {
          found.push({ value: name, says: worktree });
          found.push(...agents.map(agent => ({ value: `${name}/${agent.name}`, says: worktree })));
        }
      } else if (kind === "locked_file") {
        const rows = await rowsOf(client, "locks", {}, rowsMax);
        for (const { path, holder } of rows.filter(isHere)) {
          found.push({ value: nearest(path, world.cwd), says: holder?.name ?? "waited for" });
        }
      } else {
        const rows = (await rowsOf(client, "tasks", { project }, rowsMax)).filter(taskFilters[kind]);
        const nameOf = ({ id, number }: TaskRow) => (typed.startsWith("t-") ? id : `${number}`);
        found.push(...rows.map(row => ({ value: nameOf(row), says: row.description })));
      }
    }
    return found;
  } finally {
    client.close();
  }
}

const taskFilters: Readonly<Record<Exclude<NameKind, "agent" | "locked_file">, (row: TaskRow) => boolean>> = {
  task: () => true,
  active_task: ({ status }) => status === "active",
  ready_task: ({ status, blockedBy }) => status === "pending" && blockedBy.length === 0,
  finished_task: ({ status }) => status === "done" || status === "failed",
};

function nearest(path: string, cwd: string): string {
  const near = relative(cwd, path);
  return near === "" || near.startsWith("..") ? path : near;
}
