/** Tools that hold files: kite_lock, kite_unlock. */

import { setInterval } from "node:timers";
import * as z from "zod";
import type { KiteClient } from "../../client/client.ts";
import { limits } from "../../protocol/limits.ts";
import { isResource } from "../../protocol/names.ts";
import { type FileLockReply, fileLockSchema, fileUnlockSchema } from "../../protocol/schemas/lock.ts";
import type { WipeRow } from "../../protocol/schemas/rescue.ts";
import { duration, frame, nearPath, quote } from "../../protocol/text.ts";
import type { ToolAnswer } from "../agents/verb.ts";
import { type Lockable, lockable } from "../context/project.ts";
import { granted, Refused, rowsOf } from "../context/with-daemon.ts";
import { withTools } from "../rescue/rescue.ts";
import { filesOf, type RestoredFile, restore, wipeNamed } from "../rescue/restore.ts";
import type { Asker } from "../rescue/versions.ts";
import { type Call, type Tool, tool } from "./tool.ts";

const resource = z.string().max(limits.pathBytes).optional();

const lock = tool({
  name: "kite_lock",
  title: "Hold files",
  description:
    "Lock files until kite_unlock, for work on several files or prompts, or a shared `resource` for 10 minutes (@db, " +
    "@port-3000). Kite's hooks lock single edits until you answer.",
  input: z
    .object({
      files: fileLockSchema.shape.files.describe("dir/: all below it"),
      resource,
      waitMs: fileLockSchema.shape.waitMs,
    })
    .refine(({ files, resource: name }) => (files ?? name) !== undefined, {
      error: "give files, or a resource such as @db",
    }),
  run: async (call, { files: paths = [], resource: name, waitMs: requestedMs }) => {
    const own = await call.own();
    const waitMs = requestedMs ?? limits.waitMs;
    const files = wordsOf(paths, name);
    const wanted = lockable(call.acting.cwd, files);
    const params = { ...call.actor, ...wanted, waitMs };
    // Nobody knows when a kept lock ends: a call waits for it only if it says how long.
    const unlessKept = requestedMs === undefined || requestedMs === 0;
    const reply = await whileTold(call, own, waitMs, () =>
      own.request("file_lock", { ...params, unlessKept, progress: true }, { signal: call.signal }),
    );
    const { token, granted_from_queue: waited } = granted(reply);
    // The client cancelled the call meanwhile and will not see the grant, so this releases the lock.
    if (call.signal.aborted && waited) {
      await call.client.request("file_unlock", { ...call.actor, ...wanted });
    }
    const names = files.map(file => quote(nearPath(file, call.acting.cwd))).join(", ");
    const lease = files.some(isResource)
      ? ` Kite ends a resource's lock after ${duration(limits.resourceLeaseMs)}; lock it again to keep it longer.`
      : "";
    const text = `You hold ${names}${waited ? ", after waiting in the queue" : ""}. Release with kite_unlock when you are done.${lease}`;
    return { text, data: { files, token, waited: waited === true } satisfies Data };
  },
});

interface Data {
  readonly files: readonly string[];
  readonly token: FileLockReply["token"];
  readonly waited: boolean;
}

/** Returns files and a resource as one list of words; the resource's name may lack its @. */
function wordsOf(files: readonly string[], resourceNamed: string | undefined): readonly string[] {
  if (resourceNamed === undefined) return files;
  return [...files, isResource(resourceNamed) ? resourceNamed : `@${resourceNamed}`];
}

const unlock = tool({
  name: "kite_unlock",
  title: "Release files",
  description: "Release what you locked or wait for; `all` of it.",
  input: z
    .object({
      files: fileUnlockSchema.shape.files,
      resource,
      all: fileUnlockSchema.shape.all,
    })
    .refine(({ files, resource: name, all }) => ((files ?? name) === undefined) === (all === true), {
      error: "give either files or a resource, or all: true",
    }),
  run: async (call, { files = [], resource: name, all }) => {
    const { acting, client, actor } = call;
    if (acting.by === "process" && (await hasAgents(client, acting.id))) {
      const error =
        "Kite did not see which agent of this session calls, and must not release another agent's files; call again";
      throw new Refused({ ok: false, code: "unknown_session", error });
    }
    const named: Lockable = all === true ? {} : lockable(acting.cwd, wordsOf(files, name));
    const answer = await client.request("file_unlock", {
      ...actor,
      ...named,
      ...(all === undefined ? {} : { all }),
    });
    const { released } = granted(answer);
    const names = released.map(file => quote(nearPath(file, acting.cwd))).join(", ");
    return { text: released.length === 0 ? "You held nothing." : `Released ${names}.`, data: { released } };
  },
});

