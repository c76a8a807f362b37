/** `kite` without a word. */
import { expect, it } from "vitest";
import { statusOrHelp } from "../../bin/commands/alone.ts";
import { fakeDaemon, fakeWorld } from "./command-world.ts";
import { lock, session } from "./view-rows.ts";

const terminal = { columns: 80, rows: 24 };
const none = { ok: true, rows: [] };

/** What `kite status` asks of a daemon with these rows. */
function overview(rows: { readonly sessions?: object[]; readonly locks?: object[] }) {
  const lists = { sessions: none, locks: none, holds: none, refusals: none, risks: none, watched: none };
  const [sessions, locks] = [rows.sessions ?? [], rows.locks ?? []].map(all => ({ ok: true, rows: all }));
  const stats = { version: "0.1.0", storeFull: false, voided: [], startedAt: 0, pid: 1, tasks: {} };
  return { ok: true, project: null, off: [], stats, ...lists, sessions, locks };
}

const busy = fakeDaemon({
  "query transcripts": { ok: true, rows: [] },
  overview: overview({ sessions: [session("alice")], locks: [lock("a.ts", "alice")] }),
  whoami: { ok: false, code: "unknown_session", error: "none" },
});
const idle = fakeDaemon({ overview: overview({}) });

it.each([
  ["a terminal where somebody is at work", { daemon: busy, terminal }, /alice/],
  ["a terminal where nobody is", { daemon: idle, terminal }, /^the help\n$/],
  ["a terminal without a daemon", { terminal }, /^the help\n$/],
  ["a pipe", { daemon: busy }, /^the help\n$/],
])("on %s", async (_where, options, shown) => {
  const world = fakeWorld(options);
  expect(await statusOrHelp(world, "the help\n")).toBe(0);
  expect(world.out()).toMatch(shown);
  expect(world.err()).toBe("");
});
