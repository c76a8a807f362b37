/** Commands that change a debate: open, challenge, evidence, answer, concede, close. */
import type { DebateEntryReply } from "../../../protocol/lead/debate.ts";
import { limits } from "../../../protocol/limits.ts";
import { who } from "../../messages/who.ts";
import { hiddenAgent } from "../../person.ts";
import { type Client, type ProcessContext, print, printJson } from "../../process-context.ts";
import { clean, listed } from "../../view/text.ts";
import { ask, exitCodes, fail, withDaemon } from "../../with-daemon.ts";

export interface OpenFlags {
  readonly hypothesis: readonly string[];
  readonly participant: readonly string[];
  readonly project?: string;
  readonly json?: boolean;
}

/** Opens a debate; a hypothesis is `NAME=CLAIM`. Returns the exit code, as all functions here do. */
export async function open(world: ProcessContext, question: string, flags: OpenFlags): Promise<number> {
  const json = flags.json === true;
  const hypotheses = flags.hypothesis.map(text => {
    const [name = "", ...claim] = text.split("=");
    return { name: name.trim(), claim: claim.join("=").trim() };
  });
  const wrong = hypotheses.findIndex(({ name, claim }) => name === "" || claim === "");
  if (hypotheses.length < 2 || wrong !== -1) {
    const which = wrong === -1 ? `${hypotheses.length} of them` : `"${flags.hypothesis[wrong]}"`;
    fail(world, json, "usage", `give --hypothesis NAME=CLAIM twice or more, not ${which}`);
    return exitCodes.failed;
  }
  const by = await who(world, flags.project);
  const named = flags.participant.length === 0 ? {} : { participants: [...flags.participant] };
  return withDaemon(world, json, async client => {
    const answered = await ask(client, "debate_open", { ...by, question, hypotheses, ...named });
    if (json) printJson(world, answered);
    else {
      const names = answered.participants.map(({ name }) => clean(name));
      const shown = names.slice(0, limits.recipientsNamedMax);
      const whom = names.length === 0 ? "none" : listed(shown, names.length - shown.length);
      print(world, [`${clean(answered.debate)} is open; participants: ${whom}`]);
    }
    return exitCodes.done;
  });
}

/** `project`: whose short names count; by default the working directory's. */
export interface PlaceFlags {
  readonly project?: string;
  readonly json?: boolean;
}

export interface EntryFlags extends PlaceFlags {
  readonly against?: boolean;
}

export async function speak(
  world: ProcessContext,
  kind: "challenge" | "evidence",
  debate: string,
  hypothesis: string,
  text: string,
  flags: EntryFlags,
): Promise<number> {
  const said = { ...(await who(world, flags.project)), debate, hypothesis, text };
  const against = flags.against === true ? { against: true } : {};
  return enter(world, flags.json === true, client =>
    kind === "challenge"
      ? ask(client, "debate_challenge", said)
      : ask(client, "debate_evidence", { ...said, ...against }),
  );
}

/** `number` is that of the challenge, as typed. */
export async function answer(
  world: ProcessContext,
  debate: string,
  number: string,
  text: string,
  flags: PlaceFlags,
): Promise<number> {
  const json = flags.json === true;
  if (!/^[1-9]\d{0,5}$/.test(number)) {
    fail(world, json, "usage", `give the number of a challenge, not ${number}; kite debate show lists them`);
    return exitCodes.failed;
  }
  const said = { ...(await who(world, flags.project)), debate, challenge: Number(number), text };
  return enter(world, json, client => ask(client, "debate_answer", said));
}

/** `text` may be empty. */
export async function concede(
  world: ProcessContext,
  debate: string,
  hypothesis: string,
  text: string,
  flags: PlaceFlags,
): Promise<number> {
  const by = await who(world, flags.project);
  const said = { ...by, debate, hypothesis, ...(text === "" ? {} : { text }) };
  return enter(world, flags.json === true, client => ask(client, "debate_concede", said));
}

export interface CloseFlags extends PlaceFlags {
  readonly verdict: string;
  readonly because: string;
  readonly force?: boolean;
}

export async function close(world: ProcessContext, debate: string, flags: CloseFlags): Promise<number> {
  const { verdict, because } = flags;
  const json = flags.json === true;
  const force = flags.force === true ? { force: true } : {};
  const hidden = flags.force === true ? await hiddenAgent(world, "forces a debate to close") : null;
  if (hidden !== null) {
    fail(world, json, "not_a_person", hidden);
    return exitCodes.failed;
  }
  const by = await who(world, flags.project);
  return withDaemon(world, json, async client => {
    const said = { ...by, debate, verdict, because, ...force };
    const closed = await ask(client, "debate_close", said);
    if (json) printJson(world, closed);
    else {
      const { forced, alone } = closed.verdict;
      const how = forced ? " by force" : alone ? " alone" : "";
      const id = clean(closed.debate);
      print(world, [
        `${id} is closed${how} with ${clean(closed.verdict.name)}; shared as ${clean(closed.key)}`,
      ]);
    }
    return exitCodes.done;
  });
}

async function enter(
  world: ProcessContext,
  json: boolean,
  say: (client: Client) => Promise<DebateEntryReply>,
): Promise<number> {
  return withDaemon(world, json, async client => {
    const entered = await say(client);
    if (json) printJson(world, entered);
    else print(world, [`entry ${entered.entry} of ${clean(entered.debate)}`]);
    return exitCodes.done;
  });
}
