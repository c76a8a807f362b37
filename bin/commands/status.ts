/** `kite status` shows who is at work, who holds what, and who waits for what. */

import { existsSync } from "node:fs";
import type { Command } from "commander";
import { LocalError } from "../../client/errors.ts";
import { lostStoreProblem, olderStoreAdvice, olderStoreText } from "../../daemon/journal/store-mark.ts";
import type { StatsReply } from "../../protocol/schemas/daemon.ts";
import type { OverviewReply } from "../../protocol/schemas/overview.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import {
  type Client,
  interrupted,
  type ProcessContext,
  print,
  printJson,
  type Run,
  screenOf,
  type Work,
} from "../context/process-context.ts";
import type { ScopeFlags } from "../context/project.ts";
import { namedDirectory, projectUnknown } from "../context/project.ts";
import { fail, granted, printShown, rowsFrom, unknownForm, withDaemon } from "../context/with-daemon.ts";
import { copiesProblem } from "../doctor/hooks.ts";
import { leadStatus } from "../leading.ts";
import { damageTexts } from "../rescue/shown.ts";
import { changedTexts, observedText, offTexts, settingsTexts, whatIsOff } from "../settings/off-now.ts";
import { dist, version } from "../version.ts";
import { notRunningView, statusView } from "../view/status.ts";
import { clock } from "../view/text.ts";

const help = `
It shows the project of the working directory, and a line for each other project. --json has all projects.

With --sessions it lists the sessions; --json then has {"sessions":[...]}, rows as \`query\` gives them, with "terminal"
(pts/3; pts/3 (vscode); tmux %5, pts/3) if the session's process has one. With --locks it lists the locks; --json: {"locks":[...]}. With
--locks --watch --json it prints one event a line, as \`subscribe\` gives them. In a pipe, --watch prints the present
locks, then a line for each change.

With --lead: the agents of the working directory's project by state, the critical path of its tasks, who waits for whom,
what is new, and at most one suggestion; --json then has {"project", "sessions", "locks", "tasks", "sinceMs", "reader"}, with
a store that machines share "elsewhere".

--json: {"running":true, "socket", "stats", "sessions":[...], "locks":[...], "holds":[...], "refusals":[...],
"risks":[...], "watched":[...], "wiped":[...], "warnings":[...]}, with "store" if one is set, rows as \`query\` gives them, and with a store that
machines share "elsewhere":[...]; without a daemon
{"running":false, "socket", "start":"kite up", "warnings"?}.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite status
  $ kite status --all
  $ kite status --locks --watch
  $ kite status ../other-project
  $ kite status --lead`;

interface StatusFlags extends ScopeFlags {
  readonly json?: boolean;
  readonly lead?: boolean;
  readonly sessions?: boolean;
  readonly locks?: boolean;
  readonly watch?: boolean;
}

export function add(command: Command, run: Run): void {
  command
    .argument("[directory]", "show the project of this directory; by default the working directory's")
    .option("--all", "show all projects in full")
    .option("--sessions", "list the sessions, with their ids, processes and directories")
    .option("--locks", "list the locks and their waiters")
    .option("--watch", "with --locks: update the list until interrupted")
    .option("--lead", "show what a lead of the project reads, with what is new in the last 15 minutes")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(async (directory: string | undefined, flags: StatusFlags) => {
      const { json, lead } = flags;
      const wrong = contradiction(flags);
      if (wrong !== null) return run(async world => fail(world, json === true, "usage", wrong));
      if (flags.sessions === true) {
        const { sessions } = await import("./home-screen.ts");
        return run(world => sessions(world, json === true, directory, flags));
      }
      if (flags.locks === true) {
        const { locks } = await import("./live-locks.ts");
        const until = flags.watch === true ? interrupted() : new AbortController().signal;
        return run(world => locks(world, flags, until, directory));
      }
      if (lead !== true) return run(world => status(world, json === true, directory, flags));
      const { showLead } = await leadStatus();
      await run(world => showLead(world, json === true));
    });
}

