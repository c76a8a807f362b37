import type { Command } from "commander";
import type { Run } from "../../process-context.ts";
import { type ReleaseFlags, releaseEach } from "../health/release.ts";

const help = `
NAME is a session's name, the name of an agent within it (alice/Explore), an id, or the beginning of one. Its claimed tasks
become pending, and its edit locks go to their waiters. The agent goes on: Kite tells it with its next event. A person may
do this, and an agent that leads it. Locks that it keeps stay. FILE is a file that somebody has locked, in whatever way: a
person takes it from its holder, who is told; an agent gives its own back. @NAME is a resource that
somebody has locked, as in kite lock. A name that is both is the agent's.

--json: {"ok":true, "agent":{"id","agent","name"}, "tasks":[{"id","description"}], "taskCount", "paths":[...], "lockCount"},
or the refusal; of files {"ok":true, "released":[...]}.

Exit codes: 0 done, 1 refused (no such agent, or several, or you do not lead it), 3 no daemon runs.

Examples:
  $ kite release alice
  $ kite release alice/Explore --reason "its terminal hangs"
  $ kite release src/auth.ts
  $ kite release @db`;

export function add(command: Command, run: Run): void {
  command
    .argument(
      "<name-or-file...>",
      "agents: their names, ids, or the beginning of one; locked files, resources (@NAME)",
    )
    .option("--reason <text>", "why, for the log and for who claims the tasks next")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((words: readonly string[], flags: ReleaseFlags) =>
      run(world => releaseEach(world, words, flags)),
    );
}
