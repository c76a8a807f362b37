/** An agent: what it holds and waits for, and its latest refusal. */
import type { TrailLine } from "../../daemon/trail/line.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { ElsewhereRow } from "../../protocol/work.ts";
import type { Client } from "../process-context.ts";
import { projectRoot } from "../view/places.ts";
import { rowsOf } from "../with-daemon.ts";
import type { About } from "./about.ts";
import { type HolderNow, holderOf, takenNow, type WaiterNow, waitersOf } from "./about-file.ts";
import { type Explained, Story } from "./explained.ts";
import { isOf, pathIn } from "./filter.ts";
import { actorIn, type LockHistory } from "./lock-history.ts";

/** A refusal, and the time at which the agent got what it was refused; null: it did not. */
export interface RefusalNow {
  readonly at: number;
  readonly who: string;
  readonly event: string;
  readonly task: string | null;
  readonly rule: string | null;
  readonly code: string | null;
  readonly why: string | null;
  /** Who had the file, if the line says so. */
  readonly holder: string | null;
  readonly file: string | null;
  readonly project: string | null;
  readonly command: string | null;
  readonly resolvedAt: number | null;
}

export interface AgentNow {
  readonly name: string;
  /** Null: it is not live, or no daemon runs. */
  readonly session: SessionRow | null;
  /** It is of another machine that shares a store with this one; absent: it is not. */
  readonly elsewhere?: ElsewhereRow;
  readonly holds: readonly HolderNow[];
  readonly waits: readonly WaiterNow[];
  readonly refusal: RefusalNow | null;
  /** The latest line of the trail about it. */
  readonly lastSeenAt: number | null;
  /** The end of its session, if that is the latest that the trail tells. */
  readonly ended: { readonly at: number; readonly why: string | null } | null;
}

interface Actor {
  readonly id: string;
  readonly agent: string | null;
}

/** Ends of locks that the agent meant, which say nothing of what was decided. */
const ownEnds: ReadonlySet<string | null> = new Set(["unlocked", "turn ended", "deregistered", "ended"]);

export class AboutAgent implements About {
  readonly #subject: string;
  readonly #story: Story;
  readonly #session: SessionRow | null;
  readonly #elsewhere: ElsewhereRow | null;
  #refusal: RefusalNow | null = null;
  #ended: AgentNow["ended"] = null;
  #lastSeenAt: number | null = null;
  #inTrail: Actor | null = null;

  /**
   * `sessions`: the live ones; null if no daemon runs. Of several agents of one name, in several projects, it is that of the
   * project `here`. `elsewhere`: those of other machines.
   */
  constructor(
    subject: string,
    sessions: readonly SessionRow[] | null,
    {
      here,
      max,
      elsewhere = [],
    }: {
      readonly here: string | null;
      readonly max: number;
      readonly elsewhere?: readonly ElsewhereRow[];
    },
  ) {
    this.#subject = subject;
    const named = sessions?.filter(row => isAgentOf(row, subject)) ?? [];
    const isHere = ({ project }: { readonly project: string }) =>
      here !== null && projectRoot(project) === projectRoot(here);
    this.#session = named.find(isHere) ?? named[0] ?? null;
    const there = this.#session === null ? elsewhere.filter(row => isCalled(row, subject)) : [];
    this.#elsewhere = there.find(isHere) ?? there[0] ?? null;
    this.#story = new Story(line => this.#isIts(line) && !isRoutine(line), max);
  }

  /** Whether what is known of an agent is known of this one. Lines of earlier versions may lack the project. */
  #isIts(one: Pick<TrailLine, "name" | "id" | "agent" | "project">): boolean {
    const within = this.#session?.project ?? null;
    const isHere =
      within === null || one.project === null || projectRoot(one.project) === projectRoot(within);
    return isHere && isOf(one, this.#subject);
  }

  get explained(): readonly Explained[] {
    return this.#story.found;
  }

  /** Who it is by ids, live or as the trail's latest line says; null: unknown. */
  get actor(): Actor | null {
    const session = this.#session;
    if (session === null) return this.#inTrail;
    const { id, name, agents } = session;
    if (isOf({ id, name, agent: null }, this.#subject)) return { id, agent: null };
    const agent = agents.find(one =>
      isOf({ id, name: `${name}/${one.name}`, agent: one.agent }, this.#subject),
    );
    return { id, agent: agent?.agent ?? null };
  }

  get isKnown(): boolean {
    return this.#session !== null || this.#elsewhere !== null || this.#lastSeenAt !== null;
  }

  add(line: TrailLine, history: LockHistory): void {
    if (!this.#isIts(line)) return;
    const { at, event, decision, why = null } = line;
    this.#lastSeenAt = at;
    if (line.id !== null) this.#inTrail = { id: line.id, agent: line.agent };
    const isEnd = event === "SessionEnd" || event === "session_ended";
    this.#ended = isEnd ? { at, why } : decision === "event" ? this.#ended : null;
    if (decision === "event") return;
    if (decision === "deny") this.#refusal = refusalIn(line);
    else if (decision === "allow") this.#resolve(line);
    this.#story.add(line, history);
  }

  #resolve(line: TrailLine): void {
    const refusal = this.#refusal;
    if (refusal === null || refusal.resolvedAt !== null || refusal.file === null) return;
    if (pathIn(line) === refusal.file) this.#refusal = { ...refusal, resolvedAt: line.at };
  }

  /** Without a daemon, the trail alone tells. */
  async now(client: Client | null, history: LockHistory, nowMs: number): Promise<AgentNow> {
    const subject = this.#subject;
    const rest = { name: subject, refusal: this.#refusal, lastSeenAt: this.#lastSeenAt, ended: this.#ended };
    if (client === null) {
      const taken = history.holders(({ who, session }) =>
        isOf({ name: who, id: session, agent: null }, subject),
      );
      const holds = taken.map(one => takenNow(one, nowMs));
      return { ...rest, session: null, holds, waits: [] };
    }
    const locks = await rowsOf(client, "locks");
    const mine = locks.filter(
      ({ holder, project }) => holder !== null && this.#isIts({ ...holder, project }),
    );
    const waits = locks.flatMap(row =>
      waitersOf(row, waiter => this.#isIts({ ...waiter, project: row.project })),
    );
    const there = this.#elsewhere === null ? {} : { elsewhere: this.#elsewhere };
    return { ...rest, session: this.#session, ...there, holds: mine.flatMap(holderOf), waits };
  }
}

function isAgentOf({ id, name, agents }: SessionRow, subject: string): boolean {
  if (isOf({ id, name, agent: null }, subject)) return true;
  return agents.some(({ agent, name: own }) => isOf({ id, name: `${name}/${own}`, agent }, subject));
}

/** Whether a session of another machine is meant: by its id, or by its name with or without the machine. */
function isCalled({ id, name, machine }: ElsewhereRow, subject: string): boolean {
  return id === subject || name === subject || name === `${subject}@${machine}`;
}

function isRoutine({ event, type }: TrailLine): boolean {
  return event === "lock_released" && ownEnds.has(type);
}

function refusalIn(line: TrailLine): RefusalNow {
  const { at, event, task = null, rule = null, code = null, why = null, holder = null, type, project } = line;
  const command = type?.startsWith("git ") === true ? type : null;
  const what = { event, task, file: pathIn(line), project, command };
  return { at, who: actorIn(line), ...what, rule, code, why, holder, resolvedAt: null };
}
