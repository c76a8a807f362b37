import type { Command } from "commander";
import type { Run } from "../../process-context.ts";
import { type SpawnFlags, spawn } from "../spawn/spawn.ts";

const help = `
Starts an agent: a background session of Claude Code in a git worktree of its own (.claude/worktrees/NAME, branch
worktree-NAME), under your own permissions. The command ends when the session has registered; an agent that asks a
person waits until you attach. Its record outlives the daemon: kite agents lists it, kite agents stop ends it, and kite agents
prune removes what it left, unless work would be lost.

--task: the session claims the task when it registers; its end gives an unfinished task back. The prompt may be left out.
--role: implementer, researcher, tester, reviewer or architect: the session has this role from its start (kite role), in
which it claims its task; --lead gives it that of a lead. Words such as developer or qa mean the same roles; another word is only told to the agent.
--from: Kite makes the worktree with git, and starts the client in it. Without it the client makes the worktree.
--tmux: an interactive session in a window of its own, in your tmux or in the tmux session "kite".
--client: codex, opencode, copilot or gemini, in tmux; else a client of spawn in your own config.json, by the words of its
command, which may have {prompt} {name} {briefing} {worktree} {branch} {role} {task} {model}.
--wait: until it has answered, or it has ended. Ctrl-C ends the wait, not the agent. If you set "health": "replace", an
agent that stalls meanwhile is resumed or replaced (kite agents replace), and the one that goes on is waited for.

--json: {"ok":true, "spawn":{"id","name","state",...}}, a row of query spawns.

Exit codes: 0 it runs (--wait: it has answered, or is done), 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite spawn "Add paging to the list of orders" --name paging
  $ kite spawn --task 12 --role tester --wait
  $ kite spawn "Mend the build" --from release-2 --tmux`;

export function add(command: Command, run: Run): void {
  command
    .argument("[prompt...]", "what it is to do")
    .option("--name <name>", "its name, its folder and its branch; by default the role and a number")
    .option("--role <role>", "its role, in a word")
    .option(
      "--lead",
      "it leads: it may lower risks, release and stop the project's agents; only a person gives that",
    )
    .option("--task <task>", "a task that it claims")
    .option("--model <model>", "the client's model")
    .option(
      "--client <name>",
      "another client: codex, opencode, copilot, gemini, or one of your configuration",
    )
    .option("--here", "work in this directory, without a worktree")
    .option("--from <branch>", "the branch or commit that its branch begins from")
    .option("--tmux", "an interactive session in a window of tmux")
    .option("--wait", "wait until it has answered, or has ended")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((words: readonly string[], flags: SpawnFlags) =>
      run(world => spawn(world, words.join(" "), flags)),
    );
}
