/** The commands with which the client runs a hook client. */
import type { Program } from "../../install/program.ts";
import { type EventGroup, eventGroups, type HookEntry } from "./entries.ts";

/** The two hook programs. They behave alike, but perl starts in a tenth of Node's time. */
export type HookProgram = "perl" | "node";

const perl = "/usr/bin/perl";

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

/** Perl exits with 2 if its script is missing, which would refuse the edit or wake the session. */
const runIfThere = "do $1 if shift =~ /(.+)/s";

/** `-T` makes perl ignore PERL5OPT and PERL5LIB, which would load foreign code into every hook. */
export function perlCommand(
  pl: string,
  home: string | null,
  rest: readonly string[],
): { readonly command: string; readonly args: readonly string[] } {
  const args = ["-T", "-e", runIfThere, pl, ...rest];
  return home === null
    ? { command: perl, args }
    : { command: "/usr/bin/env", args: [`KITE_HOME=${home}`, perl, ...args] };
}
