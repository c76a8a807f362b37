/** `kite completion` prints the script with which a shell completes Kite's command line. */

import type { Command } from "commander";
import type { Run } from "../context/process-context.ts";

// The scripts that make a shell ask `kite complete` for the words at the cursor.

const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** Each line of an answer is a word, a tab, and what it is. No line: the shell offers files. */
const completionScripts: Readonly<Record<Shell, string>> = {
  bash: `# Completion of kite for bash. In ~/.bashrc: source <(kite completion bash)
_kite() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("$(printf '%q' "\${line%%$'\\t'*}")")
  done < <(kite complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _kite kite
`,
  zsh: `#compdef kite
# Completion of kite for zsh. In ~/.zshrc, after compinit: source <(kite completion zsh)
_kite() {
  local line
  local -a found
  while IFS= read -r line; do
    found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done < <(kite complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)
  if (( $#found )); then _describe -V kite found; else _files; fi
}
compdef _kite kite
`,
  fish: `# Completion of kite for fish. In ~/.config/fish/config.fish: kite completion fish | source
function __kite_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l found (kite complete -- $words[2..-1] "$current" 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path "$current"
  end
end
complete -c kite -f -k -a '(__kite_complete)'
`,
};

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
