/** The requests of debates as they are measured: each in a debate of its own, which a person then closes. */
import type { RequestType } from "../../../protocol/schemas/requests.ts";
import { each, inTurn, type Probe } from "./probe.ts";
import type { Fields, Talk } from "./talk.ts";
import { upTo, type World } from "./world.ts";

const hypotheses = upTo(8, i => ({ name: `h${i}`, claim: "The cache is stale" }));
const text = "The log says otherwise.";

/** Rounds of a debate, about which `say` makes requests of one kind. */
function about(
  what: string,
  say: (debate: string, asking: { talk: Talk; world: World }) => Promise<void>,
): Probe {
  return inTurn(what, 1, async ({ talk, world, i }) => {
    const by = { id: world.session(i) };
    const participants = [world.session(i + 1)];
    const opened = await talk.ask({ type: "debate_open", ...by, question: "Why?", hypotheses, participants });
    const debate = String(opened["debate"]);
    await say(debate, { talk, world });
    const verdict = { verdict: "h0", because: text, force: true };
    await talk.ask({ type: "debate_close", project: world.cwd, debate, ...verdict });
  });
}

function enter(world: World, i: number, type: string, debate: string, more: Fields = {}): Fields {
  return { type, id: world.session(i), debate, hypothesis: "h0", text, ...more };
}

export const debateProbes = {
  debate_open: [about("and its close", async () => {})],
  debate_challenge: [
    about("ten in one debate", async (debate, { talk, world }) => {
      await talk.all(upTo(10, i => enter(world, i, "debate_challenge", debate)));
    }),
  ],
  debate_evidence: [
    about("ten in one debate", async (debate, { talk, world }) => {
      await talk.all(upTo(10, i => enter(world, i, "debate_evidence", debate)));
    }),
  ],
  debate_answer: [
    about("ten in one debate", async (debate, { talk, world }) => {
      const replies = await talk.all(upTo(10, i => enter(world, i, "debate_challenge", debate)));
      await talk.all(
        replies.map(({ entry }, i) => ({
          type: "debate_answer",
          id: world.session(i + 1),
          debate,
          challenge: entry,
          text,
        })),
      );
    }),
  ],
  debate_concede: [
    about("of none", async (debate, { talk, world }) => {
      await talk.ask({ type: "debate_concede", id: world.session(50), debate, hypothesis: "h1" }, [
        "debate_state",
      ]);
    }),
  ],
  debate_close: [
    each(
      "of none",
      10,
      ({ world }) => ({
        type: "debate_close",
        project: world.cwd,
        debate: "d-none",
        verdict: "h0",
        because: text,
        force: true,
      }),
      ["unknown_debate"],
    ),
  ],
  debate_get: [
    about("", async (debate, { talk, world }) => {
      await talk.ask({ type: "debate_get", project: world.cwd, debate });
    }),
  ],
  debate_list: [each("", 10, ({ world }) => ({ type: "debate_list", project: world.cwd }))],
} satisfies Partial<Record<RequestType, readonly Probe[]>>;
