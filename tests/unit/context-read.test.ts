/** What reads of a shared value leave in the log. */
import { expect, it } from "vitest";
import { contextAt } from "../../daemon/core/messages/context.ts";
import { noteRead } from "../../daemon/requests/messages.ts";
import { limits } from "../../protocol/limits.ts";
import { EngineWorld, MemoryPlace } from "./engine-world.ts";

/** An engine with two durable values that nobody has read for long enough that a read is news. */
async function world() {
  const w = await new EngineWorld(new MemoryPlace()).start();
  for (const key of ["port", "host"]) {
    const set = { type: "context_set", actor: null, project: "p", key, value: 1, bytes: 1 } as const;
    await w.do({ ...set, durable: true, ifVersion: null, ttlMs: null, wallMs: 0 });
  }
  await w.pass(limits.contextReadMs);
  const read = (key: string) => {
    const item = contextAt(w.state, "p", key);
    if (item === undefined) throw new Error(`no value ${key}`);
    noteRead(w, item);
  };
  return { w, read };
}

it("many reads at once propose one context_read for each key", async () => {
  const { w, read } = await world();
  for (let n = 0; n < 50; n += 1) read("port");
  for (let n = 0; n < 50; n += 1) read("host");
  await w.settle();
  expect(w.count("context_read")).toBe(2);
  expect(contextAt(w.state, "p", "port")?.usedAt).toBe(w.state.t);
});

it("reads while that is noted propose none, and one proposes again when it is news again", async () => {
  const { w, read } = await world();
  read("port");
  await w.settle();
  for (let n = 0; n < 50; n += 1) read("port");
  await w.settle();
  expect(w.count("context_read")).toBe(1);
  await w.pass(limits.contextReadMs);
  for (let n = 0; n < 50; n += 1) read("port");
  await w.settle();
  expect(w.count("context_read")).toBe(2);
});
