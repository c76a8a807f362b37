/** A step, and a look, cost what they change and find. */
import { describe, expect, it } from "vitest";
import { knownWorktrees } from "../../daemon/core/sessions/room.ts";
import { itemKey } from "../../daemon/core/tables/context.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { latestAt } from "../../daemon/core/tables/sessions.ts";
import type { Clock } from "../../daemon/engine/clock.ts";
import { ownView } from "../../daemon/engine/log-view.ts";
import { watchedKeys } from "../../daemon/hooks/edits/write-actions.ts";
import type { HookEvent } from "../../daemon/hooks/event.ts";
import { supposedPlaces } from "../../daemon/hooks/guard/places.ts";
import { Delivery } from "../../daemon/hooks/notices.ts";
import type { HookParts } from "../../daemon/hooks/parts.ts";
import { listPeers } from "../../daemon/hooks/peers.ts";
import { PeerMemory, SessionWorks } from "../../daemon/hooks/session-work.ts";
import type { Steps } from "../../daemon/server/call.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { contextPage, postedRows } from "../../daemon/views/messages.ts";
import type { Keyed } from "../../daemon/views/paging.ts";
import { lockRows, sessionRows } from "../../daemon/views/sessions.ts";
import { declarationRows, writeRows } from "../../daemon/views/work.ts";
import type { HookOutcome } from "../../hooks/seam/slices.ts";
import { limits } from "../../protocol/limits.ts";
import {
  actor,
  begin,
  Crowd,
  file,
  lock,
  project,
  put,
  type Scenario,
  say,
  scenario,
  scenarios,
  upTo,
} from "../bench/growth-steps.ts";
import { oneLog } from "../one-log.ts";
import { WorkCount } from "./work-count.ts";

/** Adds a test for each scenario: a unit of its work costs the same among `few` and among `many`. */
function costsTheSame(scenarios: readonly Scenario[], few: number, many: number): void {
  it.each(scenarios.map(one => [`${one.kind}: ${one.what}`, one] as const))("%s", (_name, { run, most }) => {
    const perUnit = (n: number) => {
      const work = new WorkCount();
      const units = run(new Crowd(work), n);
      expect(work.total).toBeGreaterThan(0);
      return work.total / units;
    };
    expect(most).toBeGreaterThanOrEqual(many);
    // What is kept in order takes a few more looks among more.
    expect(perUnit(many) / perUnit(few)).toBeLessThan(1.5);
  });
}

// Few, and so many that whatever walks through all of them stands out.
describe("a step costs what it changes, however many there are", () => costsTheSame(scenarios, 20, 400));

/** Few, and so many that whatever walks through all of them stands out. */
const [few, many] = [20, 2_000];
const looks = 10;
const none = Number.POSITIVE_INFINITY;

