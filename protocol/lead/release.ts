/** The wire of what an agent has and others give back. */
import * as z from "zod";
import { limits } from "../limits.ts";
import type { ActorRow } from "../lock.ts";
import { once, type RequestTable, reply } from "../request-table.ts";
import { baseShape, idSchema, type WorkedOn } from "../session.ts";

/** Gives back the tasks and the turn locks of an agent. `id` and `agent` are the caller; without them a person asks. */
const agentReleaseSchema = z.object({
  ...baseShape,
  id: idSchema.optional(),
  agent: idSchema.optional(),
  /** The agent meant: its session, and with `ofAgent` the agent within it. */
  of: idSchema,
  ofAgent: idSchema.optional(),
  /** Why, for people. */
  reason: z.string().min(1).max(limits.quoteChars).optional(),
});

export interface AgentReleaseReply {
  readonly ok: true;
  /** Whose tasks and locks they were. */
  readonly agent: ActorRow;
  /** The first 20 tasks, which are pending now, and how many there were. */
  readonly tasks: readonly WorkedOn[];
  readonly taskCount: number;
  /** Tasks of a shared log that stay claimed, each with the reason; absent: none. */
  readonly stayed?: readonly string[];
  /** The first 20 files that it no longer has, and how many there were. */
  readonly paths: readonly string[];
  readonly lockCount: number;
}

export const releaseRequests = {
  agent_release: { params: agentReleaseSchema, reply: reply<AgentReleaseReply>(), traits: once },
} as const satisfies RequestTable;
