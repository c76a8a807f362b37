/** `kite check` runs a project's checks and records their results. */

import type { Command } from "commander";
import { LocalError } from "../../client/errors.ts";
import { checkStatuses } from "../../daemon/core/lead/checks.ts";
import { resultKey } from "../../daemon/core/lead/tables/roles.ts";
import { type Check, commandHash } from "../../daemon/lead/settings.ts";
import { limits } from "../../protocol/limits.ts";
import { nearest, shellArgument } from "../../protocol/text.ts";
import { type Acting, actingSession } from "../context/actor.ts";
import {
  type Client,
  type ProcessContext,
  print,
  printFramed,
  printJson,
  type Run,
  screenOf,
} from "../context/process-context.ts";
import type { FindRepository } from "../context/project.ts";
import { exitCodes, fail, rowsOf, withDaemon } from "../context/with-daemon.ts";
import { refusalText } from "../refusal-text.ts";
import { tilde } from "../view/places.ts";
import { clean, wrap } from "../view/text.ts";
import {
  Interrupts,
  nestingProblem,
  type Outcome,
  Progress,
  type Ran,
  type State,
  startCheck,
  stateAt,
  unneededOf,
  whyUnrecorded,
  withNested,
} from "./check-run.ts";
import { checksAt, listTrusted, type NamedChecks, type TrustFlags, trust } from "./check-trust.ts";
import { listedLines, outcomeLines, stateWords, unneededLines } from "./view/debates.ts";

// `kite check`: runs a project's checks in this process's own rights, one after the other, and records the results.

interface CheckFlags {
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

// `kite check --list`: the project's checks, whether they are trusted, and their latest results.

const trustWords = {
  trusted: "trusted",
  changed: "changed since they were trusted: kite check --trust",
  untrusted: "not trusted yet: kite check --trust",
  none: "none",
} as const;

/** Returns the exit code. */
export async function listChecks(
  world: ProcessContext,
  json: boolean,
  find?: FindRepository,
): Promise<number> {
  const { file, checks, trust, problems, repository } = await checksAt(world, world.cwd, find);
  return withDaemon(world, json, async client => {
    const state = await stateAt(client, actingSession(world.env)?.id, repository.worktree);
    const place = { project: state.project, worktree: state.top };
    const rows = await rowsOf(client, "checks", { project: place.project });
    const results = new Map(rows.map(row => [resultKey(row), row]));
    const wanted = checks.map(({ name, command }) => ({ name, command: commandHash(command) }));
    const statuses = checkStatuses({ checks: { results } }, place, wanted, state);
    const listed = checks.map(one => {
      const last = results.get(resultKey({ ...place, name: one.name })) ?? null;
      const isOther = last !== null && last.command !== commandHash(one.command);
      return { ...one, status: statuses.get(one.name) ?? "unknown", last, isOther };
    });
    if (json) {
      const { commit, dirty, files, reason = null } = state;
      const shown = listed.map(({ isOther: _isOther, ...rest }) => rest);
      printJson(world, { file, trust, state: { commit, dirty, files, reason }, checks: shown, problems });
      return exitCodes.done;
    }
    const screen = screenOf(world);
    const stateLines =
      state.dirty === null
        ? wrap(`! The state of the worktree is not known: ${clean(state.reason ?? "")}`, screen.width, 2)
        : [`State: ${stateWords(state)}`];
    print(world, [
      `Checks of ${clean(tilde(repository.project, screen.home))}: ${trustWords[trust]}`,
      ...stateLines,
      ...problems.flatMap(problem => wrap(`! ${clean(problem)}`, screen.width, 2)),
    ]);
    printFramed(world, listedLines(listed, screen));
    return exitCodes.done;
  });
}

const help = `
A project names its checks in .kite/config.json, beside its .git, for all its worktrees; a person trusts them (kite check --trust):
  {"checks": {"test": {"command": "npm test"}, "docs": {"command": "make docs", "when": ["docs/**", "*.md"]}}}

kite check runs the named ones, or all, one after the other: each by sh -c at the top of the worktree, with your rights. Of all
it leaves out, and says so, a check with "when" if no file of these globs changed since it was last green; if it never was:
since the branch began, uncommitted files included. --all runs these too; in CI, and without a base, all run. The daemon keeps each result for the state of the worktree: its commit and its changed files. If files changed while a
check ran, its result counts for no state. A check has no input, and its process group is killed at the time limit.

--json: {"checks":[{"name", "green", "exit", "ranMs", "timedOut", "output": its end, "unrecorded": why it is not kept, or
null, "isUnsure": files changed while it ran, "state"}], "unneeded":[{"name", "when", "since": "green" or "base"}], "file", "problems"}; with --list also "trust", "state", and for each
check "status" ("green", "red", "stale", "never_run", "unknown") and "last", its latest result.

With --trust kite check runs nothing. It shows a person the text of all the project's checks and of its gates, which any agent
may write, with the programs that the repository's .git/config names for kite merge, and asks whether these may run. After any change of that text, and after it is gone, it shows what
changed and asks again. Trusted gates stay in force until then, whatever the file says. Trust is for you alone, in
~/.kite/trusted.json, and for the project with all its worktrees. An agent's shell is refused. --json then has
{"ok":true, "file", "checks":[{"name", "command", "when":[GLOB...] or null}], "gates", "setup", "programs":{NAME:LINE} if there are any,
"problems":[...], "was": "untrusted", "changed" or "trusted"}; with --list {"files":[{"file", "at":MS, "trust"}]}; with --revoke {"ok":true, "file", "revoked"}.

Exit codes: 0 all green; 1 one is red, files changed while one ran, or refused; 3 no daemon runs; 128 + the signal that
ended it.

Examples:
  $ kite check
  $ kite check test --timeout 60 --quiet
  $ kite check --trust
  $ kite check --trust --revoke ~/code/shop`;

export function add(command: Command, run: Run): void {
  command
    .argument("[name...]", "checks; by default all. With --trust a directory of the project")
    .option("--all", "run also those that nothing has changed for")
    .option("--list", "show the checks, whether they are trusted, and their latest results")
    .option(
      "--trust",
      "read the project's checks, and let kite check run them; with --list show which are trusted",
    )
    .option("--revoke", "with --trust: trust the project's checks no longer")
    .option("--yes", "with --trust, for scripts of yours: do not ask")
    .option("-q, --quiet", "show output only of red checks, and only its end")
    .option(
      "--timeout <seconds>",
      `time limit of each check, by default ${limits.checkMs / 1000}, at most ${limits.checkMaxMs / 1000}`,
    )
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(
      async (names: readonly string[], flags: CheckFlags & TrustFlags & { readonly trust?: boolean }) => {
        if (flags.trust === true) {
          await run(world =>
            flags.list === true
              ? listTrusted(world, flags.json === true)
              : trust(world, names[0] ?? ".", flags),
          );
          return;
        }
        if (flags.list === true) {
          await run(world => listChecks(world, flags.json === true));
          return;
        }
        await run(world => check(world, names, flags));
      },
    );
}