const requests: readonly Scenario[] = [
  scenario("whoami", "by a process, others have one each", limits.sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(begin(`s${i}`, { anchor: { pid: i + 1, startTime: "1" } }));
    for (const i of upTo(looks)) crowd.look(() => latestAt(crowd.state.sessions, i + 1));
    return looks;
  }),
  scenario("context", "a page from a key on, the project has many", limits.contextKeysMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(put(`k${String(i).padStart(6, "0")}`));
    for (const i of upTo(looks)) {
      const after = itemKey(project, `k${String(Math.floor((i * n) / looks)).padStart(6, "0")}`);
      crowd.look(() => made(contextPage(engineOf(crowd), { project, limit: 1, after })));
    }
    return looks;
  }),
  scenario("context", "a page of a prefix that few have", limits.contextKeysMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(put(`k${i}`));
    crowd.before(put("own/1"));
    for (const _ of upTo(looks))
      crowd.look(() => made(contextPage(engineOf(crowd), { project, prefix: "own/" })));
    return looks;
  }),
  scenario("query", "of one session, others are there", limits.sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(begin(`s${i}`));
    const presence = new PresenceTable(clockOf(crowd));
    const source = { engine: engineOf(crowd), presence };
    for (const i of upTo(looks)) crowd.look(() => built(sessionRows(source, { id: `s${i}`, project })));
    return looks;
  }),
  scenario("query", "of one session's locks, others have some", limits.sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(lock(actor(`s${i}`), [file(i)]));
    const source = { engine: engineOf(crowd), presence: new PresenceTable(clockOf(crowd)) };
    for (const i of upTo(looks)) crowd.look(() => built(lockRows(source, { id: `s${i}` })));
    return looks;
  }),
  scenario("query", "of one session's messages, others have some", limits.sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(begin(`s${i}`));
    for (const i of upTo(n)) {
      crowd.now += limits.messageRateMs;
      crowd.before(say(actor(`s${i}`), `s${(i + 1) % n}`, "x"));
    }
    for (const i of upTo(looks)) crowd.look(() => built(postedRows(ownView(crowd), { session: `s${i}` })));
    return looks;
  }),
  scenario("query", "of one session's writes and declarations, others have some", none, (crowd, n) => {
    for (const i of upTo(n)) {
      crowd.before(begin(`s${i}`));
      crowd.before(declares(`s${i}`, i));
      const { file: name, key } = file(i);
      const files = [{ file: name, key, worktree: project, project }];
      const noted = { files, by: "shell", ancestors: [], wallMs: 1 } as const;
      crowd.before({ type: "writes_noted", actor: actor(`s${i}`), noted });
    }
    const engine = engineOf(crowd);
    const services = { engine } as unknown as Parameters<typeof writeRows>[0];
    for (const i of upTo(looks)) {
      const of = { id: `s${i}` };
      crowd.look(() => expect(built(writeRows(services, new Map(), of)).length).toBe(1));
      crowd.look(() => expect(built(declarationRows(engine, of)).length).toBe(1));
    }
    return looks;
  }),
  scenario("query", "of the sessions of one project, others have more", limits.sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(begin(`s${i}`));
    const elsewhere = { project: "/elsewhere", worktree: "/elsewhere", cwd: "/elsewhere" };
    crowd.before(begin("e", elsewhere));
    const source = { engine: engineOf(crowd), presence: new PresenceTable(clockOf(crowd)) };
    const { project: wanted } = elsewhere;
    for (const _ of upTo(looks))
      crowd.look(() => expect(built(sessionRows(source, { project: wanted })).length).toBe(1));
    return looks;
  }),
  scenario("query", "of the last sessions and messages, many came before", limits.sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(begin(`s${i}`));
    for (const i of upTo(n)) crowd.before(say(actor(`s${i}`), `s${(i + 1) % n}`, "x"));
    const source = { engine: engineOf(crowd), presence: new PresenceTable(clockOf(crowd)) };
    const [{ begun } = { begun: 0 }] = [...crowd.state.sessions.live.values()].slice(-1);
    const [last, later] = [
      { place: n, key: "" },
      { place: begun, key: "" },
    ];
    for (const _ of upTo(looks)) {
      crowd.look(() => expect(built(postedRows(ownView(crowd), { from: last })).length).toBe(1));
      crowd.look(() => expect(built(sessionRows(source, { project, from: later })).length).toBe(1));
    }
    return looks;
  }),
  scenario(
    "shell",
    "where a git command may work, others work in two worktrees",
    limits.sessionsMax,
    (crowd, n) => {
      const at = (top: string) => ({ worktree: top, cwd: top });
      for (const i of upTo(n)) crowd.before(begin(`s${i}`, at(`${project}-${i % 2}`)));
      const services = { engine: engineOf(crowd) } as unknown as Parameters<typeof supposedPlaces>[0];
      const command = { gitDir: null, workTree: null };
      for (const i of upTo(looks)) {
        crowd.look(() => supposedPlaces(services, `s${i}`, `${project}-1/src`, command));
        crowd.look(() => expect(knownWorktrees(crowd.state).size).toBe(2));
      }
      return looks;
    },
  ),
  scenario("start", "of a session, others are there and share values", limits.sessionsMax, (crowd, n) => {
    const known = peopled(crowd, n);
    for (const i of upTo(looks)) crowd.look(() => told(crowd, known, `s${i}`, true));
    return looks;
  }),
  scenario("prompt", "of a session, others are there and share values", limits.sessionsMax, (crowd, n) => {
    const known = peopled(crowd, n);
    // The first one after a start of the daemon, and the next one.
    for (const i of upTo(looks)) crowd.look(() => told(crowd, known, `s${i % 5}`, false));
    return looks;
  }),
  scenario("start", "of a session, others have locks and nothing changed", none, (crowd, n) => {
    const known = busy(crowd, n);
    told(crowd, known, "s0", true);
    for (const i of upTo(looks)) crowd.look(() => told(crowd, known, `s${i}`, true));
    return looks;
  }),
  scenario("prompt", "of a session, others have locks and nothing changed", none, (crowd, n) => {
    const known = busy(crowd, n);
    told(crowd, known, "s0", false);
    for (const _ of upTo(looks)) crowd.look(() => told(crowd, known, "s0", false));
    return looks;
  }),
  scenario(
    "prompt",
    "of a session, another locks more than is looked at",
    limits.locksPerSessionMax - limits.keptLooksMax - looks,
    (crowd, n) => {
      const known = busy(crowd, 0);
      crowd.before(lock(actor("s1"), [file(0, "kept")]));
      const edits = upTo(limits.keptLooksMax + n).map(k => file(k, "edited"));
      crowd.before(lock(actor("s1"), edits, { kind: "turn" }));
      told(crowd, known, "s0", false);
      for (const i of upTo(looks)) {
        crowd.before(lock(actor("s1"), [file(i, "later")]));
        crowd.look(() => told(crowd, known, "s0", false));
      }
      return looks;
    },
  ),
  scenario("start", "of a session, others are lost", limits.sessionsMax, (crowd, n) => {
    const known = peopled(crowd, n);
    for (const { id, begun } of [...crowd.state.sessions.live.values()].slice(looks))
      crowd.before({ type: "session_lost", session: id, begun });
    for (const i of upTo(looks)) known.presence.seen(`s${i}`);
    for (const i of upTo(looks)) crowd.look(() => told(crowd, known, `s${i}`, true));
    return looks;
  }),
  scenario("shell", "a command that ran, others lock nothing", limits.sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(begin(`s${i}`));
    crowd.before(lock(actor("s0"), [file(0)]));
    for (const _ of upTo(looks)) crowd.look(() => expect(watchedKeys(crowd.state, "s1").size).toBe(1));
    return looks;
  }),
  scenario("shell", "a command that ran, others lock more than it looks at", none, (crowd, n) => {
    const each = Math.ceil((limits.shellFilesMax + n) / 4);
    for (const i of upTo(4)) crowd.before(begin(`s${i}`));
    for (const i of upTo(4))
      for (const k of upTo(each)) crowd.before(lock(actor(`s${i}`), [file(i * each + k)]));
    crowd.look(() => watchedKeys(crowd.state, "s1"));
    return limits.shellFilesMax;
  }),
];

