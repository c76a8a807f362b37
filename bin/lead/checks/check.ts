/** `kite check`: runs a project's checks in this process's own rights, one after the other, and records the results. */
import { LocalError } from "../../../client/errors.ts";
import { type Check, commandHash } from "../../../daemon/lead/settings.ts";
import { limits } from "../../../protocol/limits.ts";
import { nearest, shellArgument } from "../../../protocol/text.ts";
import { type Acting, actingSession } from "../../actor.ts";
import { type Client, type ProcessContext, print, printJson, screenOf } from "../../process-context.ts";
import type { FindRepository } from "../../project.ts";
import { refusalText } from "../../refusal-text.ts";
import { clean, wrap } from "../../view/text.ts";
import { exitCodes, fail, withDaemon } from "../../with-daemon.ts";
import { outcomeLines, unneededLines } from "../view/checks.ts";
import { Interrupts } from "./interrupts.ts";
import { nestingProblem, withNested } from "./nesting.ts";
import type { Outcome } from "./outcome.ts";
import { Progress } from "./progress.ts";
import { checksAt, type NamedChecks } from "./read.ts";
import { type Ran, startCheck } from "./run-one.ts";
import { type State, stateAt, whyUnrecorded } from "./states.ts";
import { unneededOf } from "./unneeded.ts";

export interface CheckFlags {
  readonly list?: boolean;
  /** Also those that nothing has changed for. */
  readonly all?: boolean;
  readonly quiet?: boolean;
  readonly timeout?: string;
  readonly json?: boolean;
}

/** Runs the named checks, or all that something changed for, and returns the exit code. */
export async function check(
  world: ProcessContext,
  names: readonly string[],
  flags: CheckFlags,
  find?: FindRepository,
): Promise<number> {
  const json = flags.json === true;
  const timeoutMs = timeoutOf(flags.timeout);
  if (timeoutMs === null) {
    const error = `--timeout takes seconds from 1 to ${limits.checkMaxMs / 1000}, not ${flags.timeout}`;
    return fail(world, json, "usage", error);
  }
  const named = await checksAt(world, world.cwd, find);
  const wanted = chosen(named, names);
  const refused = refusal(world, named) ?? (typeof wanted === "string" ? wanted : null);
  if (!json) printProblems(world, named.problems);
  if (refused !== null || typeof wanted === "string") return fail(world, json, "refused", refused ?? "");
  return withDaemon(
    world,
    json,
    async client => {
      const { worktree } = named.repository;
      const place = { env: world.env, worktree, own: actingSession(world.env) };
      const isChosen = names.length > 0 || flags.all === true;
      const unneeded = isChosen ? [] : await unneededOf(client, wanted, place);
      const runs = new CheckRuns(world, client, named, { ...flags, timeoutMs });
      const code = await runs.all(wanted.filter(({ name }) => !unneeded.some(row => row.name === name)));
      const { outcomes } = runs;
      const left = unneeded.map(({ name, when, since }) => ({ name, when, since }));
      if (json)
        printJson(world, { file: named.file, checks: outcomes, unneeded: left, problems: named.problems });
      else {
        const screen = screenOf(world);
        print(world, [...outcomeLines(outcomes, screen), ...unneededLines(left, screen)]);
      }
      return code;
    },
    { reconnect: true },
  );
}

/** Returns why none of the checks may run, or null. */
function refusal(world: ProcessContext, { checks, file, trust, repository }: NamedChecks): string | null {
  const { project } = repository;
  if (checks.length === 0 && trust !== "changed")
    return `${file} names no checks; kite check --help shows how to name some`;
  if (trust === "trusted") return nestingProblem(world.env, project);
  const why = trust === "changed" ? "have changed since a person trusted them" : "are not trusted yet";
  const isAgent = actingSession(world.env) !== null;
  const who = isAgent ? "ask your user to run in a terminal of their own" : "read and trust them";
  return `the checks of ${project} ${why}; ${who}: kite check --trust ${shellArgument(project)}`;
}

/** Returns the checks of these names, or all; or a sentence about a name that there is not. */
function chosen({ checks, file }: NamedChecks, names: readonly string[]): readonly Check[] | string {
  const byName = new Map(checks.map(one => [one.name, one]));
  const wanted = new Map<string, Check>();
  for (const name of names) {
    const found = byName.get(name);
    if (found === undefined) {
      const meant = nearest(name, byName.keys());
      const hint = meant === null ? `there are ${[...byName.keys()].join(", ")}` : `did you mean ${meant}?`;
      return `${file} names no check ${name}; ${hint}`;
    }
    wanted.set(name, found);
  }
  return names.length === 0 ? checks : [...wanted.values()];
}

