/**
 * What the simulated runners do with merges, and the rules of the queue once more: one at a time, in the order of asking,
 * none lost, and no word of a runner that lost its right.
 */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { Merge, MergeCommands, MergeOutcome, Runner } from "../../daemon/core/lead/tables/merges.ts";
import type { State, TableName } from "../../daemon/core/state.ts";
import type { Command, Entry, Reply, Step } from "../../daemon/core/tables/entries.ts";
import type { MergeReason } from "../../protocol/lead/merge.ts";
import { limits } from "../../protocol/limits.ts";
import type { Random } from "./random.ts";

type MergeCommand = Extract<Command, { readonly type: keyof MergeCommands }>;

const project = "/p";
const bases = ["refs/heads/main", "refs/heads/next"] as const;
const branches = ["a", "b", "c", "d", "e", "f"].map(name => `refs/heads/${name}`);
const reason: MergeReason = { code: "conflict", text: "it conflicts", files: ["a"], more: 0, output: null };
const ends: ReadonlySet<string> = new Set(["merged", "checked", "returned", "cancelled"]);
const next: Readonly<Record<string, readonly string[]>> = {
  queued: ["running", "cancelled"],
  running: ["queued", "merged", "checked", "returned", "cancelled"],
};

/** A merge as it was seen last. */
interface Seen extends Pick<Merge, "n" | "base" | "state" | "runs" | "moving"> {
  /** The connection and the name of the runner that began the latest run; null: it lost its right. */
  readonly runner: Runner | null;
}

export class MergeLives {
  readonly #random: Random;
  readonly #often: boolean;
  #seen = new Map<string, Seen>();
  /** All that may still change, as it was after the last entry. */
  #text = "";
  /** Merges that were acknowledged, with the end that was, if any: no crash takes these back. */
  readonly #safe = new Map<string, string | null>();
  /** Runs that runners believe to be theirs, some of which are not any more. */
  #believed: { readonly name: string; readonly merge: string; readonly run: number }[] = [];

  /** `often`: clients do little else, for authors that work on the merge's tasks. */
  constructor(random: Random, often = false) {
    this.#random = random;
    this.#often = often;
  }

  /** Returns the client that does something with merges now, if any does. */
  next<C>(open: readonly C[]): C | null {
    return open.length > 0 && this.#random.chance(this.#often ? 0.9 : 0.12) ? this.#random.pick(open) : null;
  }

  /** A command of the runner on this connection. */
  command(state: State, actor: Actor, connection: number, epoch: number): MergeCommand {
    const random = this.#random;
    const runner = { name: `run-${connection}`, bound: { node: "local", epoch, connection } };
    const by = random.chance(0.3) ? null : actor;
    const wallMs = 0;
    const base = random.pick(bases);
    const roll = random.int(1, 10);
    if (roll <= 3) return this.#queue(state, { by, base, runner, wallMs });
    if (roll <= 6)
      return { type: "merge_take", by, project, base, runner, drain: random.chance(0.5), wallMs };
    if (roll === 7) {
      // A runner whose daemon is another one comes back, or one calls itself as another does.
      const names = [...state.merges.byRunner.keys()];
      const name = names.length > 0 ? random.pick(names) : runner.name;
      return { type: "merge_attach", runner: { ...runner, name } };
    }
    if (roll === 8 && random.chance(0.5)) {
      const ids = [...state.merges.all.keys()];
      const merge = ids.length > 0 && random.chance(0.7) ? random.pick(ids.slice(-8)) : null;
      return {
        type: "merge_cancel",
        by,
        merge,
        project,
        runner: runner.name,
        reason: { ...reason, code: "asked" },
        wallMs,
      };
    }
    return this.#report(state, { by, runner, wallMs });
  }

