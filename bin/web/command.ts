import type { Command } from "commander";
import type { Commands } from "../entry.ts";
import type { Run } from "../process-context.ts";
import { bounds } from "./bounds.ts";
import { type WebFlags, web } from "./web.ts";

const help = `
The page is for this machine alone. The address that web prints works once and within a minute; Enter prints another one, and
Ctrl-C ends the page. It shows who does what, who waits for whom, and what happened in the last hour, as it happens. A
person may release a lock, end a freeze, answer a message and change tasks there; each is the command of that name. An agent's
shell gets a page of its own project that changes nothing.

--json: {"ok":true, "address", "port"}, then web goes on.

Exit codes: 0 done, 1 failed.

Examples:
  $ kite web
  $ kite web --open`;

export function add(command: Command, run: Run, all: Commands): void {
  command
    .option("--port <n>", `the port on 127.0.0.1; by default ${bounds.port}, or any if that is taken`)
    .option("--open", "open the page in a browser")
    .option("--project <dir>", "show this project alone")
    .option("--json", "print one JSON object when the page is there")
    .addHelpText("after", help)
    .action((flags: WebFlags) => run(world => web(world, flags, all)));
}
