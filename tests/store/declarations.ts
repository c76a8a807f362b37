/** What the agents of a history declare, and what each of them may have declared as far as its client knows. */
import { setTimeout as delay } from "node:timers/promises";
import type { Message } from "../end-to-end/daemon.ts";
import type { Random } from "../simulation/random.ts";
import type { Machine } from "./machines.ts";
import { type History, type Operation, outcomeOf, Speaker } from "./operations.ts";

/** Two of them are a folder and a file in it. */
const files = ["a.ts", "b.ts", "src/c.ts", "src/"] as const;
/** More agents of a session at once would only end together. */
const childrenMax = 2;
const thinkMs = 150;

/** What an agent will do in a file: how others tell which of its declarations they see. */
const willForm = /will-[0-9.]+-end/g;

/** A declaration as the history knows it. */
interface Said {
  readonly task: string;
  /** By paths within the worktree, those of folders with a slash at their end. */
  readonly files: ReadonlyMap<string, { readonly will: string; readonly isTouched: boolean }>;
}

/** Parts of a declaration that an agent sends. */
export interface SaidNext {
  readonly task: string;
  readonly wills: ReadonlyMap<string, string>;
  readonly drops?: readonly string[];
  readonly isAnew?: boolean;
}

const nothingSaid: Said = { task: "", files: new Map() };

/** An agent that declares: the main one of a session, or one within it. */
export class DeclaringAgent {
  readonly speaker: Speaker;
  readonly agent: string | null;
  /** What holds, by what its client was told: one of these. */
  possible: readonly Said[] = [nothingSaid];
  /** Its daemon knew for whom it works whenever it declared: else what it and these declared overlaps. */
  isPlaced = true;
  /** Each declaration that it ever may have had, as a text, with the number of the request that made it. */
  readonly ever = new Map<string, number>();
  #count = 0;

  constructor(speaker: Speaker, agent: string | null = null) {
    this.speaker = speaker;
    this.agent = agent;
  }

  get name(): string {
    return this.agent === null ? this.speaker.name : `${this.speaker.name}/${this.agent}`;
  }

  get hasEnded(): boolean {
    return this.speaker.hasEnded || !this.hasDeclared;
  }

  /** Whether it may have declared something that holds. */
  get hasDeclared(): boolean {
    return this.possible.some(one => one !== nothingSaid);
  }

  /** Returns the texts of what may hold; null stands for nothing. */
  texts(): readonly (string | null)[] {
    if (this.hasEnded) return [null];
    return this.possible.map(one => (one === nothingSaid ? null : textOf(one)));
  }

  /** Returns a file that it has declared for certain, or null. */
  someFile(random: Random): string | null {
    const [first, ...others] = this.possible;
    const sure = [...(first?.files.keys() ?? [])].filter(file => others.every(one => one.files.has(file)));
    return sure.length === 0 ? null : random.pick(sure);
  }

