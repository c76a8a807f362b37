/** Debates are not settled by one agent with itself, and none is left without a way on. */
import { beforeEach, describe, expect, it } from "vitest";
import { check } from "../../daemon/core/slices.ts";
import type { Reply } from "../../daemon/core/tables/entries.ts";
import { actor } from "./core-world.ts";
import { DebateWorld, hypotheses } from "./debate-world.ts";

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
