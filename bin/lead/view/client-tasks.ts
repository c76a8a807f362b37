/** Tasks of the clients' own lists as text. */

import { paint, type Style } from "../../view/color.ts";
import { projectName } from "../../view/places.ts";
import { type Cell, table } from "../../view/table.ts";
import { clean, type Screen, wrap } from "../../view/text.ts";
import type { NativeTaskRow } from "../team/native-tasks.ts";

const styles = {
  open: "plain",
  "in progress": "green",
  waits: "blue",
  "owner idle": "yellow",
  completed: "dim",
} as const satisfies Record<string, Style>;

/** The lists below those of `kite task list`; no line if there are none. */
export function clientTasksView(tasks: readonly NativeTaskRow[], screen: Screen): string[] {
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

function cellsOf({ task, subject, owner, state, resting, status, waitsFor = [] }: NativeTaskRow): Cell[] {
  const isBegun = status === "in_progress";
  const open = isBegun ? "in progress" : waitsFor.length > 0 ? "waits" : state;
  const shown = resting ? "owner idle" : open;
  const name = owner === null ? "" : `${state === "completed" ? "by " : ""}${clean(owner)}`;
  const after = waitsFor.length === 0 ? "" : `after ${waitsFor.map(clean).join(", ")}`;
  const by = [name, after].filter(text => text !== "").join(", ");
  return [clean(task), { text: shown, style: styles[shown] }, clean(subject), { text: by, style: "dim" }];
}
