/** Finds the actor of a call. A session's agents share the server's process, which outlives sessions. */
import { randomUUID } from "node:crypto";
import type { KiteClient } from "../../client/client.ts";
import { unhookedSession } from "../../protocol/names.ts";
import type { WhoamiReply } from "../../protocol/schemas/session.ts";
import { granted, Refused, rowsOf } from "../context/with-daemon.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The actor of a call. */
export type Acting = Omit<WhoamiReply, "ok">;

export interface Process {
  /** Process id of the session: the client's if it has hooks, else this server's own. */
  readonly pid: number;
  /** The process that started this server: in most clients the client itself. */
  readonly parent: number;
  /** The session that the client's environment names; null if it names none. */
  readonly id: string | null;
  /** This server as a session of its own. */
  readonly own: { readonly pid: number; readonly id: string };
  readonly cwd: string;
}

/** The process whose sessions this server acts for. */
export function processOf(
  env: Env,
  { pid, ppid, cwd }: Pick<NodeJS.Process, "pid" | "ppid" | "cwd">,
): Process {
  // Claude Code starts its servers itself, and its hooks register sessions by its pid.
  const isHooked = env["CLAUDECODE"] === "1" || env["CLAUDE_CODE_SESSION_ID"] !== undefined;
  return {
    pid: isHooked ? ppid : pid,
    parent: ppid,
    id: env["CLAUDE_CODE_SESSION_ID"] || null,
    own: { pid, id: unhookedSession(randomUUID().slice(0, 8)) },
    cwd: env["CLAUDE_PROJECT_DIR"] || cwd(),
  };
}

/** What a client says of a call. */
export interface Origin {
  /** The id that its hooks give the call; null: it says none. */
  readonly toolUse: string | null;
  /** The session that calls, as its hooks name it, and the agent within it (null: the main one); null: it says none. */
  readonly caller: { readonly session: string; readonly agent: string | null } | null;
  /** The client's own name. */
  readonly clientName: string;
}

/**
 * Returns the actor whose tool use the daemon saw. If no hook event named it, returns the session that the client names
 * as the caller. Else it is the session of the process, or of the one that started it. Registers a session that no hook
 * registered, under its client's name. Throws `Refused`, and `ConnectionClosed` if the daemon is away.
 */
export async function whoActs(
  client: KiteClient,
  process: Process,
  { toolUse, caller, clientName }: Origin,
): Promise<Acting> {
  const { pid, own, cwd } = process;
  const params = { pid, ...(toolUse === null ? {} : { toolUse }) };
  const known = await client.request("whoami", params, { again: false });
  if (known.ok && known.by === "tool_use") return known;
  const callerActing = caller === null ? null : await actingAs(client, caller);
  if (callerActing !== null) return callerActing;
  if (known.ok) return known;
  if (known.code !== "unknown_session") throw new Refused(known);
  const above = caller === null ? await hookedAbove(client, process) : null;
  if (above !== null) return above;
  const session = await unregistered(client, process);
  if (session === own) {
    const before = await client.request("whoami", { pid: own.pid });
    if (before.ok) return before;
  }
  const registered = granted(await client.request("register", { ...session, cwd, name: clientName }));
  const { name, project } = registered;
  return { id: session.id, agent: null, name, project, cwd, by: "process" };
}

/** Returns the session that hooks of another client registered for the process that started this server; null: none. */
async function hookedAbove(client: KiteClient, { parent }: Process): Promise<Acting | null> {
  const above = await client.request("whoami", { pid: parent });
  if (!above.ok) return null;
  const [session] = await rowsOf(client, "sessions", { id: above.id });
  return session?.client === undefined ? null : above;
}

/** Returns the caller if hooks registered its session, else null. */
async function actingAs(
  client: KiteClient,
  { session: id, agent }: NonNullable<Origin["caller"]>,
): Promise<Acting | null> {
  const [session] = await rowsOf(client, "sessions", { id });
  if (session === undefined) return null;
  const { name, project, cwd, agents } = session;
  // An agent that no event named yet is known by its id alone.
  const called = agents.find(one => one.agent === agent)?.name ?? agent;
  const full = called === null ? name : called.startsWith(`${name}/`) ? called : `${name}/${called}`;
  return { id, agent, name: full, project, cwd, by: "process" };
}

/**
 * Returns the session to register. A client that an agent started in its shell inherits the environment of the agent's
 * session, but is another process and so another session.
 */
async function unregistered(client: KiteClient, { id, pid, own }: Process): Promise<Process["own"]> {
  if (id === null) return own;
  const [session] = await rowsOf(client, "sessions", { id });
  return session === undefined || session.pid === null || session.pid === pid ? { id, pid } : own;
}
