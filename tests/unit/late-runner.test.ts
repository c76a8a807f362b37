import { expect, it } from "vitest";
import type { Command, Entry } from "../../daemon/core/tables/entries.ts";
import { lateRunner } from "../../daemon/lead/merges.ts";

const bound = { node: "local", epoch: 3, connection: 7 };
const runner = { name: "r", bound };
const entry = (command: Command): Entry => ({
  seq: 1,
  at: 0,
  origin: { node: "local", epoch: 3, n: 1 },
  command,
});
const queued = entry({
  type: "merge_queue",
  by: null,
  project: "/p",
  base: "refs/heads/main",
  runner,
  rebase: false,
  checkOnly: false,
  merges: [],
  wallMs: 0,
});
const taken = entry({
  type: "merge_take",
  by: null,
  project: "/p",
  base: "refs/heads/main",
  runner,
  drain: false,
  wallMs: 0,
});
const attached = entry({ type: "merge_attach", runner });
const ended = entry({ type: "merge_unbind", bound, wallMs: 0 });

it("names the closed connection that an entry tied a merge to", () => {
  for (const one of [queued, taken, attached]) {
    expect(lateRunner(one, () => true)).toBe(bound);
    expect(lateRunner(one, () => false)).toBe(null);
  }
});

it("names none for the entry that ends the tie, which would be proposed for ever", () => {
  expect(lateRunner(ended, () => true)).toBe(null);
});
