/** Machines whose clones are on branches, with agents that change files there. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Client } from "./daemon.ts";
import { Machine } from "./store-machine.ts";

/** A machine whose clone is on a branch. */
export async function machineOn(branch: string): Promise<Machine> {
  const machine = new Machine();
  git(machine, "commit", "--allow-empty", "-m", "first");
  git(machine, "checkout", "-b", branch);
  return machine.start();
}

export async function agentAt({ home, repo }: Machine, id: string): Promise<Client> {
  const client = await home.connect();
  await client.ask({ type: "register", id, cwd: repo, name: id });
  return client;
}

function git({ repo, home }: Machine, ...args: string[]): void {
  const env = { PATH: process.env["PATH"] ?? "", HOME: home.work, GIT_CONFIG_NOSYSTEM: "1" };
  const named = ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args];
  execFileSync("git", named, { cwd: repo, env, stdio: "pipe" });
}

export function commit(machine: Machine, name: string, text: string): void {
  write(machine, name, text);
  git(machine, "add", "-A");
  git(machine, "commit", "-m", "work");
}

/** What the agent reads with its next prompt. */
export async function prompted(client: Client, machine: Machine, id: string): Promise<string> {
  return hook(client, machine, id, { hook_event_name: "UserPromptSubmit", prompt: "go on" });
}

/** The agent writes a file with a tool, in a turn that is over then. */
export async function edited(client: Client, machine: Machine, id: string, name: string): Promise<void> {
  await wrote(client, machine, id, name);
  await hook(client, machine, id, { hook_event_name: "Stop" });
}

/** The same in the middle of a turn. */
export async function wrote(client: Client, machine: Machine, id: string, name: string): Promise<void> {
  const path = join(machine.repo, name);
  const call = { tool_name: "Write", tool_input: { file_path: path, content: id }, tool_use_id: `t-${id}` };
  const allowed = await hook(client, machine, id, { hook_event_name: "PreToolUse", ...call });
  if (allowed.includes("deny")) throw new Error(allowed);
  write(machine, name, id);
  await hook(client, machine, id, { hook_event_name: "PostToolUse", tool_response: {}, ...call });
}

async function hook(client: Client, { repo }: Machine, id: string, event: object): Promise<string> {
  const place = { session_id: id, cwd: repo, permission_mode: "default", transcript_path: "/dev/null" };
  return JSON.stringify(
    await client.ask({ type: "hook", client: "claude-code", event: { ...place, ...event } }),
  );
}

/** Writes a file of the machine's clone, of whose write nobody is told. */
function write({ repo }: Machine, name: string, text: string): string {
  const path = join(repo, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}
