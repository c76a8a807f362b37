import type { Command } from "commander";
import { manualPage } from "../man/page.ts";
import type { Run } from "../process-context.ts";
import type { Commands } from "../program.ts";
import { version } from "../version.ts";

const help = `
The page is made from the help of every command. The package contains it, so after npm install -g also "man kite" works.

Examples:
  $ kite man > kite.1 && man ./kite.1`;

export function add(command: Command, run: Run, all: Commands): void {
  command.addHelpText("after", help).action(async () => {
    await run(async ({ stdout }) => {
      stdout.write(await manualPage(all, version));
      return 0;
    });
  });
}
