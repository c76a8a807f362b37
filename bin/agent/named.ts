/** Finds the agent that a name on the command line means. */
import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { Client, ProcessContext } from "../process-context.ts";
import { projectOf } from "../project.ts";
import { Refused, rowsOf } from "../with-daemon.ts";

/** A session's main agent (`agent` is null), or an agent within it. */
export interface NamedAgent {
  readonly id: string;
  readonly agent: string | null;
  /** Its name for people: `alice`, `alice/Explore`. */
  readonly name: string;
  readonly project: string;
}

/**
 * Returns the agent that `name` means: a session's id; else a name (a session's, an agent's `alice/Explore` or `Explore`,
 * an agent's id); else the beginning of a session's name or of an id. If several fit, those of the working directory's
 * project count. Null if none fits. Throws `Refused` with the list if it is ambiguous.
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
  const others = client.daemon.sharedStoreId === undefined ? [] : await rowsOf(client, "elsewhere");
  const found = others.find(
    one => one.name === name || one.id === name || one.name === `${name}@${one.machine}`,
  );
  if (found !== undefined) {
    const { machine } = found;
    const error = `${found.name} works on ${machine}: only Kite on ${machine} does that; run the command there`;
    return new Refused(refuse("elsewhere", error, { to: name, machine }));
  }
  const some = agents.slice(0, limits.recipientsNamedMax).map(one => one.name);
  const here = some.length === 0 ? "no agent is active" : `active: ${some.join(", ")}`;
  return new Refused(refuse("recipient_gone", `no agent is called ${name}; ${here}`, { to: name }));
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
