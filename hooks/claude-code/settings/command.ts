import type { Program } from "../../install/program.ts";
import { type EventGroup, eventGroups, type HookEntry } from "./entries.ts";

/** The two hook clients: one behaviour, but perl starts in a tenth of Node's time. */
export type ClientName = "perl" | "node";

const perl = "/usr/bin/perl";

export interface GroupOptions {
  readonly program: Program;
  readonly client: ClientName;
  /** `KITE_HOME`, where it is set. */
  readonly home: string | null;
  /** Also events that come with every message and every batch of calls. */
  readonly everyEvent: boolean;
}

/** What belongs into the client's settings, run by the chosen client. */
export function groupsFor({ program, client, home, everyEvent }: GroupOptions): readonly EventGroup[] {
  const groups = eventGroups({ program: program.cjs, node: program.node, home, everyEvent });
  if (client === "node") return groups;
  return groups.map(([event, group]) => {
    const hooks = group.hooks.map((entry): HookEntry => {
      // What follows the program is for whichever client runs.
      const rest = entry.args.slice(entry.args.indexOf(program.cjs) + 1);
      return { ...entry, ...perlCommand(program.pl, home, rest) };
    });
    return [event, { ...group, hooks }];
  });
}

/** Perl itself exits with 2 where its script is not there, which refuses the edit or wakes the session. */
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
