/** `kite statusline` prints one line for Claude Code's status line. */

import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { LocalError } from "../../client/errors.ts";
import { isObject } from "../../protocol/wire.ts";
import type { ProcessContext, Run } from "../context/process-context.ts";
import { exitCodes, fail } from "../context/with-daemon.ts";
import { isOffEverywhere } from "../doctor/odd-files.ts";

const help = `
Reads what Claude Code gives its status line on standard input, and prints one line: the session's name, what it holds, who
waits for it, what it waits for, ready tasks, unread messages. While Kite is off it says so. Without a daemon, or for a session that
Kite does not know, it prints nothing. kite install --statusline sets it up, around the status line that you have.

Example, in settings.json by hand:
  "statusLine": {"type": "command", "command": "kite statusline"}
It shows, for example:
  kite: alice · bob waits for you · holds auth.ts +2 · 3 tasks ready · 1 unread`;

export function add(command: Command, run: Run): void {
  command.addHelpText("after", help).action(() => run(statusLine));
}

async function statusLine(world: ProcessContext): Promise<number> {
  const refuse = (sentence: string) => fail(world, false, "usage", sentence);
  if (process.stdin.isTTY)
    return refuse("kite statusline reads what Claude Code gives its status line; run kite status instead");
  const event: unknown = parsed(readFileSync(0, "utf8"));
  if (!isObject(event))
    return refuse(
      "standard input is not the JSON object that Claude Code gives its status line; it is set up by kite install --statusline",
    );
  if (world.env["KITE"] === "off" || isOffEverywhere(world)) {
    world.stdout.write("kite: off\n");
    return exitCodes.done;
  }
  try {
    const client = await world.connect({ name: "kite statusline" });
    const reply = await client.request("hook", { event, statusLine: true }).finally(() => client.close());
    if (reply.ok) world.stdout.write(reply.output);
  } catch (error) {
    // Without a daemon there is nothing to show; a status line is no place for an error at each turn.
    if (!(error instanceof LocalError)) throw error;
  }
  return exitCodes.done;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // The caller says what is wrong.
  }
}
