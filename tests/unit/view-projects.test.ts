/** What views show of the project that a person stands in, and of the others. */
import { realpathSync } from "node:fs";
import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import { sessions } from "../../bin/commands/home-screen.ts";
import { locks } from "../../bin/commands/live-locks.ts";
import { whoseView } from "../../bin/diff/whose.ts";
import { locksView } from "../../bin/view/locks.ts";
import { sessionLines, sessionsView } from "../../bin/view/sessions.ts";
import { statusView } from "../../bin/view/status.ts";
import { cut } from "../../bin/view/text.ts";
import { watchView } from "../../bin/watch/screen.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { WriteRow } from "../../protocol/work.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { fakeDaemon, fakeWorld } from "./command-world.ts";
import { busy, lock, now, screen, session } from "./view-rows.ts";

const shop = "/home/ana/code/shop/.git";
const blog = "/home/ana/code/blog/.git";
const pay = "/home/ana/code/pay/.git";
const asking = session("kim", { project: pay, worktree: "/home/ana/code/pay", attention: "Bash: make" });

describe("the project that one stands in", () => {
  const data = { ...busy, sessions: [...busy.sessions, asking], project: blog };

  it("is shown in full, the others in a line each, those that need a person first", () => {
    const lines = statusView(data, screen(80));
    expect(lines).toContain("Sessions: 5 in 3 projects, 2 need you, 1 waiting");
    const at = lines.indexOf("Other projects: kite status --all");
    expect(lines.slice(at, at + 4)).toEqual([
      "Other projects: kite status --all",
      "  pay   1 session, 1 needs you",
      "  shop  4 sessions, 1 needs you, 1 waiting, 1 active, 3 locks",
      "",
    ]);
    expect(lines.filter(line => line.includes("alice"))).toEqual([]);
    expect(lines).toContain("  posts/kite.md  hana  edit lock  1m");
  });

  it("names on a person's terminal who needs one in every project, and to an agent its own alone", () => {
    const own = session("ben", { project: blog, worktree: "/home/ana/code/blog", attention: "Edit: a.ts" });
    const of = { ...data, sessions: [...data.sessions, own] };
    const lines = statusView({ ...of, isPersons: true }, screen(80));
    expect(lines[0]).toBe("Needs you: ben, carol in shop, kim in pay");
    expect(lines).toContain("  pay   kim needs you (Bash: make), 1 session");
    expect(statusView({ ...data, isPersons: true, sessions: [asking] }, screen(80))[0]).toBe(
      "Needs you: kim in pay (Bash: make)",
    );
    expect(statusView(of, screen(80))[0]).toBe("Needs a person: ben (Edit: a.ts)");
    expect(statusView(data, screen(80))[0]).toMatch(/^Kite /);
    const many = Array.from({ length: 60 }, (_, i) =>
      session(`a-long-name-${i}`, { attention: "Bash: make" }),
    );
    for (const width of [60, 80, 160]) {
      const [line = ""] = statusView({ ...data, isPersons: true, sessions: many }, screen(width));
      expect(line).toMatch(/^Needs you: a-long-name-0 in shop, (.*, )?\d+ more$/);
      expect(line.length).toBeLessThanOrEqual(width);
      const of = { version: "0.1.0", tasks: [], news: [], away: null };
      const watched = watchView({ ...data, ...of, sessions: many }, screen(width), 24);
      expect(watched[0]).toMatch(/^14:00:00 · needs you: a-long-name-0 in shop, (.*, )?\d+ more/);
    }
  });

  it("is all of them if nobody is at work in it", () => {
    expect(statusView({ ...data, project: "/home/ana/.git" }, screen(80))).toEqual(
      statusView({ ...data, project: null }, screen(80)),
    );
  });

  it("bounds sessions and locks, too", () => {
    expect(sessionsView(data, screen(80)).filter(line => /alice|kim /.test(line))).toEqual([]);
    expect(locksView({ ...data, project: pay }, screen(80))).toEqual([
      "No locks in this project.",
      "",
      "Other projects: kite status --locks --all",
      "  shop  4 sessions, 1 needs you, 1 waiting, 1 active, 3 locks",
      "  blog  1 session, 1 lock",
    ]);
  });

  it("bounds whose work is shown", () => {
    const row = (project: string, file: string): WriteRow => ({
      file,
      path: `${project.slice(0, -5)}/${file}`,
      project,
      worktree: project.slice(0, -5),
      state: "changed",
      writers: [{ id: "a", agent: null, name: "alice", live: true, by: "edit", at: now }],
      holder: null,
    });
    const rows = [row(shop, "a.ts"), row(blog, "b.ts"), row(blog, "c.ts")];
    const lines = whoseView(rows, null, screen(80), shop);
    expect(lines.slice(-3)).toEqual(["", "Other projects: kite whose --all", "  blog  2 files"]);
    expect(lines.join("\n")).not.toContain("b.ts");
    expect(whoseView(rows, null, screen(80), null).join("\n")).toContain("b.ts");
  });

  it("is that of the working directory, or of the one named, or with --all none", async () => {
    const other = realpathSync(temporaryFolder("kite-other-"));
    const here = { project: "/home/ana/code/shop", worktree: "/home/ana/code/shop" };
    const daemon = fakeDaemon({
      "query sessions": { ok: true, rows: [session("ann", here), session("bob", { project: other })] },
      "query locks": { ok: true, rows: [lock("a.ts", "bob", { project: other, path: `${other}/a.ts` })] },
    });
    const never = new AbortController().signal;
    const shown = async (run: (world: ReturnType<typeof fakeWorld>) => Promise<number>) => {
      const world = fakeWorld({ daemon });
      expect(await run(world)).toBe(0);
      return world.out();
    };
    expect(await shown(w => sessions(w, false))).toContain(
      `Other projects: kite status --sessions --all\n  ${basename(other)}  1 session`,
    );
    expect(await shown(w => sessions(w, false, other))).not.toContain("    ann");
    const all = await shown(w => sessions(w, false, undefined, { all: true }));
    for (const name of ["ann", "bob"]) expect(all).toContain(`    ${name} `);
    expect(await shown(w => locks(w, {}, never))).toContain("No locks in this project.");
    expect(await shown(w => locks(w, { all: true }, never))).toContain("a.ts");
  });
});

