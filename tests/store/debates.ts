/** Debates of a history: what its sessions say in them, and what no debate may show. */
import type { Random } from "../simulation/random.ts";
import { type Interval, isLinearizable, type Model } from "./linear.ts";
import type { Machine } from "./machines.ts";
import { type Operation, outcomeOf } from "./operations.ts";
import type { SharedLog } from "./shared-log.ts";

/** More would leave little room for the rest. */
const debatesMax = 4;

export interface Debates {
  /** Ids of debates that a session heard of. */
  readonly ids: string[];
  /** Entries that are challenges, as their debate's id and their number. */
  readonly challenges: { readonly debate: string; readonly entry: number }[];
  opened: number;
}

/** Returns a request of a session in a debate; `text`: one that nothing else has. */
export function debateRequest(random: Random, { ids, challenges, opened }: Debates, text: string): object {
  const [debate] = ids.length === 0 ? [] : [random.pick(ids)];
  const isFirst = debate === undefined && opened < debatesMax;
  if (debate === undefined || (opened < debatesMax && random.chance(0.15))) {
    if (!isFirst && opened >= debatesMax) return { type: "debate_list" };
    const hypotheses = ["left", "right"].map(name => ({ name, claim: `it is ${name}` }));
    return { type: "debate_open", question: text, hypotheses };
  }
  const hypothesis = random.chance(0.7) ? "right" : "left";
  const open = challenges.filter(one => one.debate === debate);
  const drawn = random.fraction();
  if (drawn < 0.3) return { type: "debate_challenge", debate, hypothesis, text };
  if (drawn < 0.5) return { type: "debate_evidence", debate, hypothesis, text };
  if (drawn < 0.8 && open.length > 0)
    return { type: "debate_answer", debate, challenge: random.pick(open).entry, text };
  return { type: "debate_close", debate, verdict: "left", because: text };
}

/** Notes what a session heard. */
export function heardDebate(debates: Debates, { request, reply }: Operation): void {
  const debate = reply?.["debate"];
  if (reply?.["ok"] !== true || typeof debate !== "string") return;
  if (request["type"] === "debate_open") debates.ids.push(debate);
  if (request["type"] === "debate_challenge")
    debates.challenges.push({ debate, entry: Number(reply["entry"]) });
}

interface DebateOp {
  readonly what: "open" | "enter" | "close";
  readonly outcome: string | null;
  /** Its number; 0: it has none. */
  readonly entry: number;
}

interface DebateSeen {
  readonly is: "absent" | "open" | "closed";
  readonly entries: number;
}

/** `isThere`: nobody heard when it was opened. */
function debateModel(isThere: boolean): Model<DebateSeen, DebateOp> {
  return {
    initial: { is: isThere ? "open" : "absent", entries: 0 },
    textOf: ({ is, entries }) => `${is} ${entries}`,
    step: debateStep,
  };
}

function debateStep(debate: DebateSeen, { what, outcome, entry }: DebateOp): DebateSeen | null {
  const { is, entries } = debate;
  if (what === "open") return is === "absent" ? { is: "open", entries } : null;
  if (is === "absent") return null;
  const isDone = outcome === "ok" || outcome === null;
  // Of its refusals only that of a closed debate says more than that it was there.
  if (!isDone) return debate;
  if (is === "closed") return null;
  if (what === "close") return { is: "closed", entries };
  return outcome === null || entry === entries + 1 ? { is, entries: entries + 1 } : null;
}

/** Yields a sentence for each debate whose answers fit no order, or that lacks or repeats what was acknowledged. */
export function* faultsOfDebates(
  operations: readonly Operation[],
  { state: { debates } }: SharedLog,
): Generator<string> {
  const of = new Map<string, Interval<DebateOp>[]>();
  for (const operation of operations) {
    const { request, reply, from, to } = operation;
    const type = String(request["type"]);
    if (!type.startsWith("debate_") || type === "debate_list") continue;
    const what = type === "debate_open" ? "open" : type === "debate_close" ? "close" : "enter";
    const id = String(reply?.["debate"] ?? request["debate"] ?? "");
    const outcome = outcomeOf(operation);
    const op = { what, outcome, entry: Number(reply?.["entry"] ?? 0) } as const;
    const interval = { op, from, to: to ?? Number.POSITIVE_INFINITY, isCertain: to !== null };
    if (id !== "") of.set(id, [...(of.get(id) ?? []), interval]);
    if (outcome !== "ok") continue;
    const { entries = [], verdict = null, question = "" } = debates.all.get(id) ?? {};
    const text = String(request["text"] ?? request["because"] ?? request["question"]);
    const found = [question, verdict?.because, ...entries.map(entry => entry.text)];
    const count = found.filter(one => one === text).length;
    if (count !== 1) yield `debate ${id} has ${text} ${count} times, which was acknowledged once`;
    else if (what === "enter" && entries[op.entry - 1]?.text !== text)
      yield `debate ${id} has ${text} at another place than ${op.entry}, which was acknowledged`;
  }
  for (const [id, all] of of)
    if (!isLinearizable(all, debateModel(!all.some(({ op }) => op.what === "open"))))
      yield `what clients were told of debate ${id} fits no order: ${JSON.stringify(all)}`;
}

/** Returns the debates as a machine shows them, and as the log has them: id, entries and whether it is closed. */
export async function shownDebates(machine: Machine, log: SharedLog): Promise<[string[], string[]]> {
  const client = await machine.connect();
  const listed = await client.ask({ type: "debate_list", project: machine.clone, cwd: machine.clone });
  const rows = (listed["rows"] ?? [listed]) as readonly Record<string, unknown>[];
  client.destroy();
  const kept = [...log.state.debates.all.values()];
  return [
    rows.map(({ id, status, question }) => `${id} ${status} ${question}`),
    kept.map(({ id, verdict, question }) => `${id} ${verdict === null ? "open" : "closed"} ${question}`),
  ];
}
