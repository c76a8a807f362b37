/**
 * What the simulated agents are told of each other's writes, and the rules of it once more, written slowly: each hears of
 * everything once, nothing is forgotten before it was told, and nothing comes twice over crashes.
 */
import type { Actor } from "../../daemon/core/actor.ts";
import type { Slice } from "../../daemon/core/check.ts";
import type { Command, Entry } from "../../daemon/core/commands.ts";
import type { Step } from "../../daemon/core/outcome.ts";
import type { State } from "../../daemon/core/state.ts";
import { limits } from "../../protocol/limits.ts";
import type { Random } from "./random.ts";

const files = ["a", "b", "src/d"] as const;
const prompts = ["p1", "p2", null] as const;

interface Pair {
  readonly sides: readonly { readonly actor: Actor; readonly prompt: string | null }[];
}

export class NoteLives {
  readonly #random: Random;
  /** Notes in words by session and agent, oldest first, as the entries tell. */
  #pending = new Map<string, string[]>();
  #conflicts = new Map<string, Pair>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** Whether the next write is about notes: chosen here, so that all else happens as it would without them. */
  isNext(): boolean {
    return this.#random.chance(0.4);
  }

  /** Two wrote one file, a git command took work, or an answer with notes reached its client. */
  command(state: State, actor: Actor): Command {
    const random = this.#random;
    const roll = random.int(1, 100);
    const others = [...state.sessions.live.keys()];
    if (roll <= 35 && others.length > 0) {
      const other = { session: random.pick(others), agent: random.pick([null, "child"]), incarnation: 0 };
      const side = (of: Actor) => ({ actor: of, name: of.session, prompt: random.pick(prompts) });
      const file = random.pick(files);
      const sides = [side(other), side(actor)] as const;
      return { type: "conflict_noted", key: `local:/p/${file}`, path: `/p/${file}`, sides };
    }
    if (roll <= 60) {
      const how = random.pick(["committed", "discarded"] as const);
      const taken = [...state.writes.files.values()].map(({ key, writers }) => ({
        key,
        seq: random.chance(0.8) ? (writers.at(-1)?.seq ?? 0) : random.int(0, state.seq),
      }));
      const named = [...taken.filter(() => random.chance(0.6)), { key: "local:/p/unknown", seq: 1 }];
      const commit = how === "committed" ? "0123456789" : null;
      const git = { name: actor.session, ancestors: [], command: "git commit", commit } as const;
      return { type: "work_taken", actor, how, ...git, files: named };
    }
    const all = [...state.notes.pending.values()];
    const risks = [...state.risks.keys()].filter(() => random.chance(0.5));
    if (all.length === 0)
      return { type: "notes_told", session: actor.session, agent: null, notes: [1], risks };
    const { session, agent, notes } = random.pick(all);
    const told = notes.filter(() => random.chance(0.7)).map(({ n }) => n);
    return { type: "notes_told", session, agent, notes: [...told, 0], risks };
  }

