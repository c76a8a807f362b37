import { describe, expect, it } from "vitest";
import { ownView } from "../../daemon/engine/log-view.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { postedRows } from "../../daemon/views/messages.ts";
import type { Keyed } from "../../daemon/views/paging.ts";
import { lockRows, sessionRows } from "../../daemon/views/sessions.ts";
import { declarationRows, endedDeclarationRows, riskRows, writeRows } from "../../daemon/views/work.ts";
import { oneLog } from "../one-log.ts";
import { Random } from "../simulation/random.ts";
import { World } from "./core-world.ts";

const ids = ["a", "b", "c", "d"];
const built = <Row>(rows: Iterable<Keyed<Row>>) => [...rows].map(({ row }) => row());

/** A world in which sessions and their agents lock, release, write to each other and end at random. */
function world(seed: number): World {
  const random = new Random(seed);
  const w = new World();
  const who = () => random.pick(ids);
  for (let i = 0; i < 300; i += 1) {
    const session = who();
    const actor = { session, agent: random.int(0, 1) === 0 ? null : "x", incarnation: 0 };
    const message = { text: "x", bytes: 1, wallMs: i, agents: [], replyTo: null, urgent: false };
    w.now += 5_000;
    if (!w.state.sessions.live.has(session)) w.begin(session, { project: random.pick(["/p", "/q"]) });
    const kind = random.int(0, 15);
    if (kind > 11) {
      const worktree = random.pick(["/v", "/w"]);
      const files = [random.int(0, 5), random.int(6, 9)].map(n => {
        return { key: `n:${worktree}/f${n}`, file: `f${n}`, worktree, project: "/p" };
      });
      const noted = { files, by: "shell", ancestors: [], wallMs: i } as const;
      w.do({ type: "writes_noted", actor, noted });
    } else if (kind > 9) {
      const view = { files: [], uncertainties: [], ancestors: [], task: `t${i}`, wallMs: i };
      w.do({ type: "declare", actor, anew: random.chance(0.3), ...view });
    } else if (kind < 4) w.lock(actor, `f${random.int(0, 9)}`, { waitMs: 0 });
    else if (kind < 8) w.do({ type: "message_send", actor, project: "/p", to: who(), ...message });
    else if (kind === 8) w.do({ type: "lock_release", actor, files: "all" });
    else if (random.chance(0.3)) w.do({ type: "session_end", session, incarnation: null, cause: "ended" });
  }
  return w;
}

describe("the rows of one session", () => {
  it.each([1, 2, 3, 4, 5])("are those of all that name it, in the same order: seed %i", seed => {
    const { state, now } = world(seed);
    const clock = { now: () => now, wall: () => now, at: () => () => {} };
    const source = { engine: oneLog({ state, now }), presence: new PresenceTable(clock) };
    const [locks, posted] = [built(lockRows(source)), built(postedRows(ownView({ state, now })))];
    const services = source as unknown as Parameters<typeof writeRows>[0];
    const [writes, risks] = [built(writeRows(services, new Map())), built(riskRows(services))];
    const [declared, ended] = [
      built(declarationRows(source.engine)),
      built(endedDeclarationRows(source.engine)),
    ];
    for (const rows of [locks, posted, writes, risks, declared, ended])
      expect(rows.length).toBeGreaterThan(0);
    for (const id of ids) {
      expect(built(lockRows(source, { id }))).toEqual(locks.filter(row => row.holder?.id === id));
      const wrote = writes.filter(row => row.writers.some(writer => writer.id === id));
      expect(built(writeRows(services, new Map(), { id }))).toEqual(wrote);
      const atRisk = risks.filter(row => row.sides.some(side => side.id === id));
      expect(built(riskRows(services, { id }))).toEqual(atRisk);
      expect(built(declarationRows(source.engine, { id }))).toEqual(declared.filter(row => row.id === id));
      expect(built(endedDeclarationRows(source.engine, { id }))).toEqual(ended.filter(row => row.id === id));
      const names = (row: (typeof posted)[number]) => row.from?.id === id || row.to.some(to => to.id === id);
      expect(built(postedRows(ownView({ state, now }), { ids: [id] }))).toEqual(posted.filter(names));
      for (const project of ["/p", "/q"]) {
        const rows = built(sessionRows(source)).filter(row => row.project === project);
        expect(built(sessionRows(source, { project }))).toEqual(rows);
        expect(built(sessionRows(source, { id, project }))).toEqual(rows.filter(row => row.id === id));
      }
    }
  });
});
