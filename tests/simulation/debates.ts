/**
 * What the simulated clients say in debates, and the rules of debates once more, written without the core's own: what
 * was said is remembered as the entries of the log tell it, and compared with what the state has.
 */
import type { Actor } from "../../daemon/core/actor.ts";
import type { Slice } from "../../daemon/core/check.ts";
import type { Command, CommandOf, Entry } from "../../daemon/core/commands.ts";
import type { NewEntry } from "../../daemon/core/debates/commands.ts";
import type { Debate } from "../../daemon/core/debates/table.ts";
import type { Reply, Step } from "../../daemon/core/outcome.ts";
import type { State } from "../../daemon/core/state.ts";
import { limits } from "../../protocol/limits.ts";
import type { Random } from "./random.ts";
import type { TasksBefore } from "./tasks.ts";

// As many as a simulation can fill.
Object.assign(limits, { debatesMax: 5, debatesOpenMax: 2, debateEntriesMax: 12 });

const names = ["race", "leak", "clock", "none"] as const;
const projects = ["/p", "/q"] as const;

type Speaking = CommandOf<"debate_open" | "debate_enter" | "debate_close">;

export class DebateLives {
  readonly #random: Random;
  /** Entries that a client heard of, by debate: the highest number. Debates that made room since are out. */
  readonly #heard = new Map<string, number>();
  /** Closed debates with their verdicts, as clients heard of them. */
  readonly #closed = new Map<string, string>();
  /** When a request that may be sent again was carried out, by its requestId. */
  readonly #carriedOut = new Map<string, number>();
  readonly #retried: Command[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  /** Whether somebody speaks now. */
  isNext(): boolean {
    return this.#random.chance(0.06);
  }

