/** What a person does next, by what is there already: hooks, and sessions. */

import { LocalError } from "../../client/errors.ts";
import { knownClients } from "../context/clients-here.ts";
import { type ProcessContext, printFramed, printJson, screenOf } from "../context/process-context.ts";
import { type ScopeFlags, scopeProject } from "../context/project.ts";
import { terminalTexts } from "../context/terminals.ts";
import { rowsOf, withDaemon } from "../context/with-daemon.ts";
import { sessionsView } from "../view/sessions.ts";

/** How long it looks for a daemon at most. */
const lookMs = 1_000;

/** Returns the next step, where so many sessions are known. */
export function nextStep(world: ProcessContext, sessions: number): readonly string[] {
  if (sessions > 0) return ["Next: kite status shows who does what; kite watch keeps showing it."];
  const titles = knownClients.filter(client => client.isConnected(world)).map(({ title }) => title);
  if (titles.length === 0)
    return ["Next: kite install, which connects your agents; kite demo shows first what Kite does."];
  return [
    `Next: type a prompt in two ${titles.join(" or ")} sessions of one repository, then run kite status.`,
    "kite demo shows a conflict of four sessions without them.",
  ];
}

/** The same; asks the daemon for the sessions if one runs. */
export async function nextLines(world: ProcessContext): Promise<readonly string[]> {
  try {
    const client = await world.connect({ name: "kite", reconnect: false, timeoutMs: lookMs });
    try {
      const stats = await client.request("stats", {});
      return nextStep(world, stats.ok ? stats.sessions : 0);
    } finally {
      client.close();
    }
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    return nextStep(world, 0);
  }
}

/** Lists the sessions of `directory`'s project, by default the working directory's. Returns the exit code. */
export async function sessions(
  world: ProcessContext,
  json: boolean,
  directory?: string,
  flags: ScopeFlags = {},
): Promise<number> {
  return withDaemon(world, json, async client => {
    const [rows, locks] = await Promise.all([rowsOf(client, "sessions"), rowsOf(client, "locks")]);
    const terminals = terminalTexts(rows.flatMap(({ pid }) => pid ?? []));
    if (json) {
      const terminalOf = (pid: number | null) => (pid === null ? undefined : terminals.get(pid));
      const all = rows.map(row => ({ ...row, ...terminalField(terminalOf(row.pid)) }));
      printJson(world, { sessions: all });
      return 0;
    }
    const project = await scopeProject(world, directory, flags);
    printFramed(world, sessionsView({ sessions: rows, locks, project, terminals }, screenOf(world)));
    return 0;
  });
}

function terminalField(terminal: string | undefined): { readonly terminal?: string } {
  return terminal === undefined ? {} : { terminal };
}
