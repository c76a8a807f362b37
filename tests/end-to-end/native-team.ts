/** What the client keeps of one team, and calls of its tools, for replays of recorded teams. */
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type Payload, type Ran, teamOf } from "./hook-replay.ts";

interface TaskFile {
  readonly id: string;
  readonly subject?: string;
  readonly status?: string;
  readonly owner?: string;
  readonly blockedBy?: readonly string[];
}

/** What the client keeps of one team. */
export class TeamFiles {
  readonly home: string;
  readonly team: string;
  readonly lead: string;

  constructor(root: string, lead: string) {
    this.home = join(root, "claude");
    this.lead = lead;
    this.team = teamOf(lead);
  }

  write(path: string, value: unknown): void {
    const file = join(this.home, path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value));
  }

  config(backendType: "in-process" | "tmux", ...names: readonly string[]): void {
    const member = (name: string) => ({
      agentId: `${name}@${this.team}`,
      name,
      tmuxPaneId: "%1",
      backendType,
    });
    const leader = { ...member("team-lead"), agentType: "team-lead", tmuxPaneId: "leader" };
    const members = [leader, ...names.map(member)];
    this.write(`teams/${this.team}/config.json`, { name: this.team, leadSessionId: this.lead, members });
  }

  tasks(...tasks: readonly TaskFile[]): void {
    for (const task of tasks) {
      const rest = {
        subject: `do ${task.id}`,
        description: "",
        status: "pending",
        blocks: [],
        blockedBy: [],
      };
      this.write(`tasks/${this.team}/${task.id}.json`, { ...rest, ...task });
    }
  }
}

/** Why the call was denied; empty: it was not. */
export function reasonOf([ran]: readonly Ran[]): string {
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  return JSON.parse(ran?.stdout ?? "").hookSpecificOutput?.permissionDecisionReason ?? "";
}

export const contextOf = (all: readonly Ran[]): string =>
  all
    .map(({ stdout }) =>
      stdout === "" ? "" : (JSON.parse(stdout).hookSpecificOutput?.additionalContext ?? ""),
    )
    .join("\n");

export const pre = (of: Payload, tool_name: string, tool_input: object): Payload => ({
  ...of,
  ...{ hook_event_name: "PreToolUse", tool_name, tool_input, tool_use_id: `toolu_${randomUUID()}` },
});
