/** `kite debate` and the tool kite_debate: each verb of a debate, described once. */

import type { Command } from "commander";
import type { Refusal } from "../../protocol/codes.ts";
import type {
  DebateEntryReply,
  DebateEntryRow,
  DebateGetReply,
  DebateRow,
  HypothesisRow,
  MissingRow,
} from "../../protocol/lead/debate.ts";
import { limits } from "../../protocol/limits.ts";
import { personName } from "../../protocol/names.ts";
import type { ActorRow } from "../../protocol/schemas/lock.ts";
import type { ParamsOf } from "../../protocol/schemas/requests.ts";
import { frame, quote } from "../../protocol/text.ts";
import { addVerbs, Misuse, project, type ToolAnswer, type Verbs, verb } from "../agents/verb.ts";
import type { Client, Run } from "../context/process-context.ts";
import { ask, pagesOf } from "../context/with-daemon.ts";
import { clean, listed } from "../view/text.ts";
import { debatesView, debateView } from "./view/debates.ts";

// Fetches debates from the daemon, page by page.

type Asking = Pick<Client, "request">;
type InProject = Pick<ParamsOf<"debate_list">, "id" | "agent" | "project">;

/** Returns the debates of a project, oldest first. */
export async function debatesOf(client: Asking, where: InProject): Promise<{ readonly rows: DebateRow[] }> {
  const limit = limits.rowsMax;
  const pages = await pagesOf(from => ask(client, "debate_list", { ...where, limit, ...from }));
  return { rows: pages.flatMap(({ rows }) => rows) };
}

type WholeDebate = Omit<DebateGetReply, "next">;

/** Returns the debate that is asked for, with all its entries. */
async function wholeDebate(
  client: Asking,
  which: Omit<ParamsOf<"debate_get">, "after">,
): Promise<WholeDebate> {
  const entries: DebateEntryRow[] = [];
  for (let after = 0; ; ) {
    const { next, ...answer } = await ask(client, "debate_get", { ...which, after });
    entries.push(...answer.entries);
    if (next === undefined) return { ...answer, entries };
    after = next;
  }
}

// The verbs of a debate, for `kite debate` and for the agents' tool kite_debate.

const debate = { form: "<debate>" };
const hypothesis = { form: "<hypothesis>" };
const text = { form: "<text...>" };