export const lockTools: readonly Tool[] = [lock, unlock];

/** Reports progress when the wait begins, and then every few seconds. */
async function whileTold<T>(call: Call, own: KiteClient, waitMs: number, ask: () => Promise<T>): Promise<T> {
  const began = performance.now();
  let timer: NodeJS.Timeout | null = null;
  const stop = own.onEvent(event => {
    if (event.event !== "lock_queued") return;
    const holder = event.holder === null ? "" : `, held by ${quote(event.holder.name)}`;
    const tell = () => {
      const waited = performance.now() - began;
      const message = `waiting, queue position ${event.position}${holder}, for ${duration(waited)}`;
      call.progress(Math.floor(waited), waitMs, message);
    };
    tell();
    timer ??= setInterval(tell, limits.mcpProgressMs);
  });
  try {
    return await ask();
  } finally {
    stop();
    if (timer !== null) clearInterval(timer);
  }
}

async function hasAgents(client: KiteClient, id: string): Promise<boolean> {
  const answer = await client.request("query", { target: "sessions", id });
  const [row] = granted(answer).rows;
  return (
    typeof row === "object" &&
    row !== null &&
    "agents" in row &&
    Array.isArray(row.agents) &&
    row.agents.length > 0
  );
}

// Tools for work that was lost: kite_rescue. It shows and restores the caller's own project alone.

/** Files of a wipe that an answer names. */
const filesShownMax = 10;

const rescue = tool({
  name: "kite_rescue",
  title: "Lost work",
  description: "What was wiped here lately; `restore` brings it back.",
  input: z.object({
    restore: z.string().max(limits.idBytes).optional(),
    file: z.string().max(limits.pathBytes).optional(),
  }),
  run: async (call, { restore: id, file }) => {
    const own = await call.own();
    const { actor, acting } = call;
    const asker: Asker = { client: own, acting: actor, cwd: acting.cwd, env: process.env, now: Date.now };
    if (id === undefined) return listed(call, await rowsOf(own, "wipes", { reader: actor.id }));
    const wipe = await wipeNamed(asker, id);
    const files = await filesOf(asker, wipe, file ?? null);
    const how = { into: null, whole: false, marks: false, waitMs: limits.waitMs };
    const done = await withTools(asker, tools => restore(asker, tools, wipe, files, how));
    const text = done.map(one => restoredLine(one, acting.cwd)).join("\n");
    return { text: text === "" ? `${id} wiped no file.` : text, data: { wipe: id, files: done } };
  },
});

export const rescueTools: readonly Tool[] = [rescue];

function listed({ acting: { cwd } }: Call, all: readonly WipeRow[]): ToolAnswer {
  const wipes = all.slice(0, limits.mcpRowsMax);
  const data = { wipes, more: all.length - wipes.length };
  if (wipes.length === 0) return { text: "Kite saw nothing wiped in this project lately.", data };
  const lines = wipes.map(({ wipe, by, command, at, files, more }) => {
    const names = files.slice(0, filesShownMax).map(file => {
      const whose = [...new Set(file.writers.map(({ name }) => quote(name)))].join(", ");
      const lines = file.lines === null ? "" : `, ${file.lines} lines`;
      const kept = file.version === null ? ", not kept" : "";
      return `${quote(nearPath(file.path, cwd))}${lines}${whose === "" ? "" : ` of ${whose}`}${kept}`;
    });
    const rest = files.length + more - names.length;
    const who = by === null ? "" : ` by ${quote(by.name)}`;
    const ago = duration(Date.now() - at);
    return `- ${wipe}: ${quote(command)}${who}, ${ago} ago: ${names.join("; ")}${rest > 0 ? `; ${rest} more` : ""}`;
  });
  return { text: [frame, ...lines].join("\n"), data };
}

function restoredLine({ path, version, is, why, before }: RestoredFile, cwd: string): string {
  const name = quote(nearPath(path, cwd));
  const had = before === null ? "" : `; what it had is ${before}`;
  if (is === "left") return `${name} stays as it is: ${quote(why ?? "", limits.lineBytes)}`;
  if (is === "same") return `${name} has all of ${version} already.`;
  return `${name} has ${version} ${is === "merged" ? "merged into what it had" : "again"}${had}. Read it before you edit it.`;
}
