import type { Command } from "commander";
import { ack, broadcast, type InboxFlags, inbox, type SendFlags, send } from "../messages/messages.ts";
import type { Run } from "../process-context.ts";
import { subcommand } from "../subcommand.ts";

const overview = `
Messages go to sessions and agents of the same project. The command ends when the message is safe on disk. The recipient
reads messages in the order of sending and keeps each until it acknowledges it. The sender is the session in KITE_SESSION
or CLAUDE_CODE_SESSION_ID (its agent in KITE_AGENT), else you at this terminal; a terminal has no inbox.

Exit codes: 0 done, 1 refused or failed (also if the recipient has gone), 3 no daemon runs.

Example:
  $ kite message send alice "the schema is done"
  $ kite message inbox`;

export function add(message: Command, run: Run): void {
  message.addHelpText("after", overview);
  subcommand(message, "send", "send a message", [
    '$ kite message send alice "the schema is done"',
    '$ kite message send --reply m-4 "thanks"',
    '$ kite message send --all "main is red, please pull before you push"',
  ])
    .argument(
      "<words...>",
      "a name, an id or the beginning of one, alice/Explore, or everyone; then the text",
    )
    .usage("[options] TO TEXT... | --reply ID TEXT... | --all TEXT...")
    .option("--reply <id>", "answer this message; Kite sends the answer to its sender")
    .option("--all", "to every other session of the project; all words are the text")
    .option("--urgent", "mark the message as urgent")
    .option("--project <project>", "write to another project; only at a terminal")
    .action((words: readonly string[], flags: SendFlags & { readonly all?: boolean }) =>
      run(world => (flags.all === true ? broadcast : send)(world, words, flags)),
    );
  subcommand(message, "inbox", "show the inbox; at a terminal all messages of the project", [
    "$ kite message inbox --unread",
  ])
    .option("--unread", "only unread messages")
    .option("--thread <id>", "only this thread")
    .option("--ack", "acknowledge the messages shown")
    .option("--project <project>", "a project other than that of the working directory; only at a terminal")
    .action((flags: InboxFlags) => run(world => inbox(world, flags)));
  subcommand(message, "ack", "acknowledge messages: they leave the inbox", ["$ kite message ack m-4"])
    .argument("[ids...]")
    .option("--all", "every message in the inbox")
    .action((ids: readonly string[], flags: { readonly all?: boolean; readonly json?: boolean }) =>
      run(world => ack(world, ids, flags)),
    );
}
