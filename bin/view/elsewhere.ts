/** Sessions of other machines that share a store with this one, as text. */
import type { ElsewhereRow } from "../../protocol/elsewhere.ts";
import { paint } from "./color.ts";
import { table } from "./table.ts";
import { clean, counted, type Screen } from "./text.ts";

/** What a list of files is called that agents of two machines changed, and what is said of it. */
export const sameFileTitle = "Same file";
export const sameFileAbout = "changed on another machine, too";

const elsewhereShownMax = 20;
/** What is said of a session's state. */
export const elsewhereStates = { there: "", away: "its machine is silent", lost: "lost" } as const;

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
  const rows = all.map(({ name, role = "", branch, state, tasks, declared }) => [
    { text: clean(name), style: "bold" as const },
    clean(role),
    { text: clean(branch ?? ""), style: "dim" as const },
    clean(tasks[0]?.description ?? declared?.task ?? ""),
    { text: elsewhereStates[state], style: "yellow" as const },
  ]);
  const columns = [{ min: 9, max: 30 }, { max: 12 }, { min: 4, max: 20 }, { min: 9 }, { min: 4 }];
  return table(rows, columns, screen, 2);
}
