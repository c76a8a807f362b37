/** What a spawned agent printed: its client's log, or what its window shows. */
import { clientProgram, logWords } from "../../../hooks/claude-code/spawn.ts";
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import type { Client } from "../../process-context.ts";
import {
  type Env,
  neededProgram,
  outputEnd,
  ProgramFailed,
  runProgram,
  withoutSession,
} from "../../programs.ts";
import { ask } from "../../with-daemon.ts";
import { handleOf } from "./find.ts";
import { Tmux } from "./tmux.ts";

interface Where {
  readonly env: Env;
  readonly cwd: string;
}

/** Returns the end of the agent's output now; else what its record kept; null if nothing is known. */
export async function outputOf({ env, cwd }: Where, row: SpawnRow): Promise<string | null> {
  const { backend, id, output } = row;
  try {
    if (backend === "tmux") {
      const tmux = new Tmux(env, cwd, row.handle);
      const pane = await tmux.find(id);
      return pane === null ? output : outputEnd(await tmux.shown(pane));
    }
    const handle = handleOf(row);
    if (handle === null) return output;
    const own = withoutSession(env);
    const { code, output: said } = await runProgram(
      neededProgram(clientProgram, own, cwd),
      logWords(handle),
      { cwd, env: own },
    );
    return code === 0 ? outputEnd(said) : output;
  } catch (error) {
    // The program is not there: the record has what was kept.
    if (!(error instanceof ProgramFailed)) throw error;
    return output;
  }
}

/** Keeps the end of a failed agent's output in its record, if it has none; returns the record. */
export async function withOutput(
  where: Where,
  client: Pick<Client, "request">,
  row: SpawnRow,
): Promise<SpawnRow> {
  if (row.state !== "failed" || row.output !== null) return row;
  const output = await outputOf(where, row);
  if (output === null || output === "") return row;
  return (await ask(client, "spawn_update", { spawn: row.id, output })).spawn;
}
