/** The wire of hooks: the request and its reply. */

import * as z from "zod";
import { limits } from "../limits.ts";
import { type RequestTable, reply } from "../request-table.ts";
import { isObject } from "../wire.ts";
import { baseShape } from "./session.ts";

// What a client in a container says of its mounts, so that one file has one name. It says so in `hello`, and with each
// event of a hook.

export const mountsSchema = z.object({
  /** The client's mount and process namespaces, as `/proc/self/ns` names them: `mnt:[4026532567] pid:[4026532570]`. */
  namespaces: z.string().max(limits.nameBytes),
  /** The text of its `/proc/self/mountinfo`; empty: it could not be read, or is too long. */
  table: z.string().max(limits.mountTableBytes),
  /** `KITE_MOUNTS`: pairs `PATH HERE=PATH OF THE DAEMON`, separated by colons. */
  pairs: z.string().max(limits.pathBytes).optional(),
  /** Device and inode (`2049:131`) of paths as the client sees them: its working directory, and those of the pairs. */
  seen: z.record(z.string().max(limits.pathBytes), z.string().max(limits.nameBytes)),
});

/** The wire's form of it. */
export type Mounts = z.output<typeof mountsSchema>;

/** The event as parsed, not copied: a copy key by key would give `__proto__` a meaning. */
const eventSchema = z.custom<Readonly<Record<string, unknown>>>(isObject, {
  error: "expected an object",
});

/**
 * One event of an agent's client, forwarded as received. `env` holds the few environment variables that the daemon
 * uses, and the parent's pid. `reply: "raw"` is for clients without a JSON parser. It asks for a header line
 * `exitCode stdoutBytes stderrBytes envBytes`, then those bytes, then the end of the connection. `wake` marks the
 * second hook of a Stop: exit code 2 wakes the session. `statusLine`: the event is what the client gives its status
 * line, and the output is the line. It changes nothing, and is no sign of life. `client` names the agent's client;
 * without it the event is of Claude Code. A name that the daemon does not know: `not_available`. `mounts`: the hook
 * runs in a container.
 */
export const hookSchema = z.object({
  ...baseShape,
  event: eventSchema,
  env: z.record(z.string().max(limits.nameBytes), z.string().max(limits.pathBytes)).optional(),
  /** 0: in the hook's process namespace it has no parent. */
  ppid: z.number().int().min(0).optional(),
  reply: z.literal("raw").optional(),
  wake: z.boolean().optional(),
  statusLine: z.boolean().optional(),
  client: z.string().max(limits.nameBytes).optional(),
  mounts: mountsSchema.optional(),
});

export interface HookReply {
  readonly ok: true;
  /** The text that the hook prints; empty for none. */
  readonly output: string;
  readonly exitCode?: number;
  readonly stderr?: string;
  /** Lines for the client's environment file. */
  readonly env?: readonly string[];
}

export const hookRequests = {
  hook: { params: hookSchema, reply: reply<HookReply>(), traits: { repeatable: false, always: true } },
} as const satisfies RequestTable;
