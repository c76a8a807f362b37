/** Simulated agents of a client: what each does next, and the events that its client's hooks send of it. */
import type { Random } from "../random.ts";

/** One call of an edit tool. */
export interface Use {
  readonly id: string;
  readonly file: string;
  readonly by: SimulatedAgent;
  /** It replaces the whole file. */
  readonly isWhole: boolean;
  /** When its hook asked, as a moment of `Unread`. */
  readonly askedAt: number;
  /**
   * `asked`: its hook waits. `runs`: the daemon let it. `ran`: it has ended and no event said so yet. `over`: it was
   * refused, or its end was told, or nobody will tell it.
   */
  state: "asked" | "runs" | "ran" | "over";
  /** The daemon's life that let it run; 0: none did, it runs without its lock. */
  life: number;
  /**
   * The earliest time from which its lock's lease may count: when it asked, or its dialog opened. The lease counts from the
   * request's entry in the log. If the disk is slow, the answer comes many seconds after that.
   */
  touchedAt: number;
  /** A dialog renewed its lock: the next one does not. */
  isRenewed: boolean;
}

/** `interrupted`: a person stopped the turn, of which no event tells. `failed`: it ended by an error. */
type Turn = "none" | "runs" | "interrupted" | "failed";

export class SimulatedAgent {
  readonly session: string;
  readonly agent: string | null;
  turn: Turn = "none";
  /** The turn as the daemon that runs now was told it; null: not at all. */
  told: Turn | null = null;
  use: Use | null = null;
  /** As far as the daemon was told, a dialog waits for a person. */
  isAsked = false;
  /** When its last event was sent, and when one was answered. */
  signAt = 0;
  answeredAt = 0;
  /** Since then the daemon gave back what it had. */
  isReleased = false;

  constructor(session: string, agent: string | null) {
    this.session = session;
    this.agent = agent;
  }

  /** Whether the daemon knows how its turn is. */
  get isTold(): boolean {
    return this.told === this.turn;
  }

  get name(): string {
    return this.agent === null ? this.session : `${this.session}/${this.agent}`;
  }
}

export type Payload = Readonly<Record<string, unknown>>;

/** What an agent does next. */
export type Next =
  | { readonly does: "begin" | "prompt" | "stop" | "fail" | "interrupt" | "end" | "die" | "work" | "claim" }
  | { readonly does: "edit"; readonly file: string }
  | { readonly does: "ask" | "finish" | "break" | "slip"; readonly use: Use }
  | { readonly does: "send" | "return" };

const files = ["a", "b", "src/c", "src/d"] as const;

/** Returns what the agent does now; `child` is the subagent of a main agent, `isOn` says that its session has begun. */
export function nextOf(
  random: Random,
  agent: SimulatedAgent,
  child: SimulatedAgent | null,
  isOn: boolean,
): Next | null {
  const { use, turn } = agent;
  if (!isOn) return agent.agent === null ? { does: "begin" } : null;
  if (use?.state === "asked") return null;
  if (use?.state === "runs") {
    const roll = random.int(1, 100);
    if (roll <= 12 && !agent.isAsked) return { does: "ask", use };
    if (roll <= 80) return { does: "finish", use };
    if (roll <= 88) return { does: "break", use };
    // Its end is told late, after other events.
    if (roll <= 95) return { does: "slip", use };
    return agent.agent === null ? { does: "interrupt" } : null;
  }
  if (turn !== "runs") {
    if (agent.agent !== null) return null;
    const roll = random.int(1, 100);
    if (roll <= 6) return { does: "end" };
    if (roll <= 9) return { does: "die" };
    return { does: "prompt" };
  }
  const roll = random.int(1, 100);
  if (roll <= 55) return { does: "edit", file: random.pick(files) };
  if (roll <= 65) return { does: "work" };
  if (roll <= 72) return { does: "claim" };
  if (agent.agent !== null) return roll <= 90 ? { does: "return" } : null;
  if (roll <= 82 && child?.turn === "none") return { does: "send" };
  if (roll <= 84) return { does: "interrupt" };
  if (roll <= 86) return { does: "fail" };
  if (roll <= 87) return { does: "die" };
  return { does: "stop" };
}

/** Returns an event of the agent, as its client words it. */
export function eventOf(
  agent: SimulatedAgent,
  prompt: string | null,
  name: string,
  more: Payload = {},
): Payload {
  return {
    session_id: agent.session,
    transcript_path: `/home/dev/.claude/projects/-p/${agent.session}.jsonl`,
    cwd: "/p",
    ...(prompt === null ? {} : { prompt_id: prompt }),
    ...(agent.agent === null ? {} : { agent_id: agent.agent, agent_type: "general-purpose" }),
    hook_event_name: name,
    ...more,
  };
}

/** The fields of an event about a call of the edit tool. */
export function editOf({ id, file, isWhole }: Use): Payload {
  const path = `/p/${file}`;
  return {
    ...(isWhole
      ? { tool_name: "Write", tool_input: { file_path: path, content: "2" } }
      : { tool_name: "Edit", tool_input: { file_path: path, old_string: "1", new_string: "2" } }),
    tool_use_id: id,
  };
}
