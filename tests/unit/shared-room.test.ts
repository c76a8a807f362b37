/** Which sessions of a machine make room for others, when some have something in the shared log alone. */
import { expect, it } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { begin, claim, create, type Machine, MemoryStoreOfAll, machine } from "./shared-world.ts";

const anchor = { pid: 7, startTime: "1" };

/** A machine with as many sessions of one process as that may have, of which the first has a task. */
async function crowded(): Promise<Machine> {
  const laptop = await machine("laptop", new MemoryStoreOfAll());
  expect(await laptop.store.open(10_000)).toBe(true);
  for (let n = 0; n < limits.sessionsPerProcessMax; n += 1) await begin(laptop, `s${n}`, { anchor });
  await take(laptop, "s0");
  return laptop;
}

async function take(laptop: Machine, session: string): Promise<void> {
  expect(await laptop.log.submitAndWait(create(laptop, session, "x"))).toMatchObject({ ok: true });
  expect(await laptop.log.submitAndWait(claim(laptop, session))).toMatchObject({ ok: true });
}

it("keeps a session with a shared task, and ends one that has nothing in either log", async () => {
  const laptop = await crowded();
  expect(await begin(laptop, "more", { anchor })).toMatchObject({ ok: true });
  const { live } = laptop.own.state.sessions;
  expect([live.has("s0"), live.has("s1"), live.has("more")]).toEqual([true, false, true]);
  expect(live.size).toBe(limits.sessionsPerProcessMax);
});

it("refuses one more where all have a shared task", async () => {
  const laptop = await crowded();
  for (let n = 1; n < limits.sessionsPerProcessMax; n += 1) await take(laptop, `s${n}`);
  expect(await begin(laptop, "more", { anchor })).toMatchObject({
    code: "too_many_sessions",
    error: expect.stringContaining("in the shared store; end some first"),
  });
  expect(laptop.own.state.sessions.live.size).toBe(limits.sessionsPerProcessMax);
  // One that has ended makes room as ever.
  const end = { type: "session_end", session: "s5", incarnation: null, cause: "ended" } as const;
  expect(await laptop.log.submitAndWait(end)).toMatchObject({ ok: true });
  expect(await begin(laptop, "more", { anchor })).toMatchObject({ ok: true });
});
