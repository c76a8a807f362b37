import type { Command } from "commander";
import type { InboxFlags, SendFlags } from "../messages/messages.ts";
import type { ProcessContext } from "../process-context.ts";

const overview = `
Messages go to sessions and agents of the same project. They are safe on disk when the answer comes, are read in the
order they were sent, and stay until they are acknowledged. Who writes is the session in KITE_SESSION or
CLAUDE_CODE_SESSION_ID (its agent in KITE_AGENT), else you at this terminal; a terminal has no inbox.

Exit codes: 0 done, 1 refused or failed (as where the recipient has gone), 3 no daemon runs.

Example:
  $ kite message send alice "the schema is done"
  $ kite message inbox`;

export function add(program: Command): void {
  const message = program
    .command("message")
    .description("write to other sessions, and read what they wrote")
    .addHelpText("after", overview);
  command(message, "send", "write to somebody", [
    '$ kite message send alice "the schema is done"',
    '$ kite message send --reply m-4 "thanks"',
  ])
    .argument(
      "<words...>",
      "a name, an id or the beginning of one, alice/Explore, or everyone; then the text",
    )
    .usage("[options] TO TEXT... | --reply ID TEXT...")
    .option("--reply <id>", "answer this message; its sender need not be named")
    .option("--urgent", "mark it so")
    .option("--project <project>", "write to another project; only at a terminal")
    .action(async (words: readonly string[], flags: SendFlags) => {
      const { send } = await import("../messages/messages.ts");
      await run(world => send(world, words, flags));
    });
  command(message, "inbox", "show the inbox; at a terminal all messages of the project", [
    "$ kite message inbox --unread",
  ])
    .option("--unread", "only what was not read")
    .option("--thread <id>", "only this thread")
    .option("--ack", "acknowledge what is shown")
    .option("--project <project>", "another project than that of the working directory; only at a terminal")
    .action(async (flags: InboxFlags) => {
      const { inbox } = await import("../messages/messages.ts");
      await run(world => inbox(world, flags));
    });
  command(message, "ack", "say that messages are done with: they leave the inbox", ["$ kite message ack m-4"])
    .argument("[ids...]")
    .option("--all", "all that are there")
    .action(async (ids: readonly string[], flags: { readonly all?: boolean; readonly json?: boolean }) => {
      const { ack } = await import("../messages/messages.ts");
      await run(world => ack(world, ids, flags));
    });
}

function command(message: Command, name: string, says: string, examples: readonly string[]): Command {
  const noun = examples.length === 1 ? "Example" : "Examples";
  return message
    .command(name)
    .description(says)
    .option("--json", "print one JSON object")
    .addHelpText("after", `\n${noun}:\n${examples.map(example => `  ${example}`).join("\n")}`);
}

async function run(work: (world: ProcessContext) => Promise<number>): Promise<void> {
  const { processWorld } = await import("../process-context.ts");
  process.exitCode = await work(processWorld());
}
