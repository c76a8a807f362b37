/** The tool of debates: kite_debate, with a verb for each step. */
import * as z from "zod";
import {
  type DebateEntryRow,
  type DebateRow,
  debateAnswerSchema,
  debateChallengeSchema,
  debateCloseSchema,
  debateEvidenceSchema,
  debateOpenSchema,
  type MissingRow,
} from "../../../protocol/lead/debate.ts";
import { limits } from "../../../protocol/limits.ts";
import type { ActorRow } from "../../../protocol/lock.ts";
import { frame, quote } from "../../../protocol/text.ts";
import { told } from "../../mcp/schema.ts";
import { type Call, type Said, type Tool, tool } from "../../mcp/tool.ts";
import { granted, Refused } from "../../with-daemon.ts";
import { debatesOf, wholeDebate } from "../debates/rows.ts";

const { question, hypotheses, participants } = debateOpenSchema.shape;
const { debate, hypothesis, text: words } = debateChallengeSchema.shape;

const input = z.object({
  verb: z.enum(["open", "challenge", "evidence", "answer", "concede", "close", "list", "show"]),
  question: question.optional(),
  hypotheses: hypotheses.optional().meta(told("[{name, claim}]")),
  participants,
  debate: debate.optional(),
  hypothesis: hypothesis.optional(),
  challenge: debateAnswerSchema.shape.challenge.optional(),
  text: words.optional(),
  against: debateEvidenceSchema.shape.against,
  verdict: debateCloseSchema.shape.verdict.optional(),
  because: debateCloseSchema.shape.because.optional(),
});

type Given = z.output<typeof input>;

const debateTool = tool({
  name: "kite_debate",
  title: "Debate",
  description:
    "Before you commit to an explanation or a design: open(question, hypotheses), challenge or evidence(debate, " +
    "hypothesis, text), answer(debate, challenge: its entry, text), concede(debate, hypothesis), close(debate, verdict: " +
    "name, because), show(debate), list. Closes once each rival was challenged or conceded, the verdict's challenges are " +
    "answered, and another agent challenged.",
  input,
  run: (call, given) => verbs[given.verb](call, given),
});

export const debateTools: readonly Tool[] = [debateTool];

const verbs: Readonly<Record<Given["verb"], (call: Call, given: Given) => Promise<Said>>> = {
  open: async ({ client, actor }, given) => {
    const said = needed(given, "question", "hypotheses");
    const more = given.participants === undefined ? {} : { participants: given.participants };
    const { debate: id, participants: told } = granted(
      await client.request("debate_open", { ...actor, ...said, ...more }),
    );
    const names = told.map(({ name }) => name);
    const text = `Opened ${id} with ${names.map(name => quote(name)).join(", ")}. ${howTo(id, "challenge")}`;
    return { text, data: { debate: id, participants: names } };
  },
  challenge: async ({ client, actor }, given) => {
    const said = needed(given, "debate", "hypothesis", "text");
    return entered(granted(await client.request("debate_challenge", { ...actor, ...said })), "answer");
  },
  evidence: async ({ client, actor }, given) => {
    const said = needed(given, "debate", "hypothesis", "text");
    const against = given.against === undefined ? {} : { against: given.against };
    return entered(granted(await client.request("debate_evidence", { ...actor, ...said, ...against })));
  },
  answer: async ({ client, actor }, given) => {
    const said = needed(given, "debate", "challenge", "text");
    return entered(granted(await client.request("debate_answer", { ...actor, ...said })));
  },
  concede: async ({ client, actor }, given) => {
    const said = needed(given, "debate", "hypothesis");
    const why = given.text === undefined ? {} : { text: given.text };
    return entered(granted(await client.request("debate_concede", { ...actor, ...said, ...why })));
  },
  close: async ({ client, actor }, given) => {
    const said = needed(given, "debate", "verdict", "because");
    const answer = await client.request("debate_close", { ...actor, ...said });
    if (!answer.ok) throw new Refused(withVerbs(answer));
    const { debate: id, key, verdict } = answer;
    const text = `Closed ${id} with ${quote(verdict.name)}; shared as ${quote(key)} (kite_context_get).`;
    return { text, data: { debate: id, verdict: verdict.name, key } };
  },
  list: async ({ client, acting: { project } }) => {
    const rows = (await debatesOf(client, project)).reverse().slice(0, limits.mcpRowsMax);
    const lines = rows.map(row => `- ${row.id}: ${quote(row.question)}, ${stateOf(row)}`);
    const text = rows.length === 0 ? "No debates." : [frame, ...lines].join("\n");
    return { text, data: { note: frame, debates: rows.map(dataOf) } };
  },
  show: async ({ client, actor }, given) => {
    const whole = await wholeDebate(client, { ...actor, ...needed(given, "debate") });
    const { debate: row, entries } = whole;
    const lines = [
      `${row.id}: ${quote(row.question, limits.debateTextChars)}, ${stateOf(row)}`,
      ...row.hypotheses.map(
        one => `- ${quote(one.name)}: ${quote(one.claim, limits.debateTextChars)}, ${standing(one)}`,
      ),
      ...entries.map(entryLine),
      ...(row.verdict === null ? [] : [`because: ${quote(row.verdict.because, limits.debateTextChars)}`]),
    ];
    const data = { ...dataOf(row), participants: whole.participants.map(({ name }) => name) };
    return {
      text: [frame, ...lines].join("\n"),
      data: { note: frame, ...data, entries: entries.map(entryData) },
    };
  },
};

