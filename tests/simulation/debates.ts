/**
 * What the simulated clients say in debates, and the rules of debates once more, written without the core's own: what
 * was said is remembered as the entries of the log tell it, and compared with what the state has.
 */

import { apply } from "../../daemon/core/apply.ts";
import type { Actor, Origin } from "../../daemon/core/frame/actors.ts";
import type { Debate, NewEntry } from "../../daemon/core/lead/tables/debates.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { State, TableName } from "../../daemon/core/state.ts";
import type { Command, CommandOf, Entry, Reply, Step } from "../../daemon/core/tables/entries.ts";
import type { MissingRow, VerdictRow } from "../../protocol/lead/debate.ts";
import { limits } from "../../protocol/limits.ts";
import type { ActorRow } from "../../protocol/schemas/lock.ts";
import type { Random } from "./random.ts";
import type { TasksBefore } from "./tasks.ts";

// As many as a simulation can fill.
Object.assign(limits, { debatesMax: 5, debatesPerProjectMax: 4, debatesOpenMax: 2, debateEntriesMax: 24 });

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
    const { type } = command;
    if (type !== "task_create" && type !== "task_update" && type !== "task_import") return command;
    if (command.retry !== undefined || random.chance(0.8)) return command;
    const about = this.#about(state, null);
    const debate = about === null ? "d-none" : this.#nameOf(about);
    if (command.type === "task_import")
      return { ...command, tasks: command.tasks.map(task => ({ ...task, debate })) };
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
    touched: ReadonlySet<TableName>,
  ): Generator<string, void> {
    if (command.type === "task_update" && command.by !== null) yield* tookOff(state, tasks);
    if (command.type.startsWith("task_")) yield* strayed(state, tasks);
    if (command.type.startsWith("debate_")) {
      yield* this.#madeRoom(state, before);
      yield* this.#doubled(state, command, before);
      yield* flooded(state);
      if (reply?.ok === false && events.length > 0) yield `${command.type} was refused and told`;
    }
    if ((command.type === "debate_enter" || command.type === "debate_close") && reply?.ok)
      yield* wrongName(state, command, String(reply["debate"]));
    if (command.type === "debate_close" && reply?.ok) yield* wrongClose(state, command, before, reply);
    if (command.type === "debate_close" && reply?.ok === false && reply.code === "debate_unsettled")
      yield* leftWithoutWay(state, command);
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
      if (debate !== undefined && !kept.has(`debate/${id}`))
        yield `the verdict of ${id} was acknowledged and is lost`;
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
  *#madeRoom({ debates, context }: State, before: DebatesBefore): Generator<string, void> {
    for (const [id, { verdict, n, project }] of before) {
      if (debates.all.has(id)) continue;
      this.#heard.delete(id);
      if (verdict === null) yield `${id} made room and was open`;
      if (context.items.has(`${project}\ndebate/${id}`))
        yield `${id} made room, and its verdict is still there`;
      const own = [...before.values()].filter(one => one.project === project).length;
      const isOfAll = own < limits.debatesPerProjectMax;
      if (isOfAll && before.size < limits.debatesMax) yield `${id} made room, and there was some`;
      const older = [...debates.all.values()].find(
        one => one.verdict !== null && one.n < n && (isOfAll || one.project === project),
      );
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
    // A person stands in another project now and then.
    const project = about.n % 5 === 0 ? projects[0] : about.project;
    if (roll > 32) {
      const entry = this.#entry(about);
      return this.#maybeAgain({ type: "debate_enter", by, debate, project, entry, wallMs: 0 });
    }
    const verdict = this.#hypothesis(about);
    const said = { verdict, because: "so", force: random.chance(0.15), wallMs: 0 };
    return this.#maybeAgain({ type: "debate_close", by, debate, project, ...said });
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

/** An origin that no client has. */
const nobody: Origin = { node: "copy", epoch: 0, n: 0 };

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

/** Who said what: a name of each actor's own; each person's words count as those of another one. */
function speakersIn({ entries }: Debate): readonly string[] {
  return entries.map(({ by }, i) => (by === null ? `person ${i}` : speaker(by)));
}

function speaker({ id, agent }: ActorRow): string {
  return `${id} ${agent ?? ""}`;
}

/** Who is there in the project besides the actor and the agents that it waits for; lost sessions are not. */
function company({ sessions, teammates }: State, project: string, { session, agent }: Actor): Actor[] {
  return [...sessions.live.values()]
    .filter(one => one.project === project && (one.id === session || one.lostAt === null))
    .flatMap(({ id, agents, incarnations }) => {
      const incarnation = incarnations[0]?.ordinal ?? 0;
      const isMate = (one: string) => teammates.get(id)?.has(one) === true;
      const main = id !== session || (agent !== null && isMate(agent)) ? [null] : [];
      const mates = [...agents.keys()].filter(one => id === session && one !== agent && isMate(one));
      return [...main, ...mates].map(one => ({ session: id, agent: one, incarnation }));
    });
}

/** A person's short name means a debate of the project that the person names. */
function* wrongName(
  { debates }: State,
  { by, debate: name, project }: CommandOf<"debate_enter" | "debate_close">,
  id: string,
): Generator<string, void> {
  const found = debates.all.get(id)?.project;
  if (by === null && name !== id && found !== undefined && found !== project)
    yield `${name} in ${project} meant ${id} of ${found}`;
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
  const isAlone = by !== null && company(state, debate.project, by).length === 0;
  const who = speakersIn(debate);
  const openFor = (isAnswer: (n: number, i: number) => boolean) =>
    said.flatMap((one, i) =>
      one === `challenge ${name}` && !said.some((more, n) => more === `answer ${i + 1}` && isAnswer(n, i))
        ? [i + 1]
        : [],
    );
  const unmet = openFor((n, i) => who[n] !== who[i]);
  const open = isAlone ? openFor(() => true) : unmet;
  const rivals = debate.hypotheses.filter(one => one.name !== name).map(one => one.name);
  const untouched = rivals.filter(
    one => !said.includes(`challenge ${one}`) && !said.includes(`concede ${one}`),
  );
  const challengers = who.filter((_, i) => said[i]?.startsWith("challenge "));
  const heads = by === null ? [] : [debate.openedBy, verdictIn(reply).by].filter(one => one !== null);
  const unopposed = heads.map(speaker).filter(head => challengers.every(one => one === head));
  if (unopposed.length > 0 && !isAlone) yield `${id} was closed, and nobody challenged but ${unopposed[0]}`;
  const isMissing = open.length + untouched.length > 0;
  if (verdictIn(reply).alone !== (isAlone && unmet.length + unopposed.length > 0))
    yield `${id} says alone ${verdictIn(reply).alone}, and is not`;
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
  { by, entry }: CommandOf<"debate_enter">,
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
  if (by === null || last === undefined) return;
  const who = speakersIn(now);
  const self = who.at(-1);
  const isAlone = company(state, now.project, by).length === 0;
  if (entry.kind === "answer" && who[entry.challenge - 1] === self && !isAlone)
    yield `${self} answered itself in ${id}`;
  if (entry.kind !== "concede") return;
  const support = who.filter((_, i) => isFor(was.entries[i], last.hypothesis));
  const isOpener = was.openedBy !== null && speaker(was.openedBy) === self;
  if (support.some(one => one !== self) || (support.length === 0 && !isOpener))
    yield `${self} conceded ${last.hypothesis} in ${id}, which is not its own`;
}

/** Whether the entry speaks for the hypothesis. */
function isFor(entry: Debate["entries"][number] | undefined, name: string): boolean {
  if (entry?.hypothesis !== name) return false;
  return entry.kind === "answer" || (entry.kind === "evidence" && !entry.against);
}

/**
 * In a copy of the state an agent does what its refused close asks for, and another one that is there what it cannot do:
 * then the debate closes.
 */
function* leftWithoutWay(state: State, { by, ...close }: CommandOf<"debate_close">): Generator<string, void> {
  if (by === null) return;
  const copy = readState(writeState(state));
  const run = (command: Command) =>
    apply(copy, { seq: copy.seq + 1, at: copy.t, origin: nobody, command }).reply;
  for (let round = 0; round < 9; round += 1) {
    const { retry: _, ...plain } = close;
    const reply = run({ ...plain, by });
    if (reply === null || reply.ok) return;
    if (reply.code !== "debate_unsettled") {
      // The refusal was a kept one, and something else is in the way by now.
      if (round === 0) return;
      yield `an agent did what ${close.debate} asked for, and was refused: ${reply.error}`;
      return;
    }
    for (const { hypothesis, challenge, others } of reply["missing"] as readonly MissingRow[]) {
      const debate = String(reply["debate"]);
      const [other] = company(copy, copy.debates.all.get(debate)?.project ?? "", by);
      const speaks = others ? other : by;
      if (speaks === undefined) {
        yield `${debate} needs another one than ${by.session}, and nobody is there`;
        return;
      }
      const entry: NewEntry =
        challenge === null
          ? { kind: "challenge", hypothesis, text: "so" }
          : { kind: "answer", challenge, text: "so" };
      const said = run({ type: "debate_enter", by: speaks, debate, entry, wallMs: 0 });
      if (said?.ok === false) yield `${debate} asked for ${entry.kind}, and refused it: ${said.error}`;
    }
  }
  yield `${close.debate} does not close for ${by.session}, whatever is done`;
}

/** A task keeps the open debate that it requires, but for a person. */
function* tookOff({ debates, tasks }: State, before: TasksBefore): Generator<string, void> {
  for (const [id, { debate }] of before) {
    const isOpen = debate !== undefined && debates.all.get(debate)?.verdict === null;
    const now = tasks.all.get(id)?.debate;
    if (isOpen && now !== debate) yield `${id} required ${debate}, which is open, and now ${now ?? "none"}`;
  }
}

/** A task that is new, or has another debate now, has one of its project. */
function* strayed({ debates, tasks }: State, before: TasksBefore): Generator<string, void> {
  for (const { id, project, debate } of tasks.all.values()) {
    if (debate === undefined || before.get(id)?.debate === debate) continue;
    const of = debates.all.get(debate)?.project;
    if (of !== project) yield `${id} of ${project} requires ${debate}, a debate of ${of ?? "nobody"}`;
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

function verdictIn(reply: Reply & { readonly ok: true }): VerdictRow {
  return reply["verdict"] as VerdictRow;
}
