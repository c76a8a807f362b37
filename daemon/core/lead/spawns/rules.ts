/** The rules of spawned agents: see `core/rules.ts`. */
import { lasting, lastingAndFreeing, lastingAndFreeingIf, passing } from "../../durability.ts";
import { type TimedRules, timer } from "../../rules.ts";
import type { SessionCommands } from "../../sessions/commands.ts";
import type { State } from "../../state.ts";
import type { SpawnCommands, SpawnDues } from "./commands.ts";
import { spawnCreate } from "./create.ts";
import { endSpawn, spawnTask } from "./end.ts";
import { sessionBeginAsAgent } from "./register.ts";
import { spawnReplace } from "./replace.ts";
import { moveSpawn, spawnAt } from "./table.ts";
import { isStop, spawnMoved, spawnOver, spawnRemove, spawnUpdate } from "./update.ts";

export const spawnRules: TimedRules<
  SpawnCommands & Pick<SessionCommands, "session_begin">,
  SpawnDues,
  State
> = {
  commands: {
    // In place of the base's handler, which it calls.
    session_begin: passing(sessionBeginAsAgent),
    spawn_create: lasting(spawnCreate),
    spawn_replace: lasting(spawnReplace),
    spawn_update: lastingAndFreeingIf(spawnUpdate, isStop),
    spawn_moved: passing(spawnMoved),
    spawn_task: passing(spawnTask),
    spawn_remove: lastingAndFreeing(spawnRemove),
  },
  numbers: {
    kind: "a",
    tableIn: ({ spawns }) => spawns,
    usedBy: ({ type }) => (type === "spawn_create" || type === "spawn_replace" ? 1 : 0),
  },
  points: {
    sessionMoves: ({ spawns }, from, to) => moveSpawn(spawns, from, to),
    answersFor: ({ spawns }, by, other) => spawnAt(spawns, other.session)?.parent?.id === by.session,
    sessionEnds: (state, session, cause, step) => endSpawn(state, session.id, cause, step),
  },
  timers: {
    spawn_over: timer(
      ({ spawns }, due) => spawns.all.get(due.spawn),
      spawn => spawn.registerUntil,
      spawnOver,
    ),
  },
  *dues({ spawns }) {
    for (const { id: spawn, registerUntil } of spawns.all.values())
      if (registerUntil !== null) yield { what: "spawn_over", spawn };
  },
};
