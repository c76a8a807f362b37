/** Debates are opened, entered and closed, and never settled by one agent alone. */
import { beforeEach, describe, expect, it } from "vitest";
import { check } from "../../daemon/core/slices.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { Reply } from "../../daemon/core/tables/entries.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded } from "./core-world.ts";
import { closeOf, DebateWorld, enterOf, hypotheses, openOf } from "./debate-world.ts";

describe("debates", () => {
  const bounds = { debatesMax: 30, debateParticipantsMax: 15, inboxMax: 30 };
  let w: DebateWorld;

  beforeEach(() => {
    w = new DebateWorld(bounded(bounds));
    for (const session of ["ann", "bob", "cyd"]) w.begin(session);
  });

  const row = (name: string) => ({ id: name, agent: null, name });

  describe("to open", () => {
    it("answers its id and who takes part: by default everybody alive in the project", () => {
      w.begin("far", { project: "/q" });
      w.do({ type: "agent_begin", session: "bob", agent: "a0954b2b", name: "Explore" });
      expect(w.open("ann", { wallMs: 1_700_000_000_000 })).toEqual({
        ok: true,
        debate: "d-loyw3v28-1",
        participants: [
          row("ann"),
          row("bob"),
          row("cyd"),
          { id: "bob", agent: "a0954b2b", name: "bob/Explore" },
        ],
      });
      expect(w.known).toMatchObject({
        project: "/p",
        question: "Why does it hang?",
        openedBy: row("ann"),
        entries: [],
        verdict: null,
      });
      expect(w.events).toEqual(["debate opened", "message_sent"]);
      expect(w.steps.at(-1)?.events[0]).toMatchObject({
        about: ["ann", "bob", "cyd"],
        project: "/p",
        event: { debate: w.debate, project: "/p", what: "opened", by: row("ann") },
      });
    });

    it("takes those who are named, each once, and whoever opens it", () => {
      expect(w.open("ann", { participants: ["bob", "bob"] })).toMatchObject({
        participants: [row("ann"), row("bob")],
      });
      expect(w.open(null, { participants: ["bob"] })).toMatchObject({ participants: [row("bob")] });
      expect(w.open("ann", { participants: ["zoe"] })).toMatchObject({
        code: "recipient_gone",
        error: "no session or agent named zoe in /p; debate not opened; active: ann, bob, cyd",
      });
    });

    it("takes as many as may take part, main agents first", () => {
      for (let i = 0; i < 3; i += 1) {
        for (const session of ["ann", "bob", "cyd"]) {
          const agent = `${session}-agent-${i}`;
          w.do({ type: "agent_begin", session, agent, name: null });
        }
      }
      for (let i = w.state.sessions.live.size; i < bounds.debateParticipantsMax - 2; i += 1) w.begin(`s${i}`);
      const reply = w.open();
      const participants = reply.ok ? (reply["participants"] as readonly { agent: string | null }[]) : [];
      expect(participants).toHaveLength(bounds.debateParticipantsMax);
      expect(participants.filter(one => one.agent !== null)).toHaveLength(2);
    });

    it.each([
      ["two of one name", hypotheses("race", "race"), "two of the hypotheses have one name"],
      ["a single one", hypotheses("race"), "a debate has 2 to 8 hypotheses, not 1"],
      ["too many", hypotheses(..."abcdefghi"), "a debate has 2 to 8 hypotheses, not 9"],
    ])("refuses %s", (_what, of, error) => {
      const refused = w.open("ann", { hypotheses: of });
      expect(refused).toMatchObject({ code: "invalid_request", error: expect.stringContaining(error) });
      expect(w.state.debates.all.size).toBe(0);
    });

    it("is for those who are alive, in their own project", () => {
      expect(w.open("nobody")).toMatchObject({ code: "unknown_session" });
      expect(w.open("ann", { project: "/elsewhere" })).toMatchObject({ ok: true });
      expect(w.known.project).toBe("/p");
      w.open(null, { project: "/q" });
      expect(w.known).toMatchObject({ project: "/q", openedBy: null, participants: [] });
      expect(w.challenge("ann", "race")).toMatchObject({
        code: "not_in_debate",
        error: expect.stringContaining("is a debate of /q, and you work in /p"),
      });
      expect(w.challenge(null, "race")).toMatchObject({ ok: true });
    });

    it("does once what is sent again under one requestId", () => {
      const again = { ...openOf(), retry: { by: "ann", requestId: "r", digest: "d" } };
      const first = w.do(again);
      w.pass(1000);
      expect(w.do(again)).toEqual(first);
      expect(w.state.debates.all.size).toBe(1);
      const id = first.ok ? String(first["debate"]) : "";
      const said = enterOf("bob", id, { kind: "challenge", hypothesis: "race", text: "really?" });
      const entered = { ...said, retry: { by: "bob", requestId: "r", digest: "d" } };
      expect([w.do(entered), w.do(entered)]).toEqual([
        { ok: true, debate: id, entry: 1 },
        { ok: true, debate: id, entry: 1 },
      ]);
      expect(w.state.debates.all.get(id)?.entries).toHaveLength(1);
    });
  });

  describe("to find", () => {
    it("takes what begins or ends one id alone, lists the matches of several, and guesses at none", () => {
      const [one, two] = [w.open(), w.open()].map(reply => (reply.ok ? String(reply["debate"]) : ""));
      expect([one, two]).toEqual(["d-0-1", "d-0-2"]);
      w.debate = "2";
      expect(w.challenge("ann", "race")).toMatchObject({ ok: true, debate: two });
      expect(w.challenge(null, "race")).toMatchObject({ ok: true, debate: two });
      w.debate = "d-0";
      expect(w.challenge("ann", "race")).toMatchObject({
        code: "ambiguous_debate",
        error: "several debates begin with d-0: d-0-1, d-0-2; give more of the id",
        matches: [one, two],
      });
      w.debate = "d-O-2";
      expect(w.challenge("ann", "race")).toMatchObject({ code: "unknown_debate", nearest: two });
    });

    it("means by a part of a name one of its project alone, and another's by a whole id", () => {
      w.open();
      w.open(null, { project: "/q" });
      w.debate = "d-0";
      for (const by of ["ann", null])
        expect(w.challenge(by, "race")).toMatchObject({ ok: true, debate: "d-0-1" });
      w.debate = "2";
      for (const by of ["ann", null])
        expect(w.challenge(by, "race")).toMatchObject({
          code: "unknown_debate",
          error:
            "no debate 2 in this project; kite debate list shows them; a debate of another project needs its whole id",
          nearest: null,
        });
      const said = closeOf(null, "2", "race", { force: true });
      expect(w.do({ ...said, project: "/p" })).toMatchObject({ code: "unknown_debate" });
      expect(w.do(said)).toMatchObject({ code: "unknown_debate" });
      expect(w.do({ ...said, project: "/q" })).toMatchObject({ ok: true, debate: "d-0-2" });
      w.debate = "d-0-2";
      expect(w.challenge("ann", "race")).toMatchObject({ code: "not_in_debate" });
      expect(w.challenge(null, "race")).toMatchObject({ code: "debate_state" });
    });

    it("quotes what agents call their hypotheses", () => {
      const name = 'leak; close it with "race" <now>';
      w.open("ann", { hypotheses: ["race", name].map(one => ({ name: one, claim: "x" })) });
      expect(w.close("ann", "race")).toMatchObject({
        error: expect.stringContaining(
          `"leak; close it with 'race' ‹now›" was never challenged (challenge or concede it)`,
        ),
      });
    });

    it("says of a hypothesis that there is none which there are", () => {
      w.open();
      expect(w.challenge("ann", "raze")).toMatchObject({
        code: "not_in_debate",
        error: 'd-0-1 has no hypothesis "raze"; did you mean "race"?',
        hypotheses: ["race", "leak"],
      });
      expect(w.close("ann", "something else")).toMatchObject({
        code: "not_in_debate",
        error: 'd-0-1 has no hypothesis "something else"; it has "race", "leak"',
      });
    });
  });

  describe("an entry", () => {
    beforeEach(() => {
      w.open();
    });

    it("stands in order, with who made it", () => {
      expect(w.challenge("bob", "race", "it hangs alone, too")).toEqual({
        ok: true,
        debate: "d-0-1",
        entry: 1,
      });
      expect(w.events).toEqual(["debate challenge", "message_sent"]);
      expect(w.evidence("cyd", "leak", true)).toMatchObject({ entry: 2 });
      expect(w.events).toEqual(["debate evidence"]);
      expect(w.answer("ann", 1, "not on one core")).toMatchObject({ entry: 3 });
      expect(w.concede("ann", "leak")).toMatchObject({ entry: 4 });
      const at = 0;
      expect(w.known.entries).toEqual([
        {
          kind: "challenge",
          hypothesis: "race",
          answers: null,
          against: false,
          text: "it hangs alone, too",
          by: row("bob"),
          at,
        },
        {
          kind: "evidence",
          hypothesis: "leak",
          answers: null,
          against: true,
          text: "I saw it",
          by: row("cyd"),
          at,
        },
        {
          kind: "answer",
          hypothesis: "race",
          answers: 1,
          against: false,
          text: "not on one core",
          by: row("ann"),
          at,
        },
        {
          kind: "concede",
          hypothesis: "leak",
          answers: null,
          against: false,
          text: null,
          by: row("ann"),
          at,
        },
      ]);
    });

    it("answers a challenge, and nothing else", () => {
      w.challenge("bob", "race");
      w.evidence("bob", "race");
      expect(w.answer("ann", 2)).toMatchObject({
        code: "not_in_debate",
        error: "entry 2 of d-0-1 is no challenge; unanswered: 1",
        unanswered: [1],
      });
      w.answer("ann", 1);
      expect(w.answer("ann", 9)).toMatchObject({
        error: "entry 9 of d-0-1 is no challenge; all are answered",
      });
      expect(w.answer("cyd", 1)).toMatchObject({ ok: true });
    });

    it("says nothing more of what was conceded", () => {
      w.challenge("bob", "race");
      w.concede("ann", "race");
      for (const reply of [
        w.challenge("bob", "race"),
        w.evidence("bob", "race"),
        w.answer("ann", 1),
        w.concede("ann", "race"),
      ]) {
        expect(reply).toMatchObject({
          code: "debate_state",
          error: '"race" is conceded in d-0-1, so nothing more is said of it; left: "leak"',
        });
      }
    });

    it("never concedes the last hypothesis that is left", () => {
      w.concede("ann", "race");
      expect(w.concede("ann", "leak")).toMatchObject({ code: "debate_state", left: ["leak"] });
      expect(w.known.entries).toHaveLength(1);
    });

    it("is for those who are alive", () => {
      w.do({ type: "session_end", session: "bob", incarnation: null, cause: "ended" });
      expect(w.challenge("bob", "race")).toMatchObject({ code: "session_ended" });
    });
  });

  describe("to close", () => {
    beforeEach(() => {
      w.open("ann", { hypotheses: hypotheses("race", "leak", "clock") });
    });

    it("waits for an answer to each challenge of the chosen one, and for a challenge to each rival", () => {
      w.challenge("bob", "race");
      w.challenge("cyd", "race");
      expect(w.close("ann", "race")).toEqual({
        ok: false,
        code: "debate_unsettled",
        error:
          'd-0-1 cannot close with "race": challenges 1, 2 to "race" are unanswered (answer each); ' +
          '"leak", "clock" were never challenged (challenge or concede each)',
        debate: "d-0-1",
        verdict: "race",
        missing: [
          { hypothesis: "race", challenge: 1, next: "answer", others: false },
          { hypothesis: "race", challenge: 2, next: "answer", others: false },
          { hypothesis: "leak", challenge: null, next: "challenge", others: false },
          { hypothesis: "clock", challenge: null, next: "challenge", others: false },
        ],
      });
      w.answer("ann", 1);
      w.challenge("ann", "leak");
      expect(w.close("ann", "race")).toMatchObject({
        error:
          'd-0-1 cannot close with "race": challenge 2 to "race" is unanswered (answer it); ' +
          '"clock" was never challenged (challenge or concede it)',
      });
      w.answer("ann", 2);
      w.concede("ann", "clock");
      // The challenge to a rival may stay unanswered.
      expect(w.close("ann", "race", { because: "it goes away with one core", wallMs: 7 })).toEqual({
        ok: true,
        debate: "d-0-1",
        verdict: {
          ...{ name: "race", because: "it goes away with one core", by: row("ann") },
          ...{ forced: false, alone: false, at: 7 },
        },
        key: "debate/d-0-1",
      });
      expect(w.events).toEqual(["context_changed", "debate closed", "message_sent"]);
    });

    it("chooses nothing that was conceded, by force either", () => {
      w.concede("ann", "race");
      const error = '"race" is conceded in d-0-1 and cannot be chosen; left: "leak", "clock"';
      expect(w.close("ann", "race")).toMatchObject({ code: "debate_state", error });
      expect(w.close(null, "race", { force: true })).toMatchObject({ code: "debate_state", error });
    });

    it("may be forced by a person alone, which the verdict says", () => {
      expect(w.close("ann", "race", { force: true })).toMatchObject({ code: "person_only" });
      expect(w.close(actor("ann"), "race", { force: true })).toMatchObject({ code: "person_only" });
      expect(w.known.verdict).toBe(null);
      expect(w.close(null, "race", { force: true })).toMatchObject({
        ok: true,
        verdict: { name: "race", by: null, forced: true },
      });
    });

    it("does not say forced where nothing was missing", () => {
      w.concede(null, "leak");
      w.concede(null, "clock");
      expect(w.close(null, "race", { force: true })).toMatchObject({ verdict: { forced: false } });
    });

    it("ends the debate: nothing is added, and it closes once", () => {
      w.close(null, "race", { force: true });
      for (const reply of [w.challenge("ann", "leak"), w.answer("ann", 1), w.close("ann", "leak")]) {
        expect(reply).toMatchObject({
          code: "debate_state",
          error:
            'd-0-1 is closed: a person at a terminal chose "race" by force; open a new debate to doubt it',
          status: "closed",
          verdict: { name: "race" },
        });
      }
    });

    it("makes the verdict durable context of the project", () => {
      w.challenge("bob", "leak");
      w.concede("ann", "clock");
      w.close("ann", "race", { because: "ü" });
      w.start();
      const item = w.state.context.items.get("/p\ndebate/d-0-1");
      const value = {
        question: "Why does it hang?",
        verdict: "race",
        because: "ü",
        by: "ann",
        forced: false,
        alone: false,
      };
      expect(item).toMatchObject({ value, durable: true, version: 1, from: row("ann") });
      expect(item?.bytes).toBe(Buffer.byteLength(JSON.stringify(value)));
    });

    it("has room for the verdict where context is full, and leaves the room of context alone", () => {
      const value = { value: 1, durable: false, ifVersion: null, ttlMs: null, wallMs: 0 };
      const full = { actor: null, project: "/p", key: "k", bytes: limits.contextBytes - 100, ...value };
      w.do({ type: "context_set", ...full });
      const { bytes } = w.state.context;
      expect(w.close(null, "race", { force: true })).toMatchObject({ ok: true });
      expect(w.state.context).toMatchObject({ bytes, verdicts: 1 });
      expect(w.do({ type: "context_set", ...full, key: "l", bytes: 60 })).toMatchObject({ ok: true });
      expect([...check(w.state)]).toEqual([]);
    });

    it("leaves a verdict that nobody else sets or deletes, nor any key like it", () => {
      w.close(null, "race", { force: true });
      const { context } = w.state;
      const set = { value: 1, bytes: 1, durable: true, ifVersion: null, ttlMs: null, wallMs: 0 };
      for (const by of [actor("ann"), null]) {
        for (const key of ["debate/d-0-1", "debate/d-0-9", "debate/"]) {
          const place = { actor: by, project: "/p", key };
          expect(w.do({ type: "context_set", ...place, ...set })).toMatchObject({
            code: "context_reserved",
            error: expect.stringContaining("open a new debate to doubt a verdict"),
          });
        }
        const remove = { type: "context_delete", actor: by, project: "/p", ifVersion: null } as const;
        expect(w.do({ ...remove, key: "debate/d-0-1" })).toMatchObject({ code: "context_reserved" });
      }
      expect(context.items.get("/p\ndebate/d-0-1")?.value).toMatchObject({ verdict: "race" });
      const near = { actor: null, project: "/p", key: "debates/1" };
      expect(w.do({ type: "context_set", ...near, ...set })).toMatchObject({ ok: true });
    });
  });

  describe("the participants", () => {
    it("are told when it opens and when it closes, and once of challenges until they have read", () => {
      w.open("ann");
      expect(w.inbox("ann")).toEqual([]);
      expect(w.inbox("bob")).toEqual([
        'opens debate d-0-1: "Why does it hang?". Hypotheses: race, leak. To read and challenge them: kite debate show d-0-1',
      ]);
      // He has not read of it yet, and will read the challenge there.
      w.challenge("cyd", "race");
      expect(w.inbox("bob")).toHaveLength(1);
      expect(w.inbox("ann")).toEqual([
        'challenges race in debate d-0-1 (entry 1): "really?". To answer: kite debate answer d-0-1 1 TEXT',
      ]);
      w.reads("bob");
      w.challenge("cyd", "leak", "x".repeat(limits.quoteChars + 1));
      w.challenge("cyd", "leak");
      expect(w.inbox("bob")).toHaveLength(2);
      expect(w.inbox("bob")[1]).toContain(`"${"x".repeat(limits.quoteChars - 1)}…"`);
      expect(w.inbox("ann")).toHaveLength(1);
      w.answer("ann", 1);
      w.evidence("ann", "race");
      expect(w.inbox("bob")).toHaveLength(2);
      w.close("ann", "race");
      expect(w.inbox("bob").at(-1)).toBe(
        'closes debate d-0-1 with race: "it is". The verdict is shared: kite context get debate/d-0-1',
      );
      expect(w.inbox("cyd")).toHaveLength(2);
    });

    it("that are full, gone or elsewhere are left out, and the debate goes on", () => {
      w.open("ann");
      for (let i = 0; w.inbox("bob").length < bounds.inboxMax; i += 1) {
        if (i % limits.messageRateMax === 0) w.pass(limits.messageRateMs);
        const text = { text: "x", bytes: 1, replyTo: null, urgent: false, wallMs: 0 };
        w.do({ type: "message_send", actor: null, project: "/p", to: "bob", ...text });
      }
      w.pass(limits.messageRateMs);
      w.begin("cyd", { project: "/q" });
      expect(w.challenge("ann", "race")).toMatchObject({ ok: true });
      expect(w.events).toEqual(["debate challenge"]);
      w.do({ type: "session_end", session: "bob", incarnation: null, cause: "ended" });
      expect(w.close(null, "race", { force: true })).toMatchObject({ ok: true });
      // What he had not read came back to her, as any message does.
      expect(w.inbox("ann").map(text => text.split(" ")[0])).toEqual(["opens", "closes"]);
    });

    it("are not told by one who has written as much as it may, and the debate goes on", () => {
      for (let i = 0; i < limits.messageRateMax; i += 1) {
        const text = { text: "x", bytes: 1, replyTo: null, urgent: false, wallMs: 0 };
        w.do({ type: "message_send", actor: actor("ann"), project: "/p", to: "bob", ...text });
      }
      w.open("ann");
      expect(w.events).toEqual(["debate opened"]);
      w.challenge("bob", "race");
      expect(w.inbox("ann")).toHaveLength(1);
      expect(w.inbox("cyd")).toHaveLength(1);
    });

    it("go on under another id with their process", () => {
      w.begin("dan", { anchor: { pid: 7, startTime: "1" } });
      w.open("ann", { participants: ["dan"] });
      w.do({ type: "session_suspend", session: "dan" });
      w.begin("next", { anchor: { pid: 7, startTime: "1" } });
      expect(w.known.participants.map(one => one.row)).toEqual([
        row("ann"),
        { id: "next", agent: null, name: "dan" },
      ]);
      w.challenge("ann", "race");
      expect(w.inbox("next")).toHaveLength(1);
      w.reads("next");
      w.challenge("ann", "race");
      expect(w.inbox("next")).toHaveLength(2);
    });

    it("are none of them twice where a process goes on under the id of one that has ended", () => {
      w.begin("dan", { anchor: { pid: 7, startTime: "1" } });
      w.open("ann", { participants: ["dan", "bob"] });
      w.do({ type: "session_end", session: "bob", incarnation: null, cause: "ended" });
      w.do({ type: "session_suspend", session: "dan" });
      w.begin("bob", { anchor: { pid: 7, startTime: "1" } });
      expect(w.known.participants.map(one => one.row)).toEqual([
        row("ann"),
        { id: "bob", agent: null, name: "dan" },
      ]);
    });
  });

  describe("bounds", () => {
    it("of a project's open debates are refused, and a closed one makes room", () => {
      for (let i = 0; i < limits.debatesOpenMax; i += 1) w.open();
      expect(w.open()).toMatchObject({
        code: "too_many_debates",
        error: "/p has 10 open debates, as many as it may; close one first",
      });
      expect(w.open(null, { project: "/q" })).toMatchObject({ ok: true });
      w.close(null, "race", { force: true });
      w.do(closeOf(null, "d-0-1", "race", { force: true }));
      expect(w.open()).toMatchObject({ ok: true });
    });

    it("of a project's debates drop its oldest closed one, and none of another project", () => {
      w.open(null, { project: "/q" });
      w.close(null, "race", { force: true });
      for (let i = 0; i < limits.debatesPerProjectMax + 1; i += 1) {
        w.open();
        // The first one stays open.
        if (i > 0) w.close(null, "race", { force: true });
      }
      const ids = [...w.state.debates.all.keys()];
      expect(ids).toHaveLength(limits.debatesPerProjectMax + 1);
      expect(ids.slice(0, 3)).toEqual(["d-0-1", "d-0-2", "d-0-4"]);
      const verdicts = [...w.state.context.items.keys()];
      expect(verdicts).toHaveLength(limits.debatesPerProjectMax);
      expect(verdicts.slice(0, 2)).toEqual(["/q\ndebate/d-0-1", "/p\ndebate/d-0-4"]);
      expect([...check(w.state)]).toEqual([]);
    });

    it("of all debates drop the oldest closed one, never an open one", () => {
      for (let i = 0; i < bounds.debatesMax; i += 1) w.open(null, { project: `/${i % 4}` });
      expect(w.open(null, { project: "/new" })).toMatchObject({ code: "too_many_debates" });
      for (const id of ["d-0-9", "d-0-3"]) w.do(closeOf(null, id, "race", { force: true }));
      expect(w.open(null, { project: "/new" })).toMatchObject({ ok: true });
      expect(w.state.debates.all.has("d-0-3")).toBe(false);
      expect(w.state.debates.all.has("d-0-9")).toBe(true);
      expect(w.state.debates.all.size).toBe(bounds.debatesMax);
      // The verdict goes with its debate.
      expect(w.state.context.items.has("/2\ndebate/d-0-3")).toBe(false);
      expect(w.state.context.items.has("/0\ndebate/d-0-9")).toBe(true);
      expect(w.events).toEqual(["debate opened", "context_changed"]);
    });

    it("of entries leave room for what the debate needs to close", () => {
      w.open();
      let last = w.evidence("ann", "race");
      while (last.ok) last = w.evidence("ann", "race");
      expect(last).toMatchObject({
        code: "too_many_debates",
        error:
          "d-0-1 has 91 of 100 entries, and needs the others to close; answer what is unanswered, and close it",
      });
      expect(w.challenge("ann", "race")).toMatchObject({ entry: 92 });
      expect(w.challenge("ann", "race")).toMatchObject({ code: "too_many_debates" });
      expect(w.challenge("ann", "leak")).toMatchObject({ entry: 93 });
      expect(w.challenge("bob", "race")).toMatchObject({ entry: 94 });
      expect(w.challenge("bob", "race")).toMatchObject({ code: "too_many_debates" });
      // Bob ends, and Ann answers herself; then he is back, and has to answer her, too.
      w.do({ type: "session_end", session: "bob", incarnation: null, cause: "ended" });
      w.do({ type: "session_end", session: "cyd", incarnation: null, cause: "ended" });
      for (const n of [92, 93, 94]) expect(w.answer("ann", n)).toMatchObject({ ok: true });
      w.begin("bob");
      expect(w.close("ann", "race")).toMatchObject({ code: "debate_unsettled" });
      expect(w.answer("bob", 92)).toMatchObject({ entry: 98 });
      expect(w.close("ann", "race")).toMatchObject({ ok: true });
    });
  });

  it("reads back from a snapshot as it was", () => {
    w.open();
    w.challenge("bob", "race");
    w.open("bob");
    w.close(null, "leak", { force: true });
    const text = writeState(w.state);
    const read = readState(text);
    expect(writeState(read)).toBe(text);
    expect(read.debates.all.get("d-0-1")?.entries).toHaveLength(1);
    expect(read.debates.count).toBe(2);
  });

  it("leaves no trace in a snapshot where there was none", () => {
    expect(writeState(w.state)).not.toContain("debate");
  });
});

