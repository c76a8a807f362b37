/** The roles that agents were given: `lead/roles.ts` alone changes them. */

import type { Role, RoleSource } from "../../../../protocol/lead/roles.ts";
import type { Limits } from "../../../../protocol/limits.ts";
import type { ActorRow } from "../../../../protocol/schemas/lock.ts";
import type { Actor, Retry } from "../../frame/actors.ts";
import { Records } from "../../frame/records.ts";
import { valueList } from "../../frame/saved-rows.ts";
import type { Whose } from "../../tables/messages.ts";
import { type SideTable, sideRows } from "../../tables/sessions.ts";

/** A role that an agent did not choose for itself. */
export interface GivenRole {
  readonly role: Role;
  /** `declared`: in a shared project alone. A machine's own log has the declaration. */
  readonly by: Exclude<RoleSource, "default">;
}

/** A role that waits in a shared project for the agent's machine. Null: the one that it was given is taken back. */
export interface SentRole {
  readonly role: Role | null;
  /** The number of the command that sent it. */
  readonly n: number;
}

type SentRoles = SideTable<string | null, SentRole>;

/** Only a copy of a shared project has some, and derives them. */
export const sentRoleRows = { empty: (): SentRoles => new Map(), lists: {} };

/** By session and agent id; null is the session's main agent. */
export const roleRows = sideRows<string | null, GivenRole>("roles");

// The log's commands for roles.

/** Gives an actor a role, or with null takes it back. */
interface RoleSet {
  /** Null: a person. An agent is refused. */
  readonly by: Actor | null;
  /** Whom, as recipients are named, in this project. */
  readonly name: string;
  readonly role: Role | null;
  readonly project: string;
  readonly retry?: Retry;
}

/** In a shared project: an agent of another machine is to get a role, or with null to lose it. Its machine does so. */
interface RoleSend {
  /** Null: a person. An agent is refused. */
  readonly by: Actor | null;
  readonly whose: Whose;
  readonly role: Role | null;
  readonly project: string;
  readonly retry?: Retry;
}

/** The machine gives its agent the role that it found in the shared project. */
interface RoleTake {
  readonly whose: Whose;
  readonly role: Role | null;
}

/** In the shared project: the agent's machine gave it the role that the command `n` sent. */
interface RoleTaken extends Whose {
  readonly project: string;
  readonly n: number;
}

/** These commands by name. */
export interface RoleCommands {
  role_set: RoleSet;
  role_send: RoleSend;
  role_take: RoleTake;
  role_taken: RoleTaken;
}

// Who is in a client's own teams, by session: `teammates.ts` alone changes it.

/** A member of a team, as its client names it. */
export interface Teammate {
  readonly name: string;
  readonly team: string;
  /** The session that leads it, if it is a session of its own and its client said so. */
  readonly lead?: string;
}

/** A teammate with a session of its own, which may have ended. */
export interface Member {
  readonly session: string;
  /** `died`: its process ended without a word. `ended`: it said so itself. */
  readonly gone?: { readonly how: "died" | "ended"; readonly at: number };
}

/** The teammates among a session's agents by agent id; null is its main agent, which may be a teammate of another session. */
export const teammateRows = sideRows<string | null, Teammate>("teammates", true);

/** Teammates with sessions of their own that a session leads, by name. */
export const memberRows = sideRows<string, Member>("members");

// The log's command for a client's own teams.

/** The client named an agent as a teammate; with `agent: null` the session itself is one. */
interface TeammateNamed {
  readonly session: string;
  readonly agent: string | null;
  readonly name: string;
  readonly team: string;
  /** The session that leads it, if it is a session of its own and its client said so. */
  readonly lead?: string;
}

/** This command by name. */
export interface TeamCommands {
  teammate_named: TeammateNamed;
}

/** Gives back the tasks and the turn locks of an agent that lives, or may live. */
interface AgentRelease {
  readonly session: string;
  readonly agent: string | null;
  /** `begun` of the session meant, so that the command does not touch a later one of the same id. */
  readonly begun: number;
  /** The agent that says so; null: a person, or the setting. */
  readonly by: Actor | null;
  /** Why, for people. */
  readonly cause: string;
  readonly wallMs: number;
  readonly retry?: Retry;
}

export interface HealthCommands {
  agent_release: AgentRelease;
}

// The latest results of the projects' checks.
//
// Invariants: one result per project, worktree and check; the latest recorded is last; at most
// `limits.checkResultsMax`, of which the oldest is dropped first.

/** The state of a worktree: its commit, and a hash of what differs from it. */
interface Revision {
  /** The id of the commit; null before the first one. */
  readonly commit: string | null;
  /** The hash of all files that differ from the commit, with their content. */
  readonly dirty: string;
}

/** What one run of a check came to. */
export interface CheckResult extends Revision {
  readonly project: string;
  /** The top of the worktree that it ran in. */
  readonly worktree: string;
  readonly name: string;
  /** The hash of the command's text. */
  readonly command: string;
  /** The exit code; 0 is green. */
  readonly exit: number;
  /** The run's duration in milliseconds. */
  readonly ranMs: number;
  /** The number of files that differ from the commit. */
  readonly files: number;
  /** The actor that ran it; null: a person. */
  readonly by: ActorRow | null;
  /** Wall time in milliseconds. */
  readonly at: number;
  /** The `seq` of the entry that recorded it. */
  readonly seq: number;
}

/** A check ran to its end, and the worktree had the same state before and after. */
export interface CheckRecord extends Omit<CheckResult, "by" | "at" | "seq"> {
  /** Null: a person ran it. */
  readonly actor: Actor | null;
  readonly wallMs: number;
  readonly retry?: Retry;
}

declare module "../../tables/entries.ts" {
  interface Commands extends RoleCommands, TeamCommands, HealthCommands {
    check_record: CheckRecord;
  }
}

export function resultKey({
  project,
  worktree,
  name,
}: Pick<CheckResult, "project" | "worktree" | "name">): string {
  return `${project}\n${worktree}\n${name}`;
}

const checkRecords = new Records("results", (result: CheckResult) => resultKey(result), {});

/** Results by `resultKey`, the latest recorded last. */
interface CheckTable extends ReturnType<typeof checkRecords.empty> {
  readonly limits: Limits;
}

function noChecks(limits: Limits): CheckTable {
  return { ...checkRecords.empty(), limits };
}

/** Adds the latest result of its check, and drops the oldest result if there are too many. */
export function addResult(checks: CheckTable, result: CheckResult): void {
  checkRecords.putLast(checks, result);
  checkRecords.makeRoom(checks, checks.limits.checkResultsMax);
}

/** Yields a sentence for each broken invariant. */
export function* checkResults({
  checks,
  seq,
}: {
  readonly checks: CheckTable;
  readonly seq: number;
}): Generator<string> {
  yield* checkRecords.check(checks, "results of checks", checks.limits.checkResultsMax);
  let last = 0;
  for (const result of checks.results.values()) {
    if (result.seq <= last || result.seq > seq)
      yield `the result of ${result.name} stands in the wrong place`;
    last = result.seq;
  }
}

export const checkRows = {
  empty: noChecks,
  lists: { checks: valueList((checks: CheckTable) => checks.results, addResult) },
};
