/** whoami: finds the session of a call that comes through a process shared by several. */

import { refuse } from "../../protocol/codes.ts";
import type { Session } from "../core/base-state.ts";
import { latestAt, sessionsAt } from "../core/sessions/table.ts";
import type { State } from "../core/state.ts";
import type { HookServices } from "../hooks/hook-services.ts";
import { actorOf } from "../sessions/commands.ts";
import { nameOf } from "../views/sessions-and-locks.ts";
import type { RequestHandler } from "./handler.ts";

export const whoami: RequestHandler<"whoami", HookServices> = (
  services,
  { toolUse, id: of, typed, shells, pid = null, pids = [], starts = [] },
  call,
) =>
  services.engine.read(state => {
    const { toolUses } = services;
    const by = typed === undefined ? "tool_use" : "typed";
    const use =
      toolUse !== undefined
        ? toolUses.of(toolUse)
        : of !== undefined && typed !== undefined
          ? toolUses.findByCommandLine(of, typed, shells, atWork(services, of))
          : null;
    if (use !== null && "agents" in use) {
      call.reply(refuse("ambiguous_caller", ambiguous, { agents: use.agents }));
      return;
    }
    const user = use === null ? undefined : state.sessions.live.get(use.session);
    const session =
      user ?? (pid === null ? undefined : latestAt(state.sessions, pid)) ?? nearest(state, pids, starts);
    if (session === undefined) {
      const error = "no session is known by this tool use or process; register one";
      call.reply(refuse("unknown_session", error));
      return;
    }
    const known = user !== undefined && use !== null;
    const agent = known ? use.agent : null;
    const { id, project } = session;
    const name = nameOf(services, actorOf(services, id, agent, pid));
    const cwd = known ? use.cwd : session.cwd;
    call.reply({ ok: true, id, agent, name, project, cwd, by: known ? by : "process" });
  });

const ambiguous =
  "nothing was done: several agents of this session are at work, and no line that one of them typed tells which of them " +
  "runs this; run the kite command again, alone in its line and not in a script";

/** The agents at work beside the session's main agent. */
function atWork({ presence }: HookServices, session: string): ReadonlySet<string> {
  const agents = [...presence.of(session).agents];
  return new Set(agents.filter(([, { active }]) => active).map(([agent]) => agent));
}

/** Without a start time a process counts by its id alone. */
function nearest(
  { sessions }: State,
  pids: readonly number[],
  starts: readonly string[],
): Session | undefined {
  for (const [i, pid] of pids.entries()) {
    const startTime = starts[i];
    const session = latestAt(sessions, pid);
    if (session === undefined) continue;
    if (startTime === undefined) return session;
    const [first, ...others] = sessionsAt(sessions, { pid, startTime });
    if (first !== undefined)
      return others.reduce((last, one) => (one.begun > last.begun ? one : last), first);
  }
  return undefined;
}
