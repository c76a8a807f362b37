/** Tools that hold files: kite_lock, kite_unlock. */
import { setInterval } from "node:timers";
import * as z from "zod";
import type { KiteClient } from "../../client/client.ts";
import { limits } from "../../protocol/limits.ts";
import type { FileLockReply } from "../../protocol/lock.ts";
import { fileLockSchema, fileUnlockSchema } from "../../protocol/lock.ts";
import { duration, nearPath, quote } from "../../protocol/text.ts";
import { absolute } from "../actor.ts";
import { granted, Refused } from "../with-daemon.ts";
import { type Call, type Tool, tool } from "./tool.ts";

const lock = tool({
  name: "kite_lock",
  title: "Hold files",
  description:
    "Lock files until kite_unlock, for work over several files or prompts. Single edits need none: Kite locks those " +
    "until you answer.",
  input: z.object({
    files: fileLockSchema.shape.files.unwrap().describe("dir/ locks all below it"),
    waitMs: fileLockSchema.shape.waitMs,
  }),
  run: async (call, { files, waitMs: asked }) => {
    const own = await call.own();
    const waitMs = asked ?? limits.waitMs;
    const given = { ...call.actor, files: files.map(file => absolute(call.acting.cwd, file)), waitMs };
    // Nobody knows when a kept lock ends: a call waits for it only if it says how long.
    const unlessKept = asked === undefined || asked === 0;
    const reply = await whileTold(call, own, waitMs, () =>
      own.request("file_lock", { ...given, unlessKept, progress: true }, { signal: call.signal }),
    );
    const { token, granted_from_queue: waited } = granted(reply);
    // The client cancelled the call meanwhile and will not see the grant, so this releases the lock.
    if (call.signal.aborted && waited) {
      await call.client.request("file_unlock", { ...call.actor, files: given.files });
    }
    const names = files.map(file => quote(nearPath(file, call.acting.cwd))).join(", ");
    const text = `You hold ${names}${waited ? ", after waiting in the queue" : ""}. Release with kite_unlock when you are done.`;
    return { text, data: { files, token, waited: waited === true } satisfies Data };
  },
});

interface Data {
  readonly files: readonly string[];
  readonly token: FileLockReply["token"];
  readonly waited: boolean;
}

const unlock = tool({
  name: "kite_unlock",
  title: "Release files",
  description: "Release files you locked or wait for; `all` of them.",
  input: z
    .object({
      files: fileUnlockSchema.shape.files,
      all: fileUnlockSchema.shape.all,
    })
    .refine(({ files, all }) => (files === undefined) === (all === true), {
      error: "give either files, or all: true",
    }),
  run: async (call, { files, all }) => {
    const { acting, client, actor } = call;
    if (acting.by === "process" && (await hasAgents(client, acting.id))) {
      const error =
        "Kite did not see which agent of this session calls, and must not release another agent's files; call again";
      throw new Refused({ ok: false, code: "unknown_session", error });
    }
    const named = files === undefined ? {} : { files: files.map(file => absolute(acting.cwd, file)) };
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
