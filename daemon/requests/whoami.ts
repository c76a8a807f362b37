/** whoami: finds the session of a call that comes through a process shared by several. */

import { refuse } from "../../protocol/codes.ts";
import type { Session } from "../core/base-state.ts";
import { latestAt } from "../core/sessions/table.ts";
import type { State } from "../core/state.ts";
import type { HookServices } from "../hooks/hook-services.ts";
import { actorOf } from "../sessions/commands.ts";
import { nameOf } from "../views/sessions-and-locks.ts";
import type { RequestHandler } from "./handler.ts";

export const whoami: RequestHandler<"whoami", HookServices> = (
  services,
  { toolUse, id: of, typed, shells, pid = null, pids = [] },
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
    const session = user ?? nearest(state, pid === null ? pids : [pid, ...pids]);
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

function nearest(state: State, pids: readonly number[]): Session | undefined {
  for (const pid of pids) {
    const session = latestAt(state.sessions, pid);
    if (session !== undefined) return session;
  }
  return undefined;
}