/** Returns why these options do not go together; null: they do. */
function contradiction({ sessions, locks, lead, watch }: StatusFlags): string | null {
  const shown = Object.entries({ "--sessions": sessions, "--locks": locks, "--lead": lead }).filter(
    ([, is]) => is === true,
  );
  if (shown.length > 1) return `give only one of ${shown.map(([name]) => name).join(" and ")}`;
  if (watch === true && locks !== true)
    return "--watch goes with --locks; to see everything live: kite watch";
  return null;
}

/** Shows the project of a directory, if no options say how. */
export function plain(words: readonly string[]): Work | null {
  const [directory, ...others] = words;
  if (others.length > 0 || directory?.startsWith("-")) return null;
  return world => status(world, false, directory);
}

/** Shows the project of `directory`, by default the working directory's. Returns the exit code. */
export async function status(
  world: ProcessContext,
  json: boolean,
  directory?: string,
  flags: ScopeFlags = {},
): Promise<number> {
  const store = storeWarnings(world);
  const isScreen = !json && world.stdout.isTTY === true;
  const isOfAll = json || flags.all === true;
  const isNamed = directory !== undefined;
  const cwd = isNamed ? namedDirectory(world.cwd, directory) : world.cwd;
  return withDaemon(
    world,
    json,
    async client => {
      const answer = await client.request("overview", isOfAll ? {} : { cwd });
      if (!answer.ok && answer.code === "unknown_type") throw unknownForm(client, "knows no overview");
      const overview = granted(answer);
      const { stats, project, projectTasks, store: shared, unreachable } = overview;
      if (unreachable !== undefined && isNamed) throw projectUnknown(cwd, unreachable);
      const rows = await overviewRows(client, overview);
      const all = [...store, ...(await overviewWarnings(world, overview, rows.sessions))];
      const sharing = shared === undefined ? {} : { store: shared };
      const data = { stats, socket: world.paths.socket, ...rows, ...sharing, warnings: all };
      const titles = isScreen
        ? await (await import("../context/terminals.ts")).titlesFor(world, client)
        : null;
      const next = rows.sessions.length > 0 ? [] : (await import("./home-screen.ts")).nextStep(world, 0);
      const shown = {
        ...{ ...data, next, project, isNamed, isPersons: titles !== null },
        ...(titles === null ? {} : { titles }),
        ...(projectTasks === undefined ? {} : { projectTasks }),
      };
      return printShown(world, json, { running: true, ...data }, screen => statusView(shown, screen));
    },
    {
      absent: () => showAbsent(world, json, store),
      saysStale: true,
      // What was wiped in all projects a person sees alone.
      ...(isScreen || isOfAll ? { person: "unnamed" } : {}),
    },
  );
}

/** Returns what is wrong with the store as a whole, at most one sentence. */
function storeWarnings(world: ProcessContext): readonly string[] {
  const lost = lostStoreProblem(world.paths);
  if (lost !== null) return [lost];
  const older = olderStoreText(world.paths, world.now(), at => clock(at, world.now()));
  return older === null ? [] : [`${older}; ${olderStoreAdvice}`];
}

/** Says that no daemon runs, with what a person has to know nevertheless. */
function showAbsent(world: ProcessContext, json: boolean, store: readonly string[]): void {
  const { socket, downFile } = world.paths;
  const notes = [...store, ...whatIsOff(world)];
  const why = notes.length === 0 ? {} : { warnings: notes };
  if (json) printJson(world, { running: false, socket, start: "kite up", ...why });
  else print(world, notRunningView(screenOf(world), existsSync(downFile), notes));
}

/** Returns the rows of the overview's lists, which may have further pages. */
async function overviewRows(client: Client, lists: OverviewReply) {
  return {
    sessions: await rowsFrom(client, "sessions", lists.sessions),
    locks: await rowsFrom(client, "locks", lists.locks),
    holds: await rowsFrom(client, "holds", lists.holds),
    refusals: await rowsFrom(client, "refusals", lists.refusals),
    risks: await rowsFrom(client, "risks", lists.risks),
    watched: await rowsFrom(client, "task_watched", lists.watched),
    wiped: lists.wiped ?? [],
    ...(lists.elsewhere === undefined
      ? {}
      : { elsewhere: await rowsFrom(client, "elsewhere", lists.elsewhere) }),
  };
}

