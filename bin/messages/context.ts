/** Commands for the project's context: get, set, list, rm, watch. */

import { readFileSync } from "node:fs";
import { limits } from "../../protocol/limits.ts";
import { nameOrPerson } from "../../protocol/names.ts";
import type { JsonValue } from "../../protocol/schemas/context.ts";
import { durationOf } from "../commands/off.ts";
import { streamCode, streamEnd } from "../live.ts";
import {
  type Client,
  type ProcessContext,
  print,
  printFrame,
  printFramed,
  printJson,
} from "../process-context.ts";
import { contextView, valueText } from "../view/talk.ts";
import { clean, clock } from "../view/text.ts";
import { ask, exitCodes, fail, pagesOf, printDone, printShown, Refused, withDaemon } from "../with-daemon.ts";
import { type Who, who } from "./who.ts";

export interface ContextFlags {
  readonly project?: string;
  readonly json?: boolean;
}

/** Prints the value as JSON; `raw` prints a text unchanged. Returns the exit code, as all functions here do. */
export async function get(
  world: ProcessContext,
  key: string,
  flags: ContextFlags & { readonly raw?: boolean },
): Promise<number> {
  const from = await who(world, flags.project);
  return withDaemon(world, flags.json === true, async client => {
    const answer = await ask(client, "context_get", { ...from, key });
    const { value } = answer;
    // Standard output holds only the value, because a script may read it.
    if (flags.json !== true) printFrame(world, world.stderr);
    if (flags.json === true) printJson(world, answer);
    else if (flags.raw === true && typeof value === "string") world.stdout.write(`${value}\n`);
    else print(world, [valueText(value)]);
    return exitCodes.done;
  });
}

export interface SetFlags extends ContextFlags {
  readonly ephemeral?: boolean;
  readonly ifVersion?: string;
  readonly ttl?: string;
  readonly string?: boolean;
}

/** Sets `words` as JSON if they parse, else as a text; `-` reads standard input. */
export async function set(
  world: ProcessContext,
  key: string,
  words: string,
  flags: SetFlags,
): Promise<number> {
  const json = flags.json === true;
  const ttlMs = flags.ttl === undefined ? null : durationOf(flags.ttl);
  const version = flags.ifVersion === undefined ? null : Number(flags.ifVersion);
  const wrong =
    flags.ttl !== undefined && (ttlMs === null || ttlMs > limits.contextTtlMaxMs)
      ? `--ttl takes a time like 90s, 15m, 1h or 2d, up to 30d, not ${flags.ttl}`
      : version !== null && !Number.isSafeInteger(version)
        ? `--if-version takes a number, not ${flags.ifVersion}`
        : null;
  if (wrong !== null) return fail(world, json, "usage", wrong);
  const text = words === "-" ? readFileSync(0, "utf8").trimEnd() : words;
  const from = await who(world, flags.project);
  return withDaemon(world, json, async client => {
    const answer = await ask(client, "context_set", {
      ...from,
      key,
      value: flags.string === true ? text : meant(text),
      durable: flags.ephemeral !== true,
      ...(version === null ? {} : { ifVersion: version }),
      ...(ttlMs === null ? {} : { ttlMs }),
    });
    return printDone(world, json, answer, () => [`${clean(answer.key)} is version ${answer.version}`]);
  });
}

export async function list(
  world: ProcessContext,
  flags: ContextFlags & { readonly prefix?: string },
): Promise<number> {
  const from = await who(world, flags.project);
  return withDaemon(world, flags.json === true, async client => {
    const rows = await rowsFrom(client, from, flags.prefix ?? "");
    return printShown(world, flags.json === true, { rows }, screen => contextView(rows, screen));
  });
}

export async function remove(
  world: ProcessContext,
  key: string,
  flags: ContextFlags & { readonly ifVersion?: string },
): Promise<number> {
  const from = await who(world, flags.project);
  const ifVersion = flags.ifVersion === undefined ? {} : { ifVersion: Number(flags.ifVersion) };
  return withDaemon(world, flags.json === true, async client => {
    const answer = await ask(client, "context_delete", { ...from, key, ...ifVersion });
    return printDone(world, flags.json === true, answer, () => [
      `deleted ${clean(key)}, version ${answer.version}`,
    ]);
  });
}

/** Prints a line for each key and for every change, until `until` is aborted or the daemon has gone for good. */
export async function watch(
  world: ProcessContext,
  flags: ContextFlags & { readonly prefix?: string },
  until: AbortSignal,
): Promise<number> {
  const json = flags.json === true;
  const prefix = flags.prefix ?? "";
  const from = await who(world, flags.project);
  const follow = async (client: Client): Promise<number> => {
    const say = async (key: string) => {
      const answer = await client.request("context_get", { ...from, key });
      if (answer.ok) {
        const line = `${stamp(world)}  ${clean(key)} = ${valueText(answer.value)}  (version ${answer.version}, ${clean(nameOrPerson(answer.fromName))})`;
        if (json) printJson(world, answer);
        else printFramed(world, [line]);
      } else if (answer.code === "context_absent") {
        if (json) printJson(world, { key, deleted: true });
        else printFramed(world, [`${stamp(world)}  ${clean(key)} is gone`]);
      } else throw new Refused(answer);
    };
    const all = async () => {
      const rows = await rowsFrom(client, from, prefix);
      for (const { key } of rows) await say(key);
    };
    // One request after the other keeps the order of the changes.
    let last: Promise<unknown> = Promise.resolve();
    let failed: (error: unknown) => void = () => {};
    const failure = new Promise<never>((_, reject) => {
      failed = reject;
    });
    const queue = (work: () => Promise<unknown>) => {
      last = last.then(work).catch(failed);
    };
    const { project } = from;
    await ask(client, "subscribe", { events: ["context_changed"], project });
    const stops = [
      client.onEvent(event => {
        if (event.event === "context_changed" && event.key.startsWith(prefix)) queue(() => say(event.key));
      }),
      client.onLagged(() => queue(all)),
    ];
    queue(all);
    const why = await Promise.race([streamEnd(client, until), failure]);
    for (const stop of stops) stop();
    return streamCode(world, json, why);
  };
  return withDaemon(world, json, follow, { reconnect: true });
}

async function rowsFrom(client: Client, from: Who, prefix: string) {
  const limit = limits.rowsMax;
  const pages = await pagesOf(page => ask(client, "context_list", { ...from, prefix, limit, ...page }));
  return pages.flatMap(({ rows }) => rows);
}

/** Parses `4000`, `true` and `{"a":1}` as JSON; anything else is a text. */
function meant(text: string): JsonValue {
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    // Not JSON, so a text: most people type a text without quotes.
    return text;
  }
}

function stamp(world: ProcessContext): string {
  return clock(world.now(), world.now());
}
