/** `kite watch`: the connection, the screen and the lines. */

import type { Command } from "commander";
import { LocalError } from "../../client/errors.ts";
import type { TrailLine } from "../../daemon/trail/line.ts";
import { readTrail } from "../../daemon/trail/read.ts";
import { errorText } from "../../protocol/errors.ts";
import type { EventLine } from "../../protocol/events.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import { shellArgument } from "../../protocol/text.ts";
import { nextStep } from "../commands/home-screen.ts";
import { seemsAgents } from "../context/person.ts";
import {
  type Client,
  interrupted,
  type Output,
  type ProcessContext,
  pasteOff,
  pasteOn,
  type Run,
  screenOf,
} from "../context/process-context.ts";
import { scopeProject } from "../context/project.ts";
import { numbering } from "../context/task-numbers.ts";
import { Titles, terminalTexts } from "../context/terminals.ts";
import { ask, exitCodes, fail, Refused, rowsOf, streamEnd, unnamedPerson } from "../context/with-daemon.ts";
import type { Commands } from "../entry.ts";
import { run } from "../program.ts";
import { trailFlushed } from "../trail/explained.ts";
import { logText } from "../trail/sentences.ts";
import { eventSentence } from "../view/event-lines.ts";
import { Places } from "../view/places.ts";
import { clean, unpainted, widthOf, wrap } from "../view/text.ts";
import { Listing, type Shown, sharedThere } from "./lines.ts";
import {
  type Action,
  type ActionName,
  actions,
  afterKey,
  choosable,
  firstMode,
  following,
  lastTop,
  type News,
  type WatchData,
  watchView,
} from "./screen.ts";

// What `kite watch` does to a session: the command line that a person would type, run in this process.

/** Runs a command line of `kite` and returns what it said on both outputs. */
export type RunLine = (world: ProcessContext, words: readonly string[], isPiped: boolean) => Promise<string>;

/** Returns the words of the action's command. A name that another project's session could have, too, is its id. */
function wordsOf(
  action: Action,
  session: SessionRow,
  sessions: readonly SessionRow[],
  text: string,
): readonly string[] {
  const { id, name } = session;
  const isOnly = sessions.every(one => one.id === id || (one.name !== name && !one.id.startsWith(name)));
  return action.words(isOnly && /^\p{L}[\p{L}\p{N}._-]*$/u.test(name) ? name : id, text);
}

/** Does the action, and returns what its command said, in lines. An agent's window only looks: the question for a person's word would be asked on the screen of watch. */
async function act(
  world: ProcessContext,
  name: ActionName,
  words: readonly string[],
  runLine: RunLine,
): Promise<readonly string[]> {
  const isLook = name === "explain" || name === "diff";
  if (!isLook && (await seemsAgents(world)))
    return ["Only a person does this from kite watch: run it in a terminal of your own."];
  try {
    return (await runLine(world, words, actions[name].isPiped === true)).replace(/\n+$/, "").split("\n");
  } catch (error) {
    // A fault of the command ends no watch: the person reads it.
    return [`the command failed inside Kite: ${clean(errorText(error))}`];
  }
}

/** Returns what runs lines of these commands. */
function lineRunner(commands: Commands): RunLine {
  return async (world, words, isPiped) => {
    const { argv, env, cwd, stdout } = world;
    const { color } = screenOf(world);
    let text = "";
    const columns = stdout.columns ?? 80;
    const output: Output = {
      ...(isPiped ? {} : { isTTY: true }),
      columns,
      rows: stdout.rows ?? 24,
      write: (piece: string) => {
        text += piece;
      },
    };
    const call = {
      argv: [...argv.slice(0, 2), ...words],
      env: { ...env, COLUMNS: `${columns}`, ...(color ? { FORCE_COLOR: "1" } : {}) },
      stdout: output,
      stderr: output,
      cwd: () => cwd,
    };
    await run(call, commands);
    return text;
  };
}

interface WatchFlags {
  readonly json?: boolean;
}

/** Least time between two redraws, in milliseconds; the ages redraw once a second. */
const drawMs = 250;
const agesEvery = 4;
const titlesEvery = 20;
/** Watch reports a query that takes longer than this many times `drawMs`. */
const slowTicks = 4;
const retryMs = 1_000;
const newsMax = 200;
const latelyMax = 20;
const tasksShownMax = 500;

const enter = `\u001b[?1049h\u001b[?25l${pasteOn}`;
const leave = `${pasteOff}\u001b[?25h\u001b[?1049l`;
const home = "\u001b[H";
const clearLine = "\u001b[K";
const clearBelow = "\u001b[J";

/**
 * Shows sessions, locks, tasks and events until `until` is aborted: on a terminal's screen, or as lines in a pipe. It
 * waits for a daemon that stops, and fails if none runs at the start. `runLine` does what a person asks for by a key. Returns the exit code.
 */
