import type { Command } from "commander";
import type { Run } from "../../process-context.ts";
import { type TrustFlags, trust } from "../checks/trust.ts";
import { listTrusted } from "../checks/trust-list.ts";

const help = `
A project's .kite/config.json may name checks and set gates, and any agent may write that file. kite check runs a check only
after a person has trusted the text of all the project's checks and of its gates; after any change of it, and after it is
gone, kite trust shows what changed and asks again. Trusted gates stay in force until then, whatever the file says. Trust is for you
alone, in ~/.kite/trusted.json, and for the project with all its worktrees. An agent's shell is refused.

--json: {"ok":true, "file", "checks":[{"name", "command", "when":[GLOB...] or null}], "gates", "setup", "problems":[...], "was": "untrusted",
"changed" or "trusted"}; with --list {"files":[{"file", "at":MS, "trust"}]}; with --revoke {"ok":true, "file", "revoked"}.

Exit codes: 0 done, 1 refused, not trusted or failed.

Examples:
  $ kite trust
  $ kite trust --revoke ~/code/shop`;

export function add(command: Command, run: Run): void {
  command
    .argument("[dir]", "a directory of the project", ".")
    .option("--yes", "for scripts of yours: do not ask")
    .option("--list", "show which projects' checks are trusted")
    .option("--revoke", "trust the project's checks no longer")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(async (directory: string, flags: TrustFlags) => {
      if (flags.list === true) {
        await run(world => listTrusted(world, flags.json === true));
        return;
      }
      await run(world => trust(world, directory, flags));
    });
}
