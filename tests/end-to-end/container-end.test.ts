import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { adapters } from "../../bin/adapters.ts";
import { loadConfig } from "../../daemon/config/config.ts";
import { type Clock, systemClock } from "../../daemon/engine/clock.ts";
import { createLog } from "../../daemon/instance/log.ts";
import type { RunningDaemon } from "../../daemon/options.ts";
import { startDaemon } from "../../daemon/start.ts";
import { limits } from "../../protocol/limits.ts";
import { Container, containerProblem } from "./container.ts";
import { Home } from "./daemon.ts";
import { hookPrograms, silent } from "./hook-clients.ts";

const problem = containerProblem();
const homes: Home[] = [];
const daemons: RunningDaemon[] = [];

afterEach(async () => {
  for (const daemon of daemons.splice(0)) {
    daemon.stop("the test is over");
    await daemon.done;
  }
  for (const home of homes.splice(0)) await home.dispose();
});

/** The machine's clock, which a test may set forward. */
class JumpingClock implements Clock {
  #aheadMs = 0;
  readonly #real = systemClock();
  readonly #timers = new Set<() => void>();

  now(): number {
    return this.#real.now() + this.#aheadMs;
  }

  wall(): number {
    return this.#real.wall() + this.#aheadMs;
  }

  at(at: number, callback: () => void): () => void {
    const ring = () => {
      this.#timers.delete(arm);
      callback();
    };
    let cancel = () => {};
    const arm = () => {
      cancel();
      cancel = this.#real.at(at - this.#aheadMs, ring);
    };
    arm();
    this.#timers.add(arm);
    return () => {
      this.#timers.delete(arm);
      cancel();
    };
  }

  jump(ms: number): void {
    this.#aheadMs += ms;
    for (const arm of this.#timers) arm();
  }
}

test("a session of a killed container lapses after its silence, and others get its file", async () => {
  if (problem !== null) return console.warn(`container-end.test.ts tests nothing: ${problem}`);
  const home = new Home({ kite: ".kite" });
  homes.push(home);
  const { paths } = home;
  mkdirSync(paths.home, { mode: 0o700 });
  const clock = new JumpingClock();
  const config = await loadConfig({ env: home.environment, paths });
  const { logger: log } = createLog(paths.log);
  const started = await startDaemon({ paths, version: "0.0.0", config, adapters, log, clock });
  if (started.is !== "started") throw new Error(`the daemon did not start: ${started.is}`);
  daemons.push(started.daemon);
  const container = await Container.start(home);
  const host = await home.session("out");
  await host.ask({ type: "subscribe" });
  const event = (name: string, fields: object = {}) =>
    JSON.stringify({
      session_id: "in",
      cwd: container.work,
      prompt_id: "p",
      hook_event_name: name,
      ...fields,
    });
  const [program] = hookPrograms;
  const hook = (text: string) => container.run([...(program?.command ?? []), "52000"], text);
  expect(await hook(event("SessionStart", { source: "startup" }))).toEqual(silent);
  const tool_input = { file_path: join(container.work, "a.txt") };
  const edit = event("PreToolUse", { tool_name: "Edit", tool_use_id: "t", tool_input });
  expect(await hook(edit)).toEqual(silent);

  await container.kill();
  const lock = host.ask({ type: "file_lock", id: "out", file: "a.txt", waitMs: limits.waitMaxMs });
  await host.event("lock_queued");
  const { rows } = await (await home.connect()).ask({ type: "query", target: "sessions" });
  expect(rows).toMatchObject([{ id: "out" }, { id: "in", status: "active", container: true }]);
  clock.jump(limits.silenceMs);
  await host.event("session_lost", ({ id }) => id === "in");
  clock.jump(limits.lockDelayMs);
  expect(await lock).toMatchObject({ ok: true, granted_from_queue: true });
});