export async function watch(
  world: ProcessContext,
  flags: WatchFlags,
  until: AbortSignal,
  runLine: RunLine,
): Promise<number> {
  const json = flags.json === true;
  let found = await connect(world);
  if (!("client" in found)) {
    fail(world, json, "not_running", found.why);
    return exitCodes.notRunning;
  }
  const isScreen = world.stdout.isTTY === true && world.env["TERM"] !== "dumb" && !json;
  const painting = isScreen
    ? new Painting(world, await projectHere(world), await lately(world), runLine)
    : null;
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
  await trailFlushed(world);
  const lines = await readTrail(paths.trail, { limit: latelyMax, filter: isShown });
  const worded = await numbering(world, null, lines.map(({ why = "" }) => why).join(" "));
  return lines.map(line => ({ at: line.at, text: logText(line, env["HOME"] ?? "", worded) }));
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
    // The titles of sessions are a person's.
    const person = world.stdout.isTTY === true ? unnamedPerson(world) : {};
    return { client: await world.connect({ name: "kite watch", reconnect: true, ...person }) };
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
  #isOver = false;
  readonly #runLine: RunLine;
  readonly #titles = new Titles();
  /** Whether a person reads; null: not looked at yet. */
  #isPersons: boolean | null = null;

  constructor(world: ProcessContext, project: string | null, news: News[], runLine: RunLine) {
    this.#world = world;
    this.#runLine = runLine;
    this.#project = project;
    this.#news = news;
    world.stdout.write(enter);
  }

  async look(client: Client): Promise<void> {
    this.#isStale = false;
    const [sessions, locks, refusals, active, pending, shared] = await Promise.all([
      rowsOf(client, "sessions"),
      rowsOf(client, "locks"),
      rowsOf(client, "refusals"),
      rowsOf(client, "tasks", { status: "active" }, tasksShownMax),
      rowsOf(client, "tasks", { status: "pending" }, tasksShownMax),
      sharedThere(client),
    ]);
    const { version } = client.daemon;
    // A daemon that began anew may have no store any more.
    const { store: _, elsewhere: __, ...before } = this.#data;
    this.#data = {
      ...before,
      ...shared,
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
    const { action, text, chosen } = mode;
    this.#mode = mode.isDue ? { ...mode, action: null, text: "", isDue: false } : mode;
    this.#data = { ...this.#data, notice: "" };
    if (mode.at === "agent") this.#lookAtTerminal();
    this.#draw();
    if (mode.isDue && action !== null) void this.#act(action, chosen, text);
    return true;
  }

  /** Does the action; what its command says in one line stands at the bottom, more fills the screen. */
  async #act(name: ActionName, chosen: string | null, text: string): Promise<void> {
    const { sessions } = this.#data;
    const session = sessions.find(({ id }) => id === chosen);
    if (session === undefined) return;
    const words = wordsOf(actions[name], session, sessions, text);
    const title = `kite ${words.map(shellArgument).join(" ")}`;
    this.#data = { ...this.#data, notice: `runs: ${clean(title)}` };
    this.#draw();
    const lines = await act(this.#world, name, words, this.#runLine);
    const [first = "", ...more] = lines;
    const { width } = screenOf(this.#world);
    const isWide = (line: string) => widthOf(unpainted(line)) > width;
    const isShort = more.length === 0 && !isWide(first);
    // Who types meanwhile is not interrupted.
    const isTyping = ["filter", "message", "confirm"].includes(this.#mode.at);
    if (isShort || isTyping) this.#data = { ...this.#data, notice: first === "" ? "done" : first };
    else {
      // A changed line of a file is cut, a sentence goes on below.
      const isText = actions[name].isPiped !== true;
      const fitting = lines.flatMap(line =>
        isText && isWide(line) ? wrap(unpainted(line), width, 2) : [line],
      );
      this.#data = { ...this.#data, page: { title, lines: fitting } };
      this.#mode = { ...this.#mode, at: "page", top: 0 };
    }
    this.#isStale = true;
    this.#draw();
  }

  /** The chosen session's terminal, when its own screen opens. */
  #lookAtTerminal(): void {
    const session = this.#data.sessions.find(({ id }) => id === this.#mode.chosen);
    const pids = session?.pid == null ? [] : [session.pid];
    this.#data = { ...this.#data, terminals: terminalTexts(pids) };
  }

  /** Beside the looks, which do not wait for it. */
  async #lookAtTitles(client: Client): Promise<void> {
    try {
      this.#isPersons ??= !(await seemsAgents(this.#world));
      if (this.#isPersons) this.#data = { ...this.#data, titles: await this.#titles.read(client) };
    } catch (error) {
      // The connection has ended, which the watch itself reports.
      if (!(error instanceof LocalError)) throw error;
    }
  }

  async tick(client: Client): Promise<void> {
    if (this.#ticks % titlesEvery === 0) void this.#lookAtTitles(client);
    this.#ticks += 1;
    if (this.#isStale || this.#ticks % agesEvery === 0) await this.look(client);
  }

  end(): void {
    this.#isOver = true;
    this.#world.stdout.write(leave);
  }

  /** Returns the sessions that can be chosen. */
  #rows(): string[] {
    return choosable({ ...this.#data, mode: this.#mode }).map(({ id }) => id);
  }

  #draw(): void {
    // A command may end after the watch.
    if (this.#isOver) return;
    const { sessions } = this.#data;
    this.#mode = following(this.#mode, this.#rows(), id => sessions.some(one => one.id === id));
    const rows = this.#world.stdout.rows ?? 24;
    const { page } = this.#data;
    // A page ends where its last line stands at the bottom.
    if (this.#mode.at === "page" && page !== undefined)
      this.#mode = { ...this.#mode, top: Math.min(this.#mode.top, lastTop(page, rows)) };
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

const help = `
On a terminal, watch shows one screen and updates it: the project of the working directory, and a line for each other one.
Its keys are q (end), / (filter), p (all projects), Enter (one agent) and ? (all keys). Others do something with the chosen
session, each as the command of that name does: e (explain), d (diff), m (message), g (go), and, if you confirm it with y,
r (release) and o (off --for 1h). In a pipe it prints a line for each event. With
--json it prints first {"sessions":[...],"locks":[...]}, then one event a line, as \`subscribe\` gives them.
If the daemon stops, watch waits for the next one.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite watch
  $ kite watch | tee -a today.log`;

export function add(command: Command, run: Run, all: Commands): void {
  command
    .option("--json", "print JSON, a line for each event")
    .addHelpText("after", help)
    .action((flags: WatchFlags) => run(world => watch(world, flags, interrupted(), lineRunner(all))));
}