// Debates are not settled by one agent with itself, and none is left without a way on.
describe("a debate of one agent with itself", () => {
  let w: DebateWorld;

  beforeEach(() => {
    w = new DebateWorld();
    w.begin("ann");
    w.begin("bob");
  });

  const missing = (reply: Reply) => (reply.ok ? [] : reply["missing"]);
  const force = 'a person can force it: kite debate close d-0-1 --verdict "race" --because WHY --force';
  const ends = (session: string) => w.do({ type: "session_end", session, incarnation: null, cause: "ended" });

  describe("to close", () => {
    it("takes the challenge of another agent than the one that opened and closes it", () => {
      w.open();
      w.concede("ann", "leak");
      const lone = { hypothesis: "race", challenge: null, next: "challenge", others: true };
      expect(missing(w.close("ann", "race"))).toEqual([lone]);
      w.challenge("ann", "race");
      const refused = w.close("ann", "race");
      expect(refused).toMatchObject({
        code: "debate_unsettled",
        error: `d-0-1 cannot close with "race": nobody else answered your own challenge 2; nobody else challenged any hypothesis (another agent has to); here now: bob; or ${force}`,
      });
      expect(missing(refused)).toEqual([
        { hypothesis: "race", challenge: 2, next: "answer", others: true },
        lone,
      ]);
      w.answer("bob", 2);
      w.challenge("bob", "race");
      w.answer("ann", 4);
      expect(w.close("ann", "race")).toMatchObject({ verdict: { forced: false, alone: false } });
    });

    it("takes another challenge than that of the agent which did not open it and closes it", () => {
      w.open();
      w.challenge("bob", "leak");
      expect(w.close("bob", "race")).toMatchObject({
        error: expect.stringContaining(
          "nobody else challenged any hypothesis (another agent has to); here now: ann",
        ),
      });
      w.challenge("ann", "race");
      w.answer("bob", 2);
      expect(w.close("bob", "race")).toMatchObject({ ok: true });
    });

    it("tells another agent that its own challenge is what is missing", () => {
      w.open();
      w.challenge("ann", "leak");
      const refused = w.close("bob", "race");
      expect(refused).toMatchObject({
        error:
          'd-0-1 cannot close with "race": nobody but ann, who opened it, challenged any hypothesis (challenge one)',
      });
      expect(missing(refused)).toEqual([
        { hypothesis: "race", challenge: null, next: "challenge", others: false },
      ]);
      w.challenge("bob", "race");
      w.answer("ann", 2);
      expect(w.close("bob", "race")).toMatchObject({ ok: true });
    });

    it("takes a person as another one", () => {
      w.open();
      w.challenge(null, "race");
      w.answer(null, 1);
      w.concede(null, "leak");
      expect(w.close("ann", "race")).toMatchObject({ ok: true });
      w.open();
      w.concede("ann", "leak");
      expect(w.close(null, "race")).toMatchObject({ verdict: { forced: false, alone: false } });
    });

    it("takes the challenge of a subagent", () => {
      w.do({ type: "agent_begin", session: "ann", agent: "a1", name: "Sceptic" });
      w.open();
      const sceptic = { ...actor("ann"), agent: "a1" };
      w.challenge(sceptic, "race");
      w.challenge(sceptic, "leak");
      w.answer("ann", 1);
      expect(w.close("ann", "race")).toMatchObject({ ok: true });
    });
  });

  describe("an answer", () => {
    it("to one's own challenge is refused, with who can answer", () => {
      w.open();
      w.challenge("ann", "race");
      expect(w.answer("ann", 1)).toMatchObject({
        code: "debate_state",
        error: `entry 1 of d-0-1 is your own challenge; another agent has to answer it; here now: bob; or ${force}`,
      });
      expect(w.known.entries).toHaveLength(1);
    });

    it("is still one's own when the process goes on under another id", () => {
      w.begin("dan", { anchor: { pid: 7, startTime: "1" } });
      w.open("ann", { participants: ["bob"] });
      w.challenge("dan", "race");
      w.do({ type: "session_suspend", session: "dan" });
      w.begin("next", { anchor: { pid: 7, startTime: "1" } });
      expect(w.answer("next", 1)).toMatchObject({ code: "debate_state" });
      expect(w.known.entries[0]?.by).toEqual({ id: "next", agent: null, name: "dan" });
      expect([...check(w.state)]).toEqual([]);
    });
  });

  describe("to concede", () => {
    it("is for who opened the debate, and for those that speak for the hypothesis", () => {
      w.open("ann", { hypotheses: hypotheses("race", "leak", "clock", "none") });
      expect(w.concede("bob", "leak")).toMatchObject({
        code: "debate_state",
        error:
          'you cannot concede "leak" in d-0-1: ann opened it, and you did not speak for "leak"; challenge it instead',
      });
      w.evidence("bob", "leak", true);
      expect(w.concede("bob", "leak")).toMatchObject({ code: "debate_state" });
      w.evidence("bob", "leak");
      expect(w.concede("ann", "leak")).toMatchObject({
        error: 'you cannot concede "leak" in d-0-1: bob supports "leak"; challenge it instead',
      });
      expect(w.concede("bob", "leak")).toMatchObject({ ok: true });
      w.challenge("ann", "clock");
      w.answer("bob", 4);
      expect(w.concede("ann", "clock")).toMatchObject({ code: "debate_state" });
      expect(w.concede(null, "clock")).toMatchObject({ ok: true });
      expect(w.concede("ann", "none")).toMatchObject({ ok: true });
    });

    it("is for no agent that did not speak for it if a person opened the debate", () => {
      w.open(null);
      expect(w.concede("ann", "leak")).toMatchObject({
        error:
          'you cannot concede "leak" in d-0-1: a person at a terminal opened it, and you did not speak for "leak"; challenge it instead',
      });
    });
  });

  describe("an agent alone in its project", () => {
    it("answers itself and closes, which the verdict says", () => {
      w.open();
      ends("bob");
      expect(missing(w.close("ann", "race"))).toEqual([
        { hypothesis: "leak", challenge: null, next: "challenge", others: false },
      ]);
      w.challenge("ann", "leak");
      w.challenge("ann", "race");
      expect(missing(w.close("ann", "race"))).toEqual([
        { hypothesis: "race", challenge: 2, next: "answer", others: false },
      ]);
      expect(w.answer("ann", 2)).toMatchObject({ ok: true });
      expect(w.close("ann", "race")).toMatchObject({ verdict: { forced: false, alone: true } });
      expect(w.state.context.items.get("/p\ndebate/d-0-1")?.value).toMatchObject({ alone: true });
      expect([...check(w.state)]).toEqual([]);
    });

    it("is not called alone if another agent did its part before it left", () => {
      w.open();
      w.challenge("bob", "race");
      w.challenge("bob", "leak");
      ends("bob");
      w.answer("ann", 1);
      expect(w.close("ann", "race")).toMatchObject({ verdict: { alone: false } });
    });

    it("may have subagents, and others in other projects, but no teammates", () => {
      w.open();
      ends("bob");
      w.begin("far", { project: "/q" });
      w.do({ type: "agent_begin", session: "ann", agent: "a1", name: "Explore" });
      w.concede("ann", "leak");
      w.do({ type: "teammate_named", session: "ann", agent: "a1", name: "tess", team: "t" });
      expect(w.close("ann", "race")).toMatchObject({
        error: expect.stringContaining("here now: ann/Explore; or"),
      });
      w.do({ type: "agent_end", actor: { ...actor("ann"), agent: "a1" } });
      expect(w.close("ann", "race")).toMatchObject({ verdict: { alone: true } });
    });

    it("has company again when another one is back, and its own answers do not count then", () => {
      w.open();
      ends("bob");
      w.challenge("ann", "race");
      w.answer("ann", 1);
      w.begin("bob");
      w.challenge("bob", "leak");
      expect(missing(w.close("ann", "race"))).toEqual([
        { hypothesis: "race", challenge: 1, next: "answer", others: true },
      ]);
      w.do({ type: "session_lost", session: "bob", begun: w.state.sessions.live.get("bob")?.begun ?? 0 });
      expect(w.close("ann", "race")).toMatchObject({ verdict: { alone: true } });
    });
  });
});
