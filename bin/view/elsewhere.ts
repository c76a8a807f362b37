/** Sessions of other machines that share a store with this one, as text. */
import type { ElsewhereRow } from "../../protocol/elsewhere.ts";
import { paint } from "./color.ts";
import { table } from "./table.ts";
import { clean, counted, type Screen } from "./text.ts";

const elsewhereShownMax = 20;
const states = { there: "", away: "its machine is silent", lost: "lost" } as const;

/** Returns a heading, and a line each: the name with its machine, the branch, and what it claims. */
export function elsewhereLines(all: readonly ElsewhereRow[], screen: Screen): string[] {
  const machines = new Set(all.map(({ machine }) => machine)).size;
  const rows = all
    .slice(0, elsewhereShownMax)
    .map(({ name, branch, state, tasks }) => [
      { text: clean(name), style: "bold" as const },
      { text: clean(branch ?? ""), style: "dim" as const },
      clean(tasks[0]?.description ?? ""),
      { text: states[state], style: "yellow" as const },
    ]);
  const more = all.length - elsewhereShownMax;
  const columns = [{ min: 9, max: 30 }, { min: 4, max: 20 }, { min: 9 }, { min: 4 }];
  return [
    "",
    paint(screen, "bold", `On ${counted(machines, "other machine")}`),
    ...table(rows, columns, screen, 2),
    ...(more > 0 ? [`  and ${counted(more, "session")} more`] : []),
  ];
}
