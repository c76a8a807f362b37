/** Recorded events of the client, and outcomes of the daemon, for the adapter's tests. */
import { readdirSync, readFileSync } from "node:fs";
import { grantVerdict, refusalVerdict } from "../../daemon/hooks/verdict.ts";
import { claudeCode } from "../../hooks/claude-code/adapter.ts";
import type { GateOutcome, TeamOutcome } from "../../hooks/lead/seam.ts";
import type { LockNote, PeerLock } from "../../hooks/seam/outcomes.ts";
import type { HookContext, HookPlan } from "../../hooks/seam/plan.ts";
import type { HookOutcome } from "../../hooks/seam/slices.ts";
import type { Refusal } from "../../protocol/codes.ts";
import { hookSchema } from "../../protocol/schemas/hook.ts";
import { session } from "./view-rows.ts";

const folder = new URL("../fixtures/payloads/", import.meta.url);

export const context: HookContext = {
  env: { CLAUDE_PID: "41" },
  ppid: 40,
  socket: "/home/dev/.kite/kite.sock",
  home: "/home/dev/.kite",
  waitMs: 50_000,
  wake: false,
  calls: { begins: words => `${words}-0`, ends: words => `${words}-0` },
};

export type Payload = Record<string, unknown>;

/** One recorded payload, as the daemon gets it. */
export function payload(name: string): Payload {
  return hookSchema.parse({ event: JSON.parse(readFileSync(new URL(`${name}.json`, folder), "utf8")) }).event;
}

/** Every recorded payload, those of the sequences included. */
export function recorded(): { readonly name: string; readonly event: Payload }[] {
  return readdirSync(folder).flatMap(name => {
    const text = readFileSync(new URL(name, folder), "utf8");
    if (name.endsWith(".json")) return [{ name, event: JSON.parse(text) }];
    return text
      .trim()
      .split("\n")
      .map((line, i) => ({ name: `${name}:${i + 1}`, event: JSON.parse(line).payload }));
  });
}

export const plan = (event: Payload, cx: HookContext = context): HookPlan => claudeCode.plan(event, cx);

/** What the plan prints for these outcomes, as the client reads it; null for nothing. */
export const answerOf = (p: HookPlan, ...outcomes: HookOutcome[]) => {
  const { output } = p.answer(outcomes);
  return output === "" ? null : JSON.parse(output);
};

export type Granted = Extract<HookOutcome, { did: "lock"; ok: true }>;

export const granted = (fields: Partial<Granted> = {}): HookOutcome => ({
  did: "lock",
  ok: true,
  reply: { ok: true, file: "a.txt", path: "/home/dev/project/a.txt", token: "s.1.1" },
  verdict: grantVerdict(
    { overwrites: false },
    {
      changedWhileWaiting: fields.changedWhileWaiting ?? false,
      mergeRisks: fields.mergeRisks ?? [],
      unkept: fields.unkept ?? [],
    },
  ),
  waitedMs: 0,
  changedWhileWaiting: false,
  changedBy: null,
  before: null,
  mergeRisks: [],
  unkept: [],
  ...fields,
});

/** What gates found before a step; `Repeated`: the agent was told so before. */
export const team = (verdict: TeamOutcome["verdict"], ...findings: TeamOutcome["findings"]): HookOutcome => ({
  did: "gate_team",
  ok: true,
  verdict,
  findings: findings.length > 0 ? findings : [{ rule: "dead_letter", to: "alice" }],
  isTeammate: false,
});

export const gated = (
  did: GateOutcome["did"],
  verdict: GateOutcome["verdict"],
  isRepeated = false,
): HookOutcome => ({
  did,
  ok: true,
  verdict,
  findings: [
    {
      gate: "identity",
      mode: verdict === "deny" ? "enforce" : "warn",
      missing: ["identity.role: what you are"],
    },
  ],
  isRepeated,
  task: null,
});

type Refused = Extract<HookOutcome, { ok: false }>;

/** An action that was refused with this code, as the daemon decides what that means for the tool. */
export const refused = (did: Refused["did"], refusal: Refusal, fields: Partial<Refused> = {}): Refused => ({
  did,
  ok: false,
  refusal,
  verdict: refusalVerdict(refusal.code),
  holder: null,
  ...fields,
});

export const noteOf = (fields: Partial<LockNote> = {}): LockNote => ({
  file: "a.txt",
  holder: "bob",
  heldMs: 0,
  waiters: 0,
  doing: null,
  edited: [],
  isDirectory: false,
  stays: null,
  yieldsInMs: null,
  ...fields,
});

export const peerLock = (fields: Partial<PeerLock> = {}): PeerLock => ({
  session: "bob-id",
  file: "/home/dev/project/src/a.ts",
  heldMs: 0,
  waiters: 0,
  isDirectory: false,
  stays: null,
  ...fields,
});

export const begun: HookOutcome = { did: "begin", ok: true, name: "alice", project: "/home/dev/project" };

export const row = session("bob", {
  id: "bob-id",
  project: "/home/dev/project",
  worktree: "/home/dev/project",
  cwd: "/home/dev/project",
  pid: 7,
  registeredAt: 0,
  lastSeenMs: 10,
  locks: 1,
});

export const looked: Extract<HookOutcome, { did: "list_peers"; ok: true }> = {
  did: "list_peers",
  ok: true,
  self: "alice",
  sessions: [row],
  own: null,
  views: [],
  finished: [],
  keys: [],
  moreKeys: 0,
  moreSessions: 0,
  locks: [peerLock({ heldMs: 61_000, waiters: 1 })],
  unread: 0,
  readyTasks: 0,
  ownTasks: [],
  changes: null,
};
