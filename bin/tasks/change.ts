/** Commands that change one task: add, edit, approve, claim, done, fail, release, retry, cancel. */

import type { Refusal } from "../../protocol/codes.ts";
import { isGrave, type Risk } from "../../protocol/names.ts";
import type { TaskPriority, TaskRow } from "../../protocol/schemas/task.ts";
import { actingSession, terminalName, terminalProcess } from "../context/actor.ts";
import { isAgents, type RefuseOptions, refuseAgent, registerPerson } from "../context/person.ts";
import {
  type Client,
  type ProcessContext,
  print,
  printFramed,
  printJson,
} from "../context/process-context.ts";
import { ownProject, projectOf } from "../context/project.ts";
import {
  type AskOptions,
  exitCodes,
  fail,
  printDone,
  Refused,
  rowsOf,
  withDaemon,
} from "../context/with-daemon.ts";
import { defined } from "../entry.ts";
import { refusalText } from "../refusal-text.ts";
import { inNumbers, numbersOf, standing, taskNamed } from "../view/task-names.ts";
import { clean } from "../view/text.ts";

export interface AddFlags {
  readonly priority?: TaskPriority;
  readonly label: readonly string[];
  readonly needs: readonly string[];
  readonly debate?: string;
  readonly risk?: Risk;
  readonly project?: string;
  readonly json?: boolean;
}

/** Returns the exit code, as all functions here do. */
export async function add(world: ProcessContext, description: string, flags: AddFlags): Promise<number> {
  const { priority, debate, risk } = flags;
  const project = flags.project ?? (await projectOf(world.cwd));
  return change(world, flags.json === true, client =>
    client.request("task_create", {
      ...actingSession(world.env),
      project,
      description,
      labels: [...flags.label],
      dependsOn: flags.needs.map(taskNamed),
      ...defined({ priority, debate, risk }),
    }),
  );
}

export interface EditFlags {
  readonly description?: string;
  readonly priority?: TaskPriority;
  readonly label: readonly string[];
  readonly needs: readonly string[];
  readonly risk?: Risk;
  readonly project?: string;
  readonly json?: boolean;
}

/** Flags of commands that name a task: the project whose short names count, by default the working directory's. */
export interface TaskFlags {
  readonly project?: string;
  readonly json?: boolean;
}

/** Changes what the flags name; labels and needs replace those before. */
export async function edit(world: ProcessContext, task: string, flags: EditFlags): Promise<number> {
  const json = flags.json === true;
  const { description, priority, label, needs, risk } = flags;
  const changes = {
    ...defined({ description, priority, risk }),
    ...(label.length === 0 ? {} : { labels: [...label] }),
    ...(needs.length === 0 ? {} : { dependsOn: needs.map(taskNamed) }),
  };
  if (Object.keys(changes).length === 0) {
    const error = "nothing to change: give --description, --priority, --label, --needs or --risk";
    return fail(world, json, "usage", error);
  }
  const refused = await refuseAgent(world, json, "edit");
  if (refused !== null) return refused;
  const own = actingSession(world.env);
  const project = await projectNamed(world, flags);
  const params = { ...own, task: taskNamed(task), project, ...changes };
  return change(world, json, client => client.request("task_update", params), { person: "unnamed" });
}

/** A person says yes to the next run of a red or critical task. */
export async function approve(
  world: ProcessContext,
  task: string,
  flags: TaskFlags,
  who: RefuseOptions = {},
): Promise<number> {
  const json = flags.json === true;
  const refused = await refuseAgent(world, json, "approve", who);
  if (refused !== null) return refused;
  const project = await projectNamed(world, flags);
  const params = { task: taskNamed(task), project };
  return change(world, json, client => client.request("task_approve", params), { person: "always" });
}

function projectNamed(world: ProcessContext, { project }: TaskFlags): Promise<string> {
  return project === undefined ? projectOf(world.cwd) : Promise.resolve(project);
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
  const which = task === undefined ? { labels: [...flags.label] } : { task: taskNamed(task) };
  const isPersons = own === null && !(await isAgents(world));
  const work = async (client: Client): Promise<Answered> => {
    if (own !== null) return client.request("task_claim", { ...own, project, ...which });
    const id = terminalName(world.env);
    const pid = terminalProcess();
    const anchor = pid === null ? {} : { pid };
    const known = await registerPerson(world, client, { id, ...anchor });
    if (!known.ok) return known;
    const answer = await client.request("task_claim", { id, project, ...which });
    const isHeldBack = !answer.ok && (answer.code === "role_limit" || answer.code === "risk_held");
    if (answer.ok || !(isHeldBack || answer["beyond"] !== undefined) || !isPersons) return answer;
    const cleared = await clear(client, answer, { name: known.name, project: known.project });
    return cleared.ok ? client.request("task_claim", { id, project, ...which }) : cleared;
  };
  return change(world, flags.json === true, work, { ...(isPersons ? { person: "unnamed" } : {}), task });
}

