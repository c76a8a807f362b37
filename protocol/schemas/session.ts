/** The wire of sessions, and the fields that every request shares. */

import * as z from "zod";
import { limits } from "../limits.ts";
import { once, type RequestTable, repeatable, reply } from "../request-table.ts";

/** Text on one line: an id, a name. A bound in characters bounds the bytes too: at most four per character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern excludes them, because they join keys.
export const noControl = /^[^\u0000-\u001f\u007f]*$/;
export const idSchema = z
  .string()
  .min(1, { error: "an id is never empty" })
  .max(limits.idBytes)
  .regex(noControl, { error: "an id has no control characters" });
export const pathSchema = z.string().min(1).max(limits.pathBytes);

/** Fields that every request may carry. */
export const baseShape = {
  /** Echoed in the reply; replies to requests with a `rid` may come out of order. */
  rid: z.union([z.string().max(limits.idBytes), z.number()]).optional(),
  /** The daemon applies a repeated id of the same session once within 10 minutes, and repeats its reply. */
  requestId: idSchema.optional(),
  project: pathSchema.optional(),
};

/** Registers a session, or brings a registered one up to date. */
const registerSchema = z.object({
  ...baseShape,
  id: idSchema,
  /** The process whose end is the session's end, in the daemon's own pid namespace. */
  pid: z.number().int().positive().optional(),
  cwd: pathSchema,
  name: z.string().min(1).max(limits.nameBytes).optional(),
  worktree: pathSchema.optional(),
  branch: z.string().max(limits.pathBytes).optional(),
  /** The record of the spawned agent that this session is. The first session that names a record is its agent's. */
  spawn: idSchema.optional(),
});

/** Shows that the session lives. */
const heartbeatSchema = z.object({ ...baseShape, id: idSchema });

/** Ends the session: its locks are released, and it waits for nothing any more. */
const deregisterSchema = z.object({
  ...baseShape,
  id: idSchema,
  /** Ends only the incarnation anchored at this process; without it the whole session. */
  pid: z.number().int().positive().optional(),
});

/**
 * Finds the agent behind a call from a process that many agents share. It goes by the tool use that an event named
 * before, or by the command that an agent of session `id` has just typed. Otherwise it is the main agent of the
 * process's session.
 */
const whoamiSchema = z.object({
  ...baseShape,
  toolUse: idSchema.optional(),
  id: idSchema.optional(),
  /** The words of the command after its name, separated by single blanks. With `pids` and no `id` they find the session, too. */
  typed: z.string().max(limits.typedChars).optional(),
  /** The command lines of the processes that run it, up to the agent's client: they tell equal commands apart. */
  shells: z.array(z.string().max(limits.shellChars)).max(limits.shellsMax).optional(),
  /** The process of the agent's client, in the daemon's own pid namespace. */
  pid: z.number().int().positive().optional(),
  /** The processes above the caller, the nearest first: the nearest that anchors a session counts. */
  pids: z.array(z.number().int().positive()).max(limits.ancestorsMax).optional(),
  /** When each of `pids` started, as the system tells it: an anchor counts only if it is that very process. */
  starts: z.array(z.string().max(limits.startTimeChars)).max(limits.ancestorsMax).optional(),
});

/** Names the session that `of` means in the project. Refused with `name_taken` if another session of it has the name. */
const sessionRenameSchema = z.object({
  ...baseShape,
  id: idSchema.optional(),
  agent: idSchema.optional(),
  /** A session, named as a message's recipient is. */
  of: idSchema,
  name: z
    .string()
    .max(limits.nameBytes)
    .regex(/^[\p{L}\p{N}][\p{L}\p{N}._-]*$/u, {
      error: "a name has letters, digits, dots, dashes and underscores, and begins with a letter or a digit",
    }),
});

/**
 * The base's columns of a session's row; `SessionRow` has those of all. Times are milliseconds before the answer (`...Ms`) or
 * wall time (`...At`).
 */