describe("one long name", () => {
  const long = "x".repeat(70);

  it("does not take the room of all rows", () => {
    const rows = [session(long), session("bob", { branch: `feature/${long}` })];
    const lines = sessionsView({ sessions: rows, locks: [] }, screen(80));
    const name = lines.find(line => line.startsWith("    x")) ?? "";
    expect(name.indexOf("…")).toBe(4 + 19);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  });

  it("of a session does not break another's row at 80 columns", () => {
    const doing = { verb: "ran", what: "npm", forMs: 27_000 } as const;
    const own = session("brave-otter", { branch: "a-branch-of-16-co", doing, locks: 1 });
    const rowOf = (sessions: SessionRow[]) => {
      const lines = sessionLines({ sessions, locks: [] }, screen(80), { condense: false, detail: false });
      return lines.find(line => line.startsWith("    brave-otter"));
    };
    expect(rowOf([own])).toContain("ran npm 27s ago, holds 1 lock");
    expect(rowOf([own, session("a-name-of-twenty-five-char")])).toContain("ran npm 27s ago, holds 1 lock");
  });

  it("of a waiter's file is cut in its middle, so that its holder stands on the same line", () => {
    const file = `services/${"orders/".repeat(20)}invoice-worker.ts`;
    const waits = session("bob", { waitingFor: file, waitingForPath: `/home/ana/code/shop/${file}` });
    const by = { id: waits.id, agent: null, name: "bob", waitedMs: 4_000, attached: true };
    const held = lock(file, "alice", { path: `/home/ana/code/shop/${file}`, waiters: [by] });
    for (const width of [60, 80, 160]) {
      const lines = sessionLines({ sessions: [waits], locks: [held] }, screen(width), {
        condense: false,
        detail: false,
      });
      expect(lines).toHaveLength(3);
      expect(lines[2]).toMatch(/^ {6}for services\/.*….*invoice-worker\.ts behind alice$/);
    }
  });

  it("of a path is cut in its middle, so that the file stays", () => {
    expect(cut("src/a/very/long/way/to/auth.ts", 20, "middle")).toBe("src/a/…ay/to/auth.ts");
    expect(cut("src/auth.ts", 20, "middle")).toBe("src/auth.ts");
    expect(cut("src/auth.ts", 1, "middle")).toBe("…");
  });
});
