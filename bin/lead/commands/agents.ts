import type { Command } from "commander";
import type { Run } from "../../process-context.ts";
import { subcommand } from "../../subcommand.ts";
import { type ListFlags, list } from "../spawn/look.ts";
import { prune } from "../spawn/prune.ts";
import { tend } from "../spawn/tend.ts";
import { add as addAttach } from "./attach.ts";
import { add as addReplace } from "./replace.ts";
import { add as addStop } from "./stop.ts";

const help = `
Lists the agents that were spawned in this project, those that have not ended first. kite status --sessions lists every
session.
tend resumes or replaces agents that stall, as kite agents replace does, until Ctrl-C.
prune removes of ended agents the session, the worktree and the branch, once it has looked that nothing would be lost. It keeps
all of an agent that has uncommitted work, or commits that no branch that stays, no tag and no remote has: on its branch, on a
detached HEAD, or left behind in its reflog (amended and rebased ones are replaced). Files that git ignores are made anew, but
for configuration and secrets (.env, keys) of which the main worktree has no equal copy.

--json: {"agents":[...]}, rows as \`query\` gives them; prune prints {"removed":[...], "kept":[{"id","name","reason"}]}.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite agents
  $ kite agents tend
  $ kite agents prune
  $ kite agents prune paging`;

export function add(agents: Command, run: Run): void {
  agents
    .enablePositionalOptions()
    .option("--project <project>", "another project than that of the working directory")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: ListFlags) => run(world => list(world, flags)));
  addAttach(agents.command("attach").description("open a spawned agent in this terminal"), run);
  addStop(agents.command("stop").description("stop a spawned agent"), run);
  addReplace(
    agents
      .command("replace")
      .description("resume a spawned agent that stalled, or put another one in its place"),
    run,
  );
  subcommand(
    agents,
    "prune",
    "remove sessions, worktrees and records of ended agents, unless work would be lost",
    ["$ kite agents prune"],
  )
    .argument("[name...]", "only these agents")
    .action(async (names: readonly string[], _flags: unknown, command: Command) => {
      const { json }: { readonly json?: boolean } = command.optsWithGlobals();
      await run(world => prune(world, names, json === true));
    });
  subcommand(
    agents,
    "tend",
    "resume or replace agents that stall, as kite agents replace does, until Ctrl-C; --json: a line for each",
    ["$ kite agents tend"],
  ).action(async (_flags: unknown, command: Command) => {
    const { json }: { readonly json?: boolean } = command.optsWithGlobals();
    await run(world => tend(world, json === true));
  });
}
