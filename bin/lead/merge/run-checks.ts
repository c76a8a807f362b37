/** Runs the project's trusted checks on a merge, in the worktree of the try. */
import { existsSync } from "node:fs";
import { LocalError } from "../../../client/errors.ts";
import { concerning } from "../../../daemon/lead/checks.ts";
import { limits } from "../../../protocol/limits.ts";
import { plain } from "../../../protocol/text.ts";
import type { ProcessContext } from "../../process-context.ts";
import type { FindRepository } from "../../project.ts";
import { listed } from "../../view/text.ts";
import { withNested } from "../checks/nesting.ts";
import { checksAt, type NamedChecks } from "../checks/read.ts";
import { type Ran, startCheck } from "../checks/run-one.ts";
import { commitOf, type Git, Interrupted, must, namesIn, withoutGit } from "./git.ts";
import type { Red } from "./trial.ts";

/** The checks were changed after the command began. */
class Untrusted extends LocalError {
  override readonly name = "Untrusted";
}

const namedMax = 3;

export interface Checking {
  readonly world: Pick<ProcessContext, "env" | "paths">;
  readonly git: Git;
  readonly stop: AbortSignal;
  /** Tells that a check begins. */
  readonly say: (text: string) => void;
  readonly find?: FindRepository | undefined;
}

/**
 * Runs the checks that matter after a change of these files, one after the other, up to the first red one. Before them
 * the project's setup runs, once: a fresh worktree has none of the files that git ignores, such as dependencies. One that
 * changes tracked files, commits or removes the worktree is red: what it looked at is not what would be merged. Throws a
 * `LocalError`.
 */
export async function runChecks(
  { world, git, stop, say, find }: Checking,
  worktree: string,
  files: readonly string[],
): Promise<Red | null> {
  const named = await checksAt(world, worktree, find);
  const why = untrusted(named);
  if (why !== null) throw new Untrusted(why);
  const wanted = await concerning(named.checks, files);
  const head = await commitOf(git, "HEAD", { cwd: worktree });
  const lines = wanted.map(({ name, command }, n) => {
    const as = `check ${name} (${n + 1} of ${wanted.length})`;
    return { name, command, what: `the check ${name}`, as };
  });
  const { setup } = named;
  if (setup !== null && lines.length > 0)
    lines.unshift({ name: "setup", command: setup, what: "the setup", as: "setup" });
  for (const { name, command, what, as } of lines) {
    say(as);
    const running = startCheck({
      command,
      cwd: worktree,
      env: withNested(withoutGit(world.env), named.repository.project, name),
      timeoutMs: limits.checkMs,
      streams: false,
    });
    const end = () => running.end("SIGTERM");
    stop.addEventListener("abort", end, { once: true });
    if (stop.aborted) end();
    const ran = await running.done;
    stop.removeEventListener("abort", end);
    if (stop.aborted) throw new Interrupted("interrupted");
    const red = redOf(what, ran) ?? (await changedBy(git, { worktree, head }, what, ran));
    if (red !== null) return red;
  }
  return null;
}

/** Returns why the project's checks may not run, or null; also null if there are none. */
export function untrusted({ trust, repository }: NamedChecks): string | null {
  if (trust === "trusted" || trust === "none") return null;
  const why = trust === "changed" ? "have changed since a person trusted them" : "are not trusted yet";
  return `the checks of ${repository.project} ${why}; read and trust them first: kite check --trust`;
}

function redOf(what: string, { exit, timedOut, output }: Ran): Red | null {
  if (exit === 0) return null;
  return { what, how: timedOut ? "killed at the time limit" : `exit code ${exit}`, output };
}

async function changedBy(
  git: Git,
  { worktree, head }: { readonly worktree: string; readonly head: string | null },
  what: string,
  { output }: Ran,
): Promise<Red | null> {
  const red = (how: string): Red => ({ what, how, output });
  if (!existsSync(worktree)) return red("it removed the worktree that it ran in");
  if ((await commitOf(git, "HEAD", { cwd: worktree })) !== head) return red("it committed, or moved HEAD");
  const status = ["status", "--porcelain", "--no-renames", "--untracked-files=no", "-z"];
  const changed = namesIn(await must(git, status, { cwd: worktree })).map(line => plain(line.slice(3)));
  if (changed.length === 0) return null;
  return red(`it changed tracked files (${listed(changed.slice(0, namedMax), changed.length - namedMax)})`);
}