/** Returns what a person should know besides the rows, each with what to do. */
async function overviewWarnings(
  world: ProcessContext,
  { stats, off, mode, changedFiles = [], settings, rescue }: OverviewReply,
  sessions: readonly SessionRow[],
): Promise<readonly string[]> {
  return [
    ...offTexts(off, world),
    ...(mode === undefined ? [] : [observedText]),
    ...changedTexts(changedFiles, world),
    ...settingsTexts(settings),
    ...(rescue === undefined ? [] : damageTexts(rescue, rescue.trouble)),
    ...warnings(stats, version),
    ...(await hookWarnings(world, sessions)),
    ...unplaced(sessions),
  ];
}

/** Returns a warning for each session whose repository Kite could not determine. */
export function unplaced(sessions: readonly SessionRow[]): string[] {
  return sessions.flatMap(({ name, unplaced: why }) =>
    why === undefined
      ? []
      : [`Kite could not determine the repository of ${name} and tries again at its next event: ${why}`],
  );
}

/** Returns the warnings that concern the whole daemon, each with what to do. */
export function warnings(stats: StatsReply, version: string): string[] {
  const found: string[] = [];
  const { mergesUnheard = 0 } = stats;
  if (mergesUnheard > 0) {
    const branches = mergesUnheard === 1 ? "A branch" : `${mergesUnheard} branches`;
    found.push(`${branches} came back from a merge, and nobody is there to read so: kite merge --list`);
  }
  if (stats.storeFull) {
    found.push(
      "The disk is full: Kite grants no lock until you free space; sessions can still release theirs.",
    );
  }
  if (stats.voided.length > 0) {
    const what = stats.voided.length === 1 ? "A request" : `${stats.voided.length} requests`;
    found.push(`${what} failed inside Kite and changed nothing; see kite doctor.`);
  }
  if (stats.version !== version) {
    found.push(
      `The daemon is version ${stats.version}, this program ${version}; restart it: kite down && kite up`,
    );
  }
  return found;
}

// What the status says of hooks. It loads the checks of doctor only if there is something to say.

/**
 * Returns a sentence for copies of another version, one for all directories where sessions work without hooks, and one for
 * each checkout in which git fails.
 */
async function hookWarnings(world: ProcessContext, sessions: readonly SessionRow[]): Promise<string[]> {
  const found: string[] = [];
  if (copiesProblem(world, dist) !== null) {
    const { checkCopies } = await import("../doctor/hooks.ts");
    found.push(...checkCopies(world, dist).map(({ detail, todo }) => `${detail}; ${todo}`));
  }
  if (sessions.length > 0) {
    const { placesIn, unhooked } = await import("../doctor/hooks.ts");
    const bare = unhooked(world, sessions);
    if (bare.length > 0) found.push(`Sessions work in ${placesIn(bare)} without hooks: see kite doctor.`);
    const { lostCheckouts } = await import("../doctor/checkouts.ts");
    found.push(...lostCheckouts(sessions).map(({ detail, line }) => `${detail}; take it back: ${line}`));
  }
  return found;
}

// `kite` without a word: the status if there is something to see, else help.

/** How long it looks for a daemon at most. */
const lookMs = 1_000;

/** Shows the status if a person looks and a session or a lock is there; else prints `help`. Returns the exit code, 0. */
export async function statusOrHelp(world: ProcessContext, help: string): Promise<number> {
  if (world.stdout.isTTY === true && (await isBusy(world))) await status(world, false);
  else world.stdout.write(help);
  return 0;
}

async function isBusy(world: ProcessContext): Promise<boolean> {
  try {
    const client = await world.connect({ name: "kite", reconnect: false, timeoutMs: lookMs });
    try {
      const answer = await client.request("overview", {});
      return answer.ok && answer.sessions.rows.length + answer.locks.rows.length > 0;
    } finally {
      client.close();
    }
  } catch (error) {
    if (error instanceof LocalError) return false;
    throw error;
  }
}
