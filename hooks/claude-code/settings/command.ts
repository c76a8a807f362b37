/** The commands with which the client runs a hook client. */

import { type HookProgram, perlCommand } from "../../install/hook-program.ts";
import type { Program } from "../../install/program.ts";
import { type EventGroup, eventGroups, type HookEntry } from "./entries.ts";

export interface GroupOptions {
  readonly program: Program;
  readonly hookProgram: HookProgram;
  /** `KITE_HOME`, if it is set. */
  readonly home: string | null;
  /** Also forward the events of every message and every batch of calls. */
  readonly everyEvent: boolean;
}

/** Returns the groups for the client's settings, run by the chosen hook client. */
export function groupsFor({ program, hookProgram, home, everyEvent }: GroupOptions): readonly EventGroup[] {
  const groups = eventGroups({ program: program.cjs, node: program.node, home, everyEvent });
  if (hookProgram === "node") return groups;
  return groups.map(([event, group]) => {
    const hooks = group.hooks.map((entry): HookEntry => {
      // Both hook clients take the arguments that follow the program.
      const rest = entry.args.slice(entry.args.indexOf(program.cjs) + 1);
      return { ...entry, ...perlCommand(program.pl, home, rest) };
    });
    return [event, { ...group, hooks }];
  });
}
