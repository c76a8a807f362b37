/**
 * Which stash entries the simulated lines make and take, and the rules of their makers once more, written slowly: the
 * first that was noted is the maker, and each session hears once of its entries that another one took.
 */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, CommandOf, Entry, Step } from "../../daemon/core/tables/entries.ts";
import { actorRow } from "../../daemon/core/tables/naming.ts";
import { limits } from "../../protocol/limits.ts";
import type { Random } from "./random.ts";

type Noted = CommandOf<"stashes_noted">;

const projects = ["/p", "/q"] as const;
const commits = ["c1", "c2", "c3", "c4", "c5", "c6"] as const;

export class StashLives {
  readonly #random: Random;
  /** The makers by project and commit, as the entries tell. */
  #makers = new Map<string, Actor>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** Whether the next write is about a stash list. */
  isNext(): boolean {
    return this.#random.chance(0.1);
  }

  command(actor: Actor): Command {
    const random = this.#random;
    const some = (odds: number) => commits.filter(() => random.chance(odds));
    const takenBy = random.chance(0.8) ? "git stash pop" : null;
    const project = random.pick(projects);
    return { type: "stashes_noted", actor, project, made: some(0.3), gone: some(0.3), takenBy, wallMs: 1 };
  }

  /** A life has ended: what was not synced may be gone with it. */
  restarted(state: State): void {
    this.#makers = new Map([...state.stashes.entries].map(([key, { actor }]) => [key, actor]));
  }

  /** Who is to be told what of an entry; called before `observe`. */
  *told(state: State, { actor, project, gone, takenBy }: Noted): Generator<readonly [string, object], void> {
    if (takenBy === null) return;
    const lost = new Map<string, string[]>();
    for (const commit of gone) {
      const maker = this.#makers.get(`${project}\n${commit}`);
      if (maker === undefined || isOwn(state, actor, maker)) continue;
      lost.set(maker.session, [...(lost.get(maker.session) ?? []), commit]);
    }
    const { name: other } = actorRow(state, actor);
    for (const [session, all] of lost) {
      const named = all.slice(0, limits.stashesShownMax);
      const more = all.length - named.length;
      yield [session, { what: "stash_taken", commits: named, more, other, command: takenBy }];
    }
  }

  *observe(state: State, { command }: Entry, step: Step): Generator<string, void> {
    if (command.type === "stashes_noted") {
      const { actor, project, made, gone } = command;
      for (const commit of gone) this.#makers.delete(`${project}\n${commit}`);
      for (const commit of made) {
        const key = `${project}\n${commit}`;
        if (!this.#makers.has(key)) this.#makers.set(key, actor);
      }
    }
    for (const { event } of step.events) {
      const goesOn = event.event === "session_ended" && event.cause === "continued";
      if (!goesOn || command.type !== "session_begin") continue;
      for (const [key, maker] of this.#makers) {
        if (maker.session === event.id)
          this.#makers.set(key, { ...maker, session: command.session, incarnation: 0 });
      }
    }
    const words = (makers: Iterable<readonly [string, Actor]>) =>
      [...makers].map(([key, actor]) => `${key} ${JSON.stringify(actor)}`).sort();
    const known = words([...state.stashes.entries].map(([key, { actor }]) => [key, actor]));
    const should = words(this.#makers);
    if (known.join() !== should.join()) yield `the makers of stash entries are ${known}, not ${should}`;
  }
}

/** Two terminals with one session open have entries of their own, as long as both are alive. */
function isOwn({ sessions }: State, actor: Actor, maker: Actor): boolean {
  if (actor.session !== maker.session) return false;
  const { incarnations = [] } = sessions.live.get(maker.session) ?? {};
  const isThere = incarnations.some(({ ordinal }) => ordinal === maker.incarnation);
  return actor.incarnation === maker.incarnation || !isThere;
}
