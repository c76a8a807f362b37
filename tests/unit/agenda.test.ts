import { expect, it } from "vitest";
import { apply } from "../../daemon/core/apply.ts";
import { emptyState } from "../../daemon/core/snapshot.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { Agenda } from "../../daemon/engine/clock.ts";
import { limits } from "../../protocol/limits.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { lockOf } from "./core-world.ts";
import { unlockOf } from "./engine-world.ts";

it("of locks that ended before their time few timers are left, of those that stand all", () => {
  const clock = new SimulatedClock(0);
  const state = emptyState();
  const elapsed: Command[] = [];
  const agenda = new Agenda({
    clock,
    now: () => clock.now(),
    state: () => state,
    submit: command => elapsed.push(command),
  });
  const apply1 = (command: Command) => {
    const seq = state.seq + 1;
    const step = apply(state, { seq, at: 0, origin: { node: "n", epoch: 1, n: seq }, command });
    expect(step.reply).toMatchObject({ ok: true });
    agenda.add(step.timers);
  };
  const standing = limits.timersUnsweptMax;
  for (let n = 0; n < standing; n += 1) apply1(lockOf("a", `stands-${n}`, 0, { kind: "turn" }));
  let most = 0;
  for (let n = 0; n < 10_000; n += 1) {
    apply1(lockOf("a", `goes-${n}`, 0, { kind: "turn" }));
    apply1(unlockOf("a", `goes-${n}`));
    most = Math.max(most, agenda.size);
  }
  expect(most).toBeLessThan(2 * standing);
  // No longer than a turn of the event loop may take; the clock's timer sees to the others.
  clock.freeze(limits.turnLeaseMs);
  agenda.proposeDue();
  expect(elapsed.length).toBeLessThanOrEqual(limits.turnTimersMax);
  clock.pass(0);
  expect(elapsed).toHaveLength(standing);
});
