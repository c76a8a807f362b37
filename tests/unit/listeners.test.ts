import { expect, test } from "vitest";
import type { CommandType, CoreEvent, Entry, Step } from "../../daemon/core/tables/entries.ts";
import { type Listener, Listeners } from "../../daemon/engine/log-view.ts";

/** Tells listeners of a step, and returns which of them saw it. */
function seen(
  wants: readonly Omit<Listener, "stepped">[],
  type: CommandType,
  events: readonly CoreEvent["event"]["event"][],
): readonly number[] {
  const calls: number[] = [];
  const listeners = new Listeners();
  for (const [n, one] of wants.entries()) listeners.add({ ...one, stepped: () => void calls.push(n) });
  // The listeners' choice reads no other fields.
  const step = { events: events.map(event => ({ event: { event } })) } as unknown as Step;
  listeners.tell({ command: { type } } as unknown as Entry, step);
  return calls;
}

test("a listener sees the steps that it wants, and no others", () => {
  const wants = [
    { commands: ["session_end"] },
    { events: ["lock_granted", "lock_released"] },
    { events: "all" },
    {},
  ] as const;
  expect(seen(wants, "lock_request", [])).toEqual([]);
  expect(seen(wants, "lock_request", ["lock_granted"])).toEqual([1, 2]);
  expect(seen(wants, "session_end", ["session_ended"])).toEqual([0, 2]);
});

test("a step that a listener wants for several reasons comes once", () => {
  const wants = [{ commands: ["turn_end"], events: ["lock_released", "lock_granted"] }] as const;
  expect(seen(wants, "turn_end", ["lock_released", "lock_granted", "lock_released"])).toEqual([0]);
});
