/** Renames of sessions, and the rules of names once more: a person's name stays until a person's next, over every end. */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, Entry, Step } from "../../daemon/core/tables/entries.ts";
import type { Random } from "./random.ts";

const names = ["alice", "bob", "carol", "calm-otter"] as const;

interface Name {
  readonly name: string;
  readonly project: string;
  readonly isGiven: boolean;
}

export class NameLives {
  readonly #random: Random;
  #live = new Map<string, Name>();
  /** Names that a person gave to sessions that have ended. */
  readonly #ended = new Map<string, Name>();

  /** `random` is of its own, so that all else happens as it would without renames. */
  constructor(random: Random) {
    this.#random = random;
  }

  /** What a person, or an agent that mostly may not, asks for now; or null. */
  next(sessions: readonly string[], actor: Actor): Command | null {
    const random = this.#random;
    if (!random.chance(0.04)) return null;
    const by = random.chance(0.8) ? null : actor;
    const of = random.chance(0.7) ? random.pick(sessions) : random.pick(["al", "bob", "calm"]);
    const project = random.pick(["/p", "/p", "/q"]);
    return { type: "session_rename", by, of, name: random.pick(names), project };
  }

  /** Everything that is wrong after an entry. */
  *observe(state: State, { command }: Entry, { events, reply }: Step): Generator<string, void> {
    const live = namesIn(state);
    const renamed = command.type === "session_rename" && reply?.ok === true ? String(reply["id"]) : null;
    for (const { event } of events) {
      if (event.event === "session_ended") {
        const was = this.#live.get(event.id);
        if (was?.isGiven) this.#ended.set(event.id, was);
        this.#live.delete(event.id);
      }
      if (event.event === "session_started") yield* this.#returned(live, event.id);
    }
    for (const [id, { name, project, isGiven }] of live) {
      if (id === renamed && !isGiven) yield `${id} was renamed to ${name}, and a client may take that again`;
      const was = this.#live.get(id);
      if (was?.isGiven !== true || id === renamed) continue;
      if (!isGiven) yield `a client took the name that a person gave ${id}`;
      if (was.project === project && was.name !== name)
        yield `${id} was ${was.name} by a person, and is ${name}`;
    }
    this.#live = live;
  }

  /** A session that begins again has the name that a person gave it, unless another one has it. */
  *#returned(live: ReadonlyMap<string, Name>, id: string): Generator<string, void> {
    const was = this.#ended.get(id);
    this.#ended.delete(id);
    const now = live.get(id);
    if (was === undefined || now === undefined || was.project !== now.project || was.name === now.name)
      return;
    const isTaken = [...live].some(
      ([other, { name, project }]) => other !== id && name === was.name && project === was.project,
    );
    if (!isTaken) yield `${id} was ${was.name} by a person, and came back as ${now.name}`;
  }

  /** A life has ended: what counts is what is on disk. */
  restarted(state: State): void {
    this.#live = namesIn(state);
    this.#ended.clear();
    for (const [id, { name, project, by }] of state.sessions.keptNames)
      if (by === "person") this.#ended.set(id, { name, project, isGiven: true });
  }
}

function namesIn({ sessions }: State): Map<string, Name> {
  const found = [...sessions.live.values()].map(
    ({ id, name, project, namedBy }) => [id, { name, project, isGiven: namedBy === "person" }] as const,
  );
  return new Map(found);
}
