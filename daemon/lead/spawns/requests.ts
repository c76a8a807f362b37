/** spawn_create, spawn_replace, spawn_update, spawn_remove. The agents themselves are started by the requesters' processes. */
import { refuse } from "../../../protocol/codes.ts";
import type { spawnRequests } from "../../../protocol/lead/spawn.ts";
import { isFinal } from "../../core/lead/tables/spawns.ts";
import type { Reply } from "../../core/tables/entries.ts";
import { forward } from "../../requests/forward.ts";
import type { HandlersOf } from "../../requests/handler.ts";
import { healthRow } from "../health/facts.ts";
import type { SpawnServices } from "./services.ts";
import { sharedTask } from "./shared-task.ts";

export const spawnHandlers: HandlersOf<typeof spawnRequests, SpawnServices> = {
  spawn_create: forward<"spawn_create", SpawnServices>({
    command: (request, stamp, { settings, engine }) => {
      const { spawnMax: liveMax, spawnDepth: depthMax } = settings.values;
      const {
        name = null,
        role = null,
        task = null,
        backend,
        client,
        base = null,
        reportsEnd = true,
      } = request;
      const { prompt = null, model = null, replaces = null, lead } = request;
      const shared = task === null ? null : sharedTask(engine, stamp.project, task, role);
      if (shared !== null && typeof shared !== "string") return shared;
      return {
        type: "spawn_create",
        ...{ ...stamp, liveMax, depthMax, name, role, task, backend, client, base, reportsEnd },
        ...{ prompt, model, replaces },
        ...(shared === null ? {} : { task: shared, isTaskShared: true as const }),
        ...(lead === true ? { isLead: true as const } : {}),
      };
    },
    reply: (reply, _, { settings }) =>
      reply.ok ? { ...reply, stalled: settings.values.health.stalled } : reply,
    line,
  }),
  // The daemon sees whether the agent stalled; one that ended while it was replaced may be replaced still.
  spawn_replace: forward<"spawn_replace">({
    command: ({ spawn: id, resumable, resumed }, { by, wallMs }, services) => {
      const { state } = services.engine;
      const spawn = state.spawns.all.get(id);
      const session = spawn?.session == null ? undefined : state.sessions.live.get(spawn.session);
      if (spawn !== undefined && !isFinal(spawn.state)) {
        const health = session === undefined ? null : healthRow(services, session, null);
        if (health?.state !== "stalled") {
          const now = health?.state ?? spawn.state.replaceAll("_", " ");
          const error = `${spawn.name} is ${now}, and only an agent that stalled is replaced; to end it: kite agents stop ${spawn.name}`;
          return refuse("spawn_state", error, { spawn: id, state: spawn.state });
        }
      }
      return { type: "spawn_replace", by, spawn: id, resumable, isFailed: resumed === false, wallMs };
    },
    line,
  }),
  spawn_update: forward<"spawn_update", SpawnServices>({
    command: (request, { by, wallMs }) => {
      const { spawn, state = null, stopping = null, replacing, handle = null } = request;
      const { worktree = null, branch = null, output = null, reason = null } = request;
      return {
        type: "spawn_update",
        ...{ by, spawn, state, stopping, handle, worktree, branch, output, reason, wallMs },
        ...(replacing === undefined ? {} : { replacing }),
      };
    },
    reply: (reply, { spawn, pid }, { startingAgents }) => {
      if (reply.ok && pid !== undefined) startingAgents.watch(spawn, pid);
      return reply;
    },
    line,
  }),
  spawn_remove: forward<"spawn_remove">({
    command: ({ spawns }, { by }) => ({ type: "spawn_remove", by, spawns }),
    line: (_, { spawns }) => ({ rule: "spawn", why: spawns.join(", ") }),
  }),
};

/** The trail says which agent a reply is about, without what it printed. */
function line(reply: Reply): { readonly rule: string; readonly why: string } {
  const { spawn } = reply as { readonly spawn?: unknown };
  if (typeof spawn !== "object" || spawn === null) return { rule: "spawn", why: "" };
  const { id, name, state } = spawn as { readonly id: string; readonly name: string; readonly state: string };
  return { rule: "spawn", why: `${name} (${id}): ${state}` };
}