  /** What a client asks for in a breath. */
  commands(state: State, actor: Actor): Command[] {
    const random = this.#random;
    const commands = Array.from({ length: random.int(1, 4) }, () => this.#command(state, actor));
    if (this.#retried.length > 0 && random.chance(0.2)) commands.push(random.pick(this.#retried.slice(-4)));
    return commands;
  }

  /** The command, now and then with a debate that its task requires. */
  required(state: State, command: Command): Command {
    const random = this.#random;
    if (command.type !== "task_create" && command.type !== "task_update") return command;
    if (command.retry !== undefined || random.chance(0.8)) return command;
    const about = this.#about(state, null);
    const debate = about === null ? "d-none" : this.#nameOf(about);
    if (command.type === "task_update") return { ...command, debate: random.chance(0.2) ? null : debate };
    return { ...command, tasks: command.tasks.map(task => ({ ...task, debate })) };
  }

  /** A client hears an answer; what happened to the debate since is seen by the entries that did it. */
  heard({ debates }: State, command: Command, reply: Reply & { readonly ok: true }): void {
    const id = String(reply["debate"]);
    if (command.type === "debate_close") this.#closed.set(id, verdictIn(reply).name);
    if (command.type === "debate_enter" && debates.all.has(id))
      this.#heard.set(id, Math.max(this.#heard.get(id) ?? 0, Number(reply["entry"])));
  }

  /** Everything that is wrong after an entry; `before` is the debates as they were, and `tasks` the tasks. */
  *observe(
    state: State,
    { command }: Entry,
    { reply, events }: Step,
    before: DebatesBefore,
    tasks: TasksBefore,
    touched: ReadonlySet<Slice>,
  ): Generator<string, void> {
    if (command.type === "task_update" && command.by !== null) yield* tookOff(state, tasks);
    if (command.type.startsWith("debate_")) {
      yield* this.#madeRoom(state, before);
      yield* this.#doubled(state, command, before);
      yield* flooded(state);
      if (reply?.ok === false && events.length > 0) yield `${command.type} was refused and told`;
    }
    if (command.type === "debate_close" && reply?.ok) yield* wrongClose(state, command, before, reply);
    if (command.type === "debate_enter" && reply?.ok) yield* wrongEntry(state, command, before, reply);
    if (touched.has("debates")) yield* this.lost(state);
  }

  /** What clients may rely on and is not there. */
  *lost({ debates, context }: State): Generator<string, void> {
    for (const [id, count] of this.#heard) {
      if ((debates.all.get(id)?.entries.length ?? 0) < count)
        yield `entry ${count} of ${id} was acknowledged and is lost`;
    }
    const kept = new Set([...context.items.values()].map(({ key, durable }) => (durable ? key : "")));
    for (const [id, name] of this.#closed) {
      const debate = debates.all.get(id);
      if (debate !== undefined && debate.verdict?.name !== name)
        yield `${id} was acknowledged as closed with ${name}, and is not`;
      if (!kept.has(`debate/${id}`)) yield `the verdict of ${id} was acknowledged and is lost`;
    }
  }

  /** A life has ended: what it opened in the end, and nobody saw, may have made others go. */
  restarted(entries: readonly Entry[], { debates, replies }: State): void {
    if (entries.some(({ command }) => command.type === "debate_open"))
      for (const id of [...this.#heard.keys()]) if (!debates.all.has(id)) this.#heard.delete(id);
    const kept = new Set([...replies.keys()].map(key => key.slice(key.indexOf("\n") + 1)));
    for (const requestId of [...this.#carriedOut.keys()])
      if (!kept.has(requestId)) this.#carriedOut.delete(requestId);
  }

  /** Closed debates alone make room, the oldest first. */
  *#madeRoom({ debates }: State, before: DebatesBefore): Generator<string, void> {
    for (const [id, { verdict, n }] of before) {
      if (debates.all.has(id)) continue;
      this.#heard.delete(id);
      if (verdict === null) yield `${id} made room and was open`;
      const older = [...debates.all.values()].find(one => one.verdict !== null && one.n < n);
      if (older !== undefined) yield `${id} made room before ${older.id}`;
    }
  }

  /** What was sent again within ten minutes is not carried out again. */
  *#doubled({ debates, t }: State, command: Command, before: DebatesBefore): Generator<string, void> {
    if (!("retry" in command) || command.retry === undefined) return;
    if ([...debates.all.values()].every(debate => before.get(debate.id) === debate)) return;
    const { requestId } = command.retry;
    const at = this.#carriedOut.get(requestId);
    this.#carriedOut.set(requestId, t);
    if (at !== undefined && at + limits.replyKeptMs > t) yield `request ${requestId} was carried out twice`;
  }

  #command(state: State, actor: Actor): Command {
    const random = this.#random;
    const by = random.chance(0.85) ? actor : null;
    const roll = random.int(1, 100);
    const about = this.#about(state, by);
    if (roll <= 15 || about === null) return this.#maybeAgain(this.#open(by));
    const debate = this.#nameOf(about);
    if (roll > 32)
      return this.#maybeAgain({ type: "debate_enter", by, debate, entry: this.#entry(about), wallMs: 0 });
    const verdict = this.#hypothesis(about);
    const said = { verdict, because: "so", force: random.chance(0.15), wallMs: 0 };
    return this.#maybeAgain({ type: "debate_close", by, debate, ...said });
  }

  #open(by: Actor | null): Speaking {
    const random = this.#random;
    const some = names.slice(0, random.int(1, 4));
    // Now and then two of one name.
    const hypotheses = (random.chance(0.05) ? ["race", "race"] : some).map(name => ({
      name,
      claim: "it is",
    }));
    const participants = random.chance(0.7)
      ? null
      : [random.pick(["ann", "bob", "alice", "Explore", "nobody"])];
    const project = random.pick(projects);
    return { type: "debate_open", by, project, question: "why?", hypotheses, participants, wallMs: 0 };
  }

  #entry(about: Debate): NewEntry {
    const random = this.#random;
    const hypothesis = this.#hypothesis(about);
    const kind = random.pick([
      "challenge",
      "challenge",
      "answer",
      "answer",
      "answer",
      "evidence",
      "concede",
    ] as const);
    if (kind === "answer") {
      const challenges = about.entries.flatMap((entry, i) => (entry.kind === "challenge" ? [i + 1] : []));
      const challenge =
        challenges.length === 0 || random.chance(0.05) ? random.int(1, 9) : random.pick(challenges);
      return { kind, challenge, text: "so" };
    }
    if (kind === "evidence") return { kind, hypothesis, text: "so", against: random.chance(0.5) };
    return { kind, hypothesis, text: "so" };
  }

  #hypothesis({ hypotheses }: Debate): string {
    return this.#random.chance(0.03) ? "nothing" : this.#random.pick(hypotheses).name;
  }

  /** Mostly an open debate, of the actor's project; null: there is none at all. */
  #about({ debates, sessions }: State, by: Actor | null): Debate | null {
    const random = this.#random;
    const all = [...debates.all.values()];
    const project = by === null ? undefined : sessions.live.get(by.session)?.project;
    const own = all.filter(one => one.verdict === null && (project === undefined || one.project === project));
    if (own.length > 0 && random.chance(0.9)) return random.pick(own);
    return all.length === 0 ? null : random.pick(all);
  }

  /** The id of a debate, a part of it, or nobody's. */
  #nameOf({ id }: Debate): string {
    const random = this.#random;
    if (random.chance(0.02)) return "d-none";
    if (random.chance(0.05)) return id.slice(id.lastIndexOf("-") + 1);
    return random.chance(0.95) ? id : id.slice(0, random.int(2, id.length));
  }

  #maybeAgain(command: Speaking): Command {
    if (this.#random.chance(0.7)) return command;
    const retry = { by: "", requestId: `d${this.#random.bits()}`, digest: "body" };
    const retried = { ...command, retry };
    this.#retried.push(retried);
    return retried;
  }
}

