/** What the simulated actors record of checks, and the rules of it once more: the latest of each, over every crash. */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State, TableName } from "../../daemon/core/state.ts";
import type { Command, CommandOf, Entry, Reply } from "../../daemon/core/tables/entries.ts";
import type { Random } from "./random.ts";

type Recorded = CommandOf<"check_record">;

const projects = ["/p", "/q"] as const;
const worktrees = ["/p", "/p-two"] as const;
const names = ["test", "lint", "types"] as const;

export class CheckLives {
  readonly #random: Random;
  /** Each check's latest entry, in the order of the log. */
  #latest = new Map<string, number>();
  /** The latest entry of each check that was acknowledged: no crash brings an earlier one back. */
  readonly #safe = new Map<string, number>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** Whether a check is recorded now. */
  isNext(): boolean {
    return this.#random.chance(0.02);
  }

  command(actor: Actor): Recorded {
    const random = this.#random;
    return {
      type: "check_record",
      actor: random.chance(0.2) ? null : actor,
      project: random.pick(projects),
      worktree: random.pick(worktrees),
      name: random.pick(names),
      command: "c".repeat(64),
      exit: random.int(0, 1),
      ranMs: random.int(0, 1000),
      commit: random.pick(["a".repeat(40), null]),
      dirty: String(random.int(0, 3)).repeat(64),
      files: random.int(0, 3),
      wallMs: 0,
    };
  }

  /** A client hears that its result is safe; `seq` is its entry. */
  heard(command: Command, reply: Reply, seq: number): void {
    if (command.type !== "check_record" || !reply.ok) return;
    this.#safe.set(placeOf(command), Math.max(seq, this.#safe.get(placeOf(command)) ?? 0));
  }

  /** Everything that is wrong after an entry. */
  *observe(state: State, { command, seq }: Entry, touched: ReadonlySet<TableName>): Generator<string, void> {
    if (command.type === "check_record") {
      this.#latest.delete(placeOf(command));
      this.#latest.set(placeOf(command), seq);
      const { exit, dirty } = [...state.checks.results.values()].at(-1) ?? {};
      if (exit !== command.exit || dirty !== command.dirty)
        yield `${command.name} got the result of another run`;
    }
    if (!touched.has("checks")) return;
    const [is, was] = [latestIn(state), this.#latest].map(all => JSON.stringify([...all]));
    if (is !== was) yield `the latest results are ${is}, not ${was}`;
  }

  /** A life has ended: what nobody was promised may be gone with it. */
  restarted(state: State): void {
    this.#latest = latestIn(state);
  }

  /** Results that were acknowledged, and neither they nor later ones of their checks are there. */
  *lost(state: State): Generator<string, void> {
    const latest = latestIn(state);
    for (const [place, seq] of this.#safe)
      if ((latest.get(place) ?? 0) < seq) yield `the result of ${place} was acknowledged and is lost`;
  }
}

function latestIn({ checks }: State): Map<string, number> {
  return new Map([...checks.results.values()].map(result => [placeOf(result), result.seq]));
}

function placeOf({ project, worktree, name }: Pick<Recorded, "project" | "worktree" | "name">): string {
  return `${name} in ${worktree} of ${project}`;
}
