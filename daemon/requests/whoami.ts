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
          ? toolUses.findByCommandLine(of, typed, shells)
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
  "nothing was done: agents of this session run kite at the same time, and their lines do not tell which of them runs " +
  "this; use Kite's tool for it instead (kite_declare, kite_task_complete, ...), or run the command again, alone in its line";

function nearest(state: State, pids: readonly number[]): Session | undefined {
  for (const pid of pids) {
    const session = latestAt(state.sessions, pid);
    if (session !== undefined) return session;
  }
  return undefined;
}
