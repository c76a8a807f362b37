/** kite_spawn: starts an agent, and returns before it has registered. */
import * as z from "zod";
import { KiteClient } from "../../../client/client.ts";
import { LocalError } from "../../../client/errors.ts";
import { spawnCreateSchema } from "../../../protocol/lead/spawn.ts";
import { limits } from "../../../protocol/limits.ts";
import { kitePaths } from "../../../protocol/paths.ts";
import { quote } from "../../../protocol/text.ts";
import { defined } from "../../defined.ts";
import { type Call, type Tool, tool } from "../../mcp/tool.ts";
import type { ProcessContext } from "../../process-context.ts";
import { Refused } from "../../with-daemon.ts";
import { hasEnded } from "../spawn/find.ts";
import { followSpawn } from "../spawn/follow.ts";
import { withOutput } from "../spawn/output.ts";
import { type Started, startAgent } from "../spawn/start.ts";
import { followTended } from "../spawn/tend.ts";

const { name, role, task } = spawnCreateSchema.shape;
const word = z.string().min(1).max(limits.spawnWordBytes);

const spawn = tool({
  name: "kite_spawn",
  title: "Start an agent",
  description: "Start an agent in its own git worktree. It sees nothing of this conversation.",
  input: z
    .object({
      prompt: z.string().min(1).max(limits.spawnPromptBytes).optional(),
      name,
      role: role.describe("Such as reviewer"),
      task: task.describe("To claim"),
      model: word.optional(),
      client: word.optional().describe("Or codex"),
      from: word.optional().describe("Branch"),
      here: z.boolean().optional().describe("No worktree"),
    })
    .refine(({ prompt, task: id }) => prompt !== undefined || id !== undefined, {
      error: "say what the agent is to do: prompt, or task",
    }),
  run: async (call, { prompt, model, from, here = false, ...given }) => {
    const { client, actor, acting, after } = call;
    const paths = kitePaths(process.env);
    const { project, cwd } = acting;
    const asked = { prompt: prompt ?? null, here, tmux: false, ...defined({ ...given, model, from }) };
    const started = await startAgent({ client, actor, project, cwd, env: process.env, paths }, asked);
    const { row } = started;
    after(() => tended({ paths, cwd, env: process.env }, call, started));
    const text = [
      `Started ${quote(row.name)} (${row.id}); its session registers within a minute, or it has failed.`,
      ...(started.warning === null ? [] : [`Tell your user: ${started.warning}.`]),
    ].join("\n");
    return { text, data: { name: row.name, id: row.id, state: row.state } };
  },
});

export const spawnTools: readonly Tool[] = [spawn];

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