  /** Declares, and returns the operation. */
  async declare(next: SaidNext, triesMax?: number): Promise<Operation> {
    const { task, wills, drops = [], isAnew = false } = next;
    const codeView = [
      ...[...wills].map(([file, will]) => ({ file, will })),
      ...drops.map(file => ({ file, drop: true })),
    ];
    const request = { type: "declare", understanding: { task }, codeView, anew: isAnew };
    const whose = this.agent === null ? {} : { agent: this.agent };
    const before = this.possible;
    const after = before.map(one => said(isAnew ? nothingSaid : one, next));
    this.#count += 1;
    // Others may see it before its client hears of it.
    for (const one of after) this.ever.set(textOf(one), this.#count);
    const operation = await this.speaker.ask({ ...request, ...whose }, triesMax);
    const outcome = outcomeOf(operation);
    if (outcome === "ok") this.possible = after;
    // Its daemon was killed, with the request or behind it.
    else if (outcome === null) this.possible = [...before, ...after];
    return operation;
  }

  /** It wrote the file, which its client told. */
  touch(file: string): void {
    this.possible = this.possible.map(one => {
      const known = one.files.get(file);
      if (known === undefined) return one;
      return { ...one, files: new Map([...one.files, [file, { ...known, isTouched: true }]]) };
    });
    for (const one of this.possible) this.ever.set(textOf(one), this.#count);
  }

  end(): void {
    this.possible = [nothingSaid];
  }
}

function said(before: Said, { task, wills, drops = [] }: SaidNext): Said {
  const all = new Map(before.files);
  for (const [file, will] of wills)
    all.set(file, { will, isTouched: before.files.get(file)?.isTouched ?? false });
  for (const file of drops) all.delete(file);
  return { task, files: all };
}

function textOf({ task, files: all }: Said): string {
  return textOfFiles(
    task,
    [...all].map(([path, { will, isTouched }]) => ({ path, will, touched: isTouched })),
  );
}

/** Returns a declaration as the history compares it. */
export function textOfFiles(
  task: string,
  all: readonly { readonly path: string; readonly will: string; readonly touched: boolean }[],
): string {
  const each = all.map(
    ({ path, will, touched }) => `${path.replace(/\/$/, "")}: ${will}${touched ? " touched" : ""}`,
  );
  return `${task} (${each.sort().join(", ")})`;
}

/** Whether one of these agents of a session works for the other. */
function isOfOne(a: DeclaringAgent, b: DeclaringAgent): boolean {
  return (a.agent === null || b.agent === null) && a.isPlaced && b.isPlaced;
}

/** All that agents declare in a history. */
export class Declarations {
  readonly agents: DeclaringAgent[] = [];
  /** Who declared it, by what it will do. */
  readonly wills = new Map<string, DeclaringAgent>();
  /** Sentences on what no agent may be told. */
  readonly wrong: string[] = [];
  /** What happened, with its counts. */
  readonly seen = new Map<string, number>();
  #count = 0;

  /** Returns an agent that has declared nothing yet. */
  begin(speaker: Speaker, agent: string | null = null): DeclaringAgent {
    const one = new DeclaringAgent(speaker, agent);
    this.agents.push(one);
    return one;
  }

  /** Returns a will of this agent that no other declaration has. */
  will(agent: DeclaringAgent): string {
    const will = `will-${agent.speaker.machine.index}.${this.#next()}-end`;
    this.wills.set(will, agent);
    return will;
  }

  task(): string {
    return `task-${this.#next()}`;
  }

  count(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  /** Notes what a reply to `declare` says of others. */
  heard(agent: DeclaringAgent, { reply }: Operation): void {
    const overlaps = reply?.["overlaps"];
    for (const { will } of Array.isArray(overlaps) ? (overlaps as readonly Message[]) : []) {
      const other = this.#toldOf(agent, String(will));
      if (other !== null && other.speaker.machine !== agent.speaker.machine)
        this.count("an overlap with another machine");
    }
  }

  /** Notes which overlaps a hook's answer told the main agent of; returns what the others will do there. */
  told(agent: DeclaringAgent, output: string): string[] {
    const wills = [...output.matchAll(willForm)].map(([will]) => will);
    for (const will of wills) {
      const other = this.#toldOf(agent, will);
      if (other !== null && other.speaker.machine !== agent.speaker.machine)
        this.count("an overlap told to another machine");
    }
    return wills;
  }

  #toldOf(agent: DeclaringAgent, will: string): DeclaringAgent | null {
    const other = this.wills.get(will) ?? null;
    if (other === null) this.wrong.push(`${agent.name} was told of ${will}, which nobody declared`);
    else if (other.speaker === agent.speaker && isOfOne(other, agent))
      this.wrong.push(`${agent.name} was told of ${will}, which is of an agent that works with it`);
    return other;
  }

  #next(): number {
    this.#count += 1;
    return this.#count;
  }
}

/** Has an agent declare a file of its own before its project is shared. */
export async function declareEarly(agent: DeclaringAgent, all: Declarations): Promise<void> {
  const wills = new Map([[`${agent.speaker.id}.ts`, all.will(agent)]]);
  await agent.declare({ task: all.task(), wills });
}

/** Someone who declares at a machine, in one session after the other; the last one stays. */
export class Declarer {
  readonly #machine: Machine;
  readonly #random: Random;
  readonly #all: Declarations;
  readonly #history: History;
  readonly #speakers: Speaker[];
  #sessions = 0;

  constructor(
    machine: Machine,
    random: Random,
    { declarations, history, speakers }: Pick<DeclarerWorld, "declarations" | "history" | "speakers">,
  ) {
    this.#machine = machine;
    this.#random = random;
    this.#all = declarations;
    this.#history = history;
    this.#speakers = speakers;
  }