export const debateVerbs = {
  open: verb({
    request: "debate_open",
    says: "open a debate; its participants get a message",
    examples: [
      '$ kite debate open "Why does it hang?" --hypothesis race="two write" --hypothesis leak="no memory"',
    ],
    fields: {
      question: { form: "<question...>" },
      hypotheses: {
        form: "--hypothesis <name=claim>",
        says: "a rival; twice or more",
        isNeeded: true,
        isList: true,
        read: hypothesesOf,
        short: "[{name, claim}]",
      },
      participants: {
        form: "--participant <name>",
        says: "whom to tell, once or more; by default everybody in the project",
        isList: true,
      },
      project: {
        form: "--project <project>",
        says: "another project than that of the working directory; only at a terminal",
      },
    },
    forPerson: ({ debate: id, participants }) => {
      const names = participants.map(({ name }) => clean(name));
      const shown = names.slice(0, limits.recipientsNamedMax);
      const whom = names.length === 0 ? "none" : listed(shown, names.length - shown.length);
      return [`${clean(id)} is open; participants: ${whom}`];
    },
    forAgent: ({ debate: id, participants }) => {
      const names = participants.map(({ name }) => name);
      const whom = names.map(name => quote(name)).join(", ");
      return {
        text: `Opened ${id} with ${whom}. ${howTo(id, "challenge")}`,
        data: { debate: id, participants: names },
      };
    },
  }),
  challenge: verb({
    request: "debate_challenge",
    says: "doubt a hypothesis: the debate waits for an answer",
    examples: ["$ kite debate challenge 1a race it hangs alone, too"],
    fields: { debate, hypothesis, text },
    forPerson: entryLines,
    forAgent: reply => {
      const result = entrySaid(reply);
      return { ...result, text: `${result.text} ${howTo(reply.debate, "answer", reply.entry)}` };
    },
  }),
  evidence: verb({
    request: "debate_evidence",
    says: "say what speaks for a hypothesis",
    examples: ["$ kite debate evidence 1a race two stacks in refresh()"],
    fields: {
      debate,
      hypothesis,
      text,
      project,
      against: { form: "--against", says: "it speaks against the hypothesis" },
    },
    forPerson: entryLines,
    forAgent: entrySaid,
  }),
  answer: verb({
    request: "debate_answer",
    says: "answer a challenge",
    examples: ['$ kite debate answer 1a 3 "not on one core"'],
    fields: {
      debate,
      challenge: { form: "<number>", says: "the challenge, by the number of its entry", read: challengeOf },
      text,
    },
    forPerson: entryLines,
    forAgent: entrySaid,
  }),
  concede: verb({
    request: "debate_concede",
    says: "give a hypothesis up: it can no longer be chosen",
    examples: ["$ kite debate concede 1a leak"],
    fields: { debate, hypothesis, text: { form: "[text...]", says: "why" } },
    forPerson: entryLines,
    forAgent: entrySaid,
  }),
  close: verb({
    request: "debate_close",
    says: "choose a hypothesis; refused with all that is missing",
    examples: ['$ kite debate close 1a --verdict race --because "it goes away on one core"'],
    fields: {
      debate,
      verdict: { form: "--verdict <name>", says: "the hypothesis", isNeeded: true },
      because: { form: "--because <text>", says: "why", isNeeded: true },
      force: {
        form: "--force",
        says: "although something is missing; only a person may, and the verdict says so",
        person: "close",
      },
    },
    forPerson: ({ debate: id, key, verdict: { name, forced, alone } }) => {
      const how = forced ? " by force" : alone ? " alone" : "";
      return [`${clean(id)} is closed${how} with ${clean(name)}; shared as ${clean(key)}`];
    },
    forAgent: ({ debate: id, key, verdict: { name } }) => ({
      text: `Closed ${id} with ${quote(name)}; shared as ${quote(key)} (kite_context_get).`,
      data: { debate: id, verdict: name, key },
    }),
    refusedAgent: withVerbs,
  }),
  list: verb({
    request: "debate_list",
    says: "list the debates of the project, open ones first",
    examples: ["$ kite debate list"],
    isLook: true,
    fields: {},
    fetch: debatesOf,
    forPerson: ({ rows }, screen) => debatesView(rows, screen),
    forAgent: ({ rows }) => {
      const latest = [...rows].reverse().slice(0, limits.mcpRowsMax);
      const lines = latest.map(row => `- ${row.id}: ${quote(row.question)}, ${stateOf(row)}`);
      const all = latest.length === 0 ? "No debates." : [frame, ...lines].join("\n");
      return { text: all, data: { note: frame, debates: latest.map(dataOf) } };
    },
  }),
  show: verb({
    request: "debate_get",
    says: "show everything that was said",
    examples: ["$ kite debate show 1a"],
    isLook: true,
    fields: { debate },
    fetch: wholeDebate,
    forPerson: debateView,
    forAgent: wholeSaid,
  }),
} satisfies Verbs;

/** Reads a hypothesis that is typed as `NAME=CLAIM`. */
function hypothesesOf(typed: readonly string[]): { readonly name: string; readonly claim: string }[] {
  const hypotheses = typed.map(one => {
    const [name = "", ...claim] = one.split("=");
    return { name: name.trim(), claim: claim.join("=").trim() };
  });
  const wrong = hypotheses.findIndex(({ name, claim }) => name === "" || claim === "");
  if (hypotheses.length >= 2 && wrong === -1) return hypotheses;
  const which = wrong === -1 ? `${hypotheses.length} of them` : `"${typed[wrong]}"`;
  throw new Misuse(`give --hypothesis NAME=CLAIM twice or more, not ${which}`);
}

function challengeOf(typed: string): number {
  if (/^[1-9]\d{0,5}$/.test(typed)) return Number(typed);
  throw new Misuse(`give the number of a challenge, not ${typed}; kite debate show lists them`);
}

function entryLines({ debate: id, entry }: DebateEntryReply): string[] {
  return [`entry ${entry} of ${clean(id)}`];
}

