/** The commands for messages to other sessions, for values that a project shares, and for freezes. */

import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { limits } from "../../protocol/limits.ts";
import { isResource, nameOrPerson } from "../../protocol/names.ts";
import type { JsonValue } from "../../protocol/schemas/context.ts";
import type { MessageListReply, MessageSendReply, PostedRow } from "../../protocol/schemas/message.ts";
import { shellArgument } from "../../protocol/text.ts";
import { type Acting, absolute, actingSession } from "../context/actor.ts";
import { type AskPerson, isYes, refuseAgent, terminalQuestion } from "../context/person.ts";
import {
  type Client,
  interrupted,
  type ProcessContext,
  print,
  printFrame,
  printFramed,
  printJson,
  type Run,
  screenOf,
} from "../context/process-context.ts";
import { fileTyped, findRepository, projectOf } from "../context/project.ts";
import {
  ask,
  asPerson,
  exitCodes,
  fail,
  knownRowsOf,
  pagesOf,
  printDone,
  printShown,
  Refused,
  rowsOf,
  streamCode,
  streamEnd,
  throwIfUnknown,
  withDaemon,
} from "../context/with-daemon.ts";
import { defined, subcommand } from "../entry.ts";
import { durationOf } from "../settings/off.ts";
import { tilde } from "../view/places.ts";
import { contextView, freezesView, inboxView, postedView, valueText } from "../view/talk.ts";
import { clean, clock, counted, listed } from "../view/text.ts";

type Who = Partial<Acting> & { readonly project: string };

/**
 * Returns the sender of a command: the session whose agent runs it, else a person at a terminal. Its project is
 * `project`, or else that of the working directory.
 */
export async function who(world: ProcessContext, project?: string): Promise<Who> {
  return { ...actingSession(world.env), project: project ?? (await projectOf(world.cwd)) };
}

// Commands for messages: send, inbox, ack, broadcast.