  #queue(
    state: State,
    rest: Pick<MergeCommands["merge_queue"], "by" | "base" | "runner" | "wallMs">,
  ): MergeCommand {
    const random = this.#random;
    const sessions = [...state.sessions.live.keys()];
    const claims = [...state.tasks.claims];
    const named = branches.filter(() => random.chance(0.3));
    const merges = (named.length > 0 ? named : branches.slice(0, 1)).map(branch => {
      const [claimer, ids] = claims.length > 0 ? random.pick(claims) : ["", new Set<string>()];
      const session = this.#often || random.chance(0.8) ? claimer : (sessions[0] ?? "");
      return {
        branch,
        author: session === "" ? null : { session, agent: null },
        tasks: [...ids].slice(0, limits.mergeTasksMax),
        after: branches.filter(() => random.chance(0.2)),
      };
    });
    return { type: "merge_queue", project, rebase: false, checkOnly: random.chance(0.2), merges, ...rest };
  }

  #report(
    state: State,
    { by, runner, wallMs }: Pick<MergeCommands["merge_report"], "by" | "runner" | "wallMs">,
  ) {
    const random = this.#random;
    const running = [...state.merges.running.values()].flatMap(id => state.merges.all.get(id) ?? []);
    const known = running.map(({ id, runner: one, runs }) => ({
      name: one?.name ?? "",
      merge: id,
      run: runs,
    }));
    // A runner that lost its right, or says once more what it said in an earlier run.
    const late = [
      ...this.#believed,
      ...known.filter(({ run }) => run > 1).map(one => ({ ...one, run: one.run - 1 })),
    ];
    const all = [...known, ...known, ...late];
    const told = all.length > 0 ? random.pick(all) : { name: runner.name, merge: "mg-0-1", run: 1 };
    const isTrial = state.merges.all.get(told.merge)?.checkOnly === true;
    const commit = "c".repeat(40);
    const outcome: MergeOutcome = random.pick([
      { is: "moving", commit },
      { is: isTrial ? "checked" : "merged", commit },
      { is: "returned", reason },
      { is: "cancelled", reason },
      { is: "queued" },
    ]);
    const { merge, run } = told;
    const own = { ...runner, name: told.name };
    return { type: "merge_report" as const, by, runner: own, merge, run, outcome, wallMs };
  }

  /** A client hears that what it asked is safe. */
  heard(command: Command, reply: Reply): void {
    if (!reply.ok) return;
    if (command.type === "merge_queue") {
      for (const { id } of reply["merges"] as readonly Merge[])
        this.#safe.set(id, this.#safe.get(id) ?? null);
    } else if (command.type === "merge_report") {
      const { id, state } = reply["merge"] as Merge;
      if (ends.has(state)) this.#safe.set(id, state);
    } else if (command.type === "merge_cancel") {
      for (const id of reply["cancelled"] as readonly string[]) this.#safe.set(id, "cancelled");
    }
  }

  /** Everything that is wrong after an entry. */
  *observe(
    state: State,
    { command }: Entry,
    step: Step,
    touched: ReadonlySet<TableName>,
  ): Generator<string, void> {
    yield* this.#lateWord(command, step);
    if (!touched.has("merges")) return;
    const text = textOf(state);
    if (text === this.#text) return;
    this.#text = text;
    const now = new Map([...state.merges.all].map(([id, merge]) => [id, merge]));
    for (const [id, was] of this.#seen) {
      const merge = now.get(id);
      if (merge === undefined) {
        if (!ends.has(was.state)) yield `${id} was ${was.state} and is lost`;
      } else if (merge.state !== was.state && !next[was.state]?.includes(merge.state))
        yield `${id} went from ${was.state} to ${merge.state}`;
      else if (was.moving && merge.state === "cancelled" && command.type === "merge_cancel")
        yield `${id} was cancelled while its base moved`;
    }
    const running = new Map<string, string>();
    for (const merge of now.values()) {
      const was = this.#seen.get(merge.id);
      if (merge.state === "running") {
        const other = running.get(merge.base);
        if (other !== undefined) yield `${merge.id} and ${other} run for one base`;
        running.set(merge.base, merge.id);
        if (was?.state !== "running") yield* this.#overtaken(merge);
      }
      for (const id of merge.after) {
        const first = now.get(id);
        const isLost = first?.state === "returned" || first?.state === "cancelled";
        if (isLost && !ends.has(merge.state)) yield `${merge.id} builds on ${id}, which is ${first?.state}`;
      }
    }
    if (command.type === "merge_report" && command.outcome.is === "returned" && step.reply?.ok)
      yield* keptTasks(state, now.get(command.merge));
    yield* stayedWith(state, command);
    this.#note(state, now);
  }

  /** A report counts only from the runner that began the latest run and has not lost its right. */
  *#lateWord(command: Command, step: Step): Generator<string, void> {
    if (command.type !== "merge_report" || step.reply?.ok !== true) return;
    const was = this.#seen.get(command.merge);
    if (was?.state !== "running") yield `a report of ${command.merge} counts, which is ${was?.state}`;
    else if (was.runs !== command.run)
      yield `a report of run ${command.run} of ${command.merge} counts, now ${was.runs}`;
    else if (was.runner?.name !== command.runner.name)
      yield `${command.runner.name} reports of ${command.merge}`;
  }

  /** A merge that began before an earlier one of its base. */
  *#overtaken({ id, n, base }: Merge): Generator<string, void> {
    for (const [other, was] of this.#seen)
      if (was.base === base && was.n < n && !ends.has(was.state)) yield `${id} began before ${other}`;
  }

  #note(state: State, now: ReadonlyMap<string, Merge>): void {
    this.#seen = new Map(
      [...now].map(([id, { n, base, state: is, runs, moving, runner }]) => [
        id,
        { n, base, state: is, runs, moving, runner: is === "running" ? runner : null },
      ]),
    );
    for (const id of state.merges.running.values()) {
      const { runner, runs } = now.get(id) ?? {};
      if (runner == null || runs === undefined) continue;
      const belief = { name: runner.name, merge: id, run: runs };
      this.#believed = [...this.#believed, belief].slice(-12);
    }
  }

  /** A life has ended: what nobody was promised may be gone with it. */
  restarted(state: State): void {
    this.#text = textOf(state);
    this.#note(state, state.merges.all);
  }

  /** What was acknowledged and is not there. */
  *lost({ merges }: State): Generator<string, void> {
    for (const [id, end] of this.#safe) {
      const merge = merges.all.get(id);
      // The oldest that ended make room.
      if (merge === undefined && (end !== null || merges.all.size >= limits.mergesMax)) continue;
      if (merge === undefined) yield `${id} was acknowledged and is lost`;
      else if (end !== null && merge.state !== end)
        yield `${id} was acknowledged as ${end} and is ${merge.state}`;
    }
  }
}

