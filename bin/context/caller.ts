/** Finds the agent that runs a command: the hook event before the command told the daemon. */

import { readFileSync } from "node:fs";
import { KiteClient } from "../../client/client.ts";
import { LocalError, NotRunning } from "../../client/errors.ts";
import { ancestorsOf, parentOf } from "../../daemon/facts/processes.ts";
import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { kitePaths } from "../../protocol/paths.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { ElsewhereRow } from "../../protocol/work.ts";
import { type Acting, actingSession, isTerminalSession } from "./actor.ts";
import type { Client, ProcessContext } from "./process-context.ts";
import { projectOf } from "./project.ts";
import { Refused, rowsOf } from "./with-daemon.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Returns the session's agent that ran `words`; null for its main agent or a person. Throws `Refused` if several agents may
 * be it, and `LocalError` if the daemon does not say: nobody acts for an agent by a guess.
 */
export async function callingAgent(env: Env, words: readonly string[]): Promise<string | null> {
  const acting = actingSession(env);
  if (env["CLAUDECODE"] !== "1" || acting === null || acting.agent !== undefined) return null;
  const typed = words.join(" ").slice(0, limits.typedChars);
  const shells = shellsBelow(Number(env["CLAUDE_PID"]));
  const client = await connectBriefly(env);
  // No daemon: the command itself reports it.
  if (client === null) return null;
  try {
    const answer = await client.request("whoami", { id: acting.id, typed, shells: [...shells] });
    if (!answer.ok && answer.code === "ambiguous_caller") throw new Refused(answer);
    return answer.ok && answer.by === "typed" ? answer.agent : null;
  } finally {
    client.close();
  }
}

/**
 * Returns the session and agent of another client than Claude Code whose shell runs `words`. No variable names them,
 * but the client's process is above this one, and its hook told what was typed. Null: there is none, or no daemon.
 * Throws `Refused` if several may be it.
 */
export async function callingSession(env: Env, words: readonly string[]): Promise<Acting | null> {
  if (env["CLAUDECODE"] === "1" || actingSession(env) !== null) return null;
  const above = ancestorsOf(process.pid);
  if (above.length === 0) return null;
  let client: KiteClient | null = null;
  try {
    client = await connectBriefly(env);
    if (client === null) return null;
    const answer = await client.request("whoami", {
      typed: words.join(" ").slice(0, limits.typedChars),
      pids: above.map(({ pid }) => pid),
      starts: above.map(({ startTime }) => startTime),
    });
    if (!answer.ok && answer.code === "ambiguous_caller") throw new Refused(answer);
    if (!answer.ok || isTerminalSession(env, answer.id)) return null;
    return { id: answer.id, ...(answer.agent === null ? {} : { agent: answer.agent }) };
  } catch (error) {
    // A daemon that does not answer: what the command needs of it, it reports itself.
    if (error instanceof Refused || !(error instanceof LocalError)) throw error;
    return null;
  } finally {
    client?.close();
  }
}

async function connectBriefly(env: Env): Promise<KiteClient | null> {
  try {
    return await KiteClient.connect({ paths: kitePaths(env), name: "kite", timeoutMs: limits.whoamiMs });
  } catch (error) {
    if (error instanceof NotRunning) return null;
    throw error;
  }
}

/**
 * Returns the command lines of the processes between `client` and this one, without quotes and blanks, the nearest first.
 * Empty if `client` is not above this process, or if the system has no `/proc`.
 */
