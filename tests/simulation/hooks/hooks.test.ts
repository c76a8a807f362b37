import { expect, it } from "vitest";
import { runOnce } from "../run.ts";

const looks = { tell: false, audit: false, hooks: true };

/** What agents must have done over hooks, or the simulation has proved nothing about it. */
const mustOccur = [
  "session_begin",
  "session_end",
  "turn_end",
  "lock_request",
  "lock_detach",
  "flight_end",
  "lease_renew",
  "agent_begin",
  "agent_end",
  "agent_release",
  "conflict_noted",
  "elapse",
];

it.each(["file", "memory"] as const)(
  "no answer shows that Kite is there where it only observes: %s",
  async host => {
    const would = new Set<string>();
    for (let seed = 4_000; seed < 4_004; seed += 1) {
      const { failure, would: done } = await runOnce(seed, 600, host, { ...looks, observes: true });
      expect(failure, `seed ${seed}`).toBeNull();
      for (const one of done) would.add(one);
    }
    // Else there was nothing to keep silent about.
    expect([...would]).toEqual(expect.arrayContaining(["tell", "wait"]));
  },
);

it.each(["file", "memory"] as const)("what hooks promise holds over five seeds: %s", async host => {
  const occurred = new Set<string>();
  for (let seed = 3_000; seed < 3_005; seed += 1) {
    const { failure, counts } = await runOnce(seed, 600, host, looks);
    expect(
      failure,
      `npm run simulate -- --hooks --host ${host} --from ${seed} --seeds 1 --steps 600`,
    ).toBeNull();
    for (const name of counts.commands.keys()) occurred.add(name);
  }
  expect(mustOccur.filter(name => !occurred.has(name))).toEqual([]);
});
