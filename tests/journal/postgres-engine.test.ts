/** The engine over PostgreSQL: several nodes apply one log, and come to the same state. */
import { describe, expect, it } from "vitest";
import { check } from "../../daemon/core/slices.ts";
import type { Command, Reply } from "../../daemon/core/tables/entries.ts";
import { systemClock } from "../../daemon/engine/clock.ts";
import { Engine } from "../../daemon/engine/engine.ts";
import { stateHash } from "../../daemon/engine/replay.ts";
import { isObject } from "../../protocol/wire.ts";
import { Random } from "../simulation/random.ts";
import { quick, StoreWorld, withServer } from "./postgres-world.ts";
import type { StoreProxy } from "./store-proxy.ts";

const where = { project: "/p/.git", cwd: "/p", wallMs: 1_700_000_000_000 };
const bounds = { ...quick, nearEntries: 0 };

interface Node {
  readonly name: string;
  readonly engine: Engine;
  readonly proxy: StoreProxy;
}

/** Starts the engine of node `name`, as its daemon does; `epochAfter` sets its epochs apart from the other nodes'. */
async function start(world: StoreWorld, name: string, epochAfter: number): Promise<Node> {
  const { journal, proxy } = await world.journal(name, bounds, { epochAfter });
  const engine = await Engine.start({
    journal,
    clock: systemClock(),
    node: name,
    storeId: "store",
    snapshotEntries: 40,
    onStep: () => {},
    onTrouble: (message, error) => {
      // A cut may meet a snapshot; the next one is stored.
      if (!message.startsWith("a snapshot")) throw new Error(message, { cause: error });
    },
    onFatal: error => {
      throw error;
    },
  });
  return { name, engine, proxy };
}

function begin(session: string): Command {
  const place = { cwd: "/p", project: "/p/.git", worktree: "/p", branch: "main" };
  return { type: "session_begin", session, anchor: null, ...place, name: session, revive: true, wallMs: 1 };
}

const actorOf = (session: string) => ({ session, agent: null, incarnation: 0 });

function create(session: string, name: string): Command {
  const task = { name, description: "", priority: "normal", labels: [], dependsOn: [] } as const;
  return { type: "task_create", by: actorOf(session), tasks: [task], many: false, ...where };
}

function claim(session: string): Command {
  return { type: "task_claim", actor: actorOf(session), task: null, labels: [], ...where };
}

/** The id of the task that a claim got. */
function taskOf(reply: Reply): string[] {
  return reply.ok && isObject(reply["task"]) ? [String(reply["task"]["id"])] : [];
}

await withServer("the engine over a store", server => {
  describe("engines of several nodes", () => {
    it("come to the same state, and no task is claimed by two", { timeout: 120_000 }, async () => {
      for (let seed = 1; seed <= 3; seed += 1) {
        const world = new StoreWorld(server);
        const random = new Random(seed);
        const nodes: Node[] = [];
        for (const [i, name] of ["a", "b", "c"].entries()) nodes.push(await start(world, name, i * 100));
        for (const { name, engine } of nodes) await engine.submitAndWait(begin(name));
        const claims: Promise<Reply>[] = [];
        for (let step = 0; step < 30; step += 1) {
          for (const { name, engine, proxy } of nodes) {
            void engine.submitAndWait(create(name, `${name} ${step}`));
            if (random.chance(0.7)) claims.push(engine.submitAndWait(claim(name)));
            if (random.chance(0.05)) proxy.cut();
          }
          await new Promise(resolve => setTimeout(resolve, random.int(0, 5)));
        }
        const replies = await Promise.all(claims);
        const claimed = replies.flatMap(taskOf);
        expect(claimed.length).toBeGreaterThan(0);
        expect(new Set(claimed).size).toBe(claimed.length);
        // All that is proposed is in the log; then each has read it.
        for (const { engine } of nodes) await engine.upToDate();
        for (const { engine } of nodes) await engine.upToDate();
        const [hash] = nodes.map(({ engine }) => stateHash(engine.state));
        for (const { engine } of nodes) {
          expect(check(engine.state)).toEqual([]);
          expect(stateHash(engine.state)).toBe(hash);
        }

        // A node that comes later has the state from the others' snapshot, and what follows it.
        const [{ engine: first }] = nodes as [Node];
        await expect
          .poll(async () => (await world.sql("SELECT 1 FROM $.snapshots WHERE complete")).length)
          .toBeGreaterThan(0);
        const late = await start(world, "d", 1_000);
        await late.engine.upToDate();
        await first.upToDate();
        expect(stateHash(late.engine.state)).toBe(stateHash(first.state));
        await Promise.all([...nodes, late].map(({ engine }) => engine.close()));
        await world.end();
      }
    });
  });
});
