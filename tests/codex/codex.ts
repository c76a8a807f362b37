/** The real Codex. */
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { codexEntries } from "../../hooks/install/codex.ts";
import type { Call, Turn, Wire } from "../clients/model.ts";
import type { RealClient } from "../clients/session.ts";

const request = z.object({
  input: z.array(z.unknown()).default([]),
  tools: z.array(z.object({ name: z.string().optional() })).default([]),
});
const message = z.object({ role: z.string(), content: z.array(z.object({ text: z.string().default("") })) });
const output = z.object({ call_id: z.string(), output: z.unknown() });

/** Enough of the Responses API. */
const wire: Wire = {
  isTurn: path => path.endsWith("/responses"),
  read: body => {
    const { input, tools } = request.parse(body);
    // What the client asks beside the conversation, such as a title, has no shell.
    if (!tools.some(({ name }) => name === "exec_command")) return null;
    const messages = input.flatMap(item => message.safeParse(item).data ?? []);
    const textsOf = (said: typeof messages) =>
      said.flatMap(({ content }) => content.map(({ text }) => text)).join("\n");
    const results = input.flatMap(item => {
      const { call_id: id, output: told } = output.safeParse(item).data ?? {};
      if (id === undefined) return [];
      return [{ id, text: typeof told === "string" ? told : JSON.stringify(told) }];
    });
    const prompt = textsOf(messages.filter(({ role }) => role === "user"));
    return { results, text: textsOf(messages), prompt };
  },
  write: (response, turn) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (event: { readonly type: string }) =>
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    const usage = {
      ...{ input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null },
      total_tokens: 2,
    };
    const id = `resp_${randomUUID()}`;
    send({ type: "response.created", ...{ response: { id } } });
    itemsOf(turn).forEach((item, output_index) => {
      send({ type: "response.output_item.done", ...{ output_index, item } });
    });
    send({ type: "response.completed", ...{ response: { id, usage } } });
    response.end();
  },
};

function itemsOf(turn: Turn): readonly object[] {
  if ("calls" in turn) return turn.calls.map(itemOf);
  const content = [{ type: "output_text", text: turn.say }];
  return [{ type: "message", role: "assistant", id: `msg_${randomUUID()}`, content }];
}

/** A tool of a server, or for subagents, is called by its namespace and its own name. */
function itemOf({ id, name: whole, input }: Call): object {
  const [, namespace, name = whole] = /^(mcp__[a-z]+|multi_agent_v1)__(\w+)$/.exec(whole) ?? [];
  const call = { call_id: id, name, ...(namespace === undefined ? {} : { namespace }), status: "completed" };
  if (name === "apply_patch")
    return { type: "custom_tool_call", id: `ctc_${randomUUID()}`, ...call, input: input["patch"] };
  return { type: "function_call", id: `fc_${randomUUID()}`, ...call, arguments: JSON.stringify(input) };
}

/** A call that applies a patch with these lines. */
export function patch(id: string, ...lines: readonly string[]): Call {
  const text = ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
  return { id, name: "apply_patch", input: { patch: text } };
}

/** The lines of a patch that change one line of a file. */
export function change(file: string, from: string, to: string): readonly string[] {
  return [`*** Update File: ${file}`, "@@", `-${from}`, `+${to}`];
}

export const codex: RealClient = {
  name: "codex",
  wire,
  deniedBy: "Command blocked by PreToolUse hook: ",
  idIn: /"thread_id":"([\w-]+)"/,
  edit: (id, file, from, to) => patch(id, ...change(file, from, to)),
  line: (id, command) => ({ id, name: "exec_command", input: { cmd: command } }),
  prepare: (home, modelUrl, { hookMs, home: trusted, tools }) => {
    const own = join(home, ".codex");
    configure(own, modelUrl);
    if (tools !== undefined) appendFileSync(join(own, "config.toml"), serverText(tools));
    const isTrusted = trusted !== undefined;
    if (!isTrusted) writeFileSync(join(own, "hooks.json"), JSON.stringify({ hooks: hooksOf(hookMs) }));
    const free = [
      "--dangerously-bypass-approvals-and-sandbox",
      ...(isTrusted ? [] : ["--dangerously-bypass-hook-trust"]),
    ];
    return {
      program: process.env["KITE_TEST_CODEX"] ?? "",
      args: ["exec", "--json", "--skip-git-repo-check", ...free, "Do what the script says."],
      env: { CODEX_HOME: own },
    };
  },
};

/**
 * Sets the model of a folder of the client's; one before it was another's. With `project` its person has been there before, and
 * lets it do all.
 */
export function configure(folder: string, modelUrl: string, project?: string): void {
  mkdirSync(folder, { recursive: true });
  const config = join(folder, "config.toml");
  const before = existsSync(config) ? readFileSync(config, "utf8") : "";
  const url = `base_url = "${modelUrl}/v1"`;
  const hasModel = before.includes("[model_providers.scripted]");
  writeFileSync(
    config,
    hasModel ? before.replace(/^base_url = .*$/m, url) : configText(url, project) + before,
  );
}

function configText(url: string, project?: string): string {
  const free = ['approval_policy = "never"', 'sandbox_mode = "danger-full-access"'];
  const visited = [
    ...[`[projects.${JSON.stringify(project)}]`, 'trust_level = "trusted"'],
    // It recommends a newer model once.
    ...["[notice.model_migrations]", '"gpt-5.5" = "gpt-6-sol"'],
  ];
  return [
    'model = "gpt-5.5"',
    'model_provider = "scripted"',
    ...(project === undefined ? [] : free),
    "[model_providers.scripted]",
    'name = "scripted"',
    url,
    'experimental_bearer_token = "dummy-key-of-a-test"',
    'wire_api = "responses"',
    ...(project === undefined ? [] : visited),
    "",
  ].join("\n");
}

function serverText([command, ...args]: readonly string[]): string {
  return `[mcp_servers.kite]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`;
}

/** The entries as `kite install` writes them. */
function hooksOf(hookMs?: number): object {
  return Object.fromEntries(
    codexEntries(null).map(([event, group]) => {
      const isLimited = event === "PreToolUse" && hookMs !== undefined;
      const hooks = group.hooks.map(hook => (isLimited ? { ...hook, timeout: hookMs / 1000 } : hook));
      return [event, [{ ...group, hooks }]];
    }),
  );
}
