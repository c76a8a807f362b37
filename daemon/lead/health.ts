/** Requests about the health of agents. */

import { refuse } from "../../protocol/codes.ts";
import type { releaseRequests } from "../../protocol/lead/role-set.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import { plain } from "../../protocol/text.ts";
import { leads } from "../core/lead/health.ts";
import { isFinal } from "../core/lead/tables/spawns.ts";
import type { State } from "../core/state.ts";
import type { Reply } from "../core/tables/entries.ts";
import { allAt, sessionsOf } from "../core/tables/sessions.ts";
import type { Kept } from "../hooks/parts.ts";
import type { HookPart } from "../hooks/points.ts";
import type { Services } from "../options.ts";
import { callerOf, type HandlersOf } from "../requests/handler.ts";
import type { Call } from "../server/call.ts";
import { retryOf } from "../server/call.ts";
import type { PresenceTable } from "../sessions/presence.ts";
import { signOfLife } from "../sessions/proposals.ts";
import { decidedBy, noteReply } from "../trail/decisions.ts";
import { isSharing, lostOf, noteOf, releaseShared } from "./health-watch.ts";
import type { LeadParts, LeadServices } from "./services.ts";

/** The agent is told with its next event that waits: it may live. */
function agentRelease(
  services: LeadServices,
  request: RequestOf<"agent_release">,
  call: Call,
): Promise<void> | undefined {
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
}

export const releaseHandlers: HandlersOf<typeof releaseRequests, LeadServices> = {
  agent_release: agentRelease,
};

// Whether a session leads agents that are at work: then it is told if one of them stalls.

interface Source {
  readonly engine: { readonly state: State };
  readonly presence: PresenceTable;
}

/** Costs what its project has of sessions and their agents in a turn. */
function leadsAtWork({ engine: { state }, presence }: Source, id: string): boolean {
  const lead = { session: id, agent: null };
  const session = state.sessions.live.get(id);
  if (session === undefined) return false;
  const spawned = [...(state.spawns.live.get(session.project) ?? [])].map(key => state.spawns.all.get(key));
  // One that starts has no session yet.
  const isStarting = spawned.some(
    one => one?.parent?.id === id && one.session === null && !isFinal(one.state),
  );
  if (isStarting) return true;
  const members = [...allAt(state.members, id).values()].flatMap(
    ({ session: member }) => state.sessions.live.get(member) ?? [],
  );
  const near = new Set([...members, ...sessionsOf(state.sessions, session.project)]);
  for (const { id: other } of near) {
    const row = presence.of(other);
    for (const [agent, { active }] of [[null, row] as const, ...row.agents]) {
      const isSelf = other === id && agent === null;
      if (active && !isSelf && leads(state, lead, { session: other, agent })) return true;
    }
  }
  return false;
}

// Signs of life go to the watch of agents' health, and what it found goes to those who lead them.

export function healthPart(services: Services, { health, healthNotes }: Kept<LeadParts>): HookPart {
  return {
    changed: ({ session, agent }) => health.sign(session, agent),
    waitsFor: session => ({
      isAtWork: leadsAtWork(services, session),
      hasAlarm: () => healthNotes.hasAlarm({ session, agent: null }),
    }),
    news: (reader, delivery) => healthNotes.offer(reader, delivery),
    sessionGone: session => health.forget(session),
    processStopped: (session, isStopped) => health.stopped(session, isStopped),
  };
}
