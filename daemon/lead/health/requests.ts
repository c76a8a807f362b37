/** Requests about the health of agents. */
import { refuse } from "../../../protocol/codes.ts";
import type { releaseRequests } from "../../../protocol/lead/role-set.ts";
import { limits } from "../../../protocol/limits.ts";
import { plain } from "../../../protocol/text.ts";
import type { Reply } from "../../core/tables/entries.ts";
import { callerOf } from "../../requests/caller.ts";
import type { HandlersOf, RequestHandler } from "../../requests/handler.ts";
import { retryOf } from "../../server/call.ts";
import { signOfLife } from "../../sessions/commands.ts";
import { decidedBy, noteReply } from "../../trail/decisions.ts";
import type { LeadServices } from "../services.ts";
import { noteOf } from "./listener.ts";
import { isSharing, lostOf, releaseShared } from "./release.ts";

/** The agent is told with its next event that waits: it may live. */
const agentRelease: RequestHandler<"agent_release", LeadServices> = (services, request, call) => {
  const by = callerOf(services, request, call);
  const whose = { session: request.of, agent: request.ofAgent ?? null };
  const begun = services.engine.state.sessions.live.get(whose.session)?.begun;
  if (begun === undefined) {
    const error = `no session ${whose.session} is registered; what an ended one had was given back at its end`;
    call.reply(refuse("unknown_session", error));
    return undefined;
  }
  if (request.id !== undefined) signOfLife(services, request.id, request.agent ?? null);
  const { name } = decidedBy(services, by);
  const cause = ["released", `by ${name}`, request.reason === undefined ? "" : `(${plain(request.reason)})`]
    .filter(part => part !== "")
    .join(" ");
  const had = noteOf(services, whose, "released");
  const wallMs = services.clock.wall();
  const command = { type: "agent_release", ...whose, begun, by, cause, wallMs } as const;
  const note = (reply: Reply, kept: ReadonlySet<string> = new Set()) => {
    const why = `${had.name}: tasks ${had.tasks.join(", ") || "none"}, ${had.locks} locks, silent for ${had.forMs} ms`;
    noteReply(services, call.type, by, reply, { rule: "health", why });
    const lost = lostOf(had, kept);
    if (reply.ok && lost !== null) services.healthNotes.tell(whose, { ...lost, name });
    return reply;
  };
  if (!isSharing(services, whose.session)) call.propose({ ...command, ...retryOf(request, call) }, note);
  else
    call.alone(
      services.engine.submitAndWait(command).then(async reply => {
        if (!reply.ok) return call.reply(note(reply));
        const { tasks, stayed, kept } = await releaseShared(services, whose, { by, cause });
        const shown = { tasks: tasks.slice(0, limits.releasedNamedMax), taskCount: tasks.length };
        call.reply(note({ ...reply, ...shown, ...(stayed.length === 0 ? {} : { stayed }) }, kept));
      }),
    );
  return undefined;
};

export const releaseHandlers: HandlersOf<typeof releaseRequests, LeadServices> = {
  agent_release: agentRelease,
};