export interface SessionColumns {
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly worktree: string;
  /** The branch that HEAD of its worktree is on now, as far as it can be read in time; null: none. */
  readonly branch: string | null;
  /** Where HEAD is if it is detached, or what is in progress there and whose: `rebasing main (of alice)`. */
  readonly head?: string;
  readonly cwd: string;
  readonly pid: number | null;
  /** Its client runs in a container with other paths: it names files by those, and lives by signs of life. */
  readonly container?: true;
  /** Its agent client; absent: Claude Code, or none that the daemon knows. */
  readonly client?: string;
  readonly status: "active" | "idle" | "lost";
  /** Its client has no hooks of Kite: it asks by tools alone, and nothing holds its edits back. */
  readonly advisory?: true;
  readonly registeredAt: number;
  readonly lastSeenMs: number;
  readonly incarnations: number;
  readonly files: readonly string[];
  /** The locks of its main agent, in all its terminals; each agent's own are in `agents`. */
  readonly locks: number;
  /** The first file that its main agent waits for, as requested and as an absolute path. */
  readonly waitingFor: string | null;
  readonly waitingForPath: string | null;
  /** What one of its agents asks a person; the latest of several. Null: nothing waits for one. */
  readonly attention: string | null;
  /** Why the daemon could not read its repository; it tries again with the session's next event. */
  readonly unplaced?: string;
  /** What its main agent does in its turn; absent if no event said. */
  readonly doing?: DoingRow;
  /** The active task that it claimed last. */
  readonly task: WorkedOn | null;
  /** What its main agent declared; absent if it declared nothing. */
  readonly declared?: DeclaredBrief;
}

/** The file in which a session's client keeps what was said, and what of it the user's setting lets a screen show. */
export interface TranscriptRow {
  readonly id: string;
  readonly project: string;
  readonly transcript: string;
  readonly titles: "client" | "prompt";
}

/**
 * What an agent does, or did last. `what` is the path of the file that it writes, or the name of the program that it runs. A
 * write or a program that did not end well has `failed`, was `refused` by Kite, or was `interrupted` by a person.
 */
export interface Doing {
  readonly verb: "writes" | "wrote" | "runs" | "ran" | "failed" | "refused" | "interrupted";
  readonly what: string;
}

export interface DoingRow extends Doing {
  readonly forMs: number;
}

export interface WorkedOn {
  readonly id: string;
  /** The description's first 200 UTF-16 units. */
  readonly description: string;
}

/** A declaration in short. Texts that were never declared are empty. */
export interface DeclaredBrief {
  readonly role: string;
  /** The first 200 UTF-16 units of its task in its own words. */
  readonly task: string;
  /** Its client says otherwise of the role or the team; `mismatches` of the declaration says how. */
  readonly mismatched?: true;
}

/** The base's columns of the row of an agent in a session. */
export interface AgentColumns {
  readonly agent: string;
  readonly name: string;
  readonly status: "active" | "idle";
  readonly locks: number;
  readonly waitingFor: string | null;
  readonly waitingForPath: string | null;
  /** As of a session. */
  readonly doing?: DoingRow;
  readonly declared?: DeclaredBrief;
}

interface RegisterReply {
  readonly ok: true;
  readonly id: string;
  readonly name: string;
  readonly project: string;
  /** Whether a process anchors the session; otherwise it needs signs of life. */
  readonly anchored: boolean;
  /** As of a session. */
  readonly unplaced?: string;
}

export interface WhoamiReply {
  readonly ok: true;
  readonly id: string;
  readonly agent: string | null;
  readonly name: string;
  readonly project: string;
  /** Its present working directory. */
  readonly cwd: string;
  /** `process`: no event named the tool use, so the caller may also be one of the session's agents. */
  readonly by: "tool_use" | "typed" | "process";
}

interface SessionRenameReply {
  readonly ok: true;
  readonly id: string;
  readonly name: string;
  /** Its name before. */
  readonly was: string;
  readonly project: string;
}

export interface OkReply {
  readonly ok: true;
}

/** The events of sessions. */
export type SessionEvent = SessionNews &
  (
    | { readonly event: "session_started" }
    | { readonly event: "session_lost" }
    | { readonly event: "session_ended"; readonly cause: string }
    | { readonly event: "session_duplicated"; readonly incarnations: number }
    /** `was`: its name before. */
    | { readonly event: "session_renamed"; readonly was: string }
  );

interface SessionNews {
  readonly id: string;
  readonly name: string;
  readonly project: string;
}

export const sessionRequests = {
  register: { params: registerSchema, reply: reply<RegisterReply>(), traits: once },
  heartbeat: { params: heartbeatSchema, reply: reply<OkReply>(), traits: repeatable },
  deregister: { params: deregisterSchema, reply: reply<OkReply>(), traits: once },
  whoami: { params: whoamiSchema, reply: reply<WhoamiReply>(), traits: once },
  session_rename: { params: sessionRenameSchema, reply: reply<SessionRenameReply>(), traits: once },
} as const satisfies RequestTable;
