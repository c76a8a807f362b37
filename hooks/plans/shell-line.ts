/**
 * The events of a shell line. The one before guards the line's git commands and the files that its plain commands name, and asks
 * whether the agent's role allows the line.
 */

import { guardShell } from "../git/commands.ts";
import { usesOf } from "../git/uses.ts";
import type { HookContext } from "../seam/plan.ts";
import type { HookAction } from "../seam/slices.ts";
import { hiddenDeed } from "../shell/hidden-kite.ts";
import { namedFiles } from "../shell/named-files.ts";
import { filesWritten } from "../shell/written.ts";
import { type Answer, deny, nothing } from "./answers/answer.ts";
import { guardAnswer } from "./answers/guard.ts";
import { withInbox } from "./answers/inbox.ts";
import { keepWorkAnswer } from "./answers/keep-work.ts";
import { plainAnswer } from "./answers/plain-files.ts";
import { readerOf } from "./answers/reader.ts";
import { type Actor, ancestorsOf, type Event, inputText, isShell } from "./event.ts";
import { atWork, begin, otherEvent, type Row, writeTerms } from "./plan-parts.ts";
import { answerAround, asksBefore } from "./points.ts";
import { before } from "./slices.ts";

/** Variables of the agent's shell that often say where a command runs. */
function shellEnv({ client }: Event, { env, home }: HookContext): ReadonlyMap<string, string> {
  const given = client.words.placeVariables.flatMap((name): [string, string][] =>
    env[name] ? [[name, env[name]]] : [],
  );
  // Where it is set, this daemon is the one that it leads to.
  return new Map([...given, ["KITE_HOME", home]]);
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
 * A shell line asks for nothing unless it has git commands that reach the working tree or the index, plain commands that
 * wipe or change the files that they name, programs that a role may forbid, or writes Kite's own files.
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
  const { commands, aliases, ...git } = guardShell(line, cwd, env);
  const written = ownWrites(line, cwd, env, context);
  const reader = readerOf(event, cwd);
  const step = { ...usesOf(line, cwd, env), ...reader, written };
  const asks = asksBefore(before.shell, step, actor);
  const { unread: patch, ...named } = namedFiles(line, cwd, env);
  const { wiped, edited, rewritten } = named;
  const unread = git.unread ?? patch;
  const paths = [...wiped, ...edited, ...rewritten].map(({ path }) => path);
  const files = { files: [...new Set(paths)], ...reader };
  const isNaming = wiped.length + edited.length > 0;
  const isGuarded = commands.length > 0 || aliases.length > 0 || unread !== null;
  if (!isGuarded && !isNaming && asks.length === 0) return otherEvent(event, actor, context);
  const { waitMs } = context;
  const common = {
    ...actor,
    cwd,
    toolUseId,
    promptId: event.prompt,
    waitMs,
    ancestors: ancestorsOf(event),
    parentFile: event.worker.parentFile,
  };
  const terms = writeTerms(event, line.includes("apply_patch"));
  const plain: HookAction = { do: "plain_files", ...common, named, ...terms };
  const guard: HookAction = {
    do: "guard",
    ...common,
    commands,
    aliases,
    unread,
    line: commands[0]?.name ?? "git",
    typed: line,
  };
  const isWiping = wiped.length > 0 || aliases.length > 0 || commands.some(({ reach }) => reach === "tree");
  const keep: HookAction = { do: "keep_work", ...common, commands, aliases, wiped, typed: line };
  return withInbox(event, actor, cwd, {
    actions: [
      ...begin(event, actor),
      atWork(event, actor),
      ...asks,
      ...asksBefore(before.files, files, actor),
      ...(isNaming ? [plain] : []),
      ...(isGuarded ? [guard] : []),
      ...(isWiping ? [keep] : []),
    ],
    answer: outcomes => {
      const git = () => (isNaming && !isGuarded ? nothing : guardAnswer({ commands, waitMs, cwd }, outcomes));
      const guarded = () => plainAnswer({ named, waitMs, ...reader }, outcomes, git);
      const kept = () => keepWorkAnswer(cwd, outcomes, guarded);
      const gated = () => answerAround(before.files, files, outcomes, kept);
      return answerAround(before.shell, step, outcomes, gated);
    },
  });
};

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
