/**
 * The daemon as it is, `HOME`, with three handles for `stall.ts`: a clock that can be set forward, a snapshot on
 * demand, and a watch of the longest turn of its event loop.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { loadConfig } from "../../../daemon/config/config.ts";
import { type Clock, systemClock } from "../../../daemon/engine/clock.ts";
import { createLog } from "../../../daemon/instance/log.ts";
import { FileJournal } from "../../../daemon/journal/file-journal.ts";
import type { JournalHealth, Pieces } from "../../../daemon/journal/journal.ts";
import { startDaemon } from "../../../daemon/start.ts";
import { claudeCode } from "../../../hooks/claude-code/adapter.ts";
import { kitePaths } from "../../../protocol/paths.ts";

/** What the program is asked for, and what it answers: the longest turn since `watch`, in milliseconds. */
export type Order =
  | { readonly is: "watch" }
  | { readonly is: "watched" }
  | { readonly is: "forward"; readonly ms: number }
  | { readonly is: "snapshot" }
  | { readonly is: "stop" };
export interface Watched {
  /** Processor time of the daemon's thread between two looks. */
  readonly turnMs: number;
  /** Elapsed time between them. */
  readonly delayMs: number;
}

/** The machine's clock, and as much more as it was set forward. */
class ForwardClock implements Clock {
  readonly #system = systemClock();
  readonly #waiting = new Set<{ readonly at: number; readonly callback: () => void; cancel: () => void }>();
  #ahead = 0;

  now(): number {
    return this.#system.now() + this.#ahead;
  }

  wall(): number {
    return this.#system.wall() + this.#ahead;
  }

  at(at: number, callback: () => void): () => void {
    const one = { at, callback, cancel: () => {} };
    this.#waiting.add(one);
    this.#arm(one);
    return () => {
      this.#waiting.delete(one);
      one.cancel();
    };
  }

  forward(ms: number): void {
    this.#ahead += ms;
    for (const one of this.#waiting) {
      one.cancel();
      this.#arm(one);
    }
  }

  #arm(one: { readonly at: number; readonly callback: () => void; cancel: () => void }): void {
    one.cancel = this.#system.at(one.at - this.#ahead, () => {
      this.#waiting.delete(one);
      one.callback();
    });
  }
}

/** The journal in files; its health says that a snapshot is due when one was asked for. */
class AskedJournal extends FileJournal {
  #asked: (() => void) | null = null;

  override get health(): JournalHealth {
    const { bytes, full } = super.health;
    return this.#asked === null ? { bytes: -1, full } : { bytes: Math.max(bytes, 2 ** 50), full };
  }

  /** Resolves when the next snapshot is stored; the next entry brings it about. */
  snapshot(): Promise<void> {
    return new Promise(resolve => {
      this.#asked = resolve;
    });
  }

  override async saveSnapshot(seq: number, pieces: Pieces): Promise<void> {
    const stored = this.#asked;
    this.#asked = null;
    await super.saveSnapshot(seq, pieces);
    stored?.();
  }
}

/** Looks at the time every millisecond, as far as the event loop lets it. */
class Watch {
  #timer: NodeJS.Timeout | null = null;
  #turnMs = 0;
  #delayMs = 0;

  begin(): void {
    [this.#turnMs, this.#delayMs] = [0, 0];
    let [ran, now] = [threadMs(), performance.now()];
    this.#timer = setInterval(() => {
      const [ranNow, nowNow] = [threadMs(), performance.now()];
      this.#turnMs = Math.max(this.#turnMs, ranNow - ran);
      this.#delayMs = Math.max(this.#delayMs, nowNow - now);
      [ran, now] = [ranNow, nowNow];
    }, 1);
  }

  end(): Watched {
    clearInterval(this.#timer ?? undefined);
    return { turnMs: this.#turnMs, delayMs: this.#delayMs };
  }
}

const buffer = Buffer.alloc(128);

/** Processor time of this thread in milliseconds; where the kernel does not tell, of this process. */
function threadMs(): number {
  if (statistics === null) {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }
  const size = readSync(statistics, buffer, 0, buffer.length, 0);
  return Number.parseInt(buffer.toString("latin1", 0, size), 10) / 1e6;
}

const statistics = opened(`/proc/${process.pid}/task/${process.pid}/schedstat`);

function opened(path: string): number | null {
  try {
    return openSync(path, "r");
  } catch {
    return null; // Another system, or a kernel without these statistics.
  }
}

const [, , home = ""] = process.argv;
const env = { KITE_HOME: home };
const paths = kitePaths(env);
const config = await loadConfig({ env, paths });
const { logger: log } = createLog(paths.log);
const clock = new ForwardClock();
const journal = new AskedJournal({ dir: paths.journal });
const watch = new Watch();
const options = {
  paths,
  version: "bench",
  config,
  adapters: [claudeCode],
  log,
  clock,
  journal,
  snapshotEntries: 1,
};
const started = await startDaemon(options);
if (started.is !== "started") throw new Error(`the daemon did not start: ${JSON.stringify(started)}`);
const { daemon } = started;

async function follow(order: Order): Promise<unknown> {
  switch (order.is) {
    case "watch":
      watch.begin();
      return true;
    case "watched":
      return watch.end();
    case "forward":
      clock.forward(order.ms);
      return true;
    case "snapshot":
      await journal.snapshot();
      return true;
    case "stop":
      daemon.stop("the measurement is over");
      await daemon.done;
      if (statistics !== null) closeSync(statistics);
      return true;
  }
}

process.on("message", (order: Order) => void follow(order).then(answer => process.send?.(answer)));
process.on("disconnect", () => process.exit());
process.on("SIGINT", () => process.exit());
process.send?.({ rss: process.memoryUsage.rss() });
