/** The gate of a client's teams over files in memory. */
import { join } from "node:path";
import type { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import type { HookEvent } from "../../daemon/hooks/event.ts";
import { Delivery } from "../../daemon/hooks/notices.ts";
import type { LeadParts } from "../../daemon/lead/services.ts";
import { Teams } from "../../daemon/lead/team-facts.ts";
import { gateTeam } from "../../daemon/lead/team-gate.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { teamFiles } from "../../hooks/claude-code/teams.ts";
import type { TaskChange } from "../../hooks/seam/teams.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { World } from "./core-world.ts";

const home = "/home/ana/.claude";

/** Sessions that have a process share the list `shop`. */
export class GateWorld {
  readonly #files = new Map<string, string>();
  readonly core = new World();
  readonly clock = new SimulatedClock(1_000_000);
  readonly presence = new PresenceTable(this.clock);
  readonly teams: Teams;

  constructor() {
    const env = (name: string) => (name === "CLAUDE_CODE_TASK_LIST_ID" ? "shop" : null);
    const words = () => ({ args: ["claude"], env });
    const readSmall = async (path: string) => this.#files.get(path);
    const look = async (path: string, _key: null, _budget: null, read: (...args: unknown[]) => unknown) =>
      this.#files.has(path) ? read({ readSmall }, path) : null;
    const fact = (ask: (budget: null) => unknown) => ask(null);
    // The looks at teams ask for nothing else.
    const outside = { fact, look } as unknown as BudgetedFs;
    this.teams = new Teams({ outside, client: teamFiles, words });
  }

  write(path: string, value: object): void {
    this.#files.set(join(home, path), JSON.stringify(value));
  }

  task(list: string, more: object = {}): void {
    const task = { id: "1", subject: "it", status: "pending", blockedBy: [], ...more };
    this.write(`tasks/${list}/1.json`, task);
  }

  begin(session: string, pid: number | null): void {
    this.core.begin(session, pid === null ? {} : { anchor: { pid, startTime: "1" } });
    this.teams.saw(session, home);
  }

  end(session: string): void {
    this.core.do({ type: "session_end", session, incarnation: null, cause: "anchor_gone" });
  }

  /** Asks whether the agent may give the task the status. Returns whether it may, and the answer's delivery. */
  async asks(
    session: string,
    agent: string | null = null,
    name: string | null = null,
    status: TaskChange["status"] = "in_progress",
  ): Promise<{ readonly passes: boolean; readonly delivery: Delivery }> {
    const { core, clock, presence, teams } = this;
    const delivery = new Delivery();
    const engine = { state: core.state, now: clock.now() };
    const rules = { at: async () => ({ teams: "enforce" }) };
    const plan = { event: "PreToolUse", tool: "TaskUpdate" };
    // The gate uses these fields alone.
    const event = {
      ...{ engine, clock, presence, recorder: { note: () => {} }, delivery, plan },
      actor: () => ({ session, agent, incarnation: 0 }),
    } as unknown as HookEvent;
    const parts = { teams, config: { rules } } as unknown as LeadParts;
    const change = {
      task: "1",
      status,
      owner: name,
      addBlockedBy: [],
      addBlocks: [],
    } as const;
    const who = { session, ...(agent === null ? {} : { agent }), name, ancestors: [null], parentFile: null };
    const said = await gateTeam(
      event,
      { do: "gate_team", ...who, call: { what: "task_update", ...change } },
      parts,
    );
    return { passes: said !== null && "verdict" in said && said.verdict === "allow", delivery };
  }
}
