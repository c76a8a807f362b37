/** kite_spawn: starts an agent, and returns before it has registered. */

import { homedir } from "node:os";
import * as z from "zod";
import { KiteClient } from "../../client/client.ts";
import { LocalError } from "../../client/errors.ts";
import { spawnCreateSchema } from "../../protocol/lead/spawn.ts";
import { limits } from "../../protocol/limits.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { frame, quote } from "../../protocol/text.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { Refused, rowsOf } from "../context/with-daemon.ts";
import { defined } from "../entry.ts";
import type { OwnScreen } from "../mcp/state-tools.ts";
import { type Call, type Tool, tool } from "../mcp/tool.ts";
import { verbTool } from "../mcp/verb-tool.ts";
import { debateVerbs } from "./debates.ts";
import { isLead, LastLooks, leadData, leadView } from "./screen.ts";
import { followSpawn, hasEnded, withOutput } from "./spawn/record.ts";
import { followTended } from "./spawn/replace.ts";
import { type Started, startAgent } from "./spawn/start.ts";

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
  run: async (call, { prompt, model, from, here = false, ...rest }) => {
    const { client, actor, acting, after } = call;
    const paths = kitePaths(process.env);
    const { project, cwd } = acting;
    const plan = { prompt: prompt ?? null, here, tmux: false, ...defined({ ...rest, model, from }) };
    const started = await startAgent({ client, actor, project, cwd, env: process.env, paths }, plan);
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

// The tool of debates: kite_debate, with a verb for each step.

export const debateTools: readonly Tool[] = [
  verbTool({
    name: "kite_debate",
    title: "Debate",
    description:
      "Before you commit to an explanation or design: open(question, hypotheses), challenge or evidence(debate, " +
      "hypothesis, text), answer(debate, challenge: its entry, text), concede(debate, hypothesis), close(debate, verdict: " +
      "name, because), show(debate), list. Closes once each rival was challenged or conceded, the verdict's challenges " +
      "answered, and another agent challenged.",
    verbs: debateVerbs,
  }),
];

// What kite_status shows an agent that leads: one screen of text.

const columns = 100;

const lastLooks = new LastLooks();

/** Shows an agent that leads what is new since its last look; null: the caller does not lead. */
export const leadScreen: OwnScreen = async ({ client, acting }, sessions, unread) => {
  const { id, agent, name, project } = acting;
  const spawns = await rowsOf(client, "spawns", { project });
  if (!isLead(sessions, spawns, acting)) return null;
  const now = Date.now();
  const reader = { id, agent };
  const data = await leadData(client, project, reader, lastLooks.next(reader, now));
  const lines = leadView(data, { width: columns, color: false, now, home: homedir() });
  const mail = unread === 0 ? [] : [`Unread messages: ${unread}.`];
  const text = [`You are ${quote(name)}, and lead.`, frame, ...lines, ...mail].join("\n");
  return { text, data: { you: name, project, note: frame, screen: lines, unreadMessages: unread } };
};