/** Returns the named parameters. Throws `Refused` if one is missing: which ones a verb needs, the schema cannot say. */
function needed<K extends keyof Given>(
  given: Given,
  ...names: readonly K[]
): { [N in K]: NonNullable<Given[N]> } {
  const missing = names.filter(name => given[name] === undefined);
  if (missing.length > 0) {
    const error = `verb ${given.verb} needs ${names.join(", ")}; missing: ${missing.join(", ")}`;
    throw new Refused({ ok: false, code: "invalid_request", error, path: missing[0] });
  }
  return Object.fromEntries(names.map(name => [name, given[name]])) as { [N in K]: NonNullable<Given[N]> };
}

function entered(
  { debate: id, entry }: { readonly debate: string; readonly entry: number },
  next: "answer" | null = null,
): Said {
  const text = `Entry ${entry} of ${id}.${next === null ? "" : ` ${howTo(id, next, entry)}`}`;
  return { text, data: { debate: id, entry } };
}

function howTo(id: string, verb: string, challenge?: number): string {
  const which = challenge === undefined ? "" : `, challenge ${challenge}`;
  return `Next: kite_debate with verb ${verb}, debate ${id}${which}.`;
}

type Refusal = Refused["refusal"];

/** Adds the calls that bring what is missing to a refusal. */
function withVerbs(refusal: Refusal): Refusal {
  const { missing, debate: id } = refusal;
  if (refusal.code !== "debate_unsettled" || !Array.isArray(missing)) return refusal;
  const callOf = ({ hypothesis: name, challenge, next }: MissingRow) =>
    next === "answer"
      ? `verb answer, challenge ${challenge}`
      : name === refusal["verdict"]
        ? "verb challenge"
        : `verb challenge or concede, hypothesis ${name}`;
  const [own, others] = [false, true].map(isOthers =>
    missing.filter((row: MissingRow) => row.others === isOthers).map(callOf),
  );
  const calls = [
    ...(own?.length ? [`you: ${own.join("; ")}`] : []),
    ...(others?.length ? [`another agent: ${others.join("; ")}`] : []),
  ];
  return {
    ...refusal,
    error: `${refusal.error}. Next: kite_debate with debate ${String(id)}, ${calls.join("; ")}`,
  };
}

function stateOf({ status, verdict, openedBy }: DebateRow): string {
  if (verdict === null) return `${status}, by ${nameOf(openedBy)}`;
  return `closed with ${quote(verdict.name)} by ${nameOf(verdict.by)}${verdict.forced ? ", by force" : verdict.alone ? ", alone in the project" : ""}`;
}

function standing({ conceded, challenges, unanswered }: DebateRow["hypotheses"][number]): string {
  if (conceded) return "conceded";
  if (challenges === 0) return "never challenged";
  return unanswered.length === 0 ? "challenges answered" : `unanswered challenges: ${unanswered.join(", ")}`;
}

function entryLine({ number, kind, hypothesis: name, answers, against, text, by }: DebateEntryRow): string {
  const what =
    kind === "answer" ? `answer to ${answers}` : `${kind}${against ? " against" : ""} ${quote(name)}`;
  return `${number}. ${what} by ${nameOf(by)}: ${text === null ? "no words" : quote(text, limits.debateTextChars)}`;
}

function entryData({ by, at: _at, ...entry }: DebateEntryRow) {
  return { ...entry, by: by?.name ?? null };
}

function dataOf({ id, question: asked, status, hypotheses: rivals, verdict }: DebateRow) {
  const ended = verdict && { ...verdict, by: verdict.by?.name ?? null };
  return { debate: id, question: asked, status, hypotheses: rivals, verdict: ended };
}

function nameOf(row: ActorRow | null): string {
  return row === null ? "a person at a terminal" : quote(row.name);
}
