/** `kite notify` shows a desktop notice when somebody needs a person, waits for long, or lost work. */

import type { Command } from "commander";
import { LocalError } from "../../client/errors.ts";
import { type NotifySetting, notifyDefaults } from "../../daemon/config/base-settings.ts";
import { loadConfig } from "../../daemon/config/config.ts";
import { findProgram } from "../../daemon/facts/programs.ts";
import type { EventLine } from "../../protocol/events.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import { duration, plain } from "../../protocol/text.ts";
import {
  type Client,
  interrupted,
  type ProcessContext,
  print,
  type Run,
} from "../context/process-context.ts";
import { type Env, ProgramFailed, runProgram, withoutSession } from "../context/programs.ts";
import {
  ask,
  exitCodes,
  fail,
  Refused,
  rowsOf,
  streamCode,
  streamEnd,
  withDaemon,
} from "../context/with-daemon.ts";
import { projectName } from "../view/places.ts";

// What a person is to be told: each thing once, as long as it lasts.

/** One notice; both texts are one line without control characters. */
export interface Notice {
  readonly title: string;
  readonly text: string;
}

interface NoticeBounds {
  readonly personMs: number;
  readonly waitMs: number;
}

const nameChars = 60;

/** Remembers since when a session needs a person, and what was told. */
export class NoticeWatch {
  readonly #bounds: NoticeBounds;
  /** Since when each need lasts, in milliseconds of the caller's clock; and the needs and waits that were told. */
  readonly #since = new Map<string, number>();
  #told = new Set<string>();
  /** Who needed a person before the first look has waited for nobody knows how long, and is told at once. */
  #isFirst = true;

  constructor(bounds: NoticeBounds) {
    this.#bounds = bounds;
  }

