/**
 * Gates hold back an agent that would skip a step: it writes before it said what it is about, or calls a task done
 * that nobody checked. The setting `gates` says which of them apply.
 */

import type { RoleSource } from "./roles.ts";

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
export type Modes = { readonly [G in GateName]: GateMode };

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
