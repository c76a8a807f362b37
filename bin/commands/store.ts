/** `kite store` shares tasks, messages and context with other machines through a PostgreSQL. */

import type { Command } from "commander";
import { terminalQuestion, terminalSecret } from "../context/person.ts";
import type { Run } from "../context/process-context.ts";
import { join } from "../store/join.ts";
import { type LeaveFlags, leave, rejoin } from "../store/leave.ts";
import { type StoreFlags, share } from "../store/share.ts";
import { showStore } from "../store/show.ts";

const help = `
Several machines share tasks, messages, context, debates and declarations of a project through a PostgreSQL; files, locks,
the guard and merges stay with their machine. Without a subcommand it shows the store, its machines and the shared projects.
See kite help store.

--json: {"store":{"where", "is", "since", "why", "node", "machine"}|null, "nodes":[...], "projects":[...], "local":[...]}

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite store
  $ kite store join postgresql://kite@db.example/kite
  $ kite store share`;

const joinHelp = `
It checks the address, asks for the password if no file has it, says what is there, and asks before it writes the setting and
begins the daemon anew. Then it goes on as kite store share for the project of the working directory. No agent may be at work.
The password is in ~/.pgpass, or in store.secret of Kite's directory, where join keeps what is typed; never in the address.

Exit codes: 0 done, 1 refused, not confirmed or failed.

Example:
  $ kite store join postgresql://kite@db.example/kite`;

const shareHelp = `
Its open tasks and its durable context move to the store under their ids and keys, after a question. A value that the store
has under a key stays there, and yours is kept as KEY@MACHINE. It may run again if it broke off.

--json: {"ok":true, "project", "as", "wasShared", "tasks", "context", "unread", "numbers":[...], "keys":[...], "released":[...], "leftOut":[...], "returns":[...]}

Exit codes: 0 done, 1 refused, not confirmed or failed, 3 no daemon runs.

Examples:
  $ kite store share
  $ kite store share --dry-run`;

const leaveHelp = `
What is open in the shared projects is copied back, the store is told, the setting goes, and the daemon begins anew. The store
keeps what it has for the others. It may run again if it broke off.

--json: {"ok":true, "projects":[...], "tasks", "context", "unread", "told", "numbers":[...], "keys":[...], "released":[...], "leftOut":[...], "returns":[...]}

Exit codes: 0 done, 1 refused, not confirmed or failed, 3 no daemon runs.

Examples:
  $ kite store leave
  $ kite store leave --away          # the store is gone for good`;

const rejoinHelp = `
A copy of Kite's directory, on another machine or at another path, has the id of the one it was copied from, and the store
takes only one of them. The other machines see this one as a new one then.

Exit codes: 0 done, 1 refused, not confirmed or failed, 3 no daemon runs.

Example:
  $ kite store rejoin`;

export function add(command: Command, run: Run): void {
  command
    .enablePositionalOptions()
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(({ json }: StoreFlags) => run(world => showStore(world, json === true)));
  const below = (name: string, says: string, text: string) =>
    command
      .command(name)
      .description(says)
      .option("-y, --yes", "do not ask")
      .option("--json", "print one JSON object")
      .addHelpText("after", text);
  below("join <url>", "point this machine's daemon at a store", joinHelp).action(
    (url: string, flags: StoreFlags) =>
      run(world => join(world, url, flags, { ask: terminalQuestion(), secret: terminalSecret() })),
  );
  below("share", "share the project of the working directory", shareHelp)
    .option("-n, --dry-run", "show what would be shared, and do nothing")
    .action((flags: StoreFlags) => run(world => share(world, flags, terminalQuestion())));
  below("leave", "copy back what is shared, and leave the store", leaveHelp)
    .option("-n, --dry-run", "show what would be copied back, and do nothing")
    .option("--away", "leave although the store does not answer")
    .action((flags: LeaveFlags) => run(world => leave(world, flags, terminalQuestion())));
  below("rejoin", "give a copied directory of Kite an id of its own in the store", rejoinHelp).action(
    (flags: StoreFlags) => run(world => rejoin(world, flags, terminalQuestion())),
  );
}
