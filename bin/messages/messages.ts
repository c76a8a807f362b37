/** Commands for messages: send, inbox, ack, broadcast. */
import { limits } from "../../protocol/limits.ts";
import type { MessageListReply, MessageSendReply, PostedRow } from "../../protocol/schemas/message.ts";
import { shellArgument } from "../../protocol/text.ts";
import { type Acting, actingSession } from "../actor.ts";
import { defined } from "../defined.ts";
import { type Client, type ProcessContext, print, printJson, screenOf } from "../process-context.ts";
import { projectOf } from "../project.ts";
import { inboxView, postedView } from "../view/talk.ts";
import { clean, counted, listed } from "../view/text.ts";
import {
  ask,
  exitCodes,
  fail,
  knownRowsOf,
  pagesOf,
  printDone,
  printShown,
  throwIfUnknown,
  withDaemon,
} from "../with-daemon.ts";
import { who } from "./who.ts";

export interface SendFlags {
  readonly reply?: string;
  readonly urgent?: boolean;
  readonly project?: string;
  readonly json?: boolean;
}

/** `words` are the recipient, then the text; with `--reply` only the text. Returns the exit code, as all here do. */
export async function send(
  world: ProcessContext,
  words: readonly string[],
  flags: SendFlags,
): Promise<number> {
  const json = flags.json === true;
  const { reply } = flags;
  const [to, ...rest] = reply === undefined ? words : [undefined, ...words];
  const text = rest.join(" ");
  if (text === "" || (to === undefined && reply === undefined)) {
    const error =
      to === undefined
        ? 'give a text behind --reply: kite message send --reply ID "the schema is done"'
        : `give a text behind the recipient: kite message send ${shellArgument(to)} "the schema is done"`;
    return fail(world, json, "usage", error);
  }
  const from = await who(world, flags.project);
  return withDaemon(world, json, async client => {
    const answer = await ask(client, "message_send", {
      ...from,
      text,
      ...defined({ to, replyTo: reply }),
      ...(flags.urgent === true ? { urgent: true } : {}),
    });
    return printDone(world, json, answer, () => sentTo(answer));
  });
}

export async function broadcast(
  world: ProcessContext,
  words: readonly string[],
  flags: { readonly project?: string; readonly json?: boolean },
): Promise<number> {
  const json = flags.json === true;
  const from = await who(world, flags.project);
  return withDaemon(world, json, async client => {
    const answer = await ask(client, "broadcast", { ...from, message: words.join(" ") });
    return printDone(world, json, answer, () => sentTo(answer));
  });
}

export interface InboxFlags {
  readonly unread?: boolean;
  readonly thread?: string;
  readonly ack?: boolean;
  readonly project?: string;
  readonly json?: boolean;
}

/** Shows the acting session's inbox; a person has no inbox and sees the messages of the project. */
export async function inbox(world: ProcessContext, flags: InboxFlags): Promise<number> {
  const acting = actingSession(world.env);
  const json = flags.json === true;
  if (acting === null) return posted(world, flags.project ?? (await projectOf(world.cwd)), json);
  return withDaemon(world, json, async client => {
    const { messages, unread } = await inboxOf(client, acting, flags);
    if (json) printJson(world, { ok: true, messages, unread });
    else print(world, inboxView(messages, unread, screenOf(world)));
    // Acknowledges only the printed messages, not those that arrived meanwhile.
    if (flags.ack === true) await acknowledge(client, acting, messages);
    return exitCodes.done;
  });
}

/** Acknowledges messages by their ids, or with `all` every message in the inbox. */
export async function ack(
  world: ProcessContext,
  ids: readonly string[],
  flags: { readonly all?: boolean; readonly json?: boolean },
): Promise<number> {
  const json = flags.json === true;
  const acting = actingSession(world.env);
  if (acting === null || (ids.length === 0) === (flags.all !== true)) {
    const error =
      acting === null
        ? "a terminal has no inbox; set KITE_SESSION to act for a session"
        : "give message ids, or --all";
    return fail(world, json, "usage", error);
  }
  return withDaemon(world, json, async client => {
    const wanted =
      flags.all === true ? (await inboxOf(client, acting, {})).messages : ids.map(id => ({ id }));
    const acknowledged = await acknowledge(client, acting, wanted);
    return printDone(world, json, { ok: true, acknowledged }, () => [
      `acknowledged ${counted(acknowledged.length, "message")}`,
    ]);
  });
}

async function posted(world: ProcessContext, project: string, json: boolean): Promise<number> {
  return withDaemon(world, json, async client => {
    const rows: PostedRow[] = await knownRowsOf(client, "messages", { project });
    return printShown(world, json, { ok: true, rows }, screen => postedView(rows, screen));
  });
}

async function inboxOf(
  client: Client,
  acting: Acting,
  { unread, thread }: InboxFlags,
): Promise<Pick<MessageListReply, "messages" | "unread">> {
  const wanted = { ...acting, limit: limits.rowsMax, unread: unread === true, ...defined({ thread }) };
  const pages = await pagesOf(from => ask(client, "message_list", { ...wanted, ...from }));
  const messages = pages.flatMap(page => page.messages);
  if (messages.length === 0) throwIfUnknown(pages);
  return { messages, unread: pages.at(-1)?.unread ?? 0 };
}

async function acknowledge(
  client: Client,
  acting: Acting,
  messages: readonly { readonly id: string }[],
): Promise<readonly string[]> {
  if (messages.length === 0) return [];
  const answer = await ask(client, "message_ack", { ...acting, messages: messages.map(({ id }) => id) });
  return answer.acknowledged;
}

function sentTo({ message: { id, to }, full = [] }: MessageSendReply): string[] {
  const names = to.slice(0, limits.recipientsNamedMax).map(row => clean(row.name));
  const whom =
    to.length === 0 ? "nobody: the project has no other session" : listed(names, to.length - names.length);
  const missed =
    full.length === 0 ? [] : [`not sent to ${full.map(row => clean(row.name)).join(", ")}: inbox full`];
  return [`${clean(id)} sent to ${whom}`, ...missed];
}