interface SendFlags {
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

interface InboxFlags {
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

// Commands for the project's context: get, set, list, rm, watch.

interface ContextFlags {
  readonly project?: string;
  readonly json?: boolean;
}

/** Prints the value as JSON; `raw` prints a text unchanged. Returns the exit code, as all functions here do. */
export async function get(
  world: ProcessContext,
  key: string,
  flags: ContextFlags & { readonly raw?: boolean },
): Promise<number> {
  const from = await who(world, flags.project);
  return withDaemon(world, flags.json === true, async client => {
    const answer = await ask(client, "context_get", { ...from, key });
    const { value } = answer;
    // Standard output holds only the value, because a script may read it.
    if (flags.json !== true) printFrame(world, world.stderr);
    if (flags.json === true) printJson(world, answer);
    else if (flags.raw === true && typeof value === "string") world.stdout.write(`${value}\n`);
    else print(world, [valueText(value)]);
    return exitCodes.done;
  });
}

interface SetFlags extends ContextFlags {
  readonly ephemeral?: boolean;
  readonly ifVersion?: string;
  readonly ttl?: string;
  readonly string?: boolean;
}

/** Sets `words` as JSON if they parse, else as a text; `-` reads standard input. */
export async function set(
  world: ProcessContext,
  key: string,
  words: string,
  flags: SetFlags,
): Promise<number> {
  const json = flags.json === true;
  const ttlMs = flags.ttl === undefined ? null : durationOf(flags.ttl);
  const version = flags.ifVersion === undefined ? null : Number(flags.ifVersion);
  const wrong =
    flags.ttl !== undefined && (ttlMs === null || ttlMs > limits.contextTtlMaxMs)
      ? `--ttl takes a time like 90s, 15m, 1h or 2d, up to 30d, not ${flags.ttl}`
      : version !== null && !Number.isSafeInteger(version)
        ? `--if-version takes a number, not ${flags.ifVersion}`
        : null;
  if (wrong !== null) return fail(world, json, "usage", wrong);
  const text = words === "-" ? readFileSync(0, "utf8").trimEnd() : words;
  const from = await who(world, flags.project);
  return withDaemon(world, json, async client => {
    const answer = await ask(client, "context_set", {
      ...from,
      key,
      value: flags.string === true ? text : meant(text),
      durable: flags.ephemeral !== true,
      ...(version === null ? {} : { ifVersion: version }),
      ...(ttlMs === null ? {} : { ttlMs }),
    });
    return printDone(world, json, answer, () => [`${clean(answer.key)} is version ${answer.version}`]);
  });
}

export async function list(
  world: ProcessContext,
  flags: ContextFlags & { readonly prefix?: string },
): Promise<number> {
  const from = await who(world, flags.project);
  return withDaemon(world, flags.json === true, async client => {
    const rows = await rowsFrom(client, from, flags.prefix ?? "");
    return printShown(world, flags.json === true, { rows }, screen => contextView(rows, screen));
  });
}

export async function remove(
  world: ProcessContext,
  key: string,
  flags: ContextFlags & { readonly ifVersion?: string },
): Promise<number> {
  const from = await who(world, flags.project);
  const ifVersion = flags.ifVersion === undefined ? {} : { ifVersion: Number(flags.ifVersion) };
  return withDaemon(world, flags.json === true, async client => {
    const answer = await ask(client, "context_delete", { ...from, key, ...ifVersion });
    return printDone(world, flags.json === true, answer, () => [
      `deleted ${clean(key)}, version ${answer.version}`,
    ]);
  });
}

/** Prints a line for each key and for every change, until `until` is aborted or the daemon has gone for good. */
export async function watch(
  world: ProcessContext,
  flags: ContextFlags & { readonly prefix?: string },
  until: AbortSignal,
): Promise<number> {
  const json = flags.json === true;
  const prefix = flags.prefix ?? "";
  const from = await who(world, flags.project);
  const follow = async (client: Client): Promise<number> => {
    const say = async (key: string) => {
      const answer = await client.request("context_get", { ...from, key });
      if (answer.ok) {
        const line = `${stamp(world)}  ${clean(key)} = ${valueText(answer.value)}  (version ${answer.version}, ${clean(nameOrPerson(answer.fromName))})`;
        if (json) printJson(world, answer);
        else printFramed(world, [line]);
      } else if (answer.code === "context_absent") {
        if (json) printJson(world, { key, deleted: true });
        else printFramed(world, [`${stamp(world)}  ${clean(key)} is gone`]);
      } else throw new Refused(answer);
    };
    const all = async () => {
      const rows = await rowsFrom(client, from, prefix);
      for (const { key } of rows) await say(key);
    };
    // One request after the other keeps the order of the changes.
    let last: Promise<unknown> = Promise.resolve();
    let failed: (error: unknown) => void = () => {};
    const failure = new Promise<never>((_, reject) => {
      failed = reject;
    });
    const queue = (work: () => Promise<unknown>) => {
      last = last.then(work).catch(failed);
    };
    const { project } = from;
    await ask(client, "subscribe", { events: ["context_changed"], project });
    const stops = [
      client.onEvent(event => {
        if (event.event === "context_changed" && event.key.startsWith(prefix)) queue(() => say(event.key));
      }),
      client.onLagged(() => queue(all)),
    ];
    queue(all);
    const why = await Promise.race([streamEnd(client, until), failure]);
    for (const stop of stops) stop();
    return streamCode(world, json, why);
  };
  return withDaemon(world, json, follow, { reconnect: true });
}

async function rowsFrom(client: Client, from: Who, prefix: string) {
  const limit = limits.rowsMax;
  const pages = await pagesOf(page => ask(client, "context_list", { ...from, prefix, limit, ...page }));
  return pages.flatMap(({ rows }) => rows);
}

/** Parses `4000`, `true` and `{"a":1}` as JSON; anything else is a text. */
function meant(text: string): JsonValue {
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    // Not JSON, so a text: most people type a text without quotes.
    return text;
  }
}

function stamp(world: ProcessContext): string {
  return clock(world.now(), world.now());
}

const helpContext = `
Context holds values that the sessions of a project share under keys: a port, a decision, the form of an answer. They
stay when the daemon restarts, except --ephemeral ones. The command acts for the session in
KITE_SESSION or CLAUDE_CODE_SESSION_ID, else for you at this terminal, in the project of the working directory.

Exit codes: 0 done, 1 refused or failed (also if a key is absent), 3 no daemon runs.

Example:
  $ kite context set api.port 4000
  $ kite context get api.port`;

export function addContext(context: Command, run: Run): void {
  context.addHelpText("after", helpContext);
  command(context, "get", "print a value as JSON", "$ kite context get api.port")
    .argument("<key>")
    .option("--raw", "print a text exactly as it was set, for a script")
    .action((key: string, flags: ContextFlags & { readonly raw?: boolean }) =>
      run(world => get(world, key, flags)),
    );
  command(
    context,
    "set",
    "share a value: JSON, else a text; - reads standard input",
    "$ kite context set api.port 4000 --ttl 1h",
  )
    .argument("<key>")
    .argument("<value...>")
    .option("--ephemeral", "keep it in memory only: it is gone when the daemon ends")
    .option("--if-version <n>", "only if the key has this version; 0: only if it is absent")
    .option("--ttl <time>", "delete the key after this time: 90s, 15m, 1h, 2d")
    .option("--string", "store the value as text, even if it is JSON")
    .action((key: string, words: readonly string[], flags: SetFlags) =>
      run(world => set(world, key, words.join(" "), flags)),
    );
  command(context, "list", "list the keys", "$ kite context list --prefix api.")
    .option("--prefix <prefix>", "only keys that begin so")
    .action((flags: ContextFlags & { readonly prefix?: string }) => run(world => list(world, flags)));
  command(context, "rm", "delete a key", "$ kite context rm api.port")
    .argument("<key>")
    .option("--if-version <n>", "only if the key has this version")
    .action((key: string, flags: ContextFlags & { readonly ifVersion?: string }) =>
      run(world => remove(world, key, flags)),
    );
  command(context, "watch", "print every key, then every change", "$ kite context watch --prefix api.")
    .option("--prefix <prefix>", "only keys that begin so")
    .action((flags: ContextFlags & { readonly prefix?: string }) =>
      run(world => watch(world, flags, interrupted())),
    );
}

function command(context: Command, name: string, says: string, example: string): Command {
  return context
    .command(name)
    .description(says)
    .option("--project <project>", "another project")
    .option("--json", "print JSON")
    .addHelpText("after", `\nExample:\n  ${example}`);
}

// The commands `kite freeze` and `kite thaw`; on the wire `broadcast` with `hold`, and `resume`.

interface FreezeFlags {
  readonly for: string;
  readonly message?: string;
  readonly project?: string;
  readonly json?: boolean;
}

/** Freezes the files for all other sessions; without files it lists the freezes. Returns the exit code. */
export async function freeze(
  world: ProcessContext,
  files: readonly string[],
  flags: FreezeFlags,
  question: AskPerson | null = null,
): Promise<number> {
  const json = flags.json === true;
  const ttlMs = durationOf(flags.for);
  if (ttlMs === null || ttlMs > limits.freezeMaxMs)
    return fail(world, json, "usage", `--for takes a time like 90s or 5m, up to 10m, not ${flags.for}`);
  const resource = files.find(isResource);
  if (resource !== undefined) {
    const lock = `to keep others from ${resource}, run what you do under its lock: kite lock ${shellArgument(resource)} -- COMMAND`;
    return fail(
      world,
      json,
      "usage",
      `a freeze keeps files from edits, and ${resource} is a resource; ${lock}`,
    );
  }
  const asks = files.length > 0;
  const refused = asks ? await refuseAgent(world, json, "freeze") : null;
  if (refused !== null) return refused;
  const from = await who(world, flags.project);
  return withDaemon(world, json, async client => {
    if (files.length === 0) {
      const rows = await rowsOf(client, "holds", { project: from.project });
      return printShown(world, json, { ok: true, rows }, screen => freezesView(rows, screen));
    }
    if (
      from.id === undefined &&
      flags.project === undefined &&
      (await isNoProject(world, client, from.project))
    ) {
      const where = `${clean(tilde(world.cwd, world.env["HOME"] ?? ""))} is in no repository, and no session works there`;
      if (question === null || json) {
        const error = `${where}, so a freeze would stop nobody; go into the project, or name it: --project DIRECTORY`;
        return fail(world, json, "no_project", error);
      }
      print(world, [`${where}: the freeze would stop nobody.`]);
      if (!isYes(await question("Freeze all the same? [y/N] "))) return exitCodes.failed;
    }
    // Other sessions read the message alone, so it must name the files and the duration.
    const please = `please do not edit ${files.join(", ")} for ${flags.for}`;
    const message = flags.message === undefined ? please : `${flags.message}; ${please}`;
    const hold = { files: files.map(file => absolute(world.cwd, file)), ttlMs };
    const answer = await ask(client, "broadcast", { ...from, message, hold });
    if (json) printJson(world, answer);
    else {
      const id = clean(answer.hold?.hold ?? "");
      const recipients = counted(answer.message.to.length, "session");
      print(world, [
        `${id} freezes ${files.map(clean).join(", ")} for ${flags.for}; ${recipients} told. To end it: kite thaw ${id}`,
      ]);
    }
    return exitCodes.done;
  });
}

/** Ends the acting session's freezes, or at a terminal every freeze of the project; only those over files, or one by its id. */
export async function thaw(
  world: ProcessContext,
  names: readonly string[],
  flags: { readonly project?: string; readonly json?: boolean },
): Promise<number> {
  const json = flags.json === true;
  const refused = await refuseAgent(world, json, "thaw");
  if (refused !== null) return refused;
  const from = await who(world, flags.project);
  return asPerson(world, json, async client => {
    const answer = await ask(client, "resume", { ...from, ...freezesNamed(world, names) }).catch(error =>
      throwReadable(error, from.id === undefined, world.cwd),
    );
    const { resumed } = answer;
    return printDone(world, json, answer, () => [
      resumed.length === 0 ? "No freeze was in force." : `${resumed.map(clean).join(", ")} ended`,
    ]);
  });
}

/** A person ends anybody's freezes, so none is there at all. */
function throwReadable(error: unknown, isPersons: boolean, cwd: string): never {
  if (!(error instanceof Refused) || !isPersons || error.refusal.code !== "unknown_hold") throw error;
  const none = error.message
    .replace(/ of yours | of yours$/, " ")
    .replace(/; .*$/, "")
    .replace(cwd === "/" ? "" : `${cwd}/`, "");
  throw new Refused(error.refusal, `${none}; kite freeze lists those in force`);
}

/** Whether the directory is in no repository, and no live session has it for a project. */
async function isNoProject({ cwd }: ProcessContext, client: Client, project: string): Promise<boolean> {
  const found = await findRepository(cwd);
  if ("unreachable" in found || found.gitDir !== null) return false;
  return (await rowsOf(client, "sessions", { project })).length === 0;
}

function freezesNamed(
  { cwd }: ProcessContext,
  names: readonly string[],
): { readonly hold?: string; readonly files?: string[] } {
  const [first] = names;
  if (first === undefined) return {};
  if (names.length === 1 && /^h-[0-9a-z]+$/.test(first)) return { hold: first };
  return { files: names.map(name => absolute(cwd, fileTyped(name))) };
}

const help = `
While a freeze lasts, Kite refuses edits of these files by other sessions of the project, and tells them why. Reading is
never refused. A freeze ends with \`kite thaw\`, when its time is over, or with the session that asked for it. Kite tells
the other sessions. A session may have two freezes at a time, and freezes files below its project's worktrees and its
working directory only. A person freezes any file. Where no repository is and no session works, freeze asks on a terminal,
and elsewhere refuses.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite freeze src/db/ --for 5m --message "migrating the schema"
  $ kite freeze                                        # the freezes in force`;

export function addFreeze(command: Command, run: Run): void {
  command
    .argument("[file...]", "files, or directories with a slash at their end; none: show the freezes")
    .option("--for <time>", "longest time: 90s, 5m; up to 10m", "5m")
    .option("--message <text>", "why; Kite shows it to the other sessions")
    .option("--project <project>", "a project other than that of the working directory; only at a terminal")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((files: readonly string[], flags: FreezeFlags) =>
      run(world => freeze(world, files, flags, terminalQuestion())),
    );
}

const helpThaw = `
The session in KITE_SESSION or CLAUDE_CODE_SESSION_ID ends its own freezes. At a terminal you end the freezes of every
session in the project of the working directory.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite thaw
  $ kite thaw src/db/                                  # the freezes over this directory
  $ kite thaw h-2`;

interface Flags {
  readonly project?: string;
  readonly json?: boolean;
}

export function addThaw(command: Command, run: Run): void {
  command
    .argument("[file...]", "only the freezes over these files, or a freeze by its id (h-2)")
    .option("--project <project>", "a project other than that of the working directory; only at a terminal")
    .option("--json", "print one JSON object")
    .addHelpText("after", helpThaw)
    .action((names: readonly string[], flags: Flags) => run(world => thaw(world, names, flags)));
}
