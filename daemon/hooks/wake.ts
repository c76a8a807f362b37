/**
 * Wakes sessions that stopped. One whose edit was refused is woken when the file is free, and one that leads agents at work
 * when one of these stalls. One whose branch somebody may merge is woken when the merge comes back, and one that only read
 * and ran when others changed or removed its work.
 *
 * Invariants: at most one hook of a session waits. A wake grants nothing. A session is woken at most `limits.wakesMax`
 * times between two prompts of a person. While no hook waits, a step costs one comparison. The log has no refusal:
 * after a restart none is known, and a hook that comes back to wait for a file alone is released.
 */

import type { FreedFile, ReturnedMerge } from "../../hooks/seam/outcomes.ts";
import type { Code } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { Actor, FileRef } from "../core/frame/actors.ts";
import { firstBlocker } from "../core/locks/blockers.ts";
import type { CommandType, CoreEvent, Reply } from "../core/tables/entries.ts";
import { pathOf } from "../core/tables/naming.ts";
import type { Clock } from "../engine/clock.ts";
import type { Listener } from "../engine/log-view.ts";
import type { Connection } from "../server/connection.ts";
import { decidedBy } from "../trail/decisions.ts";
import type { Recorder } from "../trail/trail.ts";
import type { RowSource } from "../views/paging.ts";
import { nameOf } from "../views/sessions.ts";

/** Refusals caused by another holder. Only these can resolve on their own. */
const busy: ReadonlySet<Code> = new Set<Code>([
  "lock_held",
  "lock_queue_full",
  "lock_timeout",
  "lock_deadlock",
]);

/** These steps tell that a lock or a queue position ended, or perhaps that a merge came back or work was changed or taken. */
export const wakingSteps = {
  // A waiter that is detached leaves the queue without an event.
  commands: [
    "lock_detach",
    "writes_noted",
    "flight_end",
    "work_taken",
    "work_wiped",
    "stashes_noted",
    "commits_taken",
  ],
  events: ["lock_released", "lock_wait_ended", "merge_changed"],
} as const satisfies Pick<Listener, "commands" | "events">;

const waking: ReadonlySet<string> = new Set([...wakingSteps.commands, ...wakingSteps.events]);

/** What it needs of the daemon. */
interface Around extends RowSource {
  readonly clock: Clock;
  readonly recorder: Pick<Recorder, "note">;
}

/** A hook that can wait. */
interface Hook {
  readonly connection: Pick<Connection, "isClosed" | "hasRoomToWait" | "tie" | "push">;
  park(): void;
}

/** What a session that stops leads, and what it has to be merged. */
export interface Led {
  /** Agents that it leads are at work. */
  readonly isAtWork: boolean;
  /** Whether it is to be told of one that stalled. */
  hasAlarm(): boolean;
  /** Somebody may merge its branch. */
  readonly hasBranch: boolean;
  /** The first merge that came back and of which it has an unread message; null: none. */
  cameBack(): ReturnedMerge | null;
  /** Whether it has an unread notice that others changed or removed its work. */
  hasNotice(): boolean;
}

export const leadsNobody: Led = {
  isAtWork: false,
  hasAlarm: () => false,
  hasBranch: false,
  cameBack: () => null,
  hasNotice: () => false,
};

/** Why a session is woken. */
export type Woken =
  | { readonly why: "freed"; readonly freed: FreedFile }
  | { readonly why: "stalled" }
  | { readonly why: "came_back"; readonly cameBack: ReturnedMerge }
  | { readonly why: "notice" };

/** The edit for which a hook asked for a lock. */
interface RefusedEdit {
  readonly actor: Actor;
  readonly file: FileRef;
  readonly prompt: string | null;
}

interface WatchedEdit extends RefusedEdit {
  /** The holder at the last check. */
  had: string | null;
}

/** A session with refused files, or whose hook waits. */
interface Row {
  /** The turn in which they were refused. */
  prompt: string | null;
  /** By the file's key. */
  readonly refused: Map<string, WatchedEdit>;
  wakes: number;
  /** When it was woken for notices, in core time; null: it was not. */
  noticedAt: number | null;
  waiting: Waiting | null;
}

interface Waiting {
  /** Checks whether one of the files is free, or an agent stalled. */
  look(): void;
  /** Ends the hook without an answer. */
  end(): void;
}

export class HookWakes {
  readonly #rows = new Map<string, Row>();
  /** Sessions with refused files, or whose hook waits: a granted lock of others tells nothing. */
  readonly sessions: ReadonlyMap<string, unknown> = this.#rows;
  readonly #waiting = new Set<Waiting>();

  /** Records that a hook's lock was granted or refused. Agents within a session do not count: they do not stop. */
  decided(around: Around, edit: RefusedEdit, reply: Reply): void {
    const { actor, file, prompt } = edit;
    if (actor.agent !== null) return;
    const known = this.#rows.get(actor.session);
    if (reply.ok) known?.refused.delete(file.key);
    if (reply.ok || !busy.has(reply.code) || !around.engine.state.sessions.live.has(actor.session)) return;
    const row = known ?? newRow(prompt);
    this.#rows.set(actor.session, row);
    if (row.prompt !== prompt) row.refused.clear();
    row.prompt = prompt;
    if (row.refused.size >= limits.refusedFilesMax) return;
    const holder = reply["locked_by_name"];
    const refused: WatchedEdit = { ...edit, had: typeof holder === "string" ? holder : null };
    isFree(around, refused);
    row.refused.set(file.key, refused);
  }

