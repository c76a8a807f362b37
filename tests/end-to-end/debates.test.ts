/** Debates through the real daemon: over the wire, by the tool of agents, from the terminal, and all at once. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Client, Home, type Message } from "./daemon.ts";
import { Mcp } from "./mcp-client.ts";

let home: Home;
const servers: Mcp[] = [];

beforeEach(async () => {
  home = new Home();
  await home.start();
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map(mcp => mcp.close()));
  await home.dispose();
});

async function agent(name: string): Promise<Mcp> {
  const mcp = await Mcp.start(home, { name });
  servers.push(mcp);
  // It becomes a session with its first call.
  await mcp.call("kite_status");
  return mcp;
}

const session = (id: string) => home.session(id, { project: home.work });

const question = "Why does login hang?";
const hypotheses = [
  { name: "race", claim: "Two refresh at once" },
  { name: "leak", claim: "No memory is left" },
];

async function opened(client: Client, id: string, more: Message = {}): Promise<string> {
  const reply = await client.ask({ type: "debate_open", id, question, hypotheses, ...more });
  expect(reply).toMatchObject({ ok: true, debate: expect.stringMatching(/^d-\w+-\w+$/) });
  return String(reply["debate"]);
}

describe("by the tool", () => {
  test("two agents debate, a refusal names the next calls, and a person reads all of it", async () => {
    const [alice, bob] = [await agent("alice"), await agent("bob")];
    const debate = (mcp: Mcp, verb: string, given: Message = {}) =>
      mcp.call("kite_debate", { verb, ...given });
    const made = await debate(alice, "open", { question, hypotheses });
    expect(made.data).toMatchObject({ participants: ["alice", "bob"] });
    const id = String(made.data["debate"]);
    expect(made.text).toBe(
      `Opened ${id} with "alice", "bob". Next: kite_debate with verb challenge, debate ${id}.`,
    );
    const told = await bob.call("kite_inbox");
    expect(told.text).toContain(`from "alice"`);
    expect(told.text).toContain(`opens debate ${id}: '${question}'. Hypotheses: race, leak.`);
    const said = { debate: id, hypothesis: "race", text: "It hangs alone, too" };
    expect((await debate(bob, "challenge", said)).text).toBe(
      `Entry 1 of ${id}. Next: kite_debate with verb answer, debate ${id}, challenge 1.`,
    );
    const close = { debate: id, verdict: "race", because: "It goes away on one core" };
    const refused = await debate(alice, "close", close);
    expect(refused).toMatchObject({
      isError: true,
      data: {
        code: "debate_unsettled",
        missing: [
          { hypothesis: "race", challenge: 1, next: "answer", others: false },
          { hypothesis: "leak", challenge: null, next: "challenge", others: false },
        ],
      },
    });
    expect(refused.text).toContain(
      `Next: kite_debate with debate ${id}, you: verb answer, challenge 1; verb challenge or concede, hypothesis leak`,
    );
    await debate(alice, "answer", { debate: id, challenge: 1, text: "Not on one core" });
    await debate(bob, "evidence", { debate: id, hypothesis: "leak", text: "rss is flat", against: true });
    expect((await debate(bob, "concede", { debate: id, hypothesis: "leak" })).data).toMatchObject({
      code: "debate_state",
    });
    await debate(alice, "concede", { debate: id, hypothesis: "leak" });
    expect((await debate(alice, "close", close)).data).toEqual({
      debate: id,
      verdict: "race",
      key: `debate/${id}`,
    });
    expect((await debate(bob, "challenge", said)).data).toMatchObject({
      code: "debate_state",
      status: "closed",
    });
    const shown = await debate(bob, "show", { debate: id });
    expect(shown.data).toMatchObject({
      status: "closed",
      verdict: { name: "race", by: "alice", forced: false },
      entries: [{ kind: "challenge" }, { kind: "answer", answers: 1 }, { against: true }, { text: null }],
    });
    expect(shown.text).toContain(`3. evidence against "leak" by "bob": "rss is flat"`);
    expect((await debate(bob, "list")).text).toContain(`${id}: "${question}", closed with "race" by "alice"`);
    const kept = await bob.call("kite_context_get", { key: `debate/${id}` });
    expect(JSON.parse(String(kept.data["json"]))).toEqual({
      question,
      verdict: "race",
      because: "It goes away on one core",
      by: "alice",
      forced: false,
      alone: false,
    });
    const read = await home.kite("debate", "show", id);
    expect(read).toContain("  1  bob challenges race, ");
    expect(read).toMatch(/\n {2}verdict: race, by alice, [\d:]+\n {4}It goes away on one core\n$/);
  });

  test("says which parameters a verb needs", async () => {
    const alice = await agent("alice");
    const refused = await alice.call("kite_debate", { verb: "answer", debate: "1" });
    expect(refused).toMatchObject({ isError: true, data: { code: "invalid_request", path: "challenge" } });
    expect(refused.text).toContain("verb answer needs debate, challenge, text; missing: challenge, text");
    expect((await alice.call("kite_debate", { verb: "show", debate: "1" })).data).toMatchObject({
      code: "unknown_debate",
    });
  });
});

describe("from the terminal", () => {
  test("a person opens, forces and lists; an agent's shell cannot force", async () => {
    await session("ann");
    const rivals = ["--hypothesis", "race=two refresh", "--hypothesis", "leak=none left"];
    const printed = await home.kite("debate", "open", "Why", "does", "it", "hang?", ...rivals);
    expect(printed).toMatch(/^d-\w+-1 is open; participants: ann\n$/);
    expect(await home.kite("task", "add", "Fix it", "--debate", "1", "--json")).toMatch(/"debate":"d-\w+-1"/);
    expect(await home.kite("debate", "list")).toMatch(
      /^1 {2}open {2}Why does it hang\? {2}2 unchallenged, for \d+s\n$/,
    );
    const close = ["debate", "close", "1", "--verdict", "race", "--because", "we have to go on"];
    await expect(home.kite(...close)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^kite: d-\w+-1 cannot close with "race": "leak" was never challenged \(challenge or concede it\)\n$/,
      ),
    });
    const shell = { ...home.environment, KITE_SESSION: "ann" };
    await expect(home.kiteIn(shell, ...close, "--force")).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("only a person at a terminal may force a debate to close"),
    });
    expect(await home.kiteIn(shell, "debate", "challenge", "1", "race", "alone, too")).toMatch(
      /^entry 1 of d-/,
    );
    expect(await home.kite(...close, "--force")).toMatch(/^d-\w+-1 is closed by force with race; shared as /);
    const shown: Message = JSON.parse(await home.kite("debate", "show", "1", "--json"));
    expect(shown["debate"]).toMatchObject({ verdict: { name: "race", by: null, forced: true } });
    expect(shown["entries"]).toMatchObject([{ kind: "challenge", by: { id: "ann" } }]);
  });
});

describe("over the wire", () => {
  test("what was answered is there after the daemon was killed, and is done once", async () => {
    const ann = await session("ann");
    const debate = await opened(ann, "ann", { requestId: "r1" });
    const said = {
      type: "debate_challenge",
      id: "ann",
      debate,
      hypothesis: "race",
      text: "x",
      requestId: "r2",
    };
    expect(await ann.ask(said)).toMatchObject({ entry: 1 });
    await home.daemon.kill();
    await home.start();
    const again = await session("ann");
    expect(await opened(again, "ann", { requestId: "r1" })).toBe(debate);
    expect(await again.ask(said)).toMatchObject({ ok: true, entry: 1 });
    expect(await again.ask({ type: "debate_get", debate })).toMatchObject({ entries: { length: 1 } });
    const { rows } = await again.ask({ type: "debate_list", id: "ann" });
    expect(rows).toMatchObject([{ id: debate, status: "open", entryCount: 1 }]);
    const forced = { type: "debate_close", debate, verdict: "race", because: "y", force: true };
    expect(await again.ask(forced)).toMatchObject({ verdict: { forced: true } });
    await home.daemon.kill();
    await home.start();
    const key = `debate/${debate}`;
    const later = await session("ann");
    expect(await later.ask({ type: "context_get", id: "ann", key })).toMatchObject({
      durable: true,
      value: { verdict: "race", by: null, forced: true },
    });
  });

  test("subscribers hear of every change, and an agent behind hooks with its next prompt", async () => {
    const ann = await session("ann");
    const prompt = async () => {
      const common = { session_id: "bob", cwd: home.work, hook_event_name: "UserPromptSubmit" };
      const reply = await ann.ask({ type: "hook", event: { ...common, prompt: "go on", prompt_id: "p1" } });
      return String(reply["output"]);
    };
    await prompt();
    const watcher = await home.connect();
    await watcher.ask({ type: "subscribe", events: ["debate_changed"], project: home.work });
    const debate = await opened(ann, "ann");
    await ann.ask({ type: "debate_evidence", id: "ann", debate, hypothesis: "race", text: "x" });
    expect(await watcher.event("debate_changed")).toMatchObject({
      debate,
      project: home.work,
      what: "opened",
      by: { id: "ann" },
    });
    expect(await watcher.event("debate_changed")).toMatchObject({ what: "evidence" });
    expect(await prompt()).toContain(`opens debate ${debate}`);
    await ann.ask({ type: "debate_challenge", id: "ann", debate, hypothesis: "race", text: "really?" });
    expect(await prompt()).toContain("challenges race");
  });

  test("wrong parameters are refused by name", async () => {
    const ann = await session("ann");
    const debate = await opened(ann, "ann");
    const refused = async (request: Message) => (await ann.ask({ id: "ann", debate, ...request }))["error"];
    const one = { type: "debate_open", question, hypotheses: hypotheses.slice(0, 1) };
    expect(await refused(one)).toContain("hypotheses");
    expect(await refused({ ...one, hypotheses, question: " " })).toContain(
      "question: a text must say something",
    );
    expect(await refused({ type: "debate_answer", challenge: 0, text: "x" })).toContain("challenge");
    const long = { type: "debate_challenge", hypothesis: "race", text: "x".repeat(4_097) };
    expect(await refused(long)).toContain("text");
    const close = { type: "debate_close", verdict: "race", because: "x", force: true };
    expect(await ann.ask({ id: "ann", debate, ...close })).toMatchObject({ code: "person_only" });
  });
});
