import type { Command } from "commander";
import { loadConfig } from "../../daemon/config/config.ts";
import { notifierOf } from "../notify/notifier.ts";
import { notify } from "../notify/notify.ts";
import { interrupted, type Run } from "../process-context.ts";
import { exitCodes, fail } from "../with-daemon.ts";

const help = `
Off until you run it; it ends with Ctrl-C, or with your terminal. It tells you once when somebody needs you for more than a
minute, when a wait for a file lasts longer than that, and when uncommitted work was wiped or overwritten. It calls the
desktop's notifier (notify-send, osascript), or a program of yours, which gets a title and a text as its last two words:

  in config.json: {"notify": {"command": ["/home/ada/bin/tell-me"], "personMs": 60000, "waitMs": 60000}}

--test shows one notice, and ends.

Exit codes: 0 done, 1 no notifier or it failed, 3 no daemon runs.

Example:
  $ kite notify
  watching: somebody who needs you, long waits, work that was wiped; Ctrl-C ends it
  carol needs you in shop: permission for Bash`;

export function add(command: Command, run: Run): void {
  command
    .option("--test", "show one notice now, and end")
    .addHelpText("after", help)
    .action(({ test }: { readonly test?: boolean }) =>
      run(async world => {
        const { values, problems } = await loadConfig({ env: world.env, paths: world.paths });
        for (const problem of problems) fail(world, false, "config", problem);
        const notifier = notifierOf(values.notify.command, world.env, world.cwd);
        if (test !== true) return notify(world, values.notify, notifier, interrupted());
        await notifier({ title: "kite", text: "Notices reach you." });
        return exitCodes.done;
      }),
    );
}
