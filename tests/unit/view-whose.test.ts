import { expect, it } from "vitest";
import { whose, whoseView } from "../../bin/diff/whose.ts";
import { widthOf } from "../../bin/view/text.ts";
import type { WriteRow } from "../../protocol/work.ts";
import { fakeDaemon, fakeWorld } from "./command-world.ts";

const now = 1_000_000_000;
const screen = { width: 80, color: false, now, home: "/home/ana" };
const writer = (name: string, more: object = {}) => ({
  id: name,
  agent: null,
  name,
  live: true,
  by: "edit" as const,
  at: now - 120_000,
  ...more,
});

function row(file: string, more: Partial<WriteRow> = {}): WriteRow {
  const worktree = more.worktree ?? "/home/ana/shop";
  return {
    file,
    path: `${worktree}/${file}`,
    project: "/home/ana/shop",
    worktree,
    state: "changed",
    writers: [writer("alice")],
    holder: null,
    ...more,
  };
}

it("shows files by worktree, with the command for each session's own", () => {
  const rows = [
    row("src/b.ts", { state: "untracked" }),
    row("src/a.ts", { holder: { id: "alice", agent: null, name: "alice" } }),
    row("src/both.ts", { writers: [writer("bob"), writer("alice")] }),
    row("old one.ts", { writers: [writer("cyd", { live: false, at: 0 })] }),
    row("x.ts", {
      worktree: "/home/ana/side",
      writers: [writer("alice/helper", { id: "alice", agent: "h" })],
    }),
  ];
  expect(whoseView(rows, null, screen)).toEqual([
    "~/shop",
    "  old one.ts   cyd (ended)   changed          11d 13h",
    "  src/a.ts     alice         changed    held       2m",
    "  src/b.ts     alice         untracked             2m",
    "  src/both.ts  bob, alice    changed               2m",
    "",
    "~/side",
    "  x.ts         alice/helper  changed               2m",
    "",
    "To commit only one session's files:",
    "  cyd (ended), 1 file:",
    "    git -C /home/ana/shop commit -- 'old one.ts'",
    "  alice, 2 files:",
    "    git -C /home/ana/shop add -- src/b.ts && git -C /home/ana/shop commit -- src/a.ts src/b.ts",
    "  alice, 1 file:",
    "    git -C /home/ana/side commit -- x.ts",
    "",
    "1 file with work of several sessions: agree with them before you commit.",
  ]);
});

it("fits 80 columns whatever the names, and takes no control characters over", () => {
  const name = "a-long-name-of-a-session-".repeat(4);
  const rows = [
    row(`${"deep/".repeat(30)}file\u001b[31m.ts`, { writers: [writer(name), writer("b\u202eob")] }),
  ];
  const lines = whoseView(rows, null, screen).filter(line => !line.includes("git -C"));
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(80);
  const text = whoseView(rows, null, screen).join("\n");
  for (const hidden of ["\u001b", "\u202e"]) expect(text).not.toContain(hidden);
});

it("names files literally where git would read a pattern", () => {
  expect(whoseView([row("[id].ts")], null, screen)).toContain(
    "    git -C /home/ana/shop --literal-pathspecs commit -- '[id].ts'",
  );
});

it("asks the daemon, and shows one file alone", async () => {
  const rows = [row("a.ts", { path: "/none/a.ts" }), row("b.ts", { path: "/none/b.ts" })];
  const world = fakeWorld({ daemon: fakeDaemon({ "query writes": { ok: true, rows } }) });
  expect(await whose(world, "/none/a.ts", { json: true })).toBe(0);
  expect(JSON.parse(world.out())).toEqual({ writes: [rows[0]] });
  const none = fakeWorld({ daemon: fakeDaemon({ "query writes": { ok: true, rows: [] } }) });
  await whose(none, "c.ts", {});
  expect(none.out()).toBe("No uncommitted work in c.ts that Kite saw a session write.\n");
});
