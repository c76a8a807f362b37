import { z } from "zod";
import { limits } from "./limits.ts";

/** Text of one line: an id, a name. Bytes are bounded by characters times four at most; see limits. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is kept out, since keys are joined by them.
const noControl = /^[^\u0000-\u001f\u007f]*$/;
export const idSchema = z
  .string()
  .min(1)
  .max(limits.idBytes)
  .regex(noControl, { error: "an id has no control characters" });
export const pathSchema = z.string().min(1).max(limits.pathBytes);

/** Fields that every request may carry. */
export const baseShape = {
  /** Echoed in the reply; replies to requests with a `rid` may come out of order. */
  rid: z.union([z.string().max(limits.idBytes), z.number()]).optional(),
  /** The same one from the same session within 10 minutes is applied once and gets the same reply. */
  requestId: idSchema.optional(),
  project: pathSchema.optional(),
};

export const helloSchema = z.object({
  ...baseShape,
  protocol: z.number().int().optional(),
  client: idSchema.optional(),
});

export const registerSchema = z.object({
  ...baseShape,
  id: idSchema,
  /** The process whose end is the session's end, in the daemon's own pid namespace. */
  pid: z.number().int().positive().optional(),
  cwd: pathSchema,
  name: z.string().min(1).max(limits.nameBytes).optional(),
  worktree: pathSchema.optional(),
  branch: z.string().max(limits.pathBytes).optional(),
});

export const heartbeatSchema = z.object({ ...baseShape, id: idSchema });

export const deregisterSchema = z.object({
  ...baseShape,
  id: idSchema,
  /** Ends only the incarnation anchored at this process; without it the whole session. */
  pid: z.number().int().positive().optional(),
});

/**
 * Who makes a call that came through a process shared by many: by the tool use that an event named before; by what an
 * agent of session `id` has just typed; else the main agent of the session whose process it is.
 */
export const whoamiSchema = z.object({
  ...baseShape,
  toolUse: idSchema.optional(),
  id: idSchema.optional(),
  /** Words of the command after its name, with one blank between. */
  typed: z.string().max(limits.typedChars).optional(),
  /** The agent's client, in the daemon's own pid namespace. */
  pid: z.number().int().positive().optional(),
});

/** What a query shows of a session. Times are milliseconds before the answer (`...Ms`) or wall time (`...At`). */
export interface SessionRow {
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly worktree: string;
  readonly branch: string | null;
  readonly cwd: string;
  readonly pid: number | null;
  readonly status: "active" | "idle" | "lost";
  readonly registeredAt: number;
  readonly lastSeenMs: number;
  readonly incarnations: number;
  readonly agents: readonly AgentRow[];
  readonly files: readonly string[];
  /** Held by its main agent, in all its terminals; what its agents hold and wait for is with them. */
  readonly locks: number;
  /** The first file that its main agent waits for, as it asked for it, and as an absolute path. */
  readonly waitingFor: string | null;
  readonly waitingForPath: string | null;
  readonly attention: string | null;
  /** Why the repository that it works in could not be looked at; it is tried again with its next event. */
  readonly unplaced?: string;
  /** The task that it claimed last and works on. */
  readonly task: WorkedOn | null;
}

export interface WorkedOn {
  readonly id: string;
  /** Its first 200 UTF-16 units. */
  readonly description: string;
}

export interface AgentRow {
  readonly agent: string;
  readonly name: string;
  readonly status: "active" | "idle";
  readonly locks: number;
  readonly waitingFor: string | null;
  readonly waitingForPath: string | null;
}

export interface HelloReply {
  readonly ok: true;
  readonly protocol: number;
  readonly version: string;
  readonly pid: number;
  readonly storeId: string;
  readonly epoch: number;
}

export interface RegisterReply {
  readonly ok: true;
  readonly id: string;
  readonly name: string;
  readonly project: string;
  /** False where no process could be tied to the session: it lives by heartbeats then. */
  readonly anchored: boolean;
  /** As in `SessionRow`. */
  readonly unplaced?: string;
}

export interface WhoamiReply {
  readonly ok: true;
  readonly id: string;
  readonly agent: string | null;
  readonly name: string;
  readonly project: string;
  /** Where it works now. */
  readonly cwd: string;
  /** `process`: no event named the tool use, so it may as well be one of the session's agents. */
  readonly by: "tool_use" | "typed" | "process";
}

export interface OkReply {
  readonly ok: true;
}
