/** Commands that change one task: add, claim, done, fail, release, retry, cancel. */
import type { TaskPriority, TaskRow } from "../../protocol/task.ts";
import { actingSession, terminalName, terminalProcess } from "../actor.ts";
import { type Client, type ProcessContext, printFramed, printJson } from "../process-context.ts";
import { projectOf } from "../project.ts";
import { standing } from "../view/tasks.ts";
import { clean } from "../view/text.ts";
import { exitCodes, Refused, rowsOf, withDaemon } from "../with-daemon.ts";

export interface AddFlags {
  readonly priority?: TaskPriority;
  readonly label: readonly string[];
  readonly needs: readonly string[];
  readonly debate?: string;
  readonly project?: string;
  readonly json?: boolean;
}

/** Returns the exit code, as all functions here do. */
export async function add(world: ProcessContext, description: string, flags: AddFlags): Promise<number> {
  const project = flags.project ?? (await projectOf(world.cwd));
  return change(world, flags.json === true, client =>
    client.request("task_create", {
      ...actingSession(world.env),
      project,
      description,
      labels: [...flags.label],
      dependsOn: [...flags.needs],
      ...(flags.priority === undefined ? {} : { priority: flags.priority }),
      ...(flags.debate === undefined ? {} : { debate: flags.debate }),
    }),
  );
}

export interface ClaimFlags {
  readonly label: readonly string[];
  readonly project?: string;
  readonly json?: boolean;
}

/** Claims for the acting session, or for the person at this terminal if there is none. */
export async function claim(
  world: ProcessContext,
  task: string | undefined,
  flags: ClaimFlags,
): Promise<number> {
  const project = flags.project ?? (await projectOf(world.cwd));
  const own = actingSession(world.env);
  const which = task === undefined ? { labels: [...flags.label] } : { task };
  return change(world, flags.json === true, async client => {
    if (own !== null) return client.request("task_claim", { ...own, project, ...which });
    const id = terminalName(world.env);
    const pid = terminalProcess();
    const anchor = pid === null ? {} : { pid };
    const known = await client.request("register", { id, cwd: world.cwd, name: id, ...anchor });
    return known.ok ? client.request("task_claim", { id, project, ...which }) : known;
  });
}

export async function release(world: ProcessContext, task: string, json: boolean): Promise<number> {
  return change(world, json, client => client.request("task_release", { ...actingSession(world.env), task }));
}

export type Ending = "done" | "failed" | "pending";

/** `result` is the task's result, or why it failed. */
export async function set(
  world: ProcessContext,
  task: string,
  status: Ending,
  result: string | null,
  json: boolean,
): Promise<number> {
  return change(world, json, client =>
    client.request("task_update", {
      ...actingSession(world.env),
      task,
      status,
      ...(result === null ? {} : { result }),
    }),
  );
}

type Answered = Awaited<ReturnType<Client["request"]>> | { readonly ok: true; readonly task?: TaskRow };

async function change(
  world: ProcessContext,
  json: boolean,
  ask: (client: Client) => Promise<Answered>,
): Promise<number> {
  return withDaemon(world, json, async client => {
    const answer = await ask(client);
    if (actingSession(world.env) === null) await leave(client, terminalName(world.env));
    if (!answer.ok) throw new Refused(answer);
    if (json) printJson(world, answer);
    else if ("task" in answer && answer.task !== undefined) printFramed(world, [sentence(answer.task)]);
    return exitCodes.done;
  });
}

/** A terminal is a session only while it works on a task. */
async function leave(client: Client, id: string): Promise<void> {
  const [session] = await rowsOf(client, "sessions", { id });
  if (session?.task === null) await client.request("deregister", { id });
}

/** Returns the task's present status on one line. */
function sentence(task: TaskRow): string {
  const is = standing(task);
  const who = is === "active" && task.assigneeName !== null ? ` for ${clean(task.assigneeName)}` : "";
  const why = is === "blocked" ? ` by ${task.blockedBy.map(({ task: id }) => clean(id)).join(", ")}` : "";
  return `${clean(task.id)} is ${is}${who}${why}: ${clean(task.description)}`;
}
