/** The rules of merges: see `core/rules.ts`. */
import { freeing, lasting, lastingAndFreeing, passing } from "../../durability.ts";
import { type TimedRules, timer } from "../../rules.ts";
import type { State } from "../../state.ts";
import type { MergeCommands, MergeDues } from "./commands.ts";
import { mergesChange, mergesPart, telling } from "./elsewhere.ts";
import { mergeCancel, mergeReport } from "./end.ts";
import { mergeQueue } from "./queue.ts";
import { awaitRunners, mergeAttach, mergeTake, mergeUnbind, runnerOver, runnerOverAt } from "./run.ts";

export const mergeRules: TimedRules<MergeCommands, MergeDues, State> = {
  commands: {
    merge_queue: lasting(telling(mergeQueue)),
    merge_take: passing(telling(mergeTake)),
    merge_attach: passing(mergeAttach),
    merge_report: lasting(telling(mergeReport)),
    merge_cancel: lastingAndFreeing(telling(mergeCancel)),
    merge_unbind: freeing(telling(mergeUnbind)),
  },
  numbers: {
    kind: "mg",
    tableIn: ({ merges }) => merges,
    usedBy: command => (command.type === "merge_queue" ? command.merges.length : 0),
  },
  points: { daemonStarts: awaitRunners, nodeParts: { merges: mergesPart } },
  timers: {
    merge_runner_over: timer(
      ({ merges }, due) => merges.all.get(due.merge),
      runnerOverAt,
      (state, merge, step) => {
        runnerOver(state, merge, step);
        mergesChange(state);
      },
    ),
  },
  *dues({ merges }) {
    for (const ids of merges.byRunner.values())
      for (const merge of ids) yield { what: "merge_runner_over", merge };
  },
};
