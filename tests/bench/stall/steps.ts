/** What a daemon does by itself among so many: each step of the background, and what of it is a unit. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { limits } from "../../../protocol/limits.ts";
import { encodeLine } from "../../../protocol/wire.ts";
import { upTo, type World } from "./world.ts";

export interface Step {
  readonly what: string;
  /** Prepares what is not measured. */
  prepare?(world: World): Promise<() => void>;
  /** Resolves with the number of units when the step is over. */
  run(world: World): Promise<number>;
}

/** Lines of the trail that fill a file of it: one has 200 bytes and more. */
const trailLines = Math.ceil(limits.trailBytes / 200);

const snapshot: Step = {
  what: "a snapshot",
  async run(world) {
    const stored = world.order({ is: "snapshot" });
    await touch(world);
    await stored;
    return world.n;
  },
};

/** Each second: processes, silent sessions, files of the daemon; and now and then who is active is stored. */
const rest: Step = {
  what: "three seconds at rest, a session",
  async run(world) {
    await world.order({ is: "forward", ms: limits.presenceSaveMs });
    await delay(3 * limits.anchorPollMs);
    return world.counts.sessions;
  },
};

const trail: Step = {
  what: "the trail's next file, a line of it",
  async run(world) {
    const id = world.session(1);
    const refused = upTo(trailLines, i => ({ type: "file_unlock", id, file: `/tmp/kite-bench/none-${i}` }));
    await world.talk.all(refused, ["not_held"]);
    return trailLines;
  },
};

const told: Step = {
  what: "an event that all subscribers want, one of them",
  async prepare(world) {
    const sockets: Socket[] = [];
    for (let i = 0; i < world.counts.subscribers; i += 1) {
      const socket = connect(join(world.home, "kite.sock"));
      await once(socket, "connect");
      socket.write(encodeLine({ type: "subscribe", events: ["context_changed"] }));
      await once(socket, "data");
      socket.resume();
      sockets.push(socket);
    }
    return () => {
      for (const socket of sockets) socket.destroy();
    };
  },
  async run(world) {
    for (let i = 0; i < 10; i += 1) await touch(world);
    return 10 * world.counts.subscribers;
  },
};

/** Sessions without a process are lost, and what they locked ends. */
const timers: Step = {
  what: "timers of all that is due, a lock",
  async run(world) {
    await world.order({ is: "forward", ms: limits.silenceMs + limits.anchorPollMs });
    await still(world);
    await world.order({ is: "forward", ms: limits.explicitLeaseMs + limits.waitMaxMs });
    await still(world);
    return world.n;
  },
};

const reaped: Step = {
  what: "the end of all processes, a session",
  async run(world) {
    for (const child of world.processes) child.kill("SIGKILL");
    await still(world);
    return world.counts.sessions;
  },
};

const departed: Step = {
  what: "the end of all connections, one of them",
  async run(world) {
    const sockets = await Promise.all(
      upTo(Math.min(world.n, 1_000), async () => {
        const socket = connect(join(world.home, "kite.sock"));
        await once(socket, "connect");
        return socket;
      }),
    );
    for (const socket of sockets) socket.destroy();
    await still(world);
    return sockets.length;
  },
};

/** Steps before the daemon stops, and those after its next start. */
export const before: readonly Step[] = [snapshot, rest, trail, departed, told];
export const after: readonly Step[] = [timers, reaped];

/** An entry of the journal that is the same in every world. */
async function touch(world: World): Promise<void> {
  await world.talk.ask({ type: "context_set", key: "touched", project: world.cwd, value: 1 });
}

/** Resolves when the daemon has stored nothing more for a second and a half. */
async function still({ talk }: World): Promise<void> {
  let last = -1;
  for (;;) {
    const { seq } = await talk.ask({ type: "stats" });
    if (seq === last) return;
    last = Number(seq);
    await delay(1_500);
  }
}
