/** The wire of role_set: a person gives an agent a role. */

import * as z from "zod";
import { limits } from "../limits.ts";
import { once, type RequestTable, reply } from "../request-table.ts";
import type { ActorRow } from "../schemas/lock.ts";
import { baseShape, idSchema, type WorkedOn } from "../schemas/session.ts";
import { type Role, type RoleSource, roles } from "./roles.ts";

/** Gives the actor that `name` means in the project a role, or with null takes it back. An agent (`id`) is refused. */
const roleSetSchema = z.object({
  ...baseShape,
  id: idSchema.optional(),
  agent: idSchema.optional(),
  /** A session or an agent in it, named as a message's recipient is. */
  name: idSchema,
  role: z.enum(roles).nullable(),
});

/** The actor, and the role that it has now. */
export interface RoleSetReply {
  readonly ok: true;
  readonly id: string;
  readonly agent: string | null;
  readonly name: string;
  readonly role: Role;
  /** `declared`, `default`: the role that it was given was taken back. */
  readonly by: RoleSource;
  /** The agent is on this other machine, which gives it the role as soon as its daemon hears of it; absent: it has it now. */
  readonly machine?: string;
}

/** The events of roles. */
export type RoleEvent = {
  /** A person gave the actor a role, or took it back. */
  readonly event: "role_changed";
  readonly agent: ActorRow;
  readonly project: string;
  readonly role: Role;
  readonly by: RoleSource;
};

export const roleRequests = {
  role_set: { params: roleSetSchema, reply: reply<RoleSetReply>(), traits: once },
} as const satisfies RequestTable;

// The wire of what an agent has and others give back.

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

interface AgentReleaseReply {
  readonly ok: true;
  /** Whose tasks and locks they were. */
  readonly agent: ActorRow;
  /** The first 20 tasks, which are pending now, and how many there were. */
  readonly tasks: readonly WorkedOn[];
  readonly taskCount: number;
  /** Tasks of a shared project that stay claimed, each with the reason; absent: none. */
  readonly stayed?: readonly string[];
  /** The first 20 files that it no longer has, and how many there were. */
  readonly paths: readonly string[];
  readonly lockCount: number;
}

export const releaseRequests = {
  agent_release: { params: agentReleaseSchema, reply: reply<AgentReleaseReply>(), traits: once },
} as const satisfies RequestTable;