function shellsBelow(client: number, pid: number = process.pid): readonly string[] {
  const shells: string[] = [];
  for (let at = parentOf(pid); at !== client; at = parentOf(at)) {
    if (at === null || shells.length >= limits.shellsMax) return [];
    const line = commandLineOf(at);
    if (line === null) return [];
    shells.push(line.replace(/["'\\\s\0]+/g, "").slice(0, limits.shellChars));
  }
  return shells;
}

function commandLineOf(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return null; // Not Linux, or the process has just ended.
  }
}

// Finds the agent that a name on the command line means.

/** A session's main agent (`agent` is null), or an agent within it. */
export interface NamedAgent {
  readonly id: string;
  readonly agent: string | null;
  /** Its name for people: `alice`, `alice/Explore`. */
  readonly name: string;
  readonly project: string;
}

/**
 * Returns the agent that `name` means. `name` is a session's id; else a name (a session's, an agent's `alice/Explore`
 * or `Explore`, an agent's id). Else it is the beginning of a session's name or of an id. If several fit, those of the
 * working directory's project count. Null if none fits. Throws `Refused` with the list if it is ambiguous.
 */
export async function agentCalled<A extends NamedAgent>(
  { cwd }: Pick<ProcessContext, "cwd">,
  agents: readonly A[],
  name: string,
): Promise<A | null> {
  const found = agentsCalled(agents, name);
  if (found.length < 2) return found[0] ?? null;
  const project = await projectOf(cwd);
  const here = found.filter(one => one.project === project);
  const [only, another] = here.length > 0 ? here : found;
  if (only !== undefined && another === undefined) return only;
  const matches = (here.length > 0 ? here : found).slice(0, limits.recipientsNamedMax);
  const names = matches.map(
    ({ name: one, id, agent }) => `${one} (${agent === null ? id : `${id}, ${agent}`})`,
  );
  const error = `${name} can be ${names.join(", ")}; say which by its id, or by its whole name`;
  throw new Refused(refuse("recipient_ambiguous", error, { to: name, matches }));
}

/** Returns the agents of live sessions, each session's main agent first. */
export function agentsOf(sessions: readonly SessionRow[]): NamedAgent[] {
  return sessions.flatMap(({ id, name, project, agents }) => [
    { id, agent: null, name, project },
    ...agents.map(one => ({ id, agent: one.agent, name: `${name}/${one.name}`, project })),
  ]);
}

/** Refuses a name that fits no agent here: says on which machine it is, or names the agents there are. */
export async function noAgent(
  client: Pick<Client, "request" | "daemon">,
  agents: readonly NamedAgent[],
  name: string,
): Promise<Refused> {
  const there = await agentElsewhere(client, name);
  if (there !== null) return there;
  const some = agents.slice(0, limits.recipientsNamedMax).map(one => one.name);
  const here = some.length === 0 ? "no agent is active" : `active: ${some.join(", ")}`;
  return new Refused(refuse("recipient_gone", `no agent is called ${name}; ${here}`, { to: name }));
}

/**
 * Returns the refusal for a name that an agent of another machine has, which says on which machine it is. Null if none has
 * it, or if this machine shares no store. `project`: only agents of it count.
 */
export async function agentElsewhere(
  client: Pick<Client, "request" | "daemon">,
  name: string,
  project?: string,
): Promise<Refused | null> {
  if (client.daemon.sharedStoreId === undefined) return null;
  const others = await rowsOf(client, "elsewhere", project === undefined ? {} : { project });
  const found = others.filter(one => one.name === name || one.id === name || nameThere(one) === name);
  const [first] = found;
  if (first === undefined) return null;
  const { machine } = first;
  const named = found.slice(0, limits.recipientsNamedMax).map(one => `${one.name} works on ${one.machine}`);
  const whose = found.length === 1 ? `Kite on ${machine}` : "Kite on its machine";
  // A line that named it otherwise would fail there.
  const called = name === nameThere(first) ? "" : `, where it is called ${nameThere(first)}`;
  const error = `${named.join(", ")}: only ${whose} does that; run the command there${called}`;
  return new Refused(refuse("elsewhere", error, { to: name, machine }));
}

/** Returns what its own machine calls an agent of another machine. */
function nameThere({ name, machine }: ElsewhereRow): string {
  const ending = `@${machine}`;
  return name.endsWith(ending) ? name.slice(0, -ending.length) : name;
}

function agentsCalled<A extends NamedAgent>(agents: readonly A[], wanted: string): A[] {
  const exact = agents.filter(({ id, agent }) => agent === null && id === wanted);
  if (exact.length > 0) return exact;
  const named = agents.filter(({ name, agent }) => {
    const isOwn = agent !== null && (agent === wanted || name.endsWith(`/${wanted}`));
    return name === wanted || isOwn;
  });
  if (named.length > 0) return named;
  if (wanted === "") return [];
  return agents.filter(
    ({ id, agent, name }) => (agent ?? id).startsWith(wanted) || (agent === null && name.startsWith(wanted)),
  );
}

// Finds the session that KITE_SESSION names: by its id, its name or the beginning of one, as other commands find it.

/**
 * Returns whom `KITE_SESSION` means; null if it is not set, is a terminal's own session or the client's, or is an id already. A daemon
 * registers whoever claims a task, so an unknown name would be a session that nobody is: throws `Refused` for one.
 */
export async function namedSession(world: ProcessContext): Promise<Acting | null> {
  const name = world.env["KITE_SESSION"];
  // What its client set is an agent's id, known to the daemon or not.
  const isClients = name === world.env["CLAUDE_CODE_SESSION_ID"];
  if (!name || isClients || isTerminalSession(world.env, name)) return null;
  const client = await connected(world);
  // No daemon: the command itself reports it.
  if (client === null) return null;
  try {
    if ((await rowsOf(client, "sessions", { id: name })).length > 0) return null;
    const agents = agentsOf(await rowsOf(client, "sessions"));
    const found = await agentCalled(world, agents, name);
    if (found === null) throw (await agentElsewhere(client, name)) ?? unknown(agents, name);
    return found.agent === null ? { id: found.id } : { id: found.id, agent: found.agent };
  } finally {
    client.close();
  }
}

/** Returns a connection to the daemon; null: none runs. */
export async function connected(world: ProcessContext): Promise<Client | null> {
  try {
    return await world.connect({ name: "kite", reconnect: false });
  } catch (error) {
    if (error instanceof NotRunning) return null;
    throw error;
  }
}

function unknown(agents: readonly NamedAgent[], name: string): Refused {
  const some = agents.slice(0, limits.recipientsNamedMax).map(one => one.name);
  const there =
    some.length === 0
      ? "none is active. Unset it to act as yourself"
      : `active: ${some.join(", ")}. Set it to one of them, or unset it to act as yourself`;
  return new Refused(
    refuse("unknown_session", `KITE_SESSION is ${name}, and no session is called that; ${there}`),
  );
}
