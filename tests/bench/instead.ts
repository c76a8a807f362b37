/** What one could use in place of Kite's locks, as far as this machine has it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { lock } from "proper-lockfile";

/** A server on a socket; `end` ends it. */
export interface Other {
  readonly socket: string;
  end(): Promise<void>;
}

/** Starts Redis with an append-only file that is synced each second; null if it is not on the PATH. */
export async function redis(dir: string): Promise<Other | null> {
  const home = join(dir, "redis");
  const socket = join(home, "redis.sock");
  mkdirSync(home);
  const kept = ["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""];
  const where = ["--port", "0", "--unixsocket", socket, "--dir", home];
  const child = spawn("redis-server", [...where, ...kept], { stdio: "ignore" });
  const failed = new Promise<"failed">(resolve => {
    child.once("error", () => resolve("failed"));
    child.once("exit", () => resolve("failed"));
  });
  const is = await Promise.race([failed, answering(socket, child)]);
  if (is === "failed") return null;
  return {
    socket,
    end: async () => {
      const gone = once(child, "exit");
      child.kill();
      await gone;
    },
  };
}

/** Redis tells nobody when it listens. */
async function answering(socket: string, child: ChildProcess): Promise<"answers" | "failed"> {
  while (child.exitCode === null) {
    await delay(20);
    const probe = connect(socket);
    const is = await Promise.race([
      once(probe, "connect").then(() => true),
      once(probe, "close").then(() => false),
    ]).catch(() => false);
    probe.destroy();
    if (is) return "answers";
  }
  return "failed";
}

/** Milliseconds of each of `count` locks and unlocks of a file by `proper-lockfile`, one after the other. */
export async function lockFilePairs(dir: string, count: number): Promise<number[]> {
  const file = join(dir, "locked-by-file");
  writeFileSync(file, "");
  const samples: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const began = performance.now();
    const release = await lock(file);
    await release();
    samples.push(performance.now() - began);
  }
  return samples;
}
