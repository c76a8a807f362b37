/** What each role may do. Every role may read, declare itself and send messages, so the table has no columns for these. */
import { type Risk, risks } from "../risk.ts";

export const roles = ["implementer", "researcher", "tester", "reviewer", "architect", "lead"] as const;
export type Role = (typeof roles)[number];

/** What a role may do. */
export interface Rights {
  /** The files that it may write. */
  readonly writes: "all" | "tests" | "none";
  /** Whether it may run tests and builds. */
  readonly runs: boolean;
  /** The git commands that write which it may run. `own`: `git add` and `git commit`, in a worktree of its own. */
  readonly git: "all" | "own" | "none";
  /** Whether it may create tasks. */
  readonly creates: boolean;
  /** The tasks that it may claim. */
  readonly takes: readonly Risk[];
}

/** An agent whose role nobody knows has this one. */
export const defaultRole: Role = "implementer";

export const rights: { readonly [R in Role]: Rights } = {
  implementer: { writes: "all", runs: true, git: "all", creates: true, takes: ["green", "yellow", "red"] },
  researcher: { writes: "none", runs: false, git: "none", creates: false, takes: ["green"] },
  tester: { writes: "tests", runs: true, git: "own", creates: false, takes: ["green", "yellow"] },
  reviewer: { writes: "none", runs: false, git: "none", creates: true, takes: ["green"] },
  architect: { writes: "all", runs: true, git: "all", creates: true, takes: risks },
  // It reaches into others' work, so it is given, by a person or at a spawn, and no declared word means it.
  lead: { writes: "all", runs: true, git: "all", creates: true, takes: ["green", "yellow", "red"] },
};

/** Returns the roles that may claim a task of this risk, in the table's order. Nobody becomes a lead to claim a task. */
export function rolesFor(risk: Risk): readonly Role[] {
  return roles.filter(role => role !== "lead" && rights[role].takes.includes(risk));
}

/**
 * Who gave an actor its role. `person`: with `kite role`. `spawn`: what began the agent. `declared`: the agent itself.
 * `default`: nobody did.
 */
export type RoleSource = "person" | "spawn" | "declared" | "default";

/** An actor's role, as far as it is not the default one. */
export interface RoleBrief {
  readonly role: Role;
  readonly by: Exclude<RoleSource, "default">;
}

export interface RoleColumn {
  /** Its role and who gave it; absent if it has the default one. */
  readonly role?: RoleBrief;
}
