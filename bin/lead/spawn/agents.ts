/** `kite agents` lists the spawned agents; its subcommands attach to one, stop one and replace one. */

import type { Command } from "commander";
import type { Run } from "../../context/process-context.ts";
import { fail } from "../../context/with-daemon.ts";
import { subcommand } from "../../entry.ts";
import { type ListFlags, list } from "./look.ts";
import { prune } from "./prune.ts";
import { attach, replace, stop, tend } from "./replace.ts";

const helpAttach = `
Opens a spawned agent in this terminal, to watch it, answer its questions or talk to it. Of a background session the
client says how to leave it (Ctrl-Z); of a window, tmux's own keys do.

Exit codes: those of the program that shows it; 1 refused or failed, 3 no daemon runs.

Example:
  $ kite agents attach paging`;

function addAttachCommand(command: Command, run: Run): void {
  command
    .argument("<name>", "the agent's name, or the id of its record")
    .addHelpText("after", helpAttach)
    .action((name: string) => run(world => attach(world, name)));
}

const helpReplace = `
For an agent of kite spawn that stalled. The first time its client stops its session and resumes it, if it can. If it
stalls again, or does not come back, it is stopped, and another agent starts with its prompt, task, role, model, client
and base, in a worktree of its own; it is told of the branch, the last output and the declaration of the one before. Two
agents in a row take one place, no more. A person may do this, the agent that spawned it, and one that leads.

--json: {"ok":true, "spawn":{...}}, the agent that goes on

Exit codes: 0 a session goes on, 1 refused or failed, 3 no daemon runs.

Example:
  $ kite agents replace paging`;

function addReplaceCommand(command: Command, run: Run): void {
  command
    .argument("<name>", "the agent's name, or the id of its record")
    .option("--json", "print one JSON object")
    .addHelpText("after", helpReplace)
    .action((name: string, { json }: { readonly json?: boolean }) =>
      run(world => replace(world, name, json === true)),
    );
}

const helpStop = `
Stops a spawned agent by its client's own command, whatever its record says, or closes its window. An unfinished task can be
claimed again. Its worktree and branch stay: kite agents prune removes them if nothing would be lost. An agent whose process
was killed may be brought back by its client some 20 s later: this watches it for 30 s, and stops it again unless a person
prompts it. A person may stop an agent, the agent that spawned it, and one that leads. kite down stops the daemon.

--json: {"ok":true, "spawn":{...}}

Exit codes: 0 it has ended, 1 refused or failed, 3 no daemon runs.

Example:
  $ kite agents stop paging`;

const nameless = "say which agent to stop: kite agents stop NAME; to stop the daemon: kite down";

function addStopCommand(command: Command, run: Run): void {
  command
    .argument("[name]", "the agent's name, or the id of its record")
    .option("--json", "print one JSON object")
    .addHelpText("after", helpStop)
    .action((name: string | undefined, { json = false }: { readonly json?: boolean }) =>
      run(async world =>
        name === undefined ? fail(world, json, "usage", nameless) : stop(world, name, json),
      ),
    );
}

const helpAgents = `
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
    .addHelpText("after", helpAgents)
    .action((flags: ListFlags) => run(world => list(world, flags)));
  addAttachCommand(agents.command("attach").description("open a spawned agent in this terminal"), run);
  addStopCommand(agents.command("stop").description("stop a spawned agent"), run);
  addReplaceCommand(
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
