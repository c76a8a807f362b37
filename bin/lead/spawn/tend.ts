/**
 * Replaces spawned agents that stall, in the process of somebody who waits for them: the daemon starts no program.
 *
 * Invariant: the daemon says for each agent whether it stalled, and who replaces it; so two that tend one never both do.
 */

import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { actingSession } from "../../actor.ts";
import { refuseAgent } from "../../person.ts";
import { type Client, interrupted, type ProcessContext, print, printJson } from "../../process-context.ts";
import { ProgramFailed } from "../../programs.ts";
import { projectOf } from "../../project.ts";
import { clean } from "../../view/text.ts";
import { ask, asPerson, exitCodes, Refused, rowsOf } from "../../with-daemon.ts";
import { hasEnded } from "./find.ts";
import { followSpawn } from "./follow.ts";
import { type Around, type Replaced, replaced, wordsOf } from "./replace.ts";
import type { Started, Starter } from "./start.ts";

export interface Follow {
  readonly isEnough: (row: SpawnRow) => boolean;
  /** Each state on the way. */
  readonly seen: (row: SpawnRow) => void;
  /** Says in a sentence what was done about an agent that stalled, or why nothing was. */
  readonly say: (words: string) => void;
}

/**
 * Returns the record as soon as `isEnough`. If the user's setting is `replace`, an agent that stalls is replaced, and the one
 * that goes on is followed.
 */
export async function followTended(
  world: Around,
  client: Client,
  { row: first, stalled }: Started,
  actor: Starter["actor"],
  { isEnough, seen, say }: Follow,
): Promise<SpawnRow> {
  let row = first;
  // An agent that is resumed rests until its turn begins: that is no end of the turn.
  let restedAt: number | null = null;
  const hasEnough = (now: SpawnRow) => isEnough(now) && !(now.state === "idle" && now.updatedAt === restedAt);
  // Nothing could be done about it, as long as it is stalled.
  let isLeft = false;
  const isOver = (now: SpawnRow) => {
    const stalls = isStalled(now);
    if (!stalls) isLeft = false;
    return hasEnough(now) || (stalls && !isLeft && stalled === "replace");
  };
  for (;;) {
    const now = await followSpawn(client, row, isOver, seen);
    if (hasEnough(now)) return now;
    const next = await attempt(world, client, now, actor, say);
    isLeft = next === null;
    if (next === null) continue;
    row = next.row;
    restedAt = next.how === "resumed" && row.state === "idle" ? row.updatedAt : null;
  }
}

/** `kite agents tend`: replaces this project's agents that stall, until it is interrupted. Returns the exit code. */
export async function tend(world: ProcessContext, isJson: boolean): Promise<number> {
  const refused = await refuseAgent(world, isJson, "replace");
  if (refused !== null) return refused;
  const project = await projectOf(world.cwd);
  const actor = actingSession(world.env) ?? {};
  const stop = interrupted();
  const work = async (client: Client) => {
    let wake = () => {};
    client.onEvent(event => {
      if (event.event === "agent_stalled") wake();
    });
    client.onLagged(() => wake());
    stop.addEventListener("abort", () => wake());
    void client.closed.then(() => wake());
    await ask(client, "subscribe", { events: ["agent_stalled"], project });
    if (!isJson) world.stderr.write("kite: replaces agents that stall; Ctrl-C ends it, not the agents\n");
    /** Agents about which nothing can be done, as long as they are stalled. */
    const left = new Set<string>();
    while (!stop.aborted) {
      const changed = new Promise<void>(resolve => {
        wake = resolve;
      });
      const rows = await rowsOf(client, "spawns", { project });
      const stalled = rows.filter(isStalled);
      for (const id of left) if (!stalled.some(row => row.id === id)) left.delete(id);
      const row = stalled.find(({ id }) => !left.has(id));
      if (row === undefined) {
        if (!stop.aborted) await changed;
        continue;
      }
      const say = (words: string) => {
        if (!isJson) print(world, [clean(words)]);
      };
      const next = await attempt(world, client, row, actor, say);
      if (next === null) left.add(row.id);
      else if (isJson) printJson(world, { of: row.id, how: next.how, spawn: next.row });
    }
    return exitCodes.done;
  };
  return asPerson(world, isJson, work, { reconnect: true });
}

function isStalled(row: SpawnRow): boolean {
  return !hasEnded(row) && row.health?.state === "stalled";
}

/** Replaces the agent; null if it cannot be, which is said. */
async function attempt(
  world: Around,
  client: Client,
  row: SpawnRow,
  actor: Starter["actor"],
  say: (words: string) => void,
): Promise<Replaced | null> {
  try {
    const next = await replaced(world, client, row, actor);
    say(wordsOf(row, next.row, next.how));
    return next;
  } catch (error) {
    if (!(error instanceof Refused || error instanceof ProgramFailed)) throw error;
    say(error.message);
    return null;
  }
}
