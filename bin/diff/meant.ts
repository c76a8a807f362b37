/** What the argument of `kite diff` means: an agent, else an existing file. */
import { existsSync } from "node:fs";
import { refuse } from "../../protocol/codes.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { WriteRow } from "../../protocol/work.ts";
import { agentCalled, agentsOf, type NamedAgent, noAgent } from "../agent/named.ts";
import { fileTyped } from "../lockable.ts";
import type { ProcessContext } from "../process-context.ts";
import { realPath } from "../real-path.ts";
import type { Asker } from "../rescue/asker.ts";
import type { Commits } from "../rescue/committed.ts";
import { Refused, rowsOf } from "../with-daemon.ts";
import { repositoryAt } from "./changes.ts";

/** An agent, a file or directory, or (null) all of the project. */
export type Meant =
  | { readonly is: "agent"; readonly agent: NamedAgent; readonly worktree: string | null }
  | { readonly is: "path"; readonly path: string }
  | null;

/**
 * Returns what is meant. A live agent's whole name comes before a file, a file before the name of an agent that ended or the
 * beginning of a name. `isFile`: it is a file, whatever else is called so. Throws `Refused` if nothing is called so, and
 * `WrongName` if a resource is.
 */
export async function meant(
  world: Pick<ProcessContext, "cwd">,
  asker: Asker,
  what: string | undefined,
  isFile: boolean,
  commits: Commits,
): Promise<Meant> {
  if (what === undefined) return null;
  const path = await realPath(world.cwd, fileTyped(what));
  if (isFile || what.startsWith("./") || what.startsWith("/")) return { is: "path", path };
  const sessions = await sessionsSeen(asker);
  const live = agentsOf(sessions);
  const isThere = existsSync(path);
  const known = isThere ? live.filter(one => isWhole(one, what)) : [...live, ...(await endedOf(asker, live))];
  const agent = await agentCalled(world, known, what);
  if (agent === null && isThere) return { is: "path", path };
  const rows = await rowsOf(asker.client, "writes");
  // A file that was deleted is one as well.
  const isWritten = rows.some(row => row.path === path || row.path.startsWith(`${path}/`));
  if (agent === null && (isWritten || (await isCommitted(commits, path)))) return { is: "path", path };
  if (agent === null) throw await unknown(asker, known, what);
  const session = sessions.find(({ id }) => id === agent.id);
  return { is: "agent", agent, worktree: session?.worktree ?? null };
}

/** Whether the commit that is checked out has a file or a directory there. */
async function isCommitted(commits: Commits, path: string): Promise<boolean> {
  const { worktree, file } = await repositoryAt(path);
  const head = await commits.head(worktree);
  if (head === null) return false;
  const listed = await commits.read(worktree, ["ls-tree", "-z", "--name-only", head, "--", file]);
  return listed !== null && listed.length > 0;
}

/** Returns the agent that `--by` names. Throws `Refused` if nobody is called so. */
export async function agentNamed(
  world: Pick<ProcessContext, "cwd">,
  asker: Asker,
  name: string,
): Promise<NamedAgent> {
  const live = agentsOf(await sessionsSeen(asker));
  const known = [...live, ...(await endedOf(asker, live))];
  const agent = await agentCalled(world, known, name);
  if (agent === null) throw await noAgent(asker.client, known, name);
  return agent;
}

/** The live sessions whose work the asker may see: an agent's own project alone. */
async function sessionsSeen({ client, acting }: Asker): Promise<readonly SessionRow[]> {
  const all = await rowsOf(client, "sessions");
  const own = acting === null ? undefined : all.find(({ id }) => id === acting.id);
  return own === undefined ? all : all.filter(({ project }) => project === own.project);
}

async function unknown({ client }: Asker, known: readonly NamedAgent[], what: string): Promise<Refused> {
  const none = await noAgent(client, known, what);
  if (none.refusal.code === "elsewhere") return none;
  const { message } = none;
  return new Refused(refuse("recipient_gone", `${message}; and no file ${what} is here`, { to: what }));
}

function isWhole({ id, agent, name }: NamedAgent, what: string): boolean {
  return name === what || (agent === null ? id === what : agent === what || name.endsWith(`/${what}`));
}

/** Agents that have ended, and have work that is not committed or that Kite keeps. */
async function endedOf(asker: Asker, live: readonly NamedAgent[]): Promise<NamedAgent[]> {
  const own = asker.acting === null ? {} : { reader: asker.acting.id };
  const [writes, versions] = await Promise.all([
    rowsOf(asker.client, "writes"),
    rowsOf(asker.client, "versions", own),
  ]);
  const authors = [
    ...writes.flatMap((row: WriteRow) => row.writers.map(by => ({ by, project: row.project }))),
    ...versions.flatMap(({ by, project }) => (by === null ? [] : [{ by, project }])),
  ];
  const found = new Map(live.map(one => [keyOf(one), one]));
  // Those that an agent sees are all of its own project.
  const [seen] = asker.acting === null ? [] : live;
  for (const { by, project } of authors) {
    const { id, agent, name } = by;
    if (seen !== undefined && project !== seen.project) continue;
    if (!found.has(keyOf(by))) found.set(keyOf(by), { id, agent, name, project });
  }
  return [...found.values()].filter(one => !live.includes(one));
}

function keyOf({ id, agent }: { readonly id: string; readonly agent: string | null }): string {
  return `${id}\n${agent ?? ""}`;
}

/** Whether it is this agent's. */
export function isOf(
  by: { readonly id: string; readonly agent: string | null } | null,
  who: NamedAgent,
): boolean {
  return by !== null && by.id === who.id && by.agent === who.agent;
}
