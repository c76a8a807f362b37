import { LocalError } from "../client/errors.ts";
import {
  type Client,
  jsonLine,
  type ProcessContext,
  print,
  printFramed,
  printJson,
  screenOf,
} from "./process-context.ts";
import { lockEventLine } from "./view/events.ts";
import { type LocksData, locksView } from "./view/locks.ts";
import { cut } from "./view/text.ts";
import { exitCodes, fail, Refused, rowsOf } from "./with-daemon.ts";

const lockEvents = ["lock_granted", "lock_queued", "lock_released", "lock_wait_ended", "lock_revoked"];
const tickMs = 1_000;

/**
 * Shows the locks until `until` is aborted or the client has ended for good. On a terminal the picture is drawn
 * again in place, on every change and once a second for the ages; in a pipe every change is a line. Returns the
 * exit code.
 */
export async function watchLocks(
  world: ProcessContext,
  client: Client,
  json: boolean,
  until: AbortSignal,
): Promise<number> {
  const subscribed = await client.subscribe({ events: lockEvents });
  if (!subscribed.ok) throw new Refused(subscribed);
  const inPlace = world.stdout.isTTY === true && !json;
  const stop = inPlace ? await drawing(world, client) : await listing(world, client, json);
  let aborted: () => void = () => {};
  const end = new Promise<null>(resolve => {
    aborted = () => resolve(null);
  });
  until.addEventListener("abort", aborted, { once: true });
  if (until.aborted) aborted();
  const reason = await Promise.race([end, client.closed]);
  until.removeEventListener("abort", aborted);
  stop();
  if (reason === null) return exitCodes.done;
  fail(world, json, "not_running", reason.message);
  return exitCodes.notRunning;
}

/** Lines in a pipe: what is held now, then what changes. */
async function listing(world: ProcessContext, client: Client, json: boolean): Promise<() => void> {
  const missed = () => {
    const sentence = "events were missed while the daemon was away; see kite locks";
    fail(world, json, "lagged", sentence);
  };
  // Changes that come while the first rows are on their way are told after them.
  let early: string[] | null = [];
  const say = (line: string) => (early === null ? print(world, [line]) : early.push(line));
  const stops = [
    client.onEvent(event => {
      const line = json ? jsonLine(event) : lockEventLine(event, { now: world.now() });
      if (line !== null) say(line);
    }),
    client.onLagged(missed),
  ];
  const data = await fetch(client);
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

/** The picture on a terminal. One look at a time: changes that come meanwhile share the next one. */
async function drawing(world: ProcessContext, client: Client): Promise<() => void> {
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
        const data = await fetch(client);
        if (!stopped) draw(data);
      }
    } catch (error) {
      // The connection went, or the daemon is about to: the next tick asks again, or the client's end ends the watch.
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
  draw(await fetch(client));
  return () => {
    stopped = true;
    for (const stop of stops) stop();
    world.stdout.write(showCursor);
  };
}

function more(count: number, width: number): string {
  return cut(`and ${count} more lines: kite locks`, width);
}

async function fetch(client: Client): Promise<LocksData> {
  const [locks, sessions] = await Promise.all([rowsOf(client, "locks"), rowsOf(client, "sessions")]);
  return { locks, sessions };
}
