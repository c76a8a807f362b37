/** The event before a shell line: it guards the line's git commands, and asks whether the agent's role allows it. */
import { guardShell } from "../../git/commands.ts";
import { usesOf } from "../../git/uses.ts";
import type { HookContext } from "../../seam/plan.ts";
import type { HookAction } from "../../seam/slices.ts";
import { filesWritten } from "../../shell/written.ts";
import { ancestorsOf, parentFile } from "../agents.ts";
import { guardAnswer } from "../answers/guard.ts";
import { withInbox } from "../answers/inbox.ts";
import { readerOf } from "../answers/reader.ts";
import { inputText } from "../payload.ts";
import { atWork, begin, type Row } from "../plan-parts.ts";
import { answerAround, asksBefore } from "../points.ts";
import { before } from "../slices.ts";
import { otherEvent } from "./session.ts";

/** Variables of the agent's shell that often say where a command runs. */
function shellEnv({ env, home }: HookContext): ReadonlyMap<string, string> {
  const given = ["HOME", "CLAUDE_PROJECT_DIR"].flatMap((name): [string, string][] =>
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

/**
 * A shell line asks for nothing unless it has git commands that reach the working tree or the index, programs that a role
 * may forbid, or writes Kite's own files.
 */
export const preShell: Row = (event, actor, context) => {
  const line = inputText(event, "command");
  const { toolUseId, cwd } = event;
  if (line === null || toolUseId === null || cwd === null) return otherEvent(event, actor, context);
  const env = shellEnv(context);
  const { commands, aliases, unread } = guardShell(line, cwd, env);
  const written = ownWrites(line, cwd, env, context);
  const step = { ...usesOf(line, cwd, env), ...readerOf(actor, cwd), written };
  const asks = asksBefore(before.shell, step, actor);
  const isGuarded = commands.length > 0 || aliases.length > 0 || unread !== null;
  if (!isGuarded && asks.length === 0) return otherEvent(event, actor, context);
  const { waitMs } = context;
  const guard: HookAction = {
    do: "guard",
    ...actor,
    cwd,
    toolUseId,
    promptId: event.prompt,
    waitMs,
    commands,
    aliases,
    unread,
    ancestors: ancestorsOf(actor.agent),
    parentFile: parentFile(event, actor),
    line: commands[0]?.name ?? "git",
    typed: line,
  };
  return withInbox("PreToolUse", actor, cwd, {
    actions: [...begin(event, actor), atWork(event, actor), ...asks, ...(isGuarded ? [guard] : [])],
    answer: outcomes =>
      answerAround(before.shell, step, outcomes, () => guardAnswer({ commands, waitMs, cwd }, outcomes)),
  });
};
