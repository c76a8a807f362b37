import type { Command } from "commander";
import type { Run } from "../../process-context.ts";
import { team } from "../team/team.ts";

const help = `
NAME is a team's name, its lead, one of its members, or the beginning of a name or id. Kite reads the files of Claude
Code's teams and never writes them. A shared list is one that several sessions use by CLAUDE_CODE_TASK_LIST_ID; Kite
knows its name from the environment in which they were started, on Linux only, and not from settings.

Kite refuses calls that break a team's rules: a blocked or another agent's task that is begun, an owner that does not
exist, a cycle of dependencies, a message to a dead teammate, a teammate that moves its lead's session to another
worktree. The setting teams (enforce, warn, off) says so: kite config.

--json: {"teams":[...]}, rows as \`query\` gives them.

Exit codes: 0 done, 1 no such team, 3 no daemon runs.

Examples:
  $ kite team
  $ kite team alice
  $ kite task import --from-team`;

export function add(command: Command, run: Run): void {
  command
    .argument("[name]", "one team; by default all")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((name: string | undefined, flags: { readonly json?: boolean }) =>
      run(world => team(world, name, flags.json === true)),
    );
}
