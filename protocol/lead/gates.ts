/**
 * Gates hold back an agent that would skip a step: it writes before it said what it is about, or calls a task done
 * that nobody checked. The setting `gates` says which of them apply.
 */

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
export type Gates = { readonly [G in GateName]: GateMode };

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
} as const satisfies Readonly<Record<string, Gates>>;

function all(mode: GateMode): Gates {
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
export function gatesText(gates: Gates): string {
  const text = (of: Gates) => gateNames.map(gate => `${gate}=${of[gate]}`).join(" ");
  const preset = Object.entries(gatePresets).find(([, modes]) => text(modes) === text(gates));
  return preset?.[0] ?? text(gates);
}

/** Returns the stricter mode of each gate. */
export function stricter(a: Gates, b: Gates): Gates {
  const of = (gate: GateName) =>
    gateModes.indexOf(a[gate]) < gateModes.indexOf(b[gate]) ? b[gate] : a[gate];
  return {
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
