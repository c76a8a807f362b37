/** A world for commands: standard output that remembers, and a daemon made of answers. */

import { Command } from "commander";
import type { Client, ProcessContext, Run } from "../../bin/context/process-context.ts";
import { NotRunning } from "../../client/errors.ts";
import type { EventLine, KiteEvent } from "../../protocol/events.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { now } from "./view-rows.ts";

export interface Asked {
  readonly type: string;
  readonly [param: string]: unknown;
}

export interface FakeDaemon {
  /** Why it is away; null unless a test says otherwise. */
  absence: Client["absence"];
  /** An absence ends with the next try. */
  isBack?: boolean;
  /** Answers by type; a query's by `query TARGET`. A function sees what was asked. */
  readonly answers: Record<string, object | ((asked: Asked) => object)>;
  readonly asked: Asked[];
  readonly client: Client;
  push(event: KiteEvent): void;
  lag(): void;
  /** Ends the client for good. */
  die(): void;
  readonly listeners: () => number;
}

export function fakeDaemon(answers: FakeDaemon["answers"] = {}): FakeDaemon {
  const asked: Asked[] = [];
  const events = new Set<(event: EventLine) => void>();
  const lagged = new Set<() => void>();
  let die: (reason: NotRunning) => void = () => {};
  const closed = new Promise<NotRunning>(resolve => {
    die = resolve;
  });
  const listen = <T>(all: Set<T>, one: T) => {
    all.add(one);
    return () => void all.delete(one);
  };
  const answer = (type: string, params: object) => {
    // A test writes its trail itself.
    if (type === "trail_flush") return Promise.resolve({ ok: true } as never);
    const one: Asked = { ...params, type };
    asked.push(one);
    const found = answers[type === "query" ? `query ${String(one["target"])}` : type];
    if (found === undefined) throw new Error(`nobody expected ${JSON.stringify(one)}`);
    // The compiler cannot know what a test's daemon answers; the tests are about what becomes of it.
    return Promise.resolve((typeof found === "function" ? found(one) : found) as never);
  };
  const client: Client = {
    request: (type, params) => answer(type, params),
    subscribe: params => answer("subscribe", params ?? {}),
    onEvent: callback => listen(events, callback),
    onLagged: callback => listen(lagged, callback),
    onLockLost: () => () => {},
    close: () => {},
    closed,
    comeBackNow: async () => {
      if (daemon.isBack) daemon.absence = null;
    },
    get absence() {
      return daemon.absence;
    },
    daemon: { ok: true, protocol: 1, version: "0.1.0", pid: 4711, storeId: "k1", epoch: 3 },
  };
  const daemon: FakeDaemon = {
    absence: null,
    answers,
    asked,
    client,
    push: event => {
      for (const callback of events) callback({ type: "event", ...event });
    },
    lag: () => {
      for (const callback of lagged) callback();
    },
    die: () => die(new NotRunning()),
    listeners: () => events.size + lagged.size,
  };
  return daemon;
}

/** The answer to `whoami` for a person's shell. */
export const nobody = { ok: false, code: "unknown_session", error: "none" };

export interface FakeWorld extends ProcessContext {
  readonly out: () => string;
  readonly err: () => string;
  readonly tick: () => void;
}

export interface FakeWorldOptions {
  readonly daemon?: FakeDaemon;
  readonly env?: Record<string, string>;
  readonly terminal?: { readonly columns: number; readonly rows: number };
  readonly home?: string;
}

/** Without a daemon, connecting throws `NotRunning`. */
export function fakeWorld({
  daemon,
  env = {},
  terminal,
  home = "/home/ana/.kite",
}: FakeWorldOptions = {}): FakeWorld {
  let out = "";
  let err = "";
  const ticks = new Set<() => void>();
  const paths = kitePaths({ KITE_HOME: home });
  return {
    argv: [],
    env: { HOME: "/home/ana", ...env },
    paths,
    cwd: "/home/ana/code/shop",
    stdout: {
      ...(terminal === undefined ? {} : { isTTY: true, ...terminal }),
      write: text => {
        out += text;
      },
    },
    stderr: {
      write: text => {
        err += text;
      },
    },
    now: () => now,
    every: (_ms, tick) => {
      ticks.add(tick);
      return () => void ticks.delete(tick);
    },
    connect: () => (daemon === undefined ? Promise.reject(new NotRunning()) : Promise.resolve(daemon.client)),
    out: () => out,
    err: () => err,
    tick: () => {
      for (const tick of ticks) tick();
    },
  };
}

/** Runs a command line; the first word is the command, whose options and action `add` adds. Returns the exit code. */
export async function runWords(
  world: ProcessContext,
  add: (command: Command, run: Run) => void,
  words: readonly string[],
): Promise<number> {
  let exitCode = 0;
  const program = new Command("kite").enablePositionalOptions().exitOverride();
  add(program.command(words[0] ?? ""), async work => {
    exitCode = await work(world);
  });
  await program.parseAsync(words, { from: "user" });
  return exitCode;
}
