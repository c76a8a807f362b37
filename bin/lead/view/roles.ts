/** Roles for a terminal. */
import { defaultRole, type Role, type RoleSource, rights } from "../../../protocol/lead/roles.ts";
import type { SessionRow } from "../../../protocol/session-rows.ts";
import { type Cell, table } from "../../view/table.ts";
import { clean, type Screen, wrap } from "../../view/text.ts";

/** A live agent with its role. */
export interface RoleRow {
  readonly id: string;
  readonly agent: string | null;
  readonly name: string;
  readonly role: Role;
  readonly by: RoleSource;
}

/** Returns a row for each agent of the sessions. */
export function roleRows(sessions: readonly SessionRow[]): RoleRow[] {
  return sessions.flatMap(session =>
    [{ agent: null, name: session.name, role: session.role }, ...session.agents].map(one => ({
      id: session.id,
      agent: one.agent,
      name: one.name,
      ...(one.role ?? { role: defaultRole, by: "default" as const }),
    })),
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

/** `kite role`: each live agent with its role; below, what each of these roles may not do. */
export function rolesView(rows: readonly RoleRow[], screen: Screen): string[] {
  if (rows.length === 0) return wrap("No agent of this project is alive.", screen.width);
  const cells = rows.map(({ name, role, by }): Cell[] => [
    clean(name),
    { text: role, style: "bold" },
    { text: sourceText(by), style: "dim" },
  ]);
  const held = [...new Set(rows.map(({ role }) => role))];
  const bounds = held.flatMap(role => wrap(`${role}: ${boundsOf(role)}`, screen.width - 2, 2));
  return [...table(cells, [{ min: 8 }, {}, {}], screen, 2), "", ...bounds.map(line => `  ${line}`)];
}

/** What agents of this role do not do, and the tasks that they take. */
export function boundsOf(role: Role): string {
  const { writes, runs, git, creates, takes } = rights[role];
  const not = [
    writes === "none" ? "no edits" : writes === "tests" ? "edits of tests only" : null,
    runs ? null : "no tests or builds",
    git ? null : "no git writes",
    creates ? null : "no new tasks",
    `takes ${takes.join(", ")}`,
  ];
  return not.filter(one => one !== null).join("; ");
}
