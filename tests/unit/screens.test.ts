/**
 * The screens of every view with 0, 1, 5, 12 and 60 sessions at 60, 80 and 160 columns, as a person sees them:
 * tests/fixtures/screens. After a change of a view: UPDATE=1, and read the difference.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { commands } from "../../bin/command-table.ts";
import { whoseView } from "../../bin/diff/whose.ts";
import { helpOf } from "../../bin/help.ts";
import { logLines, logText } from "../../bin/trail/sentences.ts";
import { locksView } from "../../bin/view/locks.ts";
import { sessionsView } from "../../bin/view/sessions.ts";
import { statusView } from "../../bin/view/status.ts";
import { type Screen, widthOf } from "../../bin/view/text.ts";
import { watchView } from "../../bin/watch/screen.ts";
import {
  here,
  locksOf,
  resourcesOf,
  sessionsOf,
  tasksOf,
  titlesOf,
  trailOf,
  writesOf,
} from "./screens-world.ts";
import { svgOf } from "./svg.ts";
import { now, screen } from "./view-rows.ts";

const counts = [0, 1, 5, 12, 60] as const;
const widths = [60, 80, 160] as const;
/** The rows of a terminal of that width. */
const rows: Readonly<Record<number, number>> = { 60: 15, 80: 24, 160: 40 };
const folder = fileURLToPath(new URL("../fixtures/screens/", import.meta.url));

function dataOf(count: number) {
  const sessions = sessionsOf(count);
  const locks = locksOf(sessions);
  return { sessions, locks, tasks: tasksOf(sessions), writes: writesOf(sessions), trail: trailOf(sessions) };
}

type Data = ReturnType<typeof dataOf>;

function statusOf({ sessions, locks, tasks }: Data, project: string | null) {
  const active = tasks.filter(task => task.status === "active").length;
  const counted = { active, ready: tasks.length - active, blocked: 0, failed: 0, done: 0 };
  const of = { sessions: sessions.length, locks: locks.length, tasks: counted };
  const stats = { version: "0.1.0", pid: 4711, upMs: 7_500_000, ...of };
  const [first] = sessions;
  const refusals =
    first === undefined
      ? []
      : [
          {
            at: now - 130_000,
            type: "PreToolUse",
            id: first.id,
            name: first.name,
            file: "src/orders/page.ts",
            code: "lock_timeout",
            error: "lock queue timeout (50s)",
          },
        ];
  const rest = {
    socket: "/home/ana/.kite/kite.sock",
    holds: [],
    refusals,
    risks: [],
    watched: [],
    next: ["Next: kite install, which connects your agents; kite demo shows first what Kite does."],
    warnings: [],
  };
  return { stats, sessions, locks, project, isPersons: true, ...rest };
}

const views: Readonly<Record<string, (data: Data, at: Screen) => string[]>> = {
  status: (data, at) => statusView(statusOf(data, here), at),
  "status-all": (data, at) => statusView(statusOf(data, null), at),
  sessions: (data, at) =>
    sessionsView({ ...data, project: here, terminals: new Map([[4_000, "tmux %5, pts/3"]]) }, at),
  locks: (data, at) => locksView({ ...data, project: here }, at),
  "status-resources": (data, at) =>
    statusView(statusOf({ ...data, locks: [...data.locks, ...resourcesOf(data.sessions)] }, here), at),
  "locks-resources": (data, at) =>
    locksView({ ...data, locks: [...data.locks, ...resourcesOf(data.sessions)], project: here }, at),
  whose: ({ writes }, at) => whoseView(writes, null, at, here),
  watch: (data, at) => {
    const news = data.trail.map(line => ({ at: line.at, text: logText(line, at.home) }));
    const of = { version: "0.1.0", refusals: [], news, away: null, project: here };
    return watchView({ ...data, ...of }, at, rows[at.width] ?? 24);
  },
  "status-titles": (data, at) => statusView({ ...statusOf(data, here), titles: titlesOf(data.sessions) }, at),
  "watch-titles": (data, at) => {
    const of = { version: "0.1.0", refusals: [], news: [], away: null, project: here };
    return watchView({ ...data, ...of, titles: titlesOf(data.sessions) }, at, rows[at.width] ?? 24);
  },
  log: ({ trail }, at) => trail.flatMap(line => logLines(line, at)),
};

describe.each(Object.keys(views))("%s", name => {
  it.each(counts)("with %d sessions is as it was", count => {
    const data = dataOf(count);
    const pictures = widths.map(width => {
      const lines = views[name]?.(data, screen(width)) ?? [];
      // A command is to be copied whole.
      const cut = lines.filter(line => !/^ *(?:git|cd) /.test(line));
      for (const line of cut) expect(widthOf(line)).toBeLessThanOrEqual(width);
      return `== ${name}, ${count} sessions, ${width} columns ==\n${lines.join("\n")}\n`;
    });
    const drawn = `${pictures.join("\n").replaceAll(/[ \u00a0]+$/gm, "")}`;
    const file = `${folder}${name}-${count}.txt`;
    if (process.env["UPDATE"] === "1") {
      mkdirSync(folder, { recursive: true });
      writeFileSync(file, drawn);
    }
    expect(drawn).toBe(readFileSync(file, "utf8"));
  });
});

it("kite help is as it was, in 80 columns at most", () => {
  const pictures = widths.map(width => {
    const text = helpOf(["help"], commands, width) ?? "";
    for (const line of text.split("\n")) expect(widthOf(line)).toBeLessThanOrEqual(80);
    return `== help, ${width} columns ==\n${text}`;
  });
  const file = `${folder}help.txt`;
  if (process.env["UPDATE"] === "1") writeFileSync(file, pictures.join("\n"));
  expect(pictures.join("\n")).toBe(readFileSync(file, "utf8"));
});

it("README's picture is the status of five sessions", () => {
  const lines = statusView(statusOf(dataOf(5), here), screen(88, { color: true }));
  const drawn = svgOf(["$ kite status", ...lines], "kite status with five sessions");
  const file = fileURLToPath(new URL("../../bin/view/status.svg", import.meta.url));
  if (process.env["UPDATE"] === "1") writeFileSync(file, drawn);
  expect(drawn).toBe(readFileSync(file, "utf8"));
});
