/**
 * The events of a shell line. The one before guards the line's git commands and the files that its plain commands name, and asks
 * whether the agent's role allows the line.
 */

import { limits } from "../../protocol/limits.ts";
import { guardShell } from "../git/commands.ts";
import { usesOf } from "../git/uses.ts";
import type { UncheckedWrite } from "../seam/actions.ts";
import type { HookContext } from "../seam/plan.ts";
import type { HookAction } from "../seam/slices.ts";
import { namedFiles, type Patch, readPatch } from "../shell/named-files.ts";
import { filesWritten } from "../shell/written.ts";
import { type Answer, deny, nothing, readerOf } from "./answers/answer.ts";
import { guardAnswer } from "./answers/guard.ts";
import { withInbox } from "./answers/inbox.ts";
import { lockAnswer, patchAnswer } from "./answers/lock.ts";
import { keepWorkAnswer, plainAnswer } from "./answers/plain-files.ts";
import { type Actor, ancestorsOf, type Event, inputText, isShell } from "./event.ts";
import { hiddenDeed } from "./kite-calls.ts";
import {
  answerAround,
  asksBefore,
  atWork,
  begin,
  heartbeat,
  idle,
  otherEvent,
  type Plan,
  type Row,
  writeTerms,
} from "./plan-parts.ts";
import { before } from "./slices.ts";

/** Variables of the agent's shell that often say where a command runs. */
function shellEnv({ client }: Event, { env, home }: HookContext): ReadonlyMap<string, string> {
  const variables = client.words.placeVariables.flatMap((name): [string, string][] =>
    env[name] ? [[name, env[name]]] : [],
  );
  // Where it is set, this daemon is the one that it leads to.
  return new Map([...variables, ["KITE_HOME", home]]);
}

/** Returns the files in Kite's own directory that the line writes. Few lines name that directory. */
function ownWrites(
  line: string,
  cwd: string,
  env: ReadonlyMap<string, string>,
  { home }: HookContext,
): readonly string[] {
  const folder = home.slice(home.lastIndexOf("/") + 1);
  const isNamed = line.includes(folder) || line.includes("KITE_HOME") || cwd.split("/").includes(folder);
  return isNamed ? filesWritten(line, cwd, folder, env) : [];
}

/** A person's command that the line takes away from its agent is refused as the command itself would be. */
function hidden(deed: string, variables: readonly string[]): Answer {
  const [last = "", ...others] = variables.toReversed();
  const named =
    others.length === 0 ? `${last} as it is` : `${others.toReversed().join(", ")} and ${last} as they are`;
  return deny(
    [
      `Kite: this command line did not run: it runs ${deed} so that Kite cannot tell whose command it is, and only a person does that so.`,
      `What to do: leave ${named}, and run it without setsid and nohup; what is refused then, ask your user to do.`,
    ].join("\n"),
  );
}

/**
 * A shell line asks for nothing unless one of its commands matters. Those are git commands that reach the working tree
 * or the index, and plain commands that wipe or change the files they name. Programs that a role may forbid, and writes
 * to Kite's own files, matter, too.
 */
export const preShell: Row = (event, actor, context) => {
  const line = inputText(event, "command");
  const { toolUseId, cwd } = event;
  if (line === null || toolUseId === null || cwd === null) return otherEvent(event, actor, context);
  const { agentVariables } = event.client.words;
  const deed = hiddenDeed(line, cwd, agentVariables);
  if (deed !== null)
    return {
      actions: [...begin(event, actor), atWork(event, actor)],
      refuses: { rule: "person", why: `it hides who runs ${deed}, and only a person does that` },
      answer: () => hidden(deed, agentVariables),
    };
  const env = shellEnv(event, context);
  const written = ownWrites(line, cwd, env, context);
  const reader = readerOf(event, cwd);
  const step = { ...usesOf(line, cwd, env), ...reader, written };
  const asks = asksBefore(before.shell, step, actor);
  const reach = reachOf(line, cwd, env);
  const { commands, named, paths, isNaming, isGuarded } = reach;
  if (!isGuarded && !isNaming && asks.length === 0) return otherEvent(event, actor, context);
  const { waitMs } = context;
  const files = { files: paths, ...reader };
  return withInbox(event, actor, cwd, {
    actions: [
      ...begin(event, actor),
      atWork(event, actor),
      ...asks,
      ...asksBefore(before.files, files, actor),
      ...guardsOf(event, { ...actor, cwd, toolUseId, waitMs }, line, reach),
    ],
    answer: outcomes => {
      const git = () =>
        isNaming && !isGuarded ? nothing : guardAnswer({ commands, waitMs, cwd, typed: line }, outcomes);
      const guarded = () => plainAnswer({ named, waitMs, ...reader }, outcomes, git);
      const kept = () => keepWorkAnswer(cwd, outcomes, guarded);
      const gated = () => answerAround(before.files, files, outcomes, kept);
      return answerAround(before.shell, step, outcomes, gated);
    },
  });
};

