/** The gates in force, as `query` shows them: a row for each project. */
import type { GatesRow } from "../../../protocol/lead/roles.ts";
import type { HookServices } from "../../hooks/hook-services.ts";
import type { DaemonServices } from "../../requests/handler.ts";
import type { Target } from "../../requests/target.ts";

const gates: Target<GatesRow> = {
  open: async ({ engine, rules }: HookServices & DaemonServices, { project }) => {
    const all = [...engine.state.sessions.live.values()].map(session => session.project);
    const wanted = project === undefined ? [...new Set(all)].sort() : [project];
    const rows: GatesRow[] = [];
    // One after the other: the limit per device is everybody's.
    for (const one of wanted) {
      const { gates } = await rules.at({ project: one, worktree: one });
      rows.push({ project: one, ...gates });
    }
    return () => rows.map(row => ({ place: 0, key: row.project, row: () => row }));
  },
};

export const gateTargets = { gates };
