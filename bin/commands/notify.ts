import type { Command } from "commander";
import { loadConfig } from "../../daemon/config/config.ts";
import { notifierOf } from "../notify/notifier.ts";
import { notify } from "../notify/notify.ts";
import { interrupted, type Run } from "../process-context.ts";
import { exitCodes, fail } from "../with-daemon.ts";

const help = `
It ends with Ctrl-C, or with your terminal. With the setting notify.start you need not run it: it begins and ends with the
daemon. It tells first of those who waited before it began. It tells you once when somebody needs you for more than a
minute, when a wait for a file lasts longer than that, and when uncommitted work was wiped or overwritten. It calls the
desktop's notifier (notify-send, osascript), or a program of yours, which gets a title and a text as its last two words:

  in config.json: {"notify": {"start": true, "command": ["/home/ada/bin/tell-me"], "personMs": 60000, "waitMs": 60000}}

--test shows one notice, and ends.

Exit codes: 0 done, 1 no notifier or it failed, 3 no daemon runs.

Example:
  $ kite notify
  watching: somebody who needs you, long waits, work that was wiped; Ctrl-C ends it
  carol needs you in shop: permission for Bash`;

export function add(command: Command, run: Run): void {
  command
    .option("--with-daemon", "end when the daemon ends, as the one that notify.start begins")
    .option("--test", "show one notice now, and end")
    .addHelpText("after", help)
    .action(({ test, withDaemon }: { readonly test?: boolean; readonly withDaemon?: boolean }) =>
      run(async world => {
        const { values, problems } = await loadConfig({ env: world.env, paths: world.paths });
        for (const problem of problems) fail(world, false, "config", problem);
        const notifier = notifierOf(values.notify.command, world.env, world.cwd);
        if (test !== true) return notify(world, values.notify, notifier, interrupted(), withDaemon === true);
        await notifier({ title: "kite", text: "Notices reach you." });
        return exitCodes.done;
      }),
    );
}
