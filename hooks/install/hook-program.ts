/** The program that entries run for an event, and the words that start it. */

/** The two hook programs. They behave alike, but perl starts in a tenth of Node's time. */
export type HookProgram = "perl" | "node";

const perl = "/usr/bin/perl";

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
