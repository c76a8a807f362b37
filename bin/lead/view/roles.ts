/** Roles for a terminal. */

import {
  defaultRole,
  type GateMode,
  type Gates,
  gatesFor,
  type Role,
  type RoleSource,
  rights,
} from "../../../protocol/lead/roles.ts";
import type { SessionRow } from "../../../protocol/session-rows.ts";
import { shellArgument } from "../../../protocol/text.ts";
import { type Cell, table } from "../../view/table.ts";
import { bound, clean, type Screen, wrap } from "../../view/text.ts";

/** A live agent with its role. */
export interface RoleRow {
  readonly id: string;
  readonly agent: string | null;
  readonly name: string;
  readonly role: Role;
  readonly by: RoleSource;
  /** The mode of the gate \`role\` for it: whether it is held to its role. */
  readonly gate: GateMode;
}

/** Returns a row for each agent of the sessions, of a project with these gates. */
export function roleRows(sessions: readonly SessionRow[], gates: Gates): RoleRow[] {
  return sessions.flatMap(session =>
    [{ agent: null, name: session.name, role: session.role }, ...session.agents].map(one => {
      const { role, by } = one.role ?? { role: defaultRole, by: "default" as const };
      return { id: session.id, agent: one.agent, name: one.name, role, by, gate: gatesFor(gates, by).role };
    }),
  );
}

/** Who gave the role, in words. */
export function sourceText(by: RoleSource): string {
  const texts = {
    person: "given by a person",
    spawn: "given as it began",
    declared: "declared",
    default: "by default",
  };
  return texts[by];
}

/** `kite role`: each live agent with its role, and whether it is held to it; below, what each of these roles may not do. */
export function rolesView(rows: readonly RoleRow[], screen: Screen): string[] {
  if (rows.length === 0) return wrap("No agent of this project is alive.", screen.width);
  const cells = rows.map(({ name, role, by, gate }): Cell[] => [
    clean(name),
    { text: role, style: "bold" },
    { text: sourceText(by), style: "dim" },
    isBounded(role) ? heldText[gate] : "",
  ]);
  const held = [...new Set(rows.map(({ role }) => role))];
  const bounds = held.map(role => `${role}: ${boundsText(role)}`);
  const legend = held.some(isBounded) ? [meaning] : [];
  const below = [...bounds, ...legend].flatMap(line => wrap(line, screen.width - 2, 2));
  return [...table(cells, [{ min: 8 }, {}, {}, {}], screen, 2), "", ...below.map(line => `  ${line}`)];
}

/** Returns what agents of this role do not do, and which tasks they take. */
export function boundsText(role: Role): string {
  return [...gated(role), ...unseen(role), claims(role)].join("; ");
}

export const heldText: { readonly [M in GateMode]: string } = {
  enforce: "enforced",
  warn: "warned",
  off: "advice",
};

const meaning =
  "enforced: Kite refuses edits, git writes and new tasks beyond the role; warned: it only warns the agent; advice: neither. Claims beyond a role are always refused. Tests and builds are seen only in lines with git.";

/** What a role means for an agent that has it now: what Kite refuses, and what is left to the agent. */
export function roleLines({ name, role, by, gate }: Omit<RoleRow, "id" | "agent">): string[] {
  const isRefused = gate === "enforce";
  const advice = [
    ...(isRefused || gate === "warn" ? [] : gated(role)),
    ...unseen(role).map(one => (gate === "off" ? one : `${one} (seen only in lines with git)`)),
  ];
  return [
    `${clean(name)} is ${role} (${sourceText(by)})`,
    `enforced: ${[...(isRefused ? gated(role) : []), claims(role)].join("; ")}`,
    ...(gate === "warn" && gated(role).length > 0 ? [`warned: ${gated(role).join("; ")}`] : []),
    ...(advice.length === 0 ? [] : [`advice: ${advice.join("; ")}`]),
  ];
}

/** Returns how to have the role enforced, and how to take it back, each if there is something to do. */
export function roleAdvice({ name, role, by, gate }: Omit<RoleRow, "id" | "agent">): string[] {
  const isGiven = by === "person" || by === "spawn";
  const set = `The gate role is set to ${gate} (kite config). Roles that are given are enforced once it is set to enforce, or to nothing.`;
  const who = bound(shellArgument(clean(name)));
  return [
    ...(isGiven && gate !== "enforce" && isBounded(role) ? [set] : []),
    ...(isGiven ? [`To take it back: ${bound(`kite role ${who} --clear`)}`] : []),
  ];
}

/** Whether the role may do less than all that the gate of roles looks at. */
export function isBounded(role: Role): boolean {
  return gated(role).length + unseen(role).length > 0;
}

/** What agents of this role do not do, as far as the gate of roles sees it wherever it looks. */
function gated(role: Role): string[] {
  const { writes, git, creates } = rights[role];
  const not = [
    writes === "none" ? "no edits" : writes === "tests" ? "edits of tests only" : null,
    { all: null, own: "no git writes but add and commit in its own worktree", none: "no git writes" }[git],
    creates ? null : "no new tasks",
  ];
  return not.filter(one => one !== null);
}

/** What of it the gate sees only in some lines. */
function unseen(role: Role): string[] {
  return rights[role].runs ? [] : ["no tests or builds"];
}

function claims(role: Role): string {
  return `takes ${rights[role].takes.join(", ")}`;
}
