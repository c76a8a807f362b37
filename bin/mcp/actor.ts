/** For whom a call acts. The process that makes it is shared by a session's agents, and outlives sessions. */
import { randomUUID } from "node:crypto";
import type { KiteClient } from "../../client/client.ts";
import type { WhoamiReply } from "../../protocol/session.ts";
import { Refused, rowsOf } from "../with-daemon.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Who acts. */
export type Acting = Omit<WhoamiReply, "ok">;

export interface Process {
  /** Of the session: the client's where it has hooks, else this server's own. */
  readonly pid: number;
  /** The session that the client says it is; null where it says nothing. */
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
    id: env["CLAUDE_CODE_SESSION_ID"] || null,
    own: { pid, id: `mcp-${randomUUID().slice(0, 8)}` },
    cwd: env["CLAUDE_PROJECT_DIR"] || cwd(),
  };
}

/**
 * Asks the daemon whose tool use it is; where no event named it, the session of the process. One that no hook
 * registered is registered here, under the name its client says of itself. Throws `Refused`, and `ConnectionClosed` where
 * the daemon turns out to be away.
 */
export async function whoActs(
  client: KiteClient,
  process: Process,
  toolUse: string | null,
  clientName: string,
): Promise<Acting> {
  const { pid, own, cwd } = process;
  const asked = { pid, ...(toolUse === null ? {} : { toolUse }) };
  const known = await client.request("whoami", asked, { again: false });
  if (known.ok) return known;
  if (known.code !== "unknown_session") throw new Refused(known);
  const session = await unregistered(client, process);
  if (session === own) {
    const before = await client.request("whoami", { pid: own.pid });
    if (before.ok) return before;
  }
  const registered = await client.request("register", { ...session, cwd, name: clientName });
  if (!registered.ok) throw new Refused(registered);
  const { name, project } = registered;
  return { id: session.id, agent: null, name, project, cwd, by: "process" };
}

/**
 * What to register. A client that an agent started in its shell has the environment of that agent's session, which
 * another process is: it is not that session.
 */
async function unregistered(client: KiteClient, { id, pid, own }: Process): Promise<Process["own"]> {
  if (id === null) return own;
  const [session] = await rowsOf(client, "sessions", { id });
  return session === undefined || session.pid === null || session.pid === pid ? { id, pid } : own;
}
