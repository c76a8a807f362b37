/** Trail lines of a store that machines share, and how the commands that read the trail count them. */
import { expect, it } from "vitest";
import { ReportCounter } from "../../bin/trail/report-counter.ts";
import { logLines } from "../../bin/trail/sentences.ts";
import { TrailCounter } from "../../bin/trail/stats.ts";
import { askedFields, changeLines, joinedLine, movedLines } from "../../daemon/store/shared.ts";
import { decode, encode, type TrailLine } from "../../daemon/trail/line.ts";
import type { StoreState } from "../../protocol/schemas/store.ts";
import { now, screen } from "./view-rows.ts";

const open: StoreState = {
  ...{
    where: "kite@db/kite",
    is: "open",
    since: null,
    why: null,
    wentBackAt: null,
    node: "0123456789",
    machine: "laptop",
  },
  nodes: [
    { machine: "laptop", is: "here" },
    { machine: "desk", is: "here" },
  ],
};
const away: StoreState = { ...open, is: "away", since: now - 300_000, why: "the connection ended" };
const refused: StoreState = { ...open, is: "refused", code: "node_twice", why: "another home of node n" };
const begun: StoreState = { ...open, is: "opening", nodes: [], machine: null };
const desk = (is: "here" | "away" | "gone"): StoreState => ({
  ...open,
  nodes: [...open.nodes.slice(0, 1), { machine: "desk", is }],
});

const said = (before: StoreState, after: StoreState) =>
  changeLines(before, after, now).map(line => logLines(line, screen(1000)).join("\n"));

it("say when the store is away and why, and for how long it was when it is back", () => {
  expect(said(open, away)).toEqual([
    "14:00:00  note   -                 store         kite@db/kite does not answer: the connection ended; locks and edits go on without it",
  ]);
  expect(said(away, open)).toEqual([expect.stringMatching(/kite@db\/kite is open again after 5 min$/)]);
  expect(said(begun, open)).toEqual([expect.stringMatching(/kite@db\/kite is open$/)]);
  const failed = { ...begun, why: "ECONNREFUSED" };
  expect(said(begun, failed)).toEqual([expect.stringMatching(/is not reached: ECONNREFUSED$/)]);
  expect(said(failed, { ...begun, why: "ETIMEDOUT" })).toEqual([]);
  const named = { ...begun, why: "the store kite@db:5432/kite cannot be used now: ETIMEDOUT" };
  expect(said(begun, named)).toEqual([expect.stringMatching(/kite@db\/kite is not reached: ETIMEDOUT$/)]);
  expect(said(open, { ...begun, why: "the log was pruned" })).toEqual([
    expect.stringMatching(/is not reached: the log was pruned$/),
  ]);
});

it("say that the store went back, once", () => {
  const back = { ...open, wentBackAt: now };
  expect(said(open, back)).toEqual([
    expect.stringContaining("kite@db/kite went back: a backup was restored"),
  ]);
  expect(said(away, back)).toHaveLength(2);
  expect(said(back, { ...back, nodes: [...back.nodes] })).toEqual([]);
});

it("say why a move broke off, once for each reason", () => {
  const left = (why: string | null): StoreState => ({
    ...open,
    unmoved: { projects: ["app"], tasks: 1, context: 0, why },
  });
  expect(said(open, left(null))).toEqual([]);
  expect(said(left(null), left("no room"))).toEqual([
    expect.stringMatching(/store +no room; Kite goes on moving it by itself$/),
  ]);
  expect(said(left("no room"), left("no room"))).toEqual([]);
});

it("say what the daemon moved by itself, and that it undid a leave", () => {
  const moved = {
    tasks: 1,
    context: 0,
    numbers: [],
    keys: [],
    released: ["t-9"],
    leftOut: [],
    returns: [],
    stays: [],
  };
  const sharing = { project: "/p/.git", as: "example.com/p" };
  expect(movedLines(sharing, moved, now)).toMatchObject([
    {
      project: "/p/.git",
      why: "what was left here of example.com/p is in the store now: tasks 1, context keys 0; claims of this machine that are gone: t-9",
    },
  ]);
  expect(movedLines(sharing, { ...moved, tasks: 0, released: [] }, now)).toEqual([]);
  const numbers = [{ task: "t-8", before: 1, after: 3 }];
  expect(movedLines(sharing, { ...moved, numbers, released: [] }, now)[0]?.why).toMatch(
    /: tasks 1, context keys 0; numbers that changed: #1 is #3 now$/,
  );
  const undone = { ...open, leaveUndoneAt: now };
  expect(said(open, undone)).toEqual([
    expect.stringContaining("kite store leave broke off, and Kite took out"),
  ]);
  expect(said(undone, { ...undone })).toEqual([]);
});

