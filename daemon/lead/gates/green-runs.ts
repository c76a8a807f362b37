/**
 * The latest green run of each check, with the files of the state that it counts for. In memory only: after a restart a
 * check has to run again before Kite can tell whose work came later.
 */
import { limits } from "../../../protocol/limits.ts";
import { BoundedMap } from "../../bounded-map.ts";
import type { StateFiles } from "../../core/lead/checks.ts";
import { type CheckResult, resultKey } from "../../core/lead/tables/roles.ts";
import type { WorktreeState } from "../../facts/worktree-state.ts";

/** A state of a worktree, as it was told. */
interface SeenState extends StateFiles {
  /** The log's latest entry before the state was told: later writes may not be in it. */
  readonly seq: number;
}

export interface GreenRun {
  /** The hash of the command's text. */
  readonly command: string;
  readonly state: SeenState;
  /** The number of the run: a later one has a greater number. */
  readonly n: number;
}

type Place = Pick<CheckResult, "project" | "worktree" | "name">;

export class GreenRuns {
  readonly #states = new BoundedMap<string, SeenState>({
    entriesMax: limits.comparedStatesMax,
    weightMax: limits.comparedFilesMax,
    weightOf: ({ changed }) => changed.size,
  });
  readonly #runs = new BoundedMap<string, GreenRun>({
    entriesMax: limits.comparedStatesMax,
    weightMax: limits.comparedFilesMax,
    weightOf: ({ state }) => state.changed.size,
  });
  #count = 0;

  /** A state was told whose files were looked at after the entry `seq`. */
  saw(worktree: string, { commit, dirty, absent, changed }: WorktreeState, seq: number): void {
    this.#states.set(stateKey({ worktree, commit, dirty }), { commit, absent, changed, seq });
  }

  /** A check was green in a run that began in a state that was told. */
  ran(run: Place & Pick<CheckResult, "command" | "commit" | "dirty">): void {
    const state = this.#states.get(stateKey(run));
    this.#count += 1;
    if (state === undefined) this.#runs.delete(resultKey(run));
    else this.#runs.set(resultKey(run), { command: run.command, state, n: this.#count });
  }

  /** Returns the latest green run of a check's present command. */
  of(place: Place, command: string): GreenRun | null {
    const run = this.#runs.get(resultKey(place));
    return run?.command === command ? run : null;
  }
}

function stateKey({ worktree, commit, dirty }: Pick<CheckResult, "worktree" | "commit" | "dirty">): string {
  return `${worktree}\0${commit ?? ""}\0${dirty}`;
}