  /** A life has ended: what was not synced may be gone with it. */
  restarted(state: State): void {
    this.#pending = new Map(
      [...state.notes.pending].map(([key, { notes }]) => [
        key,
        notes.map(({ note }) => JSON.stringify(note)),
      ]),
    );
    this.#conflicts = new Map(state.notes.conflicts);
  }

  /** `before` is what was pending before the entry. */
  *observe(
    state: State,
    entry: Entry,
    step: Step,
    before: ReturnType<typeof notesBefore>,
    touched: ReadonlySet<Slice>,
  ): Generator<string, void> {
    const { command } = entry;
    if (command.type === "notes_told") this.#told(command, before);
    yield* this.#conflict(state, command, step);
    this.#lived(command, step);
    for (const { event } of step.events) {
      if (event.event === "bypassed" || event.event === "lost_update") {
        const { event: what, path: file, writer, holder } = event;
        this.#tell(state, writer, { what, file, mine: true, other: holder?.name ?? null });
        if (holder !== null) this.#tell(state, holder, { what, file, mine: false, other: writer.name });
      }
      if (event.event === "declarations_overlap") {
        const { sides, paths, wills } = event;
        const [a, b] = sides;
        this.#tell(state, a, { what: "overlap", file: paths[1], other: b.name, will: wills[1] });
        this.#tell(state, b, { what: "overlap", file: paths[0], other: a.name, will: wills[0] });
      }
      if (event.event === "work_taken") {
        const { how: what, paths, more = 0, by, owner, command: git, commit } = event;
        this.#tell(state, owner, { what, files: paths, more, other: by.name, command: git, commit });
      }
    }
    if (touched.has("notes")) yield* this.#compare(state);
  }

  #told(
    { session, agent, notes }: Extract<Command, { type: "notes_told" }>,
    before: ReturnType<typeof notesBefore>,
  ): void {
    const key = keyOf({ id: session, agent });
    const numbers = before.get(key) ?? [];
    const left = (this.#pending.get(key) ?? []).filter((_, i) => !notes.includes(numbers[i] ?? -1));
    if (left.length === 0) this.#pending.delete(key);
    else this.#pending.set(key, left);
  }

  *#conflict(state: State, command: Command, step: Step): Generator<string, void> {
    const told = step.events.some(({ event }) => event.event === "file_conflict");
    if (command.type !== "conflict_noted") {
      if (told) yield `${command.type} tells of a conflict`;
      return;
    }
    const { key, path: file, sides } = command;
    const [first, second] = sides;
    const id = `${[first, second]
      .map(({ actor }) => nameOf(actor))
      .sort()
      .join("\n")}\n${key}`;
    const isNew = state.sessions.live.has(second.actor.session) && !this.#conflicts.has(id);
    if (told !== isNew) yield `a conflict was ${told ? "told again" : "not told"}: ${id}`;
    if (!isNew) return;
    this.#conflicts.set(id, { sides });
    const rows = sides.map(({ actor }) => ({ id: actor.session, agent: actor.agent }));
    const note = { what: "conflict", file, mine: true };
    const [a, b] = rows;
    if (b !== undefined) this.#tell(state, b, { ...note, other: first.name });
    if (a !== undefined) this.#tell(state, a, { ...note, other: second.name });
  }

  /** Turns and sessions end, and processes go on under other ids. */
  #lived(command: Command, step: Step): void {
    if (command.type === "turn_end") {
      const { actor, keepPrompt } = command;
      const isOver = ({ sides }: Pair) =>
        sides.some(
          side => nameOf(side.actor) === nameOf(actor) && (keepPrompt === null || side.prompt !== keepPrompt),
        );
      for (const [id, pair] of this.#conflicts) if (isOver(pair)) this.#conflicts.delete(id);
    }
    for (const { event } of step.events) {
      if (event.event !== "session_ended") continue;
      const own = this.#pending.get(event.id);
      for (const key of [...this.#pending.keys()])
        if (key === event.id || key.startsWith(`${event.id}\n`)) this.#pending.delete(key);
      for (const [id, { sides }] of this.#conflicts)
        if (sides.some(({ actor }) => actor.session === event.id)) this.#conflicts.delete(id);
      const goesOn = event.cause === "continued" && command.type === "session_begin";
      if (goesOn && own !== undefined) this.#pending.set(command.session, own);
    }
  }

  #tell(state: State, whose: { readonly id: string; readonly agent: string | null }, note: object): void {
    if (!state.sessions.live.has(whose.id)) return;
    const all = this.#pending.get(keyOf(whose)) ?? [];
    const words = JSON.stringify(note);
    if (!all.includes(words)) this.#pending.set(keyOf(whose), [...all, words].slice(-limits.fileNotesMax));
  }

  *#compare(state: State): Generator<string, void> {
    const keys = new Set([...this.#pending.keys(), ...state.notes.pending.keys()]);
    for (const key of keys) {
      const known = (state.notes.pending.get(key)?.notes ?? []).map(({ note }) => JSON.stringify(note));
      const should = this.#pending.get(key) ?? [];
      if (known.join() !== should.join()) yield `${key} is to be told ${known}, not ${should}`;
    }
    const told = [...state.notes.conflicts.keys()].sort().join();
    const should = [...this.#conflicts.keys()].sort().join();
    if (told !== should) yield `the conflicts told are ${told}, not ${should}`;
  }
}

/** The numbers of the notes that agents have, before an entry. */
export function notesBefore({ notes }: State): ReadonlyMap<string, readonly number[]> {
  return new Map([...notes.pending].map(([key, { notes: all }]) => [key, all.map(({ n }) => n)]));
}

function keyOf({ id, agent }: { readonly id: string; readonly agent: string | null }): string {
  return agent === null ? id : `${id}\n${agent}`;
}

function nameOf({ session, agent, incarnation }: Actor): string {
  const part = incarnation === 0 ? session : `${session}\u0001${incarnation}`;
  return agent === null ? part : `${part}\u0000${agent}`;
}
