/** What gates told each agent. In memory only: after a restart an agent is told in full once more. */

import { createHash } from "node:crypto";
import type { GateFinding } from "../../protocol/lead/roles.ts";
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import { type Actor, actorKey } from "../core/frame/actors.ts";
import type { StateFiles } from "../core/lead/checks.ts";
import { type CheckResult, resultKey } from "../core/lead/tables/roles.ts";
import { noteKey, type Whose } from "../core/tables/messages.ts";
import type { WorktreeState } from "../facts/worktree-state.ts";

interface ActorMemory {
  /** The findings that held the agent back last; null: none did. */
  readonly held: string | null;
  /** Sentences that it was warned with, the oldest first. */
  readonly warned: ReadonlySet<string>;
}

const nothing: ActorMemory = { held: null, warned: new Set() };

/** An agent is held back in full once, and again in short for the same findings; it is warned once of each finding. */
export class GateMemory {
  readonly #told = new BoundedMap<string, ActorMemory>({ entriesMax: limits.gatedActorsMax });

  /** Whether these findings are the ones that held the agent back last. */
  isHeldAgain(actor: Actor, findings: readonly GateFinding[]): boolean {
    return this.#of(actor).held === mark(JSON.stringify(findings));
  }

  /** An answer that held the agent back for these findings reached it. */
  held(actor: Actor, findings: readonly GateFinding[]): void {
    this.#told.set(actorKey(actor), { ...this.#of(actor), held: mark(JSON.stringify(findings)) });
  }

  /**
   * Returns the findings of which the agent was not warned yet. The same of another file is no other finding; `files` are the
   * names of the file that these are about.
   */
  unwarned(actor: Actor, findings: readonly GateFinding[], files: readonly string[]): GateFinding[] {
    const { warned } = this.#of(actor);
    return findings.flatMap(finding => {
      const missing = finding.missing.filter(sentence => !warned.has(markOf(finding, sentence, files)));
      return missing.length === 0 ? [] : [{ ...finding, missing }];
    });
  }

  /** An answer with these warnings reached the agent. */
  warned(actor: Actor, findings: readonly GateFinding[], files: readonly string[]): void {
    const told = this.#of(actor);
    const marks = findings.flatMap(finding => finding.missing.map(one => markOf(finding, one, files)));
    const warned = [...new Set([...told.warned, ...marks])].slice(-limits.gateWarningsMax);
    this.#told.set(actorKey(actor), { ...told, warned: new Set(warned) });
  }

  /** The agent no longer knows what it was told. */
  forget(actor: Actor): void {
    this.#told.delete(actorKey(actor));
  }

  #of(actor: Actor): ActorMemory {
    return this.#told.get(actorKey(actor)) ?? nothing;
  }
}

/** Names a sentence without the file that it is about. */
function markOf({ gate }: GateFinding, sentence: string, files: readonly string[]): string {
  return mark(`${gate} ${files.reduce((text, file) => text.replaceAll(file, ""), sentence)}`);
}

/** A short name of a text, so that the memory of an agent has a bound. */
function mark(text: string): string {
  return createHash("sha256").update(text).digest("base64").slice(0, 16);
}

// The latest green run of each check, with the files of the state that it counts for. In memory only: after a restart a
// check has to run again before Kite can tell whose work came later.

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

// How often an agent did what the quality gate asked for and was held back again, for a reason that it cannot end. In
// memory only: after a restart the count begins anew.

interface Tries {
  readonly count: number;
  /** The latest run that was counted; null: a reason without runs. */
  readonly run: number | null;
}

export class CompletionTries {
  readonly #tries = new BoundedMap<string, Map<string, Tries>>({ entriesMax: limits.gatedActorsMax });

  /** Whether the agent was held back for this reason as often as it may be. */
  isSpent(whose: Whose, reason: string): boolean {
    return (this.#tries.get(noteKey(whose))?.get(reason)?.count ?? 0) >= limits.completionRefusalsMax;
  }

  /** The agent is held back for this reason. With `run` it counts once for each run: who runs nothing, does nothing. */
  refused(whose: Whose, reason: string, run: number | null): void {
    const key = noteKey(whose);
    const own = this.#tries.get(key) ?? new Map<string, Tries>();
    const before = own.get(reason);
    if (run !== null && before?.run === run) return;
    own.set(reason, { count: (before?.count ?? 0) + 1, run });
    this.#tries.set(key, own);
  }

  /** The agent passed. */
  passed(whose: Whose): void {
    this.#tries.delete(noteKey(whose));
  }
}
