/**
 * Guarded shell lines that run now and may change a stash list. What appears in the list while one runs was made by it,
 * unless a line of another session ran beside it: then nobody can tell. In memory only: after a restart nothing is told.
 */
import { limits } from "../../../protocol/limits.ts";
import { BoundedMap } from "../../bounded-map.ts";
import type { Actor } from "../../core/frame/actors.ts";
import { stashesOf } from "../../core/tables/uncommitted.ts";
import type { GitPlace } from "../../facts/git/process.ts";
import type { Services } from "../../services.ts";

/** A list before the line ran. */
export interface StashBefore {
  readonly project: string;
  readonly place: GitPlace;
  /** Commits of its entries. */
  readonly before: ReadonlySet<string>;
  /** The command of the line that takes entries, in short form; null: none does. */
  readonly takes: string | null;
}

/** A line and one of the lists that it may change. */
export interface StashLine extends StashBefore {
  readonly actor: Actor;
  readonly prompt: string | null;
}

/** A line that has ended. */
export interface EndedStashLine extends StashLine {
  /** The entries that it alone can have made; null: all that are new. */
  readonly made: ReadonlySet<string> | null;
  /** A line of another session took entries beside it. */
  readonly isBesideTaker: boolean;
}

interface Row extends StashLine {
  made: ReadonlySet<string> | null;
  isBesideTaker: boolean;
  /** Its actor's turn is over: only the report of its end is still to come, if any is. */
  isOver: boolean;
}

export class StashLines {
  /** By tool use. */
  readonly #rows = new BoundedMap<string, readonly Row[]>({
    entriesMax: limits.guardToldMax,
    weightMax: limits.guardToldFilesMax,
    weightOf: rows => rows.reduce((count, { before }) => count + before.size, 0),
  });

  /** The line with the lists that it may change. `isAlive`: whether an actor is. */
  began(toolUseId: string, lines: readonly StashLine[], isAlive: (actor: Actor) => boolean): void {
    if (lines.length > 0)
      this.#rows.set(
        toolUseId,
        lines.map(line => this.#rowOf(line, isAlive)),
      );
  }

  #rowOf(line: StashLine, isAlive: (actor: Actor) => boolean): Row {
    const row: Row = { ...line, made: null, isBesideTaker: false, isOver: false };
    for (const other of this.#beside(line)) {
      // What is in the list by now is not this line's.
      other.made ??= new Set([...line.before].filter(commit => !other.before.has(commit)));
      if (other.isOver || !isAlive(other.actor)) continue;
      row.made = new Set();
      row.isBesideTaker ||= other.takes !== null;
      other.isBesideTaker ||= line.takes !== null;
    }
    return row;
  }

  /** Returns the line for each list that it may have changed. */
  ended(toolUseId: string): readonly EndedStashLine[] {
    const rows = this.#rows.get(toolUseId) ?? [];
    this.#rows.delete(toolUseId);
    return rows;
  }

  /** Ends the lines of an actor of which no end was reported, but not those of the turn of `keepPrompt`. */
  turnEnded({ session, agent }: Pick<Actor, "session" | "agent">, keepPrompt: string | null): void {
    for (const row of [...this.#rows.values()].flat()) {
      const isIts = row.actor.session === session && row.actor.agent === agent;
      if (isIts && (keepPrompt === null || row.prompt !== keepPrompt)) row.isOver = true;
    }
  }

  /** The entries that lines of other sessions found and may be taking. */
  besides(line: StashLine): ReadonlySet<string> {
    return new Set(this.#beside(line).flatMap(({ before, isOver }) => (isOver ? [] : [...before])));
  }

  #beside({ project, actor }: StashLine): readonly Row[] {
    const rows = [...this.#rows.values()].flat();
    return rows.filter(row => row.project === project && row.actor.session !== actor.session);
  }
}

/** The line has ended: the entries that it made get their maker, and the makers of those that it took are told. */
export async function noteStashes(
  { engine, facts, clock }: Services,
  lines: StashLines,
  toolUseId: string,
): Promise<void> {
  for (const line of lines.ended(toolUseId)) {
    const { actor, project, before, takes } = line;
    const list = await facts.stashes(line.place);
    // What the line made is then the person's, and what it took is noticed later.
    if ("unreachable" in list) continue;
    const now = list.entries.map(({ commit }) => commit);
    const made = now.filter(commit => !before.has(commit) && (line.made?.has(commit) ?? true)).reverse();
    const gone = stashesOf(engine.state.stashes, project)
      .map(({ commit }) => commit)
      .filter(commit => !now.includes(commit));
    const takenBy = line.isBesideTaker ? null : takes;
    const taken = takenBy === null ? [] : gone.filter(commit => before.has(commit));
    // Another line may be taking these: its end tells.
    const besides = lines.besides(line);
    const unseen = gone.filter(commit => !taken.includes(commit) && !besides.has(commit));
    const rest = { type: "stashes_noted", actor, project, wallMs: clock.wall() } as const;
    if (made.length + taken.length > 0) await engine.submitAndWait({ ...rest, made, gone: taken, takenBy });
    if (unseen.length > 0) await engine.submitAndWait({ ...rest, made: [], gone: unseen, takenBy: null });
  }
}