function entrySaid({ debate: id, entry }: DebateEntryReply): ToolAnswer {
  return { text: `Entry ${entry} of ${id}.`, data: { debate: id, entry } };
}

function howTo(id: string, next: string, challenge?: number): string {
  const which = challenge === undefined ? "" : `, challenge ${challenge}`;
  return `Next: kite_debate with verb ${next}, debate ${id}${which}.`;
}

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

function wholeSaid({ debate: row, entries, participants }: WholeDebate): ToolAnswer {
  const { id, question, hypotheses, verdict } = row;
  const lines = [
    `${id}: ${long(question)}, ${stateOf(row)}`,
    ...hypotheses.map(one => `- ${quote(one.name)}: ${long(one.claim)}, ${standingOf(one)}`),
    ...entries.map(entryLine),
    ...(verdict === null ? [] : [`because: ${long(verdict.because)}`]),
  ];
  const data = { ...dataOf(row), participants: participants.map(({ name }) => name) };
  return {
    text: [frame, ...lines].join("\n"),
    data: { note: frame, ...data, entries: entries.map(entryData) },
  };
}

function long(words: string): string {
  return quote(words, limits.debateTextChars);
}

function stateOf({ status, verdict, openedBy }: DebateRow): string {
  if (verdict === null) return `${status}, by ${nameOf(openedBy)}`;
  const how = verdict.forced ? ", by force" : verdict.alone ? ", alone in the project" : "";
  return `closed with ${quote(verdict.name)} by ${nameOf(verdict.by)}${how}`;
}

function standingOf({ conceded, challenges, unanswered }: HypothesisRow): string {
  if (conceded) return "conceded";
  if (challenges === 0) return "never challenged";
  return unanswered.length === 0 ? "challenges answered" : `unanswered challenges: ${unanswered.join(", ")}`;
}

function entryLine(entry: DebateEntryRow): string {
  const { kind, text: words } = entry;
  const side = entry.against ? " against" : "";
  const what = kind === "answer" ? `answer to ${entry.answers}` : `${kind}${side} ${quote(entry.hypothesis)}`;
  return `${entry.number}. ${what} by ${nameOf(entry.by)}: ${words === null ? "no words" : long(words)}`;
}

function entryData({ by, at: _at, ...entry }: DebateEntryRow) {
  return { ...entry, by: by?.name ?? null };
}

function dataOf({ id, question, status, hypotheses, verdict }: DebateRow) {
  const ended = verdict && { ...verdict, by: verdict.by?.name ?? null };
  return { debate: id, question, status, hypotheses, verdict: ended };
}

function nameOf(row: ActorRow | null): string {
  return row === null ? personName("agent") : quote(row.name);
}

const overview = `
A debate keeps rival hypotheses apart until each was challenged. It closes with a verdict only after every challenge to the
chosen hypothesis is answered, and every rival was challenged or conceded. No agent settles it with itself: another one than
the challenger answers, and another one than who closes it challenges something. An agent alone in its project needs no other
one; the verdict says so. An agent concedes what it introduced or supports; a person may do anything, and --force it. Name a
debate of this project by its id, the beginning of its id, or its last part alone (1a of d-mhx3k2p1-1a). A debate of another
project needs its whole id, or --project. The command acts for the session in KITE_SESSION or CLAUDE_CODE_SESSION_ID (its
agent in KITE_AGENT), else for you at this terminal. It ends when the change is safe on disk.

The verdict is shared with the project: kite context get debate/ID

--json: commands that change a debate print {"ok":true, "debate":ID, ...}, list {"rows":[...]}, show
{"ok":true, "debate":{...}, "participants":[...], "entries":[...]}, a refusal {"ok":false, "code", "error", ...}.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite debate open "Why does login hang?" --hypothesis race="two refresh at once" --hypothesis leak="no memory is left"
  $ kite debate challenge 1 race "it hangs alone, too"
  $ kite debate answer 1 1 "not on one core"
  $ kite debate concede 1 leak
  $ kite debate close 1 --verdict race --because "it goes away on one core"`;

export function add(debate: Command, run: Run): void {
  debate.addHelpText("after", overview);
  addVerbs(debate, run, debateVerbs);
}
