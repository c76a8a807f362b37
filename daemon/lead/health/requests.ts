/** Requests about the health of agents. */
import { refuse } from "../../../protocol/codes.ts";
import type { releaseRequests } from "../../../protocol/lead/release.ts";
import { plain } from "../../../protocol/text.ts";
import { callerOf } from "../../requests/caller.ts";
import type { HandlersOf, RequestHandler } from "../../requests/handler.ts";
import { retryOf } from "../../server/call.ts";
import { signOfLife } from "../../sessions/commands.ts";
import { decidedBy, noteReply } from "../../trail/decisions.ts";
import type { LeadServices } from "../services.ts";
import { noteOf } from "./listener.ts";

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
  call.propose({ ...command, ...retryOf(request, call) }, reply => {
    const why = `${had.name}: tasks ${had.tasks.join(", ") || "none"}, ${had.locks} locks, silent for ${had.forMs} ms`;
    noteReply(services, call.type, by, reply, { rule: "health", why });
    if (reply.ok) services.healthNotes.tell(whose, { ...had, name });
    return reply;
  });
  return undefined;
};

export const releaseHandlers: HandlersOf<typeof releaseRequests, LeadServices> = {
  agent_release: agentRelease,
};