  /** Returns what has lasted for long enough and was not told yet. */
  look(sessions: readonly SessionRow[], locks: readonly LockRow[], nowMs: number): Notice[] {
    const lasting = new Map<string, Notice | null>();
    for (const { id, name, attention, project } of sessions) {
      if (attention === null) continue;
      const key = `person ${id} ${attention}`;
      const since = this.#since.get(key) ?? (this.#isFirst ? Number.NEGATIVE_INFINITY : nowMs);
      this.#since.set(key, since);
      const isDue = nowMs - since >= this.#bounds.personMs;
      lasting.set(key, isDue ? notice(`${name} needs you in ${projectName(project)}`, attention) : null);
    }
    for (const key of this.#since.keys()) if (!lasting.has(key)) this.#since.delete(key);
    for (const { file, holder, waiters, project } of locks) {
      for (const { id, agent, name, waitedMs, attached } of waiters) {
        if (!attached) continue;
        const isDue = waitedMs >= this.#bounds.waitMs;
        const behind = holder === null ? "" : ` behind ${holder.name}`;
        const text = `for ${file}${behind}, ${duration(waitedMs)} now`;
        lasting.set(
          `wait ${id} ${agent} ${file}`,
          isDue ? notice(`${name} waits in ${projectName(project)}`, text) : null,
        );
      }
    }
    this.#isFirst = false;
    const due = [...lasting].filter(([key, what]) => what !== null && !this.#told.has(key));
    // What is over is forgotten: it is told again when it comes again.
    this.#told = new Set([...this.#told].filter(key => lasting.has(key)));
    for (const [key] of due) this.#told.add(key);
    return due.flatMap(([, what]) => what ?? []);
  }
}

/** The projects of sessions by their ids. */
type Projects = ReadonlyMap<string, string>;

/** Returns the notice for an event: work that was wiped or overwritten; null for any other event. */
export function eventNotice(event: EventLine, projects: Projects): Notice | null {
  if (event.event === "work_taken" && event.how === "discarded") {
    const more = event.more === undefined ? "" : ` and ${event.more} more`;
    return notice(
      `${event.owner.name}'s work was wiped${placeOf(event.by.id, projects)}`,
      `${event.by.name}, ${event.command}: ${event.files.join(", ")}${more}`,
    );
  }
  // Of a git command that the guard saw, `work_taken` tells already.
  if (event.event === "work_wiped" && !(event.by !== null && event.command.startsWith("git "))) {
    const more = event.more === undefined ? "" : ` and ${event.more} more`;
    return notice(
      `${event.owner.name}'s work was wiped${placeOf(event.owner.id, projects)}`,
      `kite rescue restore ${event.wipe}: ${event.files.join(", ")}${more}`,
    );
  }
  if (event.event === "lost_update") {
    const over = event.holder === null ? "" : `, which ${event.holder.name} holds`;
    return notice(
      `a write came too late${placeOf(event.writer.id, projects)}`,
      `${event.writer.name} wrote ${event.file}${over}`,
    );
  }
  return null;
}

function placeOf(id: string, projects: Projects): string {
  const project = projects.get(id);
  return project === undefined ? "" : ` in ${projectName(project)}`;
}

function notice(title: string, text: string): Notice {
  return { title: word(title, nameChars), text: word(text, 3 * nameChars) };
}

/** One line for a program's argument: agents choose names, and no program may take one for an option. */
function word(text: string, max: number): string {
  return plain(text.replace(/^[\s-]+/, ""), max);
}

// The program that shows a notice.

/** Shows one notice. Throws ProgramFailed if the program does not run, or fails. */
type Notifier = (notice: Notice) => Promise<void>;

/** Texts are arguments of the script, not parts of it: a notice holds words of other agents. */
const appleScript = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";

/** Returns the words of the program: those of the setting, else the desktop's notifier. Throws ProgramFailed without one. */
function words(command: readonly string[] | undefined, env: Env, cwd: string): readonly string[] {
  const [first, ...rest] = command ?? [];
  const found = (name: string) => findProgram(name, { env, workedIn: [cwd] })?.path;
  if (first !== undefined) {
    const program = first.startsWith("/") ? first : found(first);
    if (program === undefined) throw new ProgramFailed(`notify names ${first}, which is not in the PATH`);
    return [program, ...rest];
  }
  const send = found("notify-send");
  if (send !== undefined) return [send, "--app-name=kite", "--"];
  const osascript = found("osascript");
  if (osascript !== undefined) return [osascript, "-e", appleScript, "--"];
  throw new ProgramFailed(
    "this desktop has no notifier that Kite knows (notify-send, osascript); name a program of your own in config.json: " +
      '{"notify": {"command": ["/path/to/program"]}}',
  );
}

export function notifierOf(command: readonly string[] | undefined, env: Env, cwd: string): Notifier {
  const [program = "", ...args] = words(command, env, cwd);
  return async ({ title, text }) => {
    const { code, output } = await runProgram(program, [...args, title, text], {
      cwd,
      env: withoutSession(env),
    });
    if (code !== 0) throw new ProgramFailed(`${program} ended with ${code}`, output);
  };
}

// `kite notify`: shows notices until it is ended.

const tickMs = 5_000;
/** How long it waits for a daemon that went away: a day, since somebody starts the next one some time. */
const absenceMs = 86_400_000;

/**
 * Runs until `until` is aborted or the daemon is gone for good; `endsWithDaemon`: until its connection ends. A notifier that
 * fails is reported, and tried again.
 */
export function notify(
  world: ProcessContext,
  { personMs = notifyDefaults.personMs, waitMs = notifyDefaults.waitMs }: NotifySetting,
  notifier: Notifier,
  until: AbortSignal,
  endsWithDaemon = false,
): Promise<number> {
  const show = async (notice: Notice) => {
    print(world, [`${notice.title}: ${notice.text}`]);
    try {
      await notifier(notice);
    } catch (error) {
      if (!(error instanceof LocalError)) throw error;
      fail(world, false, "notifier_failed", error.message);
    }
  };
  const work = async (client: Client) => {
    await ask(client, "subscribe", { events: ["work_taken", "work_wiped", "lost_update"] });
    const watch = new NoticeWatch({ personMs, waitMs });
    let projects: Projects = new Map();
    let isBusy = false;
    const look = async () => {
      if (isBusy) return;
      isBusy = true;
      try {
        const [sessions, locks] = await Promise.all([rowsOf(client, "sessions"), rowsOf(client, "locks")]);
        projects = new Map(sessions.map(({ id, project }) => [id, project]));
        for (const notice of watch.look(sessions, locks, world.now())) await show(notice);
      } catch (error) {
        // The daemon is away: the next tick asks again, or the client's end ends this.
        if (!(error instanceof LocalError) && !(error instanceof Refused)) throw error;
      } finally {
        isBusy = false;
      }
    };
    const stops = [
      client.onEvent(event => {
        const notice = eventNotice(event, projects);
        if (notice !== null) void show(notice);
      }),
      world.every(tickMs, () => void look()),
    ];
    print(world, ["watching: somebody who needs you, long waits, work that was wiped; Ctrl-C ends it"]);
    await look();
    const why = await streamEnd(client, until);
    for (const stop of stops) stop();
    return endsWithDaemon ? exitCodes.done : streamCode(world, false, why);
  };
  // The `kite notify` that began with the daemon does not keep it.
  const lasts = endsWithDaemon ? { onlooker: true as const } : { reconnect: true, reconnectMs: absenceMs };
  return withDaemon(world, false, work, lasts);
}

const help = `
It ends with Ctrl-C, or with your terminal. With the setting notify.start you need not run it: it begins and ends with the
daemon. It tells first of those who waited before it began. It tells you once when somebody needs you for more than a
minute, when a wait for a file lasts longer than that, and when uncommitted work was wiped or overwritten. It calls the
desktop's notifier (notify-send, osascript), or a program of yours, which gets a title and a text as its last two words:

  in config.json: {"notify": {"start": true, "command": ["/home/ada/bin/tell-me"], "personMs": 60000, "waitMs": 60000}}

--test shows one notice, and ends.

Exit codes: 0 done, 1 no notifier or it failed, 3 no daemon runs.

Example:
  $ kite notify
  watching: somebody who needs you, long waits, work that was wiped; Ctrl-C ends it
  carol needs you in shop: permission for Bash`;

export function add(command: Command, run: Run): void {
  command
    .option("--with-daemon", "end when the daemon ends, as the one that notify.start begins")
    .option("--test", "show one notice now, and end")
    .addHelpText("after", help)
    .action(({ test, withDaemon }: { readonly test?: boolean; readonly withDaemon?: boolean }) =>
      run(async world => {
        const { values, problems } = await loadConfig({ env: world.env, paths: world.paths });
        for (const problem of problems) fail(world, false, "config", problem);
        const notifier = notifierOf(values.notify.command, world.env, world.cwd);
        if (test !== true) return notify(world, values.notify, notifier, interrupted(), withDaemon === true);
        await notifier({ title: "kite", text: "Notices reach you." });
        return exitCodes.done;
      }),
    );
}