class CheckRuns {
  readonly outcomes: Outcome[] = [];
  readonly #world: ProcessContext;
  readonly #client: Client;
  readonly #named: NamedChecks;
  readonly #own: Acting | null;
  readonly #flags: CheckFlags & { readonly timeoutMs: number };

  constructor(
    world: ProcessContext,
    client: Client,
    named: NamedChecks,
    flags: CheckFlags & { readonly timeoutMs: number },
  ) {
    this.#world = world;
    this.#client = client;
    this.#named = named;
    this.#own = actingSession(world.env);
    this.#flags = flags;
  }

  /** Returns the exit code: 1 if a check is red, or its result says nothing. */
  async all(checks: readonly Check[]): Promise<number> {
    const { worktree } = this.#named.repository;
    const progress = new Progress(this.#world, checks.length, this.#flags);
    const interrupts = new Interrupts();
    try {
      const look = () => interrupts.until(stateAt(this.#client, this.#own?.id, worktree));
      let before = await look();
      for (const one of checks) {
        if (before === null) break;
        progress.begin(one);
        const running = startCheck({
          command: one.command,
          cwd: worktree,
          env: withNested(this.#world.env, this.#named.repository.project, one.name),
          timeoutMs: this.#flags.timeoutMs,
          streams: this.#flags.quiet !== true && this.#flags.json !== true,
        });
        interrupts.passTo(running);
        const ran = await running.done;
        interrupts.passTo(null);
        progress.end();
        if (interrupts.exit !== null) break;
        const after = await look();
        const outcome = after && (await interrupts.until(this.#outcome(one, ran, before, after)));
        if (outcome !== null) this.outcomes.push(outcome);
        before = after;
      }
      if (interrupts.exit !== null) return interrupts.exit;
      const isGood = this.outcomes.every(({ green, isUnsure }) => green && !isUnsure);
      return isGood ? exitCodes.done : exitCodes.failed;
    } finally {
      progress.end();
      interrupts.close();
    }
  }

  async #outcome({ name, command }: Check, ran: Ran, before: State, after: State): Promise<Outcome> {
    const why = whyUnrecorded(name, before, after);
    const isKnown = before.dirty !== null && after.dirty !== null;
    const isUnsure = isKnown && why !== null;
    const kept = isUnsure || why === null ? await this.#record(name, command, ran, after, before) : null;
    const unrecorded = why ?? kept;
    const state = { commit: after.commit, files: after.files };
    return { name, green: ran.exit === 0, ...ran, unrecorded, isUnsure, state };
  }

  /** Records the result, and returns why it is not kept, or null. If files changed meanwhile, the daemon is told so. */
  async #record(
    name: string,
    command: string,
    ran: Ran,
    state: State,
    before: State,
  ): Promise<string | null> {
    if (state.dirty === null || before.dirty === null) return "the state of the worktree is not known";
    const { project, top: worktree, commit, dirty, files } = state;
    const { exit, ranMs } = ran;
    const isSame = before.commit === commit && before.dirty === dirty;
    const result = {
      ...(isSame ? {} : { began: { commit: before.commit, dirty: before.dirty } }),
      project,
      worktree,
      name,
      command: commandHash(command),
      exit,
      ranMs,
      commit,
      dirty,
      files,
    };
    try {
      const answer = await this.#client.request("check_record", { ...this.#own, ...result });
      return answer.ok ? null : refusalText(answer, "terminal");
    } catch (error) {
      if (!(error instanceof LocalError)) throw error;
      return error.message;
    }
  }
}

function printProblems(world: ProcessContext, problems: readonly string[]): void {
  const { width } = screenOf(world);
  for (const problem of problems) world.stderr.write(`${wrap(`! ${clean(problem)}`, width, 2).join("\n")}\n`);
}

function timeoutOf(seconds: string | undefined): number | null {
  if (seconds === undefined) return limits.checkMs;
  const ms = /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1000 : 0;
  return ms >= 1000 && ms <= limits.checkMaxMs ? ms : null;
}