/** Returns what a line's git commands and plain commands reach. */
function reachOf(line: string, cwd: string, env: ReadonlyMap<string, string>) {
  const { commands, aliases, ...git } = guardShell(line, cwd, env);
  const { unread: patch, ...named } = namedFiles(line, cwd, env);
  const { wiped, edited, rewritten } = named;
  const unread = git.unread ?? patch;
  // No gate asks before an installer: whoever runs one on its own is held back by nothing new.
  const written = edited.filter(({ isNearest }) => !isNearest);
  return {
    ...{ commands, aliases, unread, named },
    paths: [...new Set([...wiped, ...written, ...rewritten].map(({ path }) => path))],
    isNaming: wiped.length + edited.length > 0,
    isGuarded: commands.length > 0 || aliases.length > 0 || unread !== null,
    isWiping: wiped.length > 0 || aliases.length > 0 || commands.some(({ reach }) => reach === "tree"),
  };
}

/** Returns the actions that guard the work of others against what the line reaches. */
function guardsOf(
  event: Event,
  call: Actor & { readonly cwd: string; readonly toolUseId: string; readonly waitMs: number },
  line: string,
  { commands, aliases, unread, named, isNaming, isGuarded, isWiping }: ReturnType<typeof reachOf>,
): readonly HookAction[] {
  const common = {
    ...call,
    promptId: event.prompt,
    ancestors: ancestorsOf(event),
    parentFile: event.worker.parentFile,
  };
  const terms = writeTerms(event, line.includes("apply_patch"));
  const plain: HookAction = { do: "plain_files", ...common, named, typed: line, ...terms };
  const guard: HookAction = {
    do: "guard",
    ...common,
    commands,
    aliases,
    unread,
    line: commands[0]?.name ?? "git",
    typed: line,
  };
  const keep: HookAction = {
    do: "keep_work",
    ...common,
    commands,
    aliases,
    wiped: named.wiped,
    typed: line,
  };
  return [...(isNaming ? [plain] : []), ...(isGuarded ? [guard] : []), ...(isWiping ? [keep] : [])];
}

/** A shell command ended, with success or not. One in the background goes on, and no event reports its end. */
export function shellEnd(event: Event, actor: Actor): readonly HookAction[] {
  const { toolUseId, cwd } = event;
  if (!isShell(event) || toolUseId === null || cwd === null) return [];
  const ran = event.raw["duration_ms"];
  const ranMs = typeof ran === "number" && Number.isFinite(ran) && ran >= 0 ? ran : null;
  const program = programOf(inputText(event, "command") ?? "");
  const end = {
    do: "shell_end",
    ...actor,
    toolUseId,
    cwd,
    ranMs,
    ancestors: ancestorsOf(event),
  } as const;
  return [program === null ? end : { ...end, program }];
}

/** The name of a line's first program, without its folder; null: the line begins otherwise, perhaps with a value. */
function programOf(line: string): string | null {
  const [, name = null] = /^\s*(?:[\w.+/-]*\/)?([\w.+-]{1,80})(?:\s|$)/.exec(line) ?? [];
  return name;
}

// The events around a tool that writes one file.

/** What a call is about to do to a file. */
export interface Edit {
  readonly file: string;
  /** The tool replaces the whole file: a change that its agent has not seen would be lost. */
  readonly overwrites: boolean;
  /** The client drops what its agent is to read before the call: only a denial says in time that the file changed. */
  readonly hearsDenialsAlone?: true;
  /** When its agent read the file last, as wall time in milliseconds; absent: the client does not tell. */
  readonly readAtMs?: number | undefined;
  /** The file is the client's own: nobody's code. */
  readonly isOwn: boolean;
}

