/** The program that shows a notice. */
import { findProgram } from "../../daemon/facts/programs.ts";
import type { Env } from "../programs.ts";
import { ProgramFailed, runProgram, withoutSession } from "../programs.ts";
import type { Notice } from "./notices.ts";

/** Shows one notice. Throws ProgramFailed if the program does not run, or fails. */
export type Notifier = (notice: Notice) => Promise<void>;

/** Texts are arguments of the script, not parts of it: a notice holds words of other agents. */
const appleScript = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";

/** Returns the words of the program: those of the setting, else the desktop's notifier. Throws ProgramFailed without one. */
function words(command: readonly string[] | undefined, env: Env, cwd: string): readonly string[] {
  const [first, ...rest] = command ?? [];
  const found = (name: string) => findProgram(name, { env, workedIn: [cwd] })?.path;
  if (first !== undefined) {
    const program = first.startsWith("/") ? first : found(first);
    if (program === undefined) throw new ProgramFailed(`notify names ${first}, which is not in the PATH`);
    return [program, ...rest];
  }
  const send = found("notify-send");
  if (send !== undefined) return [send, "--app-name=kite", "--"];
  const osascript = found("osascript");
  if (osascript !== undefined) return [osascript, "-e", appleScript, "--"];
  throw new ProgramFailed(
    "this desktop has no notifier that Kite knows (notify-send, osascript); name a program of your own in config.json: " +
      '{"notify": {"command": ["/path/to/program"]}}',
  );
}

export function notifierOf(command: readonly string[] | undefined, env: Env, cwd: string): Notifier {
  const [program = "", ...args] = words(command, env, cwd);
  return async ({ title, text }) => {
    const { code, output } = await runProgram(program, [...args, title, text], {
      cwd,
      env: withoutSession(env),
    });
    if (code !== 0) throw new ProgramFailed(`${program} ended with ${code}`, output);
  };
}
