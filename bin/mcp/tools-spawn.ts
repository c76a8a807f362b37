/** kite_spawn: starts an agent, and returns before it has registered. */
import * as z from "zod";
import { KiteClient } from "../../client/client.ts";
import { LocalError } from "../../client/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { spawnCreateSchema } from "../../protocol/spawn.ts";
import { quote } from "../../protocol/text.ts";
import type { ProcessContext } from "../process-context.ts";
import { hasEnded } from "../spawn/find.ts";
import { followSpawn } from "../spawn/follow.ts";
import { withOutput } from "../spawn/output.ts";
import { type Started, startAgent } from "../spawn/start.ts";
import { followTended } from "../spawn/tend.ts";
import { Refused } from "../with-daemon.ts";
import { adds, type Call, type Tool, tool } from "./tool.ts";

const { name, role, task } = spawnCreateSchema.shape;
const word = z.string().min(1).max(limits.spawnWordBytes);

const spawn = tool({
  name: "kite_spawn",
  title: "Start an agent",
  description:
    "Start another agent: a background session of Claude Code in a git worktree of its own, which a person can watch and " +
    "answer. Returns its name and id at once; kite_status shows what it does, and it can be sent messages by its name. " +
    "Give it one task with all that it needs to know: it sees nothing of this conversation.",
  input: z.object({
    prompt: z
      .string()
      .min(1)
      .max(limits.spawnPromptBytes)
      .optional()
      .describe("What it is to do; may be left out with a task"),
    name: name.describe("Its name, its folder and its branch"),
    role: role.describe("Its role in a word: implementer, researcher, tester, reviewer, architect"),
    task: task.describe("The id of a ready task, which it claims when it starts"),
    model: word.optional().describe("The model of its client"),
    from: word.optional().describe("The branch or commit that its own branch begins from"),
    here: z
      .boolean()
      .optional()
      .describe("Whether it works in this directory, without a worktree of its own"),
  }),
  annotations: { ...adds, openWorldHint: true },
  run: async (call, { prompt, model, from, here = false, ...given }) => {
    const { client, actor, acting, after } = call;
    const paths = kitePaths(process.env);
    const { project, cwd } = acting;
    const asked = { prompt: prompt ?? null, here, tmux: false, ...definedOf({ ...given, model, from }) };
    const started = await startAgent({ client, actor, project, cwd, env: process.env, paths }, asked);
    const { row } = started;
    after(() => tended({ paths, cwd, env: process.env }, call, started));
    const text = `Started ${quote(row.name)} (${row.id}); its session registers within a minute, or it has failed.`;
    return { text, data: { name: row.name, id: row.id, state: row.state } };
  },
});

export const spawnTools: readonly Tool[] = [spawn];

type Given = Partial<Record<"name" | "role" | "task" | "model" | "from", string | undefined>>;

/** Returns the fields that have a value. */
function definedOf(given: Given): Partial<Record<keyof Given, string>> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/**
 * Waits until the agent has registered; if it fails, its record keeps what it printed. If the user's setting is to replace
 * agents that stall, this goes on until it has ended, or the server ends.
 */
async function tended(
  around: Pick<ProcessContext, "env" | "cwd" | "paths">,
  { client: shared, actor }: Pick<Call, "client" | "actor">,
  started: Started,
): Promise<void> {
  const client = await KiteClient.connect({
    paths: around.paths,
    name: `kite-mcp-${process.pid}`,
    reconnect: true,
  });
  void shared.closed.then(() => client.close());
  try {
    const first = await followSpawn(client, started.row, ({ state }) => state !== "starting");
    const row = await withOutput(around, client, first);
    if (started.stalled !== "replace" || hasEnded(row)) return;
    const nothing = () => {};
    const follow = { isEnough: hasEnded, seen: nothing, say: nothing };
    await followTended(around, client, { ...started, row }, actor, follow);
  } catch (error) {
    // The record was forgotten, or the daemon has gone: there is nothing to keep the output in.
    if (!(error instanceof LocalError || error instanceof Refused)) throw error;
  } finally {
    client.close();
  }
}
