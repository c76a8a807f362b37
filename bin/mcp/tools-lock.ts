/** Tools that hold files: kite_lock, kite_unlock. */
import { setInterval } from "node:timers";
import * as z from "zod";
import type { KiteClient } from "../../client/client.ts";
import { limits } from "../../protocol/limits.ts";
import { isResource } from "../../protocol/names.ts";
import type { FileLockReply } from "../../protocol/schemas/lock.ts";
import { fileLockSchema, fileUnlockSchema } from "../../protocol/schemas/lock.ts";
import { duration, nearPath, quote } from "../../protocol/text.ts";
import { type Lockable, lockable } from "../lockable.ts";
import { granted, Refused } from "../with-daemon.ts";
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
  run: async (call, { files: paths = [], resource: name, waitMs: asked }) => {
    const own = await call.own();
    const waitMs = asked ?? limits.waitMs;
    const files = wordsOf(paths, name);
    const wanted = lockable(call.acting.cwd, files);
    const given = { ...call.actor, ...wanted, waitMs };
    // Nobody knows when a kept lock ends: a call waits for it only if it says how long.
    const unlessKept = asked === undefined || asked === 0;
    const reply = await whileTold(call, own, waitMs, () =>
      own.request("file_lock", { ...given, unlessKept, progress: true }, { signal: call.signal }),
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