function textOf({ merges }: State): string {
  const left = [...merges.all.values()].filter(({ runner, state }) => runner !== null || !ends.has(state));
  return JSON.stringify([merges.count, left]);
}

/** Tasks of a merge that came back which its author still has. */
function* keptTasks(state: State, merge: Merge | undefined): Generator<string, void> {
  if (merge === undefined || merge.checkOnly || merge.author === null) return;
  for (const id of merge.tasks) {
    const now = state.tasks.all.get(id)?.state;
    if (now?.status === "active" && now.claimer?.session === merge.author.id)
      yield `${merge.id} came back, and ${id} is still active`;
  }
}

/** Merges of a connection after the entry that says that it is gone. */
function* stayedWith({ merges }: State, command: Command): Generator<string, void> {
  if (command.type !== "merge_unbind") return;
  for (const { id, runner } of merges.all.values()) {
    const { epoch, connection } = runner?.bound ?? {};
    if (epoch === command.bound.epoch && connection === command.bound.connection)
      yield `${id} stays with connection ${connection}, which is closed`;
  }
}

/** Open merges whose runner is gone, once everything due has been proposed and delivered. */
export function* leftRunners(
  { merges, nodes, epoch, t }: State,
  isOpen: (connection: number) => boolean,
): Generator<string, void> {
  for (const { id, runner } of merges.all.values()) {
    if (runner === null) continue;
    const { bound } = runner;
    const since = nodes.get(bound.node)?.at ?? t;
    const isGone = bound.epoch === epoch ? !isOpen(bound.connection) : since + limits.boundGraceMs < t;
    if (isGone) yield `${id} waits for connection ${bound.connection} of epoch ${bound.epoch}, which is gone`;
  }
}