it("say why the store does not take this machine, with the refusal's code", () => {
  expect(said(open, refused)).toEqual([
    expect.stringContaining("does not take this machine: another home of node n"),
  ]);
  expect(changeLines(open, refused, now)).toMatchObject([
    { code: "node_twice", type: "refused", rule: "store" },
  ]);
});

it("say nothing of a store that this machine left by itself", () => {
  const left = { ...refused, code: "store_none", why: "this machine left the store" };
  expect(said(open, left)).toEqual([]);
});

it("say which machine came, fell silent, is back, is gone or left, as long as the store tells", () => {
  const told = (before: StoreState, after: StoreState) =>
    changeLines(before, after, now).map(({ why }) => why);
  expect(told(desk("here"), desk("away"))).toEqual(["desk fell silent"]);
  expect(told(desk("away"), desk("here"))).toEqual(["desk is back"]);
  expect(told(desk("away"), desk("gone"))).toEqual(["desk is gone, and its agents' claims are free"]);
  expect(told({ ...open, nodes: open.nodes.slice(0, 1) }, open)).toEqual(["desk joined the store"]);
  expect(told(open, { ...open, nodes: open.nodes.slice(0, 1) })).toEqual(["desk left the store"]);
  expect(told(away, { ...away, nodes: [] })).toEqual([]);
});

const nothing = {
  tasks: 0,
  context: 0,
  numbers: [],
  keys: [],
  released: [],
  leftOut: [],
  returns: [],
  stays: [],
};

it("say what a person did, and what was refused", () => {
  const counts = {
    ok: true,
    tasks: 2,
    context: 1,
    numbers: [],
    leftOut: [],
    returns: [],
    stays: [],
  } as const;
  const share = { ...counts, project: "/p/.git", as: "example.com/p" };
  expect(askedFields(share)).toMatchObject({
    ...{ rule: "store", project: "/p/.git" },
    why: "shared as example.com/p; copied: tasks 2, context keys 1",
  });
  const leftOut = [{ task: "t-1", number: 3, fields: ["description", "status"] }];
  const numbers = [{ task: "t-1", before: 1, after: 3, project: "team/shop" }];
  expect(askedFields({ ...counts, projects: [], told: true, numbers }).why).toBe(
    "this machine left the store; back here: tasks 2, context keys 1; numbers that changed: #1 is #3 now (team/shop)",
  );
  expect(askedFields({ ...share, leftOut }).why).toMatch(
    /; changed here, and not taken over: #3 \(description, status\)$/,
  );
  const returns = [{ task: "t-1", number: 3 }, { key: "port" }];
  expect(askedFields({ ...share, returns }).why).toMatch(
    /; the store did not have these any more, and has them again: #3, key port$/,
  );
  expect(askedFields({ ...share, stays: returns }).why).toMatch(
    /; removed here, and still in the store: #3, key port$/,
  );
  const many = Array.from({ length: 30 }, (_, i) => ({ key: `k${i}` }));
  expect(askedFields({ ...share, returns: many, more: { returns: 5 } }).why).toMatch(
    /: key k0, .*, key k19 and 15 more$/,
  );
  expect(movedLines({ project: "/p/.git", as: "p" }, { ...nothing, returns }, now)).toMatchObject([
    { why: expect.stringContaining("has them again: #3, key port") },
  ]);
  const leave = { ...counts, projects: [] };
  expect(askedFields({ ...leave, told: true })).toMatchObject({
    why: "this machine left the store; back here: tasks 2, context keys 1",
  });
  expect(askedFields({ ...leave, told: false }).why).toMatch(/; the store does not know it$/);
  expect(askedFields({ ok: true, node: "n2" }).why).toContain("an id of its own");
  expect(joinedLine(open, now).why).toBe("kite@db/kite: this machine is in it as laptop, node 01234567");
});

it("count as notes of their own, and as no agent's edits, waits or denials", () => {
  const asked = { at: now, id: null, agent: null, name: "the person", project: null, file: null } as const;
  const lines: readonly TrailLine[] = [
    ...changeLines(open, away, now),
    ...changeLines(away, open, now),
    {
      ...asked,
      event: "store_leave",
      type: null,
      decision: "deny",
      rule: "store",
      code: "store_busy",
      why: "at work",
    },
    { ...asked, event: "store_share", type: null, decision: "allow", rule: "store", why: "shared as p" },
  ];
  const [stats, report] = [new TrailCounter(), new ReportCounter({ project: null, since: 0 })];
  for (const line of lines) {
    // As it comes back from the file.
    const read = decode(encode(line));
    expect(read).toMatchObject({ event: line.event, why: line.why });
    if (read === null) continue;
    stats.add(read);
    report.add(read);
  }
  expect(stats.stats.decisions).toMatchObject([{ rule: "store", allow: 1, deny: 1, wait: 0, note: 2 }]);
  expect(report.report).toMatchObject({ edits: { count: 0, waited: 0, onRequest: 0 }, sessions: 0 });
  expect(JSON.stringify(report.report)).not.toContain("store");
});
