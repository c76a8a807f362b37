import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { searchPath } from "../../protocol/paths.ts";
import type { Commands } from "../entry.ts";
import { manualPage } from "../man/page.ts";
import type { ProcessContext, Run } from "../process-context.ts";
import { version } from "../version.ts";

const help = `
On a terminal it opens the page with man; in a pipe it prints the page's source. The page is made from the help of every
command. The package contains it, so after npm install -g also "man kite" works.

Examples:
  $ kite man
  $ kite man > kite.1`;

export function add(command: Command, run: Run, all: Commands): void {
  command.addHelpText("after", help).action(() =>
    run(async world => {
      const page = await manualPage(all, version);
      const code = world.stdout.isTTY === true ? open(world, page) : null;
      if (code === null) world.stdout.write(page);
      return code ?? 0;
    }),
  );
}

/** Shows the page with man on this terminal. Returns man's exit code; null if there is no man. */
function open({ env }: ProcessContext, page: string): number | null {
  const folder = mkdtempSync(join(tmpdir(), "kite-man-"));
  try {
    const file = join(folder, "kite.1");
    writeFileSync(file, page);
    const path = { ...env, PATH: searchPath(env["PATH"]) };
    const { status, error } = spawnSync("man", [file], { stdio: "inherit", env: path });
    return error === undefined ? (status ?? 1) : null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