/**
 * A person may take any task. This terminal gets the role that takes all of them, and a claim of a red or critical task
 * by its name is the person's yes. Returns what still refuses it.
 */
async function clear(
  client: Client,
  refusal: Refusal,
  terminal: { readonly name: string; readonly project: string },
): Promise<Answered> {
  if (refusal.code !== "risk_held") {
    const reply = await client.request("role_set", { ...terminal, role: "architect" });
    if (!reply.ok || refusal.code !== "role_limit") return reply;
  }
  const { task, running } = refusal;
  if (typeof task !== "string" || (running ?? null) !== null) return refusal;
  const which = { task, project: terminal.project };
  const row = await client.request("task_get", which);
  return row.ok && isGrave(row.task.risk) ? client.request("task_approve", which) : row;
}

export async function release(world: ProcessContext, task: string, flags: TaskFlags): Promise<number> {
  const refused = await refuseAgent(world, flags.json === true, "finish");
  if (refused !== null) return refused;
  const project = await projectNamed(world, flags);
  return change(world, flags.json === true, client =>
    client.request("task_release", { ...actingSession(world.env), task: taskNamed(task), project }),
  );
}

export type Ending = "done" | "failed" | "pending";

/** `result` is the task's result, or why it failed. */
export async function set(
  world: ProcessContext,
  task: string,
  status: Ending,
  result: string | null,
  flags: TaskFlags,
): Promise<number> {
  const json = flags.json === true;
  const refused = await refuseAgent(world, json, "finish");
  if (refused !== null) return refused;
  const project = await projectNamed(world, flags);
  const own = actingSession(world.env);
  const which = { task: taskNamed(task), project };
  const update = (client: Client) =>
    client.request("task_update", {
      ...own,
      ...which,
      status,
      cwd: world.cwd,
      ...(result === null ? {} : { result }),
    });
  if (own !== null || json || result !== null) return change(world, json, update, { task });
  return withDaemon(world, json, async client => {
    const before = await client.request("task_get", which);
    const { task: row = null } = before.ok ? before : {};
    if (row?.status === "active" && status === "pending") return fail(world, json, "task_state", atWork(row));
    if (row === null || row.status !== status || status === "pending")
      return change(world, json, update, { task });
    const name = row.number ?? clean(row.id);
    return printDone(world, json, before, () => [
      `task ${name} was ${status} already; to do it again: kite task retry ${name}`,
    ]);
  });
}

/** Says why a task that somebody works on cannot be tried again. */
function atWork({ number, id, assigneeName }: TaskRow): string {
  const task = number ?? id;
  const who = assigneeName ?? "somebody";
  return `${who} works on task ${task}, so there is nothing to retry; to take it back: kite task release ${task}`;
}

type Answered = Awaited<ReturnType<Client["request"]>> | { readonly ok: true; readonly task?: TaskRow };

async function change(
  world: ProcessContext,
  json: boolean,
  ask: (client: Client) => Promise<Answered>,
  { person, task }: Pick<AskOptions, "person"> & { readonly task?: string | undefined } = {},
): Promise<number> {
  const work = async (client: Client) => {
    const answer = await ask(client);
    if (actingSession(world.env) === null) await leave(client, terminalName(world.env));
    if (!answer.ok)
      throw new Refused(answer, refusalText(answer, "terminal").replace(/^the task\b/, `task ${task ?? ""}`));
    if (json) printJson(world, answer);
    else if ("task" in answer && answer.task !== undefined)
      printFramed(world, [sentence(answer.task, await ownProject(world))]);
    if (!json && "warnings" in answer) print(world, (answer.warnings ?? []).map(clean));
    return exitCodes.done;
  };
  return withDaemon(world, json, work, person === undefined ? {} : { person });
}

/** A terminal is a session only while it works on a task. */
async function leave(client: Client, id: string): Promise<void> {
  const [session] = await rowsOf(client, "sessions", { id });
  if (session?.task === null) await client.request("deregister", { id });
}

/** Returns the task's present status on one line; `project`: the reader's own. */
function sentence(task: TaskRow, project: string | null): string {
  const numbers = numbersOf([task], project);
  const named = (id: string) => numbers.get(id) ?? clean(id);
  const is = standing(task);
  const who = is === "active" && task.assigneeName !== null ? ` for ${clean(task.assigneeName)}` : "";
  const why = is === "blocked" ? ` by ${task.blockedBy.map(({ task: id }) => named(id)).join(", ")}` : "";
  const care = task.risk === "green" ? "" : `, ${task.risk}${task.approved ? " and approved" : ""}`;
  const held = task.held === null ? "" : `; not claimable now: ${clean(inNumbers(task.held, numbers))}`;
  return `task ${named(task.id)} is ${is}${care}${who}${why}: ${clean(task.description)}${held}`;
}
