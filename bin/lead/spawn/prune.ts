/** `kite agents prune`: removes what agents that have ended left, if nothing would be lost. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  clientProgram,
  isUnknownSession,
  refusalIn,
  removeUnpushedWords,
  removeWords,
  unpushedIn,
  worktreesFolder,
} from "../../../hooks/claude-code/spawn.ts";
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { limits } from "../../../protocol/limits.ts";
import type { SessionRow } from "../../../protocol/session-rows.ts";
import { plain } from "../../../protocol/text.ts";
import { actingSession } from "../../actor.ts";
import { refuseAgent } from "../../person.ts";
import { type ProcessContext, printFramed, printJson } from "../../process-context.ts";
import { neededProgram, ProgramFailed, runProgram, withoutSession } from "../../programs.ts";
import { projectOf } from "../../project.ts";
import { clean } from "../../view/text.ts";
import { ask, exitCodes, rowsOf, withDaemon } from "../../with-daemon.ts";
import { handleOf, hasEnded, neededSpawn } from "./find.ts";
import { foreignLock, Git, gitDirOf, mainWorktree, removeWorktree } from "./git.ts";
import { Tmux } from "./tmux.ts";
import { onlyIn, unsavedCommits } from "./unsaved-commits.ts";
import { modulesIn, unsavedFiles } from "./unsaved-files.ts";

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
  const refused = await refuseAgent(world, isJson, "prune");
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
    const sessions = await rowsOf(client, "sessions", { project });
    for (const row of wanted) {
      const reason = await remove(world, { row, project, spawns: all, sessions });
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

/** What to prune, and what else there is: whose place a worktree is now. */
interface Candidate {
  readonly row: SpawnRow;
  readonly project: string;
  readonly spawns: readonly SpawnRow[];
  readonly sessions: readonly SessionRow[];
}

/**
 * Removes what the agent left; returns why it stays, or null. First, Kite looks whether anything would be lost: nothing is
 * removed of an agent of which something has to stay.
 */
async function remove(world: ProcessContext, candidate: Candidate): Promise<string | null> {
  const { row, project } = candidate;
  if (row.project !== project) return `it is an agent of ${row.project}; run kite agents prune there`;
  if (!hasEnded(row)) return `it has not ended (${row.state}); stop it first: kite agents stop ${row.name}`;
  try {
    const place = await placeOf(world, row);
    if (place !== null) {
      const reason = inUse(candidate) ?? (await wouldLose(world, row, place));
      if (reason !== null) return reason;
    }
    if (row.backend === "tmux") await closeWindow(world, row);
    else {
      const refused = await removeSession(world, row);
      if (refused !== null) return refused;
    }
    if (place === null) return null;
    const { branch } = row;
    return await removeWorktree(new Git(world.env, place.main), { ...place, branch }, place.hasModules);
  } catch (error) {
    if (error instanceof ProgramFailed) return error.message;
    throw error;
  }
}

interface OwnPlace {
  readonly worktree: string;
  readonly main: string;
  /** Git's own folder of the worktree; null: git knows no such worktree. */
  readonly gitDir: string | null;
  readonly hasModules: boolean;
}

/** Returns the worktree that was made for the agent; null if there was none: another worktree is somebody else's. */
async function placeOf({ env, cwd }: ProcessContext, { worktree, base }: SpawnRow): Promise<OwnPlace | null> {
  if (worktree === null || base === null) return null;
  const main = await mainWorktree(new Git(env, cwd));
  if (dirname(worktree) !== join(main, worktreesFolder)) return null;
  const gitDir = await gitDirOf(new Git(env, main), worktree);
  const isThere = gitDir !== null && existsSync(worktree);
  const modules = isThere ? await modulesIn(new Git(env, worktree), worktree) : [];
  return { worktree, main, gitDir, hasModules: modules.length > 0 };
}

/** Returns in a sentence who has the worktree now; null: nobody. */
function inUse({ row, spawns, sessions }: Candidate): string | null {
  const { id, worktree } = row;
  const later = spawns.slice(spawns.findIndex(other => other.id === id) + 1);
  const heir = later.find(other => other.worktree === worktree);
  if (heir !== undefined)
    return `its worktree is that of a later agent now (${heir.id}); prune that one first`;
  const there = sessions.find(session => session.worktree === worktree);
  return there === undefined ? null : `${there.name} works in its worktree; stop that session first`;
}

/** Returns in a sentence what would be lost with the worktree and the branch; null: nothing. */
async function wouldLose(
  { env }: ProcessContext,
  { branch, base }: SpawnRow,
  { worktree, main, gitDir }: OwnPlace,
): Promise<string | null> {
  const at = (directory: string) => new Git(env, directory);
  const commits = await unsavedCommits(at(main), { branch, base, gitDir });
  if (commits !== null) return commits;
  if (gitDir === null)
    return existsSync(worktree)
      ? `git no longer knows its worktree ${worktree}, so nobody can tell what is in it; a person has to look, and remove the folder`
      : null;
  const lock = foreignLock(gitDir);
  if (lock !== null) return `somebody has locked its worktree (${lock}); git worktree unlock ${worktree}`;
  return existsSync(worktree) ? unsavedFiles(at, { worktree, gitDir, main }) : null;
}

/** The window of a program that failed is still there, to be read. */
async function closeWindow({ env, cwd }: ProcessContext, { id, handle }: SpawnRow): Promise<void> {
  const tmux = new Tmux(env, cwd, handle);
  const pane = await tmux.find(id);
  if (pane !== null) await tmux.close(pane);
}

/**
 * Lets the client remove its session and the worktree that it made; returns its refusal, or null. The client counts commits
 * as kept if a remote has them; here also those are kept that a branch has which stays.
 */
async function removeSession({ env, cwd }: ProcessContext, row: SpawnRow): Promise<string | null> {
  const handle = handleOf(row);
  if (handle === null) return null;
  const own = withoutSession(env);
  const program = neededProgram(clientProgram, own, cwd);
  const remove = (words: readonly string[]) => runProgram(program, words, { cwd, env: own });
  const first = await remove(removeWords(handle));
  const unpushed = first.code === 0 ? null : unpushedIn(first.output);
  const isLoss = unpushed === null || !(await isElsewhere({ env, cwd }, unpushed.commit, row));
  const ran = isLoss ? first : await remove(removeUnpushedWords(handle, unpushed));
  if (ran.code === 0 || isUnknownSession(ran.output)) return null;
  return `${clientProgram} did not remove its session: ${plain(refusalIn(ran.output)) || `exit code ${ran.code}`}`;
}

async function isElsewhere(
  { env, cwd }: Pick<ProcessContext, "env" | "cwd">,
  commit: string,
  { branch, base }: SpawnRow,
): Promise<boolean> {
  const main = await mainWorktree(new Git(env, cwd));
  return (await onlyIn(new Git(env, main), [commit], branch, base)).length === 0;
}
