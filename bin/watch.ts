/** `kite watch`: the connection, the screen and the lines. */

import { LocalError } from "../client/errors.ts";
import type { TrailLine } from "../daemon/trail/line.ts";
import { readTrail } from "../daemon/trail/read.ts";
import type { EventLine } from "../protocol/events.ts";
import { streamEnd } from "./live.ts";
import { nextStep } from "./next-step.ts";
import { type Client, type ProcessContext, printFramed, printJson, screenOf } from "./process-context.ts";
import { scopeProject } from "./scope.ts";
import { numbering } from "./tasks/numbers.ts";
import { eventSentence } from "./view/events.ts";
import { logText } from "./view/log.ts";
import { Places } from "./view/places.ts";
import { clock } from "./view/text.ts";
import { choosable, type News, type WatchData, watchView } from "./view/watch.ts";
import { afterKey, firstMode, following } from "./view/watch-keys.ts";
import { ask, exitCodes, fail, Refused, rowsOf } from "./with-daemon.ts";

export interface WatchFlags {
  readonly json?: boolean;
}

/** Least time between two redraws, in milliseconds; the ages redraw once a second. */
const drawMs = 250;
const agesEvery = 4;
/** Watch reports a query that takes longer than this many times `drawMs`. */
const slowTicks = 4;
const retryMs = 1_000;
const newsMax = 200;
const latelyMax = 20;
const tasksShownMax = 500;

const enter = "\u001b[?1049h\u001b[?25l";
const leave = "\u001b[?25h\u001b[?1049l";
const home = "\u001b[H";
const clearLine = "\u001b[K";
const clearBelow = "\u001b[J";

/**
 * Shows sessions, locks, tasks and events until `until` is aborted: on a terminal's screen, or as lines in a pipe. It
 * waits for a daemon that stops, and fails if none runs at the start. Returns the exit code.
 */
export async function watch(world: ProcessContext, flags: WatchFlags, until: AbortSignal): Promise<number> {
  const json = flags.json === true;
  let found = await connect(world);
  if (!("client" in found)) {
    fail(world, json, "not_running", found.why);
    return exitCodes.notRunning;
  }
  const isScreen = world.stdout.isTTY === true && world.env["TERM"] !== "dumb" && !json;
  const painting = isScreen ? new Painting(world, await projectHere(world), await lately(world)) : null;
  const shown = painting ?? new Listing(world, json);
  const ended = new AbortController();
  const over = AbortSignal.any([until, ended.signal]);
  const stopKeys = painting === null ? null : world.keys?.(key => painting.key(key) || ended.abort());
  const place: Place = { storeId: "", cursor: null };
  try {
    for (;;) {
      const why = "client" in found ? await follow(world, found.client, shown, over, place) : found.why;
      if (over.aborted) return exitCodes.done;
      shown.away(why);
      await pause(world, over);
      if (over.aborted) return exitCodes.done;
      found = await connect(world);
    }
  } finally {
    stopKeys?.();
    shown.end();
  }
}

/** Returns the project of the working directory; null if it cannot be read. */
function projectHere(world: ProcessContext): Promise<string | null> {
  return scopeProject(world, undefined, {});
}

/** Returns what happened last before the watch began, oldest first. */
async function lately(world: ProcessContext): Promise<News[]> {
  const { paths, env } = world;
  const isShown = ({ decision }: TrailLine) => decision !== "event";
  const lines = await readTrail(paths.trail, { limit: latelyMax, filter: isShown });
  const worded = await numbering(world, null, lines.map(({ why = "" }) => why).join(" "));
  return lines.map(line => ({ at: line.at, text: logText(line, env["HOME"] ?? "", worded) }));
}

/** A way to show events: a screen or lines. */
interface Shown {
  /** Queries everything again. */
  look(client: Client): Promise<void>;
  event(event: EventLine): void;
  /** Reports that events were missed. */
  missed(): void;
  away(why: string): void;
  /** Called every `drawMs` while a daemon answers. */
  tick(client: Client): Promise<void>;
  end(): void;
}

/** Cursor of the last event shown; a cursor is valid in one store only. */
interface Place {
  storeId: string;
  cursor: string | null;
}

/** Shows events of one connection until it is lost for good, or the watch ends. Returns why, for people. */
async function follow(
  world: ProcessContext,
  client: Client,
  shown: Shown,
  until: AbortSignal,
  place: Place,
): Promise<string> {
  const take = (event: EventLine) => {
    place.cursor = event.cursor ?? place.cursor;
    shown.event(event);
  };
  const stops = [client.onEvent(take), client.onLagged(() => shown.missed())];
  try {
    const { storeId } = client.daemon;
    const { cursor } = place;
    const from = cursor === null ? {} : { cursor: storeId === place.storeId ? cursor : "-" };
    const subscribed = await ask(client, "subscribe", from);
    place.storeId = storeId;
    if (subscribed.lagged === true) shown.missed();
    if (cursor === null || subscribed.lagged === true) place.cursor = subscribed.cursor;
    await shown.look(client);
    const ticking = new Promise<never>((_, reject) => {
      let busyFor: number | null = null;
      const look = async () => {
        busyFor = 0;
        await shown.tick(client);
        busyFor = null;
      };
      const tick = () => {
        if (busyFor === null) look().catch(reject);
        else {
          busyFor += 1;
          if (busyFor === slowTicks) shown.away("the daemon does not answer");
        }
      };
      stops.push(world.every(drawMs, tick));
    });
    return (await Promise.race([ticking, streamEnd(client, until)])) ?? "";
  } catch (error) {
    // The connection or the daemon is ending.
    if (!(error instanceof LocalError) && !(error instanceof Refused)) throw error;
    return error.message;
  } finally {
    for (const stop of stops) stop();
    client.close();
  }
}

