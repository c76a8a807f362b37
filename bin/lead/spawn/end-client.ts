/** Ends the client of a spawned agent, in its client's own way or by closing its window. */
import { clientProgram, isUnknownSession, stopWords } from "../../../hooks/claude-code/spawn.ts";
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { limits } from "../../../protocol/limits.ts";
import { type Env, neededProgram, ProgramFailed, runProgram, withoutSession } from "../../programs.ts";
import { clean } from "../../view/text.ts";
import { handleOf } from "./find.ts";
import { Tmux } from "./tmux.ts";

interface Where {
  readonly env: Env;
  readonly cwd: string;
}

/** Returns when the client has ended, or was told to; at once if it never started. Throws `ProgramFailed` if it cannot be ended. */
export async function endClient({ env, cwd }: Where, row: SpawnRow): Promise<void> {
  const { backend, id, name } = row;
  if (backend === "tmux") {
    const tmux = new Tmux(env, cwd, row.handle);
    const pane = await tmux.find(id);
    if (pane !== null) await tmux.close(pane);
    return;
  }
  const handle = handleOf(row);
  if (handle === null) return;
  const own = withoutSession(env);
  const ran = await runProgram(neededProgram(clientProgram, own, cwd), stopWords(handle), { cwd, env: own });
  if (ran.code === 0 || isUnknownSession(ran.output)) return;
  const said = clean(ran.output).slice(0, limits.quoteChars);
  throw new ProgramFailed(`${clientProgram} could not stop ${name}: ${said}`, ran.output);
}
