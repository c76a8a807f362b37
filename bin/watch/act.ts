/** What `kite watch` does to a session: the command line that a person would type, run in this process. */

import { errorText } from "../../protocol/errors.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { Commands } from "../entry.ts";
import { seemsAgents } from "../person.ts";
import { type Output, type ProcessContext, screenOf } from "../process-context.ts";
import { run } from "../program.ts";
import { clean } from "../view/text.ts";
import { type Action, type ActionName, actions } from "../view/watch-keys.ts";

/** Runs a command line of `kite` and returns what it said on both outputs. */
export type RunLine = (world: ProcessContext, words: readonly string[], isPiped: boolean) => Promise<string>;

/** Returns the words of the action's command. A name that another project's session could have, too, is its id. */
export function wordsOf(
  action: Action,
  session: SessionRow,
  sessions: readonly SessionRow[],
  text: string,
): readonly string[] {
  const { id, name } = session;
  const isOnly = sessions.every(one => one.id === id || (one.name !== name && !one.id.startsWith(name)));
  return action.words(isOnly && /^\p{L}[\p{L}\p{N}._-]*$/u.test(name) ? name : id, text);
}

/** Does the action, and returns what its command said, in lines. An agent's window only looks: the question for a person's word would be asked on the screen of watch. */
export async function act(
  world: ProcessContext,
  name: ActionName,
  words: readonly string[],
  runLine: RunLine,
): Promise<readonly string[]> {
  const isLook = name === "explain" || name === "diff";
  if (!isLook && (await seemsAgents(world)))
    return ["Only a person does this from kite watch: run it in a terminal of your own."];
  try {
    return (await runLine(world, words, actions[name].isPiped === true)).replace(/\n+$/, "").split("\n");
  } catch (error) {
    // A fault of the command ends no watch: the person reads it.
    return [`the command failed inside Kite: ${clean(errorText(error))}`];
  }
}

/** Returns what runs lines of these commands. */
export function lineRunner(commands: Commands): RunLine {
  return async (world, words, isPiped) => {
    const { argv, env, cwd, stdout } = world;
    const { color } = screenOf(world);
    let text = "";
    const columns = stdout.columns ?? 80;
    const output: Output = {
      ...(isPiped ? {} : { isTTY: true }),
      columns,
      rows: stdout.rows ?? 24,
      write: (piece: string) => {
        text += piece;
      },
    };
    const call = {
      argv: [...argv.slice(0, 2), ...words],
      env: { ...env, COLUMNS: `${columns}`, ...(color ? { FORCE_COLOR: "1" } : {}) },
      stdout: output,
      stderr: output,
      cwd: () => cwd,
    };
    await run(call, commands);
    return text;
  };
}