/** Polls for a daemon, because nothing announces its start. */
function pause(world: ProcessContext, until: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      stop();
      until.removeEventListener("abort", end);
      resolve();
    };
    const stop = world.every(retryMs, end);
    until.addEventListener("abort", end, { once: true });
  });
}

async function connect(
  world: ProcessContext,
): Promise<{ readonly client: Client } | { readonly why: string }> {
  try {
    return { client: await world.connect({ name: "kite watch", reconnect: true }) };
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    return { why: error.message };
  }
}

/** The terminal's alternate screen; the end restores the previous one. */
class Painting implements Shown {
  readonly #world: ProcessContext;
  #data: WatchData = empty;
  readonly #news: News[];
  readonly #project: string | null;
  #mode = firstMode;
  #isStale = false;
  #ticks = 0;

  constructor(world: ProcessContext, project: string | null, news: News[]) {
    this.#world = world;
    this.#project = project;
    this.#news = news;
    world.stdout.write(enter);
  }

  async look(client: Client): Promise<void> {
    this.#isStale = false;
    const [sessions, locks, refusals, active, pending] = await Promise.all([
      rowsOf(client, "sessions"),
      rowsOf(client, "locks"),
      rowsOf(client, "refusals"),
      rowsOf(client, "tasks", { status: "active" }, tasksShownMax),
      rowsOf(client, "tasks", { status: "pending" }, tasksShownMax),
    ]);
    const { version } = client.daemon;
    this.#data = {
      version,
      sessions,
      locks,
      refusals,
      // A task that was given back between the two answers is in both.
      tasks: [...new Map([...active, ...pending].map(task => [task.id, task])).values()],
      news: this.#news,
      away: null,
      project: this.#project,
      next: sessions.length === 0 ? nextStep(this.#world, 0) : [],
    };
    this.#draw();
  }

  event(event: EventLine): void {
    this.#isStale = true;
    const { sessions, locks } = this.#data;
    const places = new Places(sessions, locks, screenOf(this.#world).home);
    const text = eventSentence(event, path => places.file(path));
    if (text === null) return;
    this.#news.push({ at: this.#world.now(), text });
    if (this.#news.length > newsMax) this.#news.shift();
  }

  missed(): void {
    this.#isStale = true;
  }

  away(why: string): void {
    this.#data = { ...this.#data, away: why };
    this.#draw();
  }

  /** Carries a keystroke out. Returns false if it ends the watch. */
  key(key: string): boolean {
    const mode = afterKey(this.#mode, key, this.#rows());
    if (mode === null) return false;
    this.#mode = mode;
    this.#draw();
    return true;
  }

  async tick(client: Client): Promise<void> {
    this.#ticks += 1;
    if (this.#isStale || this.#ticks % agesEvery === 0) await this.look(client);
  }

  end(): void {
    this.#world.stdout.write(leave);
  }

  /** Returns the sessions that can be chosen. */
  #rows(): string[] {
    return choosable({ ...this.#data, mode: this.#mode }).map(({ id }) => id);
  }

  #draw(): void {
    const { sessions } = this.#data;
    this.#mode = following(this.#mode, this.#rows(), id => sessions.some(one => one.id === id));
    const rows = this.#world.stdout.rows ?? 24;
    const lines = watchView({ ...this.#data, mode: this.#mode }, screenOf(this.#world), rows);
    // Overwrites the old lines to avoid flicker; the last line has no line break, to avoid scrolling.
    const text = lines.map(line => `${line}${clearLine}`).join("\r\n");
    this.#world.stdout.write(`${home}${text}${clearBelow}`);
  }
}

const empty: WatchData = {
  version: "",
  sessions: [],
  locks: [],
  tasks: [],
  refusals: [],
  news: [],
  away: null,
};

/** Prints a line for each event. */
class Listing implements Shown {
  readonly #world: ProcessContext;
  readonly #json: boolean;
  #isAway = false;

  constructor(world: ProcessContext, json: boolean) {
    this.#world = world;
    this.#json = json;
  }

  async look(client: Client): Promise<void> {
    this.#isAway = false;
    const [sessions, locks] = await Promise.all([rowsOf(client, "sessions"), rowsOf(client, "locks")]);
    if (this.#json) printJson(this.#world, { sessions, locks });
    else this.#say(`watching  sessions: ${sessions.length}, locks: ${locks.length}`);
  }

  event(event: EventLine): void {
    if (this.#json) {
      printJson(this.#world, event);
      return;
    }
    const text = eventSentence(event);
    if (text !== null) this.#say(text);
  }

  missed(): void {
    fail(this.#world, this.#json, "lagged", "events were missed; see kite status");
  }

  away(why: string): void {
    if (!this.#isAway) fail(this.#world, this.#json, "not_running", `${why}; waiting for it`);
    this.#isAway = true;
  }

  async tick(): Promise<void> {}

  end(): void {}

  #say(text: string): void {
    const now = this.#world.now();
    printFramed(this.#world, [`${clock(now, now)}  ${text}`]);
  }
}
