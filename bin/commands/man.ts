import type { Command } from "commander";
import type { Run } from "../process-context.ts";
import type { Commands } from "../program.ts";

const help = `
The page is made from the help of every command. The package contains it, so after npm install -g also "man kite" works.

Examples:
  $ kite man > kite.1 && man ./kite.1`;

export function add(command: Command, run: Run, all: Commands): void {
  command.addHelpText("after", help).action(async () => {
    const { manualPage } = await import("../man/page.ts");
    const { version } = await import("../version.ts");
    await run(async ({ stdout }) => {
      stdout.write(await manualPage(all, version));
      return 0;
    });
  });
}
