/** The shell scripts of Kite's `bin` folder that run the chosen hook client. */
import { limits } from "../../protocol/limits.ts";
import { shellWord } from "../../protocol/text.ts";
import { type HookProgram, perlCommand } from "./hook-program.ts";
import type { Program, ProgramScripts } from "./program.ts";

export interface ScriptOptions {
  readonly hookProgram: HookProgram;
  /** `KITE_HOME`, if it is set. */
  readonly home: string | null;
}

/** Returns the texts of the scripts. */
export function programScripts(program: Program, { hookProgram, home }: ScriptOptions): ProgramScripts {
  const run = programWords(program, hookProgram, home).map(shellWord).join(" ");
  const line = `${run} ${limits.hookTurnBudgetMs} statusline`;
  return {
    portable: `# Written by kite install. A shell that reads it becomes the hook client.
exec ${run} "$@"
`,
    statusLine: `#!/bin/sh
# Written by kite install. The status line of Claude Code: what the command in $1 prints, if there is one, then Kite's line.
[ $# -eq 0 ] && exec ${line}
input=$(cat)
shown=$(printf '%s\\n' "$input" | /bin/sh -c "$1")
[ -n "$shown" ] && printf '%s\\n' "$shown"
printf '%s\\n' "$input" | ${line}
`,
  };
}

function programWords(program: Program, hookProgram: HookProgram, home: string | null): readonly string[] {
  if (hookProgram === "perl") {
    const { command, args } = perlCommand(program.pl, home, []);
    return [command, ...args];
  }
  const kiteHome = home === null ? [] : [`KITE_HOME=${home}`];
  return [
    "/usr/bin/env",
    "-u",
    "NODE_EXTRA_CA_CERTS",
    "-u",
    "NODE_OPTIONS",
    ...kiteHome,
    program.node,
    program.cjs,
  ];
}
