/**
 * What the simulated clients write and commit in two worktrees, and the rules of uncommitted work once more, written
 * slowly: whose it is, what was bypassed, and that none is forgotten that was written after the last commit.
 */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State, TableName } from "../../daemon/core/state.ts";
import type { Command, Entry, Reply, Step } from "../../daemon/core/tables/entries.ts";
import type { WriteNote } from "../../daemon/core/tables/uncommitted.ts";
import { limits } from "../../protocol/limits.ts";
import { ancestorsOf } from "./families.ts";
import type { Random } from "./random.ts";

const worktrees = ["/p", "/side"] as const;
const files = ["a", "b", "src/d"] as const;

interface Wrote {
  readonly actor: Actor;
  readonly ancestors: readonly (string | null)[];
  readonly seq: number;
}

export class WorkLives {
  readonly #random: Random;
  /** Who wrote which file, as the entries tell. */
  #written = new Map<string, Wrote[]>();
  /** Who had written what was committed since. */
  #settled = new Map<string, Wrote[]>();
  /** Counts what happens to files outside the daemon. */
  #tick = 0;
  readonly #wroteAt = new WeakMap<Command, number>();
  readonly #committedAt = new Map<string, number>();
  /** Files written after their last commit, of which a client heard that it is known. */
  readonly #owed = new Set<string>();
  /** Files that were at risk after the entry before. */
  #risks: ReadonlySet<string> = new Set();
  /** What git said a while ago and nobody has proposed yet. */
  readonly #late: Command[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  /** A write, a shell command, or a look of git's. */
  command(state: State, actor: Actor): Command {
    const random = this.#random;
    this.#tick += 1;
    const roll = random.int(1, 100);
    if (roll <= 50) {
      const noted = this.#note("edit", actor);
      const command: Command = { type: "flight_end", actor, flight: null, wrote: true, noted };
      this.#wroteAt.set(command, this.#tick);
      return command;
    }
    if (roll <= 70) return { type: "writes_noted", actor, noted: this.#note("shell", actor) };
    if (roll <= 78) return { type: "work_returned", actor, noted: this.#note("shell", actor) };
    const [late] = this.#late;
    if (late !== undefined && random.chance(0.5)) {
      this.#late.shift();
      return late;
    }
    const looked = this.#commit(state);
    if (random.chance(0.7)) return looked;
    this.#late.push(looked);
    return this.command(state, actor);
  }

  /** Everything in a worktree is committed; git says so of what is known by then. */
  #commit(state: State): Command {
    const worktree = this.#random.pick(worktrees);
    const settled: { key: string; seq: number }[] = [];
    for (const [key, work] of state.writes.files) {
      if (work.worktree === worktree) settled.push({ key, seq: work.writers.at(-1)?.seq ?? 0 });
    }
    for (const file of files) {
      this.#committedAt.set(`local:${worktree}/${file}`, this.#tick);
      this.#owed.delete(`local:${worktree}/${file}`);
    }
    return { type: "writes_settled", settled };
  }

  #note(by: "edit" | "shell", actor: Actor): WriteNote {
    const worktree = this.#random.pick(worktrees);
    const named = this.#random.chance(0.7) ? [this.#random.pick(files)] : files;
    const written = named.map(file => ({
      key: `local:${worktree}/${file}`,
      file,
      worktree,
      project: "/p",
    }));
    return { files: written, by, ancestors: ancestorsOf(actor.agent), wallMs: this.#tick };
  }

  /** A client hears that its write is known. */
  heard(command: Command, reply: Reply): void {
    const at = this.#wroteAt.get(command);
    if (at === undefined || !reply.ok || command.type !== "flight_end") return;
    for (const { key } of command.noted?.files ?? []) {
      if ((this.#committedAt.get(key) ?? 0) < at) this.#owed.add(key);
    }
  }

  /** A life has ended: what was not synced may be gone with it. */
  restarted(state: State): void {
    this.#owed.clear();
    this.#late.length = 0;
    this.#risks = new Set([...state.risks.values()].map(risk => risk.file));
    this.#written = new Map([...state.writes.files].map(([key, { writers }]) => [key, [...writers]]));
    this.#settled = new Map([...state.writes.settled].map(([key, { writers }]) => [key, [...writers]]));
  }

  /** Everything that is wrong after an entry. */
  *observe(
    state: State,
    { seq, command }: Entry,
    step: Step,
    touched: ReadonlySet<TableName>,
  ): Generator<string, void> {
    const bypassed = step.events.flatMap(({ event }) => (event.event === "bypassed" ? [event.file] : []));
    if (command.type === "flight_end") this.#add(command.actor, command.noted, seq);
    if (command.type === "writes_noted") {
      const { actor, noted } = command;
      const isOthers = (key: string) => isOthersWork(state, this.#written.get(key) ?? [], key, actor, noted);
      const others = noted.files.filter(({ key }) => isOthers(key));
      const own = noted.files.filter(({ key }) => !isOthers(key));
      this.#add(actor, { ...noted, files: own }, seq);
      if (others.map(f => f.file).join() !== bypassed.join()) yield `bypassed: ${bypassed}, not ${others}`;
    } else if (bypassed.length > 0) yield `${command.type} bypassed ${bypassed}`;
    if (command.type === "writes_settled") {
      for (const { key, seq: known } of command.settled) {
        const work = this.#written.get(key);
        if (work?.at(-1)?.seq !== known) continue;
        this.#written.delete(key);
        this.#settled.set(key, work);
      }
    }
    if (command.type === "work_returned") {
      const { actor, noted } = command;
      const back = noted.files.filter(({ key }) => !this.#written.has(key));
      for (const { key } of back) {
        const work = this.#settled.get(key) ?? [];
        this.#written.set(
          key,
          work.map(wrote => ({ ...wrote, seq })),
        );
      }
      this.#add(actor, { ...noted, files: back }, seq);
    }
    for (const key of this.#written.keys()) this.#settled.delete(key);
    if (command.type === "session_begin") this.#rename(step, command.session);
    if (touched.has("writes")) yield* this.#compare(state);
    yield* this.#atRisk(state, command, step);
  }

  /** A write that meets living work in the other worktree is at risk, which is told where it was not already. */
  *#atRisk(state: State, command: Command, step: Step): Generator<string, void> {
    const told = step.events.flatMap(({ event }) => (event.event === "merge_risk" ? [event.file] : []));
    const before = this.#risks;
    this.#risks = new Set([...state.risks.values()].map(risk => risk.file));
    for (const file of told) if (before.has(file)) yield `${file} is told to be at risk twice`;
    const isNote =
      command.type === "flight_end" || command.type === "writes_noted" || command.type === "work_returned";
    const noted = isNote ? command.noted : undefined;
    for (const { file, worktree } of noted?.files ?? []) {
      const mine = this.#written.get(`local:${worktree}/${file}`) ?? [];
      const theirs = this.#written.get(`local:${worktrees.find(w => w !== worktree)}/${file}`) ?? [];
      const [writer] = mine.slice(-1);
      // What was bypassed is not the actor's write.
      if (writer === undefined || writer.seq !== state.seq || !lives(state, writer.actor)) continue;
      const meets = theirs.some(w => lives(state, w.actor) && !same(w.actor, writer.actor));
      if (meets && !this.#risks.has(file)) yield `${file} has work in two worktrees and is not at risk`;
    }
  }

  #add(actor: Actor, noted: WriteNote | undefined, seq: number): void {
    for (const { key } of noted?.files ?? []) {
      const others = (this.#written.get(key) ?? []).filter(w => !same(w.actor, actor));
      const all = [...others, { actor, ancestors: noted?.ancestors ?? [], seq }];
      this.#written.set(key, all.slice(-limits.writersPerFileMax));
    }
  }

  /** A process went on under another id. */
  #rename(step: Step, to: string): void {
    const from = step.events.flatMap(({ event }) =>
      event.event === "session_ended" && event.cause === "continued" ? [event.id] : [],
    );
    for (const works of [this.#written, this.#settled])
      for (const [key, writers] of works) {
        const renamed = writers.map(w =>
          from.includes(w.actor.session) ? { ...w, actor: { ...w.actor, session: to, incarnation: 0 } } : w,
        );
        const last = renamed.filter(
          (w, i) => !renamed.slice(i + 1).some(later => same(later.actor, w.actor)),
        );
        works.set(key, last);
      }
  }

  *#compare(state: State): Generator<string, void> {
    const shown = (writers: readonly Wrote[]) =>
      writers.map(({ actor, seq }) => `${actor.session}/${actor.agent}#${actor.incarnation}@${seq}`).join();
    const keys = new Set([...this.#written.keys(), ...state.writes.files.keys()]);
    for (const key of keys) {
      const known = shown(state.writes.files.get(key)?.writers ?? []);
      const should = shown(this.#written.get(key) ?? []);
      if (known !== should) yield `work in ${key} is of ${known || "nobody"}, not of ${should || "nobody"}`;
    }
    for (const key of this.#owed) {
      if (!state.writes.files.has(key)) yield `work in ${key} was never committed and is forgotten`;
    }
  }
}

function same(a: Actor, b: Actor): boolean {
  return a.session === b.session && a.agent === b.agent && a.incarnation === b.incarnation;
}

function lives(state: State, { session, incarnation }: Actor): boolean {
  return [...state.sessions.live.values()].some(
    s => s.id === session && s.incarnations.some(i => i.ordinal === incarnation),
  );
}

/** Somebody else, who does not work with the actor, holds it; or nobody does, and it is not the actor's but a living one's. */
function isOthersWork(
  state: State,
  writers: readonly Wrote[],
  key: string,
  actor: Actor,
  { ancestors }: WriteNote,
): boolean {
  const together = (other: Pick<Wrote, "actor" | "ancestors">) =>
    same(other.actor, actor) ||
    (other.actor.session === actor.session &&
      other.actor.incarnation === actor.incarnation &&
      (ancestors.includes(other.actor.agent) || other.ancestors.includes(actor.agent)));
  const hold = [...state.locks.holds.values()].find(h => h.key === key);
  if (hold !== undefined) return !together(hold);
  return !writers.some(together) && writers.some(w => lives(state, w.actor));
}
