/** `kite status --locks --watch` shows the locks as they change. */

import { LocalError } from "../../client/errors.ts";
import {
  type Client,
  jsonLine,
  type ProcessContext,
  print,
  printFramed,
  printJson,
  screenOf,
} from "../context/process-context.ts";
import { type ScopeFlags, scopeProject } from "../context/project.ts";
import { ask, fail, Refused, rowsOf, streamCode, streamEnd, withDaemon } from "../context/with-daemon.ts";
import { lockEventLine } from "../view/event-lines.ts";
import { type LocksData, locksView } from "../view/locks.ts";
import { cut } from "../view/text.ts";

// `kite status --locks --watch`.

const lockEvents = ["lock_granted", "lock_queued", "lock_released", "lock_wait_ended", "lock_revoked"];
const tickMs = 1_000;

interface Watched {
  readonly world: ProcessContext;
  readonly client: Client;
  readonly json: boolean;
  /** As in `LocksData`. */
  readonly project: string | null;
}

/**
 * Shows the locks until `until` is aborted or the client has ended for good. On a terminal it redraws the view on every
 * change and once a second for the ages. In a pipe it prints a line for every change. Returns the exit code.
 */
async function watchLocks(watched: Watched, until: AbortSignal): Promise<number> {
  const { world, client, json } = watched;
  await ask(client, "subscribe", { events: lockEvents });
  const inPlace = world.stdout.isTTY === true && !json;
  const stop = inPlace ? await drawing(watched) : await listing(watched);
  const why = await streamEnd(client, until);
  stop();
  return streamCode(world, json, why);
}

/** Prints lines in a pipe: first the locks, then their changes. */
async function listing({ world, client, json, project }: Watched): Promise<() => void> {
  const missed = () => {
    const sentence = "events were missed while the daemon was away; see kite status --locks";
    fail(world, json, "lagged", sentence);
  };
  // Changes that arrive before the first rows are printed after them.
  let early: string[] | null = [];
  const say = (line: string) => (early === null ? print(world, [line]) : early.push(line));
  const stops = [
    client.onEvent(event => {
      const line = json ? jsonLine(event) : lockEventLine(event, { now: world.now() });
      if (line !== null) say(line);
    }),
    client.onLagged(missed),
  ];
  const data = await fetch(client, project);
  if (json) printJson(world, { locks: data.locks });
  else printFramed(world, locksView(data, screenOf(world)));
  print(world, early);
  early = null;
  return () => {
    for (const stop of stops) stop();
  };
}

const hideCursor = "\u001b[?25l";
const showCursor = "\u001b[?25h";
const clearBelow = "\u001b[J";

/** Draws the view on a terminal. Runs one query at a time: changes during a query share the next one. */
async function drawing({ world, client, project }: Watched): Promise<() => void> {
  let height = 0;
  let stopped = false;
  const draw = (data: LocksData) => {
    const screen = screenOf(world);
    const all = locksView(data, screen);
    const room = Math.max(2, (world.stdout.rows ?? 24) - 1);
    const lines =
      all.length <= room ? all : [...all.slice(0, room - 1), more(all.length - room + 1, screen.width)];
    const up = height === 0 ? "" : `\u001b[${height}A`;
    world.stdout.write(`${hideCursor}${up}\r${clearBelow}${lines.join("\n")}\n`);
    height = lines.length;
  };
  let asking = false;
  let again = false;
  const refresh = async () => {
    again = true;
    if (asking) return;
    asking = true;
    try {
      while (again && !stopped) {
        again = false;
        const data = await fetch(client, project);
        if (!stopped) draw(data);
      }
    } catch (error) {
      // The connection or the daemon is ending: the next tick queries again, or the client's end ends the watch.
      if (!(error instanceof LocalError) && !(error instanceof Refused)) throw error;
    } finally {
      asking = false;
    }
  };
  const stops = [
    client.onEvent(() => void refresh()),
    client.onLagged(() => void refresh()),
    world.every(tickMs, () => void refresh()),
  ];
  draw(await fetch(client, project));
  return () => {
    stopped = true;
    for (const stop of stops) stop();
    world.stdout.write(showCursor);
  };
}

function more(count: number, width: number): string {
  return cut(`and ${count} more lines: kite status --locks`, width);
}

async function fetch(client: Client, project: string | null): Promise<LocksData> {
  const [locks, sessions] = await Promise.all([rowsOf(client, "locks"), rowsOf(client, "sessions")]);
  return { locks, sessions, project };
}

interface LocksFlags extends ScopeFlags {
  readonly watch?: boolean;
  readonly json?: boolean;
}

/** Returns the exit code; with `watch`, once `until` is aborted or the daemon has gone. */
export async function locks(
  world: ProcessContext,
  flags: LocksFlags,
  until: AbortSignal,
  directory?: string,
): Promise<number> {
  const json = flags.json === true;
  const project = json ? null : await scopeProject(world, directory, flags);
  if (flags.watch) {
    return withDaemon(world, json, client => watchLocks({ world, client, json, project }, until), {
      reconnect: true,
    });
  }
  return withDaemon(world, json, async client => {
    const [rows, sessions] = await Promise.all([rowsOf(client, "locks"), rowsOf(client, "sessions")]);
    if (json) printJson(world, { locks: rows });
    else printFramed(world, locksView({ locks: rows, sessions, project }, screenOf(world)));
    return 0;
  });
}