  /** Declares until `isOver`. */
  async run(isOver: () => boolean): Promise<void> {
    const random = this.#random;
    let main = await this.#begin();
    let children: DeclaringAgent[] = [];
    while (!isOver()) {
      const drawn = random.fraction();
      if (drawn < 0.62) await this.#declare(random.pick([main, main, ...children]));
      else if (drawn < 0.74) await this.#prompt(main);
      else if (drawn < 0.84 && children.length < childrenMax) children.push(await this.#child(main));
      else if (drawn < 0.92) children = [...(await this.#endChildren(children))];
      else if (drawn < 0.97) {
        await this.#end([main, ...children]);
        [main, children] = [await this.#begin(), []];
      }
      await delay(random.int(0, thinkMs));
    }
    // So that there is something to see when all is well, and nobody is at work.
    await this.#declare(main);
    for (const { speaker, agent } of children)
      if (agent !== null) await speaker.hookUntilHeard({ hook_event_name: "SubagentStop", ...whoIs(agent) });
  }

  async #begin(): Promise<DeclaringAgent> {
    this.#sessions += 1;
    const id = `declarer.${this.#sessions}`;
    const speaker = new Speaker(this.#machine, id, `${id}-of-${this.#machine.index}`, this.#history);
    await speaker.ask({ type: "register", cwd: this.#machine.clone, name: speaker.name });
    this.#speakers.push(speaker);
    return this.#all.begin(speaker);
  }

  async #end(agents: readonly DeclaringAgent[]): Promise<void> {
    const [main] = agents;
    if (main === undefined) return;
    if (main.hasDeclared) this.#all.count("an end of a session that declared");
    main.speaker.hasEnded = true;
    await main.speaker.ask({ type: "deregister" });
    for (const one of agents) one.end();
    main.speaker.close();
  }

  async #declare(agent: DeclaringAgent): Promise<void> {
    const random = this.#random;
    const isAnew = random.chance(0.15);
    const drop = isAnew || random.chance(0.5) ? null : agent.someFile(random);
    const wills = new Map<string, string>();
    for (const file of files)
      if (file !== drop && random.chance(0.35)) wills.set(file, this.#all.will(agent));
    const next = { task: this.#all.task(), wills, drops: drop === null ? [] : [drop], isAnew };
    const { starts } = this.#machine;
    const tool = { tool_name: "mcp__kite__declare", tool_use_id: next.task, tool_input: {} };
    if (agent.agent !== null)
      await agent.speaker.hookUntilHeard({ hook_event_name: "PreToolUse", ...whoIs(agent.agent), ...tool });
    // A client that has little patience takes what it hears at first.
    const operation = await agent.declare(next, random.chance(0.15) ? random.int(1, 2) : undefined);
    if (this.#machine.starts !== starts) agent.isPlaced = false;
    this.#all.heard(agent, operation);
  }

  async #prompt({ speaker }: DeclaringAgent): Promise<void> {
    const main = this.#all.agents.find(one => one.speaker === speaker && one.agent === null);
    const reply = await speaker.hook({ hook_event_name: "UserPromptSubmit", prompt: "go on" });
    if (main !== undefined) this.#all.told(main, String(reply?.["output"] ?? ""));
  }

  async #child({ speaker }: DeclaringAgent): Promise<DeclaringAgent> {
    const agent = `a${String(this.#all.agents.length).padStart(16, "0")}`;
    await speaker.hookUntilHeard({ hook_event_name: "SubagentStart", ...whoIs(agent) });
    return this.#all.begin(speaker, agent);
  }

  /** Ends one of these agents by an error of its own, or all with the turn of the main one; returns who goes on. */
  async #endChildren(children: readonly DeclaringAgent[]): Promise<readonly DeclaringAgent[]> {
    const [first, ...others] = children;
    if (first === undefined) return [];
    const { speaker, agent } = first;
    const isOne = this.#random.chance(0.5);
    await speaker.hookUntilHeard(
      isOne && agent !== null
        ? { hook_event_name: "StopFailure", ...whoIs(agent) }
        : { hook_event_name: "Stop", background_tasks: [] },
    );
    for (const one of isOne ? [first] : children) {
      if (one.hasDeclared) this.#all.count("an end of an agent that declared");
      one.end();
    }
    return isOne ? others : [];
  }
}

/** How the client's events name an agent within a session. */
function whoIs(agent: string) {
  return { agent_id: agent, agent_type: "Explore" };
}

interface DeclarerWorld {
  readonly declarations: Declarations;
  readonly history: History;
  /** Takes the sessions. */
  readonly speakers: Speaker[];
}