/** Locks the file of the call; nothing if the event names no call or no directory. */
export function preEdit(
  event: Event,
  actor: Actor,
  { waitMs }: HookContext,
  { file, overwrites, hearsDenialsAlone, readAtMs, isOwn }: Edit,
): Plan {
  const { toolUseId, cwd } = event;
  if (toolUseId === null || cwd === null) return idle;
  const { untoldWriteMs, asksAllFirst, refusesStaleWrites } = event.client.limits;
  // Of most clients there is nothing to say, and an edit is to make few calls.
  const isPlain = untoldWriteMs === null && !asksAllFirst;
  const lock: HookAction = {
    do: "lock",
    ...actor,
    file,
    cwd,
    promptId: event.prompt,
    toolUseId,
    waitMs,
    ancestors: ancestorsOf(event),
    parentFile: event.worker.parentFile,
    overwrites: overwrites || hearsDenialsAlone === true ? [file] : [],
    ...(refusesStaleWrites ? {} : { unchecked: uncheckedOf(overwrites ? [file] : [], readAtMs) }),
    ...(isPlain ? {} : writeTerms(event)),
  };
  const edit = { ...readerOf(event, cwd), tool: event.tool ?? "", file, waitMs, isOwn };
  return withInbox(event, actor, cwd, {
    file,
    actions: [...begin(event, actor), atWork(event, actor), ...asksBefore(before.write, edit, actor), lock],
    answer: outcomes => answerAround(before.write, edit, outcomes, () => lockAnswer(edit, outcomes)),
  });
}

function uncheckedOf(whole: readonly string[], readAtMs: number | undefined): UncheckedWrite {
  return readAtMs === undefined ? { whole } : { whole, readAtMs };
}

/** Ends the write of the call. If it `wrote`, the file counts as written; null: the file that was locked for the call. */
export function editEnd(
  event: Event,
  actor: Actor,
  file: string | null,
  wrote: boolean,
): readonly HookAction[] {
  const { toolUseId, cwd } = event;
  if (toolUseId === null || cwd === null) return [];
  const of = { file, cwd, lines: null, ancestors: ancestorsOf(event) };
  return [{ do: "flight_end", ...actor, toolUseId, wrote, ...of }];
}

// The events around a tool that applies a patch: it writes many files at once, named in the text of the patch.

/**
 * Locks all files of the patch `text`, or none. A move is two of them. The client checks the patch against the files
 * after this event. So only a file that the patch adds or deletes as a whole can lose a change that the agent never
 * saw. The others may have changed: no denial is due to them.
 */
export function prePatch(event: Event, actor: Actor, { waitMs }: HookContext, text: string | null): Plan {
  const { toolUseId, cwd } = event;
  const { files, unread } = patchOf(text);
  const [first] = files;
  if (toolUseId === null || cwd === null) return { actions: [heartbeat(actor)] };
  const common = {
    ...actor,
    cwd,
    toolUseId,
    promptId: event.prompt,
    waitMs,
    ancestors: ancestorsOf(event),
    parentFile: null,
  };
  // The patch goes ahead as far as it could not be read, and the trail says so.
  const note: HookAction[] =
    unread === null
      ? []
      : [{ do: "guard", ...common, commands: [], aliases: [], unread, line: "apply_patch", typed: "" }];
  const start = [...begin(event, actor), atWork(event, actor)];
  if (first === undefined) return withInbox(event, actor, cwd, { actions: [...start, ...note] });
  const [file = "", ...moreFiles] = [...new Set(files.map(({ path }) => path))];
  const overwrites = files.flatMap(({ path, does }) => (does === "add" || does === "delete" ? [path] : []));
  const unchecked = event.client.limits.refusesStaleWrites ? {} : { unchecked: { whole: overwrites } };
  const terms = writeTerms(event);
  const lock: HookAction = { do: "lock", ...common, file, moreFiles, overwrites, ...unchecked, ...terms };
  const patch = { ...readerOf(event, cwd), tool: "patch", file, files: [file, ...moreFiles], waitMs };
  return withInbox(event, actor, cwd, {
    file,
    actions: [...start, ...asksBefore(before.patch, patch, actor), lock, ...note],
    answer: outcomes => answerAround(before.patch, patch, outcomes, () => patchAnswer(patch, outcomes)),
  });
}

/** The patch was applied; the client reports no other end. Each file counts as written. */
export function patchEnd(event: Event, actor: Actor, text: string | null): Plan {
  const wentOn = heartbeat(actor, { attention: null });
  const files = [...new Set(patchOf(text).files.map(({ path }) => path))];
  const [first = null] = files;
  // Without names, the files that were locked for the patch count.
  const ends = [first, ...files.slice(1)].flatMap(file => editEnd(event, actor, file, true));
  return { ...(first === null ? {} : { file: first }), actions: [...ends, wentOn] };
}

function patchOf(text: string | null): Patch {
  return text === null || text.length > limits.patchChars
    ? { files: [], unread: "the patch is too long, or no text" }
    : readPatch(text);
}
