/** Sessions of other machines that share a store with this one, as text. */
import type { ElsewhereRow } from "../../protocol/work.ts";
import { paint } from "./color.ts";
import { table } from "./table.ts";
import { clean, counted, type Screen } from "./text.ts";

/** What a list of files is called that agents of two machines changed, and what is said of it. */
export const sameFileTitle = "Same file";
export const sameFileAbout = "changed on another machine, too";

const elsewhereShownMax = 20;
const elsewhereStates = { there: "", away: "its machine is silent", lost: "lost" } as const;

/** Returns what is said of a session's state, and of roles that wait for its machine to give them; empty: nothing. */
export function elsewhereState({ state, rolesWaiting = [] }: ElsewhereRow): string {
  const roles = rolesWaiting.map(({ agent, role }) => {
    const what = role === null ? "the end of its role" : `the role ${role}`;
    return clean(
      agent === null ? `${what} waits` : `${what.replace("its role", "the role")} of ${agent} waits`,
    );
  });
  return [elsewhereStates[state], ...roles].filter(text => text !== "").join(", ");
}

/** Returns a heading, and a line each. */
export function elsewhereLines(all: readonly ElsewhereRow[], screen: Screen): string[] {
  const more = all.length - elsewhereShownMax;
  return [
    "",
    paint(screen, "bold", elsewhereTitle(all)),
    ...elsewhereTable(all.slice(0, elsewhereShownMax), screen),
    ...(more > 0 ? [`  and ${counted(more, "session")} more`] : []),
  ];
}

export function elsewhereTitle(all: readonly ElsewhereRow[]): string {
  return `On ${counted(new Set(all.map(({ machine }) => machine)).size, "other machine")}`;
}

/** Returns a line for each session: its name with its machine, role, branch, what it claims, and whether it is silent. */
export function elsewhereTable(all: readonly ElsewhereRow[], screen: Screen): string[] {
  const rows = all.map(row => [
    { text: clean(row.name), style: "bold" as const },
    clean(row.role ?? ""),
    { text: clean(row.branch ?? ""), style: "dim" as const },
    clean(row.tasks[0]?.description ?? row.declared?.task ?? ""),
    { text: elsewhereState(row), style: "yellow" as const },
  ]);
  const columns = [{ min: 9, max: 30 }, { max: 12 }, { min: 4, max: 20 }, { min: 9 }, { min: 4 }];
  return table(rows, columns, screen, 2);
}