function declares(session: string, i: number): Command {
  const view = { files: [], uncertainties: [], ancestors: [], task: `task ${i}`, wallMs: 1 };
  return { type: "declare", actor: actor(session), anew: false, ...view };
}

/** What the daemon knows of the sessions beside the log. */
interface Known {
  readonly presence: PresenceTable;
  readonly peerMemory: PeerMemory;
  readonly sessionWorks: SessionWorks;
}

/** Sessions, more than are compared with one; each set a value, and the last ones were seen last. */
function peopled(crowd: Crowd, n: number): Known {
  const presence = new PresenceTable(clockOf(crowd));
  for (const i of upTo(limits.nearSessionsMax + n)) {
    crowd.before(begin(`s${i}`));
    crowd.before(put(`k${i}`, crowd.now));
    presence.placed(`s${i}`, project);
    crowd.now += 1;
  }
  return { presence, peerMemory: new PeerMemory(), sessionWorks: new SessionWorks() };
}

/** As many sessions as are compared with one; each keeps `n` files locked, but for those that are not compared. */
function busy(crowd: Crowd, n: number): Known {
  const known = peopled(crowd, 0);
  for (const i of upTo(limits.nearSessionsMax))
    for (const k of upTo(n / 20)) crowd.before(lock(actor(`s${i}`), [file(k, `part-${i}`)]));
  return known;
}

/** What a session is told of the others: at its start, or of changes at a prompt. */
function told(crowd: Crowd, known: Known, session: string, isStart: boolean): HookOutcome {
  const { now } = crowd;
  const what = isStart ? {} : { changesOnly: true as const };
  const { peerMemory: memory, sessionWorks: works, ...rest } = known;
  const delivery = new Delivery();
  const event = { engine: engineOf(crowd), clock: { wall: () => now }, delivery, ...rest };
  const parts = { peers: { memory, works } } as unknown as HookParts;
  const outcome = listPeers(event as unknown as HookEvent, { do: "list_peers", session, ...what }, parts);
  delivery.settle(true);
  return outcome;
}

function clockOf(crowd: Crowd): Clock {
  return { now: () => crowd.now, wall: () => crowd.now, at: () => () => {} };
}

function built<Row>(rows: Iterable<Keyed<Row>>): Row[] {
  return [...rows].map(({ row }) => row());
}

function engineOf({ state, now }: Crowd) {
  return oneLog({ state, now });
}

/** Makes a long reply to its end. */
function made<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

describe("a look costs what it finds, however many others there are", () =>
  costsTheSame(requests, few, many));
