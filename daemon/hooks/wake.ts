/**
 * Sessions that stopped though an edit of theirs was refused, and are woken when the file is free.
 *
 * Invariants: at most one hook a session waits; being woken grants nothing; at most `limits.wakesMax` times between
 * two prompts of a person; while nobody waits, a step costs a comparison. Nothing of it is in the log: after a
 * restart nothing is known of refusals, and who comes back to wait is let go.
 */

import type { FreedFile } from "../../hooks/seam/notices.ts";
import type { Code } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { Actor } from "../core/actor.ts";
import type { CommandType } from "../core/commands.ts";
import type { FileRef } from "../core/file-ref.ts";
import { firstBlocker } from "../core/locks/blockers.ts";
import { pathOf } from "../core/locks/replies.ts";
import type { CoreEvent, Reply } from "../core/outcome.ts";
import type { Clock } from "../engine/clock.ts";
import type { Connection } from "../server/connection.ts";
import type { Recorder } from "../trail/recorder.ts";
import { nameOf, type RowSource } from "../views/sessions-and-locks.ts";

/** Somebody else had the file; whatever else was wrong does not pass by itself. */
const busy: ReadonlySet<Code> = new Set<Code>([
  "lock_held",
  "lock_queue_full",
  "lock_timeout",
  "lock_deadlock",
]);

/** The end of a hold or of a place in line is told by one of these. */
const freeing: ReadonlySet<string> = new Set<CoreEvent["event"]["event"]>([
  "lock_released",
  "lock_wait_ended",
]);

/** What it needs of the daemon around it. */
interface Around extends RowSource {
  readonly clock: Clock;
  readonly recorder: Pick<Recorder, "note">;
}

/** A hook that can be kept waiting. */
interface Hook {
  readonly connection: Pick<Connection, "isClosed" | "tie" | "push">;
  park(): void;
}

/** What a hook's lock was asked for. */
interface Asked {
  readonly actor: Actor;
  readonly file: FileRef;
  readonly prompt: string | null;
}

interface Refused extends Asked {
  /** Who was in the way when it was looked at last. */
  had: string | null;
}

/** A session to which files were refused. */
interface Row {
  /** The turn in which they were. */
  prompt: string | null;
  /** By key. */
  readonly refused: Map<string, Refused>;
  wakes: number;
  waiting: Waiting | null;
}

interface Waiting {
  /** Looks whether one of the files is free. */
  look(): void;
  /** Lets the hook go without a word. */
  end(): void;
}

export class HookWakes {
  readonly #rows = new Map<string, Row>();
  readonly #waiting = new Set<Waiting>();

  /** A hook's lock was granted or refused. Those of agents within a session count for nothing: they do not stop. */
  decided(around: Around, asked: Asked, reply: Reply): void {
    const { actor, file, prompt } = asked;
    if (actor.agent !== null) return;
    const known = this.#rows.get(actor.session);
    if (reply.ok) known?.refused.delete(file.key);
    if (reply.ok || !busy.has(reply.code) || !around.engine.state.sessions.live.has(actor.session)) return;
    const row = known ?? { prompt, refused: new Map<string, Refused>(), wakes: 0, waiting: null };
    this.#rows.set(actor.session, row);
    if (row.prompt !== prompt) row.refused.clear();
    row.prompt = prompt;
    if (row.refused.size >= limits.refusedFilesMax) return;
    const said = reply["locked_by_name"];
    const refused: Refused = { ...asked, had: typeof said === "string" ? said : null };
    isFree(around, refused);
    row.refused.set(file.key, refused);
  }

  /**
   * The session stopped. Resolves with a file that it was refused in this turn and that is free, as soon as there is
   * one; with null at once where none was refused, and when the wait ends: by time, by a prompt, by the next stop,
   * with the session or the hook.
   */
  async wait(around: Around, hook: Hook, session: string, prompt: string | null): Promise<FreedFile | null> {
    const row = this.#rows.get(session);
    row?.waiting?.end();
    if (row === undefined || row.prompt !== prompt || row.refused.size === 0) return null;
    if (row.wakes >= limits.wakesMax || hook.connection.isClosed) return null;
    const free = takeFree(around, row) ?? (await this.#untilFree(around, hook, row));
    if (free === null) return null;
    note(around, free);
    return { file: pathOf(free.file), had: free.had };
  }

  /** A prompt came: what was refused in the turn before is over, and with one by a person so is the count. */
  prompted(session: string, prompt: string | null, byPerson: boolean): void {
    const row = this.#rows.get(session);
    if (row === undefined) return;
    row.waiting?.end();
    // One that is typed into a running turn carries that turn's id.
    if (prompt === null || row.prompt !== prompt) row.refused.clear();
    if (byPerson) row.wakes = 0;
    if (row.refused.size === 0 && row.wakes === 0) this.#rows.delete(session);
  }

  /** The session has ended, or its process goes on under another id. */
  forget(session: string): void {
    this.#rows.get(session)?.waiting?.end();
    this.#rows.delete(session);
  }

  /** An entry was applied: whoever waits looks again where it may have freed something. */
  stepped(type: CommandType, events: readonly CoreEvent[]): void {
    if (this.#waiting.size === 0) return;
    // A place that is left without anybody to answer has no event of its own.
    const frees = type === "lock_detach" || events.some(({ event }) => freeing.has(event.event));
    if (frees) for (const waiting of [...this.#waiting]) waiting.look();
  }

  #untilFree(around: Around, hook: Hook, row: Row): Promise<Refused | null> {
    const { connection } = hook;
    hook.park();
    // The client hears that its hook waits.
    connection.push("\n");
    return new Promise(resolve => {
      const over = (free: Refused | null) => {
        stopClock();
        untie();
        this.#waiting.delete(waiting);
        row.waiting = null;
        resolve(free);
      };
      const waiting: Waiting = {
        look: () => {
          const free = takeFree(around, row);
          if (free !== null) over(free);
        },
        end: () => over(null),
      };
      const stopClock = around.clock.at(around.clock.now() + limits.wakeWaitMs, waiting.end);
      this.#waiting.add(waiting);
      row.waiting = waiting;
      const untie = connection.tie(waiting.end);
    });
  }
}

/** One of the row's files that is free; it wakes its session once. */
function takeFree(around: Around, row: Row): Refused | null {
  const free = [...row.refused.values()].find(refused => isFree(around, refused));
  if (free === undefined) return null;
  row.refused.delete(free.file.key);
  row.wakes += 1;
  return free;
}

/** Whether the actor would be granted it now; else notes who is in the way. */
function isFree(around: Around, refused: Refused): boolean {
  const { actor, file } = refused;
  const ask = { actor, files: [file], ancestors: [], ticket: Number.POSITIVE_INFINITY };
  const blocker = firstBlocker(around.engine.state.locks, ask);
  if (blocker !== null) refused.had = nameOf(around, blocker.actor);
  return blocker === null;
}

function note(around: Around, { actor, file, had }: Refused): void {
  const project = around.engine.state.sessions.live.get(actor.session)?.project ?? null;
  const who = { id: actor.session, agent: null, name: nameOf(around, actor), project };
  const why = `free again${had === null ? "" : ` (${had} had it)`}: woken to try its edit anew`;
  const what = { event: "Stop", type: "wake", file: pathOf(file), decision: "note", why } as const;
  around.recorder.note({ at: around.clock.wall(), ...who, ...what });
}
