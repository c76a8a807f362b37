/** Tasks of the clients' own lists as text. */
import type { ClientTaskRow } from "../../protocol/task.ts";
import { paint, type Style } from "./color.ts";
import { projectName } from "./places.ts";
import { type Cell, table } from "./table.ts";
import { clean, type Screen, wrap } from "./text.ts";

const styles = { open: "plain", resting: "yellow", completed: "dim" } as const satisfies Record<
  string,
  Style
>;

/** The lists below those of `kite task list`; no line if there are none. */
export function clientTasksView(tasks: readonly ClientTaskRow[], screen: Screen): string[] {
  const lists = [...new Set(tasks.map(({ list }) => list))];
  const drawn = table(
    lists.flatMap(name => tasks.filter(({ list }) => list === name)).map(cellsOf),
    [{}, {}, { min: 16 }, { min: 8 }],
    screen,
    2,
  );
  return lists.flatMap(name => {
    const own = tasks.filter(({ list }) => list === name);
    const completed = own.filter(({ state }) => state === "completed").length;
    const project = clean(projectName(own[0]?.project ?? ""));
    const counts = `${own.length - completed} open, ${completed} completed`;
    const title = `${project}: ${counts}, in Claude Code's own list ${clean(name)}; not claimable`;
    return [
      ...wrap(title, screen.width).map(line => paint(screen, "bold", line)),
      ...drawn.splice(0, own.length),
    ];
  });
}

function cellsOf({ task, subject, owner, state, resting }: ClientTaskRow): Cell[] {
  const shown = resting ? "resting" : state;
  const by = owner === null ? "" : `${state === "completed" ? "by " : ""}${clean(owner)}`;
  return [clean(task), { text: shown, style: styles[shown] }, clean(subject), { text: by, style: "dim" }];
}
