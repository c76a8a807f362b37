/** spawn_create, spawn_replace, spawn_update, spawn_remove. The agents themselves are started by the requesters' processes. */
import { refuse } from "../../../protocol/codes.ts";
import type { Actor } from "../../core/actor.ts";
import type { Command } from "../../core/commands.ts";
import { isFinal } from "../../core/lead/spawns/transitions.ts";
import type { Reply } from "../../core/outcome.ts";
import { type Asking, callerOf, projectOf } from "../../requests/caller.ts";
import type { DaemonServices, RequestHandler } from "../../requests/handler.ts";
import { type Call, retryOf } from "../../server/call.ts";
import type { Services } from "../../services.ts";
import { signOfLife } from "../../sessions/commands.ts";
import { noteReply } from "../../trail/decisions.ts";
import { healthRow } from "../health/facts.ts";

export const spawnCreate: RequestHandler<"spawn_create", DaemonServices> = (services, request, call) => {
  const { name = null, role = null, task = null, backend, client, base = null, reportsEnd = true } = request;
  const { prompt = null, model = null, replaces = null } = request;
  const by = requesterOf(services, request, call);
  const command = {
    type: "spawn_create",
    by,
    project: projectOf(services, request, call),
    ...{ name, role, task, backend, client, base, reportsEnd, prompt, model, replaces },
    ...services.spawnBounds,
    wallMs: services.clock.wall(),
    ...retryOf(request, call),
  } as const;
  return propose(services, call, by, command, { stalled: services.stalled });
};

/** The daemon sees whether the agent stalled; one that ended while it was replaced may be replaced still. */
export const spawnReplace: RequestHandler<"spawn_replace"> = (services, request, call) => {
  const { spawn: id, resumable, resumed } = request;
  const by = requesterOf(services, request, call);
  const { state } = services.engine;
  const spawn = state.spawns.all.get(id);
  const session = spawn?.session == null ? undefined : state.sessions.live.get(spawn.session);
  if (spawn !== undefined && !isFinal(spawn.state)) {
    const health = session === undefined ? null : healthRow(services, session, null);
    if (health?.state !== "stalled") {
      const now = health?.state ?? spawn.state.replaceAll("_", " ");
      const error = `${spawn.name} is ${now}, and only an agent that stalled is replaced; to end it: kite stop ${spawn.name}`;
      call.reply(refuse("spawn_state", error, { spawn: id, state: spawn.state }));
      return undefined;
    }
  }
  return propose(services, call, by, {
    type: "spawn_replace",
    ...{ by, spawn: id, resumable, isFailed: resumed === false },
    wallMs: services.clock.wall(),
    ...retryOf(request, call),
  });
};

export const spawnUpdate: RequestHandler<"spawn_update"> = (services, request, call) => {
  const by = requesterOf(services, request, call);
  const { spawn, state = null, stopping = null, replacing, handle = null } = request;
  const { worktree = null, branch = null, output = null, reason = null } = request;
  return propose(services, call, by, {
    type: "spawn_update",
    by,
    ...{ spawn, state, stopping, handle, worktree, branch, output, reason },
    ...(replacing === undefined ? {} : { replacing }),
    wallMs: services.clock.wall(),
    ...retryOf(request, call),
  });
};

export const spawnRemove: RequestHandler<"spawn_remove"> = (services, request, call) => {
  const by = requesterOf(services, request, call);
  const { spawns } = request;
  return propose(services, call, by, { type: "spawn_remove", by, spawns, ...retryOf(request, call) });
};

/** Returns who asks, and notes the sign of life; null: a person. */
function requesterOf(services: Services, request: Asking, call: Call): Actor | null {
  if (request.id !== undefined) signOfLife(services, request.id, request.agent ?? null);
  return callerOf(services, request, call);
}

/** Proposes, and writes to the trail who spawned, changed or forgot which agent. */
function propose(
  services: Services,
  call: Call,
  by: Actor | null,
  command: Command,
  more: Readonly<Record<string, unknown>> = {},
): undefined {
  call.propose(command, reply => {
    noteReply(services, call.type, by, reply, { rule: "spawn", why: whatOf(command, reply) });
    return reply.ok ? { ...reply, ...more } : reply;
  });
  return undefined;
}

/** Returns which agent a reply is about, without what it printed. */
function whatOf(command: Command, reply: Reply): string {
  if (command.type === "spawn_remove") return command.spawns.join(", ");
  const { spawn } = reply as { readonly spawn?: unknown };
  if (typeof spawn !== "object" || spawn === null) return "";
  const { id, name, state } = spawn as { readonly id: string; readonly name: string; readonly state: string };
  return `${name} (${id}): ${state}`;
}
