/** `kite agents prune`: removes what agents that have ended left, if nothing would be lost. */
import { dirname, join } from "node:path";
import {
  clientProgram,
  removeUnpushedWords,
  removeWords,
  unpushedIn,
  worktreesFolder,
} from "../../hooks/claude-code/spawn/words.ts";
import { limits } from "../../protocol/limits.ts";
import type { SpawnRow } from "../../protocol/spawn.ts";
import { plain } from "../../protocol/text.ts";
import { actingSession } from "../actor.ts";
import { refuseHidden } from "../person.ts";
import { type ProcessContext, printFramed, printJson } from "../process-context.ts";
import { projectOf } from "../project.ts";
import { clean } from "../view/text.ts";
import { ask, exitCodes, rowsOf, withDaemon } from "../with-daemon.ts";
import { handleOf, hasEnded, neededSpawn } from "./find.ts";
import { countOnlyIn, Git, mainWorktree, removeWorktree } from "./git.ts";
import { neededProgram, ProgramFailed, runProgram, withoutSession } from "./programs.ts";
import { Tmux } from "./tmux.ts";

interface Kept {
  readonly id: string;
  readonly name: string;
  /** Why it stays. */
  readonly reason: string;
}

/** Returns the exit code: 1 if something of what was named stays. */
export async function prune(
  world: ProcessContext,
  names: readonly string[],
  isJson: boolean,
): Promise<number> {
  const refused = await refuseHidden(world, isJson, "removes agents");
  if (refused !== null) return refused;
  const project = await projectOf(world.cwd);
  const actor = actingSession(world.env) ?? {};
  return withDaemon(world, isJson, async client => {
    const all = await rowsOf(client, "spawns", { project });
    const wanted =
      names.length === 0
        ? all.filter(hasEnded)
        : await Promise.all(names.map(name => neededSpawn(client, name, project)));
    const [removed, kept]: [SpawnRow[], Kept[]] = [[], []];
    for (const row of wanted) {
      const reason = await remove(world, row, project);
      if (reason === null) {
        await ask(client, "spawn_remove", { ...actor, spawns: [row.id] });
        removed.push(row);
      } else {
        kept.push({ id: row.id, name: row.name, reason });
        const words = plain(reason, limits.spawnReasonChars);
        // Why it failed, or that it has not ended, says more.
        if (hasEnded(row) && row.reason === null)
          await ask(client, "spawn_update", { ...actor, spawn: row.id, reason: words });
      }
    }
    if (isJson) printJson(world, { removed: removed.map(({ id, name }) => ({ id, name })), kept });
    else {
      const gone = removed.map(({ name }) => `removed ${clean(name)}`);
      const stays = kept.map(({ name, reason }) => `kept    ${clean(name)}: ${clean(reason)}`);
      printFramed(world, gone.length + stays.length === 0 ? ["Nothing to remove."] : [...gone, ...stays]);
    }
    return names.length > 0 && kept.length > 0 ? exitCodes.failed : exitCodes.done;
  });
}

/** Removes what the agent left; returns why it stays, or null. */
async function remove(world: ProcessContext, row: SpawnRow, project: string): Promise<string | null> {
  if (row.project !== project) return `it is an agent of ${row.project}; run kite agents prune there`;
  if (!hasEnded(row)) return `it has not ended (${row.state}); stop it first: kite stop ${row.name}`;
  try {
    if (row.backend === "tmux") await closeWindow(world, row);
    else {
      const refused = await removeSession(world, row);
      if (refused !== null) return refused;
    }
    return await removePlace(world, row);
  } catch (error) {
    if (error instanceof ProgramFailed) return error.message;
    throw error;
  }
}

/** The window of a program that failed is still there, to be read. */
async function closeWindow({ env, cwd }: ProcessContext, { id, handle }: SpawnRow): Promise<void> {
  const tmux = new Tmux(env, cwd, handle);
  const pane = await tmux.find(id);
  if (pane !== null) await tmux.close(pane);
}

/**
 * Lets the client remove its session and the worktree that it made; returns its refusal, or null. The client counts commits
 * as kept if a remote has them; here also those are kept that a merge brought into the base.
 */
async function removeSession({ env, cwd }: ProcessContext, row: SpawnRow): Promise<string | null> {
  const handle = handleOf(row);
  if (handle === null) return null;
  const own = withoutSession(env);
  const program = neededProgram(clientProgram, own, cwd);
  const remove = (words: readonly string[]) => runProgram(program, words, { cwd, env: own });
  const first = await remove(removeWords(handle));
  const unpushed = first.code === 0 ? null : unpushedIn(first.output);
  const isLoss = unpushed === null || !(await isElsewhere({ env, cwd }, unpushed.commit, row.base));
  const ran = isLoss ? first : await remove(removeUnpushedWords(handle, unpushed));
  return ran.code === 0 ? null : plain(ran.output, limits.spawnReasonChars) || `exit code ${ran.code}`;
}

async function isElsewhere(
  { env, cwd }: Pick<ProcessContext, "env" | "cwd">,
  commit: string,
  base: string | null,
): Promise<boolean> {
  const main = await mainWorktree(new Git(env, cwd));
  return (await countOnlyIn(new Git(env, main), commit, base)) === 0;
}

/** Removes the worktree and the branch, as far as the client left them. */
async function removePlace({ env, cwd }: ProcessContext, row: SpawnRow): Promise<string | null> {
  const { worktree, branch, base } = row;
  if (worktree === null || base === null) return null;
  const git = new Git(env, cwd);
  const main = await mainWorktree(git);
  // Only what was made for it: another worktree is somebody else's.
  if (dirname(worktree) !== join(main, worktreesFolder)) return null;
  return removeWorktree(new Git(env, main), { worktree, branch }, base);
}
