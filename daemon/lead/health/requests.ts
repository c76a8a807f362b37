/** Requests about the health of agents. */
import type { HealthNote } from "../../../hooks/seam/lead/notices.ts";
import { refuse } from "../../../protocol/codes.ts";
import type { releaseRequests } from "../../../protocol/lead/release.ts";
import { limits } from "../../../protocol/limits.ts";
import { plain } from "../../../protocol/text.ts";
import type { Actor } from "../../core/actor.ts";
import type { Whose } from "../../core/messages/notice-table.ts";
import type { Reply } from "../../core/outcome.ts";
import { logOfSession } from "../../engine/log-view.ts";
import { callerOf } from "../../requests/caller.ts";
import type { HandlersOf, RequestHandler } from "../../requests/handler.ts";
import { retryOf } from "../../server/call.ts";
import { signOfLife } from "../../sessions/commands.ts";
import { decidedBy, noteReply } from "../../trail/decisions.ts";
import { claimsBy } from "../../views/sessions-and-locks.ts";
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
  const note = (reply: Reply, kept: ReadonlySet<string> = new Set()) => {
    const why = `${had.name}: tasks ${had.tasks.join(", ") || "none"}, ${had.locks} locks, silent for ${had.forMs} ms`;
    noteReply(services, call.type, by, reply, { rule: "health", why });
    const gone = without(had, kept);
    const isNothing = kept.size > 0 && gone.tasks.length + gone.locks === 0;
    if (reply.ok && !isNothing) services.healthNotes.tell(whose, { ...gone, name });
    return reply;
  };
  const { engine } = services;
  const shared = logOfSession(engine, whose.session).state !== engine.state;
  if (!shared) call.propose({ ...command, ...retryOf(request, call) }, note);
  else
    call.alone(
      engine.submitAndWait(command).then(async reply => {
        if (!reply.ok) return call.reply(note(reply));
        const released = await releaseShared(services, whose, { by, cause }, reply);
        call.reply(note(released.reply, released.kept));
      }),
    );
  return undefined;
};

/** Returns the note without tasks that the agent has still. */
function without(had: HealthNote, kept: ReadonlySet<string>): HealthNote {
  const isGone = (_: unknown, at: number) => !kept.has(had.tasks[at] ?? "");
  return { ...had, tasks: had.tasks.filter(isGone), taskNumbers: had.taskNumbers.filter(isGone) };
}

/**
 * Gives back the agent's tasks that are in the log which machines share, and returns the reply with them. A task that the log
 * does not give back, or cannot now, stays as it is: `stayed` has why, and `kept` those of which that is known.
 */
async function releaseShared(
  { engine, clock }: LeadServices,
  { session, agent }: Whose,
  released: { readonly by: Actor | null; readonly cause: string },
  reply: Extract<Reply, { ok: true }>,
): Promise<{ readonly reply: Reply; readonly kept: ReadonlySet<string> }> {
  const kept = new Set<string>();
  const project = engine.state.sessions.live.get(session)?.project;
  if (project === undefined) return { reply, kept };
  const tasks: { readonly id: string; readonly description: string }[] = [];
  const stayed: string[] = [];
  for (const { id, description } of claimsBy(engine, session, agent)) {
    const wallMs = clock.wall();
    const back = await engine.submitAndWait({ type: "task_release", ...released, task: id, project, wallMs });
    if (back.ok) tasks.push({ id, description: description.slice(0, limits.quoteChars) });
    else stayed.push(`${id}: ${back.error}`);
    if (!back.ok && back.code !== "outcome_unknown") kept.add(id);
  }
  const shown = { tasks: tasks.slice(0, limits.releasedNamedMax), taskCount: tasks.length };
  return { reply: { ...reply, ...shown, ...(stayed.length === 0 ? {} : { stayed }) }, kept };
}

export const releaseHandlers: HandlersOf<typeof releaseRequests, LeadServices> = {
  agent_release: agentRelease,
};
