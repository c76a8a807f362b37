/**
 * What each role may do, and the names, presets and levels of the gates. Every role may read, declare itself and send
 * messages, so the table has no columns for these.
 */

import { type Risk, risks } from "../names.ts";

export const roles = ["implementer", "researcher", "tester", "reviewer", "architect", "lead"] as const;
export type Role = (typeof roles)[number];

/** What a role may do. */
interface Rights {
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

// Gates hold back an agent that would skip a step. It would write before it said what it is about, or call a task done
// that nobody checked. The setting `gates` says which of them apply.

export const gateNames = [
  "role",
  "identity",
  "understanding",
  "codeView",
  "delegation",
  "recovery",
  "quality",
] as const;
export type GateName = (typeof gateNames)[number];

/** `warn`: the agent goes on, and is told once. `enforce`: it is held back until what is missing is there. */
export const gateModes = ["off", "warn", "enforce"] as const;
export type GateMode = (typeof gateModes)[number];

/** The mode of each gate. */
type Modes = { readonly [G in GateName]: GateMode };

/** The modes, and what counts for given roles where nobody set the gate of roles. */
export interface Gates extends Modes {
  /** `enforce`: the gate `role` holds back an agent whose role a person gave, or a spawn, whatever its mode for others is. */
  readonly givenRole?: "enforce";
}

/** Counts where a person set no gates: a role that is given is meant. */
export const gatesUnset: Gates = { ...all("off"), givenRole: "enforce" };

export const gatePresets = {
  off: all("off"),
  /** Nobody is held back before its first edit but for its role; a lead delegates, errors are dealt with, and done means checked. */
  team: {
    role: "enforce",
    identity: "warn",
    understanding: "warn",
    codeView: "warn",
    delegation: "enforce",
    recovery: "enforce",
    quality: "enforce",
  },
  strict: all("enforce"),
} as const satisfies Readonly<Record<string, Modes>>;

function all(mode: GateMode): Modes {
  return {
    role: mode,
    identity: mode,
    understanding: mode,
    codeView: mode,
    delegation: mode,
    recovery: mode,
    quality: mode,
  };
}

/** Returns the preset's name, or each gate with its mode. */
export function gatesText(gates: Modes): string {
  const text = (of: Modes) => gateNames.map(gate => `${gate}=${of[gate]}`).join(" ");
  const preset = Object.entries(gatePresets).find(([, modes]) => text(modes) === text(gates));
  return preset?.[0] ?? text(gates);
}

/** Returns the same with what counts for given roles. */
export function gatesInForce(gates: Gates): string {
  const isMore = gates.givenRole === "enforce" && gates.role !== "enforce";
  return `${isMore ? "givenRole=enforce, else " : ""}${gatesText(gates)}`;
}

/** The gates as they count for an agent whose role is from this source. */
export function gatesFor(gates: Gates, by: RoleSource): Gates {
  const isGiven = by === "person" || by === "spawn";
  return isGiven && gates.givenRole === "enforce" ? { ...gates, role: "enforce" } : gates;
}

/** Returns the stricter mode of each gate. What counts for given roles is the user's own to say. */
export function stricter(user: Gates, project: Modes): Gates {
  const of = (gate: GateName) =>
    gateModes.indexOf(user[gate]) < gateModes.indexOf(project[gate]) ? project[gate] : user[gate];
  const { givenRole } = user;
  return {
    ...(givenRole === undefined ? {} : { givenRole }),
    role: of("role"),
    identity: of("identity"),
    understanding: of("understanding"),
    codeView: of("codeView"),
    delegation: of("delegation"),
    recovery: of("recovery"),
    quality: of("quality"),
  };
}

/** What one gate found missing, one sentence each. `warn`: the agent goes on all the same. */
export interface GateFinding {
  readonly gate: GateName;
  readonly mode: Exclude<GateMode, "off">;
  readonly missing: readonly string[];
}

/** The gates in force in a project. */
export interface GatesRow extends Gates {
  readonly project: string;
}

// Says to an agent what its role means, and which of that Kite holds it to.

/** Returns what an agent of this role does not do, and the tasks that it takes. */
export function rightsOf(role: Role): string {
  const { takes } = rights[role];
  return [...limitsOf(role).map(one => `you ${one}`), `you take tasks that are ${takes.join(", ")}`].join(
    "; ",
  );
}

/** Returns a sentence that tells what of the role is refused from what is left to the agent. */
export function heldTo(role: Role, mode: GateMode): string {
  if (limitsOf(role).length === 0) return "Kite refuses claims beyond it";
  const rest = {
    enforce:
      "Kite refuses edits, git commands, new tasks and claims beyond it; it does not see every shell line, so keep to it there yourself",
    warn: "Kite refuses claims beyond it and warns you of the rest, to which you keep yourself",
    off: "Kite refuses claims beyond it; to the rest you keep yourself",
  };
  return rest[mode];
}

function limitsOf(role: Role): string[] {
  const { writes, runs, git, creates } = rights[role];
  const not = [
    writes === "none" ? "change no files" : writes === "tests" ? "change tests only" : null,
    runs ? null : "run no tests or builds",
    {
      all: null,
      own: "run git add and git commit in a worktree of your own, and no other git command that writes",
      none: "run no git commands that write",
    }[git],
    creates ? null : "create no tasks",
  ];
  return not.filter(one => one !== null);
}
