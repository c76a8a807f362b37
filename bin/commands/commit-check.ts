import type { Command } from "commander";
import { LocalError, NotRunning } from "../../client/errors.ts";
import { commitRefusedCode } from "../../hooks/install/pre-commit.ts";
import { isSystemError } from "../../protocol/errors.ts";
import { nearPath, quote, shellArgument } from "../../protocol/text.ts";
import { committerOf, type Held, heldFiles } from "../commit/held.ts";
import { stagedFiles } from "../commit/staged.ts";
import type { Client, ProcessContext, Run } from "../process-context.ts";
import { clean, counted } from "../view/text.ts";
import { exitCodes, reported } from "../with-daemon.ts";

const help = `
The git hook of kite install --client git calls it before each commit, in the top of the worktree. If another live agent is
writing or holds a file of the commit, an agent's commit is refused; a person's goes ahead, and is told. It says who has
which file, and what to do. What it cannot find out in time stops no commit.

Exit codes: ${commitRefusedCode} an agent's commit is refused; any other: git goes on.

Example:
  $ kite commit-check`;

/** A whole look takes at most so long, in milliseconds, beside the start of this program. */
const lookMs = 3_000;
/** Files that are named. */
const namedMax = 10;

export function add(command: Command, run: Run): void {
  command
    .description("say whether another agent has a file of the commit that git is about to make")
    .addHelpText("after", help)
    .action(() => run(commitCheck));
}

/** Returns the exit code. */
export async function commitCheck(world: ProcessContext): Promise<number> {
  let client: Client;
  try {
    client = await world.connect({ name: "kite-commit", reconnect: false, timeoutMs: lookMs });
  } catch (error) {
    if (!(error instanceof LocalError) && !isSystemError(error)) throw error;
    // Without a daemon nobody holds anything.
    return error instanceof NotRunning ? exitCodes.done : unasked(world);
  }
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    client.close();
  }, lookMs);
  try {
    return await reported(world, false, () => looked(world, client));
  } catch (error) {
    if (!isLate) throw error;
    return unasked(world);
  } finally {
    clearTimeout(timer);
    client.close();
  }
}

function unasked(world: ProcessContext): number {
  world.stderr.write(
    "kite: the daemon did not answer in time; git goes on, and nobody looked at other agents\n",
  );
  return exitCodes.done;
}

async function looked(world: ProcessContext, client: Client): Promise<number> {
  const staged = await stagedFiles(world.env, world.cwd, lookMs);
  if (staged === null || staged.files.length === 0) return exitCodes.done;
  const committer = await committerOf(world, client);
  const held = await heldFiles(client, staged, committer);
  if (held.length === 0) return exitCodes.done;
  world.stderr.write(`${lines(held, staged.top, committer.isAgent).join("\n")}\n`);
  return committer.isAgent ? commitRefusedCode : exitCodes.done;
}

function lines(held: readonly Held[], top: string, isRefused: boolean): readonly string[] {
  const [one] = held;
  const head = isRefused
    ? "kite: git did not commit: other agents have files of this commit:"
    : "kite: git commits files that other agents have:";
  const more = held.length > namedMax ? [`  and ${counted(held.length - namedMax, "more file")}`] : [];
  const way =
    "Leave these files out of the commit, or commit when they are free: kite explain FILE says who has one and for how long." +
    ` To talk to the agent: kite message send ${one === undefined ? "NAME" : shellArgument(clean(one.by))} TEXT`;
  return [
    head,
    ...held.slice(0, namedMax).map(file => `  ${lineOf(file, top)}`),
    ...more,
    ...(isRefused ? [way] : []),
  ];
}

function lineOf({ path, by, isWriting, kind }: Held, top: string): string {
  const does = isWriting ? "is writing it" : kind === "explicit" ? "holds it" : "is changing it in its turn";
  return `${quote(nearPath(path, top))}: ${quote(by)} ${does}`;
}
