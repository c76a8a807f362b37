import type { Command } from "commander";
import { completionScripts, type Shell, shells } from "../completion/scripts.ts";
import type { Run } from "../process-context.ts";

const help = `
The script completes commands, options, names of sessions, tasks and locked files. It asks the daemon, and starts none.

Examples:
  $ echo 'source <(kite completion bash)' >> ~/.bashrc
  $ echo 'source <(kite completion zsh)' >> ~/.zshrc                  # after compinit
  $ echo 'kite completion fish | source' >> ~/.config/fish/config.fish`;

export function add(completion: Command, run: Run): void {
  completion.addHelpText("after", help);
  const shell = completion.createArgument("<shell>", "the shell").choices(shells);
  completion.addArgument(shell).action((name: Shell) =>
    run(async ({ stdout }) => {
      stdout.write(completionScripts[name]);
      return 0;
    }),
  );
}
