import type { Command } from "commander";
import type { Commands } from "../entry.ts";
import type { ProcessContext, Run } from "../process-context.ts";
import { fail } from "../with-daemon.ts";
import type { SnapshotFlags } from "./snapshot/snapshot.ts";
import { type WebFlags, web } from "./web.ts";

const help = `
The page is for this machine alone. The address that web prints works once and within a minute; Enter prints another one, and
Ctrl-C ends the page. It shows who does what, who waits for whom, and what happened in the last hour, as it happens. A
person may release a lock, end a freeze, answer a message and change tasks there; each is the command of that name. An agent's
shell gets a page of its own project that changes nothing.

--snapshot writes what the page shows now to one file, and serves nothing: all views one below the other, without a program, an
image or an address that a browser would ask for. Home paths are written as ~. Texts of messages, values of context and titles of
sessions are left out, unless you say --full. It overwrites no file.

--json: {"ok":true, "address", "port"}, then web goes on; with --snapshot {"ok":true, "file", "bytes", "left":[what is left out]}.

Exit codes: 0 done, 1 failed, 3 no daemon runs (--snapshot).

Examples:
  $ kite web
  $ kite web --open
  $ kite web --snapshot kite.html`;

export function add(command: Command, run: Run, all: Commands): void {
  command
    .option("--port <n>", "the port on 127.0.0.1; by default any free one")
    .option("--open", "open the page in a browser")
    .option("--project <dir>", "show this project alone")
    .option("--snapshot <file>", "write what the page shows now to one HTML file")
    .option("--full", "with --snapshot: also texts of messages, shared values, titles of sessions")
    .option("--json", "print one JSON object when the page is there")
    .addHelpText("after", help)
    .action((flags: WebFlags & Partial<SnapshotFlags>) => run(world => served(world, flags, all)));
}

async function served(
  world: ProcessContext,
  flags: WebFlags & Partial<SnapshotFlags>,
  all: Commands,
): Promise<number> {
  const { snapshot: file, full, port, open, json = false } = flags;
  if (file === undefined) {
    if (full === true) return fail(world, json, "usage", "--full goes with --snapshot FILE");
    return web(world, flags, all);
  }
  if (port !== undefined || open === true)
    return fail(world, json, "usage", "--snapshot serves no page: leave --port and --open out");
  const { snapshot } = await import("./snapshot/snapshot.ts");
  return snapshot(world, { ...flags, snapshot: file });
}