  /**
   * The session stopped. Resolves as soon as a file is free that it was refused in this turn, with that file. Resolves as
   * soon as an agent that it leads stalls, or a merge of its branch comes back. Resolves with null at once if none was refused, no such
   * agent is at work and nobody may merge its branch. Also with null when time, a prompt, the next stop, the session's end
   * or the hook's end ends the wait.
   */
  async wait(
    around: Around,
    hook: Hook,
    { session, prompt, led }: { readonly session: string; readonly prompt: string | null; readonly led: Led },
  ): Promise<Woken | null> {
    const known = this.#rows.get(session);
    known?.waiting?.end();
    const isRefused = known !== undefined && known.prompt === prompt && known.refused.size > 0;
    const mayLast = led.isAtWork || led.hasBranch;
    const isNews = led.hasAlarm() || led.cameBack() !== null || led.hasNotice();
    if ((!isRefused && !mayLast && !isNews) || hook.connection.isClosed) return null;
    const row = known ?? newRow(prompt);
    if (row.wakes >= limits.wakesMax) return null;
    this.#rows.set(session, row);
    if (!isRefused) row.refused.clear();
    const look = () => takeWake(around, row, led);
    const woken = look();
    if (woken !== null || (!isRefused && !mayLast) || !hook.connection.hasRoomToWait) return woken;
    return await this.#untilWoken(around, hook, row, look, mayLast);
  }

  /** An agent stalled: a lead of it that waits is woken. */
  alarmed(session: string): void {
    this.#rows.get(session)?.waiting?.look();
  }

  /** A prompt ends the refusals of the turn before it. A person's prompt also resets the count of wakes. */
  prompted(session: string, prompt: string | null, byPerson: boolean): void {
    const row = this.#rows.get(session);
    if (row === undefined) return;
    row.waiting?.end();
    // A prompt that is typed into a running turn carries that turn's id.
    if (prompt === null || row.prompt !== prompt) row.refused.clear();
    if (byPerson) row.wakes = 0;
    if (row.refused.size === 0 && row.wakes === 0 && row.noticedAt === null) this.#rows.delete(session);
  }

  /** Forgets a session that has ended, or whose process goes on under another id. */
  forget(session: string): void {
    this.#rows.get(session)?.waiting?.end();
    this.#rows.delete(session);
  }

  /** An entry was applied: if it may have freed a file or ended a merge, each waiting hook looks again. */
  stepped(type: CommandType, events: readonly CoreEvent[]): void {
    if (this.#waiting.size === 0) return;
    const wakes = waking.has(type) || events.some(({ event }) => waking.has(event.event));
    if (wakes) for (const waiting of [...this.#waiting]) waiting.look();
  }

  #untilWoken(
    around: Around,
    hook: Hook,
    row: Row,
    look: () => Woken | null,
    mayLast: boolean,
  ): Promise<Woken | null> {
    const { connection } = hook;
    hook.park();
    // Tells the client that its hook waits.
    connection.push("\n");
    return new Promise(resolve => {
      const over = (woken: Woken | null) => {
        stopClock();
        untie();
        this.#waiting.delete(waiting);
        row.waiting = null;
        resolve(woken);
      };
      const waiting: Waiting = {
        look: () => {
          const woken = look();
          if (woken !== null) over(woken);
        },
        end: () => over(null),
      };
      const waitMs = mayLast ? limits.wakeLeadMs : limits.wakeWaitMs;
      const stopClock = around.clock.at(around.clock.now() + waitMs, waiting.end);
      this.#waiting.add(waiting);
      row.waiting = waiting;
      const untie = connection.tie(waiting.end);
    });
  }
}

/** Returns why the session is woken now, and counts it. */
function takeWake(around: Around, row: Row, led: Led): Woken | null {
  const free = takeFree(around, row);
  if (free !== null) {
    note(around, free);
    return { why: "freed", freed: { file: pathOf(free.file), had: free.had } };
  }
  const cameBack = led.hasAlarm() ? null : led.cameBack();
  const now = around.clock.now();
  const isNotice = led.hasNotice() && (row.noticedAt === null || now - row.noticedAt >= limits.wakeNoticeMs);
  if (!led.hasAlarm() && cameBack === null && !isNotice) return null;
  row.wakes += 1;
  if (led.hasAlarm()) return { why: "stalled" };
  if (cameBack !== null) return { why: "came_back", cameBack };
  row.noticedAt = now;
  return { why: "notice" };
}

function newRow(prompt: string | null): Row {
  return { prompt, refused: new Map(), wakes: 0, noticedAt: null, waiting: null };
}

/** Takes one of the row's free files. Each wakes its session once. */
function takeFree(around: Around, row: Row): WatchedEdit | null {
  const free = [...row.refused.values()].find(refused => isFree(around, refused));
  if (free === undefined) return null;
  row.refused.delete(free.file.key);
  row.wakes += 1;
  return free;
}

/** Whether the core would grant the actor the file now. If not, records the holder. */
function isFree(around: Around, refused: WatchedEdit): boolean {
  const { actor, file } = refused;
  const ask = { actor, files: [file], ancestors: [], ticket: Number.POSITIVE_INFINITY };
  const blocker = firstBlocker(around.engine.state.locks, ask);
  if (blocker !== null) refused.had = nameOf(around, blocker.actor);
  return blocker === null;
}

function note(around: Around, { actor, file, had }: WatchedEdit): void {
  const why = `free again${had === null ? "" : ` (${had} had it)`}: woken to try its edit anew`;
  const what = {
    event: "Stop",
    type: "wake",
    rule: "lock",
    file: pathOf(file),
    decision: "note",
    why,
  } as const;
  around.recorder.note({ ...decidedBy(around, actor), ...what });
}