/** Debates as they were before an entry: each is a value. */
export type DebatesBefore = ReadonlyMap<string, Debate>;

export function debatesBefore({ debates }: State, { command }: Entry): DebatesBefore {
  return command.type.startsWith("debate_") ? new Map(debates.all) : new Map();
}

/** What was said, in words: `challenge race`, `answer 1`, `concede leak`. */
function saidIn({ entries }: Debate): readonly string[] {
  return entries.map(({ kind, hypothesis, answers }) =>
    kind === "answer" ? `answer ${answers}` : `${kind} ${hypothesis}`,
  );
}

/** By the rules, in words alone: who chooses what, and what was said until then. */
function* wrongClose(
  state: State,
  { by, force }: CommandOf<"debate_close">,
  before: DebatesBefore,
  reply: Reply & { readonly ok: true },
): Generator<string, void> {
  const id = String(reply["debate"]);
  const { name, forced } = verdictIn(reply);
  const debate = before.get(id);
  // The answer to a retry, when the debate has made room since.
  if (debate === undefined || debate.verdict !== null) return;
  const said = saidIn(debate);
  if (said.includes(`concede ${name}`)) yield `${id} was closed with ${name}, which was conceded`;
  const open = said.flatMap((one, i) =>
    one === `challenge ${name}` && !said.includes(`answer ${i + 1}`) ? [i + 1] : [],
  );
  const rivals = debate.hypotheses.filter(one => one.name !== name).map(one => one.name);
  const untouched = rivals.filter(
    one => !said.includes(`challenge ${one}`) && !said.includes(`concede ${one}`),
  );
  const isMissing = open.length + untouched.length > 0;
  if (isMissing && (!force || by !== null))
    yield `${id} was closed with ${name}, past ${[...open, ...untouched].join(", ")}`;
  if (forced !== isMissing) yield `${id} says forced ${forced}, and is not`;
  const item = state.context.items.get(`${debate.project}\ndebate/${id}`);
  const value = JSON.stringify(item?.value ?? null);
  if (!value.includes(`"verdict":"${name}"`)) yield `the verdict of ${id} is not in the context: ${value}`;
}

/** An entry is made in an open debate, of what is not conceded, behind all others. */
function* wrongEntry(
  state: State,
  { entry }: CommandOf<"debate_enter">,
  before: DebatesBefore,
  reply: Reply & { readonly ok: true },
): Generator<string, void> {
  const id = String(reply["debate"]);
  const [was, now] = [before.get(id), state.debates.all.get(id)];
  if (was === undefined || now === undefined || now === was) return;
  if (was.verdict !== null) yield `${id} was closed and got an entry`;
  const said = saidIn(was);
  const last = now.entries.at(-1);
  if (now.entries.length !== was.entries.length + 1 || reply["entry"] !== now.entries.length)
    yield `entry ${String(reply["entry"])} of ${id} is not its last one`;
  if (said.includes(`concede ${last?.hypothesis}`)) yield `${id} got an entry of what was conceded`;
  if (entry.kind === "answer" && said[entry.challenge - 1] !== `challenge ${last?.hypothesis}`)
    yield `entry ${entry.challenge} of ${id} was answered and is no challenge`;
}

/** A task keeps the open debate that it requires, but for a person. */
function* tookOff({ debates, tasks }: State, before: TasksBefore): Generator<string, void> {
  for (const [id, { debate }] of before) {
    const isOpen = debate !== undefined && debates.all.get(debate)?.verdict === null;
    const now = tasks.all.get(id)?.debate;
    if (isOpen && now !== debate) yield `${id} required ${debate}, which is open, and now ${now ?? "none"}`;
  }
}

/** Nobody has two messages of a debate to read, but for that it closed, and what came back. */
function* flooded({ messages }: State): Generator<string, void> {
  const seen = new Set<string>();
  for (const { text, letters } of messages.all.values()) {
    const [, id] = /^(?:opens|challenges .*? in) debate (d-\S+?):? /.exec(text) ?? [];
    if (id === undefined) continue;
    for (const [inbox, { state, undelivered }] of letters) {
      if (state !== "unread" || undelivered !== null) continue;
      if (seen.has(`${id} ${inbox}`)) yield `${inbox} has two messages of ${id} to read`;
      seen.add(`${id} ${inbox}`);
    }
  }
}

function verdictIn(reply: Reply & { readonly ok: true }): {
  readonly name: string;
  readonly forced: boolean;
} {
  return reply["verdict"] as { readonly name: string; readonly forced: boolean };
}
