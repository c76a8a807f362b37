/**
 * Keeps turns, questions to a person and agents of live sessions over a restart of the daemon, in a file beside the
 * journal. They are no part of the log: a power cut may cost their last seconds, and the next event corrects them.
 */
import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import * as z from "zod";
import { limits } from "../../protocol/limits.ts";
import type { Session } from "../core/tables/base-state.ts";
import type { Clock } from "../engine/clock.ts";
import type { Presence, PresenceTable, Pulse } from "./presence.ts";

/** Times are wall time in milliseconds: the next daemon's own clock begins anew. */
const pulseShape = {
  active: z.boolean(),
  since: z.number(),
  isReported: z.boolean(),
  failedAt: z.number().nullable(),
};
const sessionSchema = z.object({
  ...pulseShape,
  /** When the session began in the log: an id that was given again is another session. */
  begun: z.number(),
  /** What waits for a person, the latest last. */
  dialogs: z.array(z.object({ text: z.string(), agent: z.string().nullable(), at: z.number() })),
  transcript: z.string().nullable(),
  prompt: z.string().nullable(),
  title: z.string().nullable(),
  agents: z.array(
    z.object({ ...pulseShape, id: z.string(), parent: z.string().nullable(), descends: z.boolean() }),
  ),
});
type Stored = z.infer<typeof sessionSchema>;
const fileSchema = z.object({ savedAt: z.number(), sessions: z.record(z.string(), sessionSchema) });

type Live = ReadonlyMap<string, Pick<Session, "begun">>;

export interface PresenceFileOptions {
  readonly path: string;
  readonly presence: PresenceTable;
  readonly clock: Clock;
  /** Calls back in the next turn of the event loop; the default is `setImmediate`. */
  readonly soon?: (task: () => void) => void;
  /** Called once if the file cannot be written. */
  readonly onTrouble: (message: string, error: unknown) => void;
}

export class PresenceFile {
  readonly #options: PresenceFileOptions;
  #live: Live = new Map();
  #saved = "";
  /** `PresenceTable.touches` and the clock's offset of what is in the file; null: of nothing. */
  #savedMark: string | null = null;
  /** The lines of the save under way, or of the last one. */
  #lines: Generator<string, void> | null = null;
  #savedAtMs: number;
  /** When the file was written last: what it says is good for `presenceKeptMs` from then on. */
  #writtenAtMs = 0;
  #hasFailed = false;

  constructor(options: PresenceFileOptions) {
    this.#options = options;
    this.#savedAtMs = options.clock.now();
  }

  /** Takes what an earlier daemon stored of these sessions; `live` is read again at every save. */
  load(live: Live): void {
    this.#live = live;
    const { path, presence, clock } = this.#options;
    const found = stored(path);
    const offsetMs = clock.now() - clock.wall();
    if (found === null || Math.abs(clock.wall() - found.savedAt) > limits.presenceKeptMs) return;
    for (const [id, one] of Object.entries(found.sessions)) {
      if (live.get(id)?.begun !== one.begun) continue;
      const row = presence.of(id);
      take(row, one, offsetMs);
      const { transcript, prompt, title } = one;
      for (const { agent, text, at } of one.dialogs) row.dialogs.set(agent, { text, at: at + offsetMs });
      Object.assign(row, { transcript, prompt, title });
      for (const agent of one.agents) {
        const recalled = presence.recalled(id, agent.id);
        if (recalled === null) break;
        take(recalled, agent, offsetMs);
        recalled.parent = agent.parent;
        recalled.descends = agent.descends;
      }
    }
  }

  /**
   * Saves if the last save was a while ago and something may have changed, or the file grows old; costs a comparison
   * else. The rows of many sessions are written in several turns of the event loop, each row as it is then.
   */
  saveSoon(): void {
    const { clock, soon = task => void setImmediate(task) } = this.#options;
    if (clock.now() - this.#savedAtMs < limits.presenceSaveMs) return;
    this.#savedAtMs = clock.now();
    const mark = this.#markNow();
    if (mark === this.#savedMark && !this.#isOld()) return;
    const lines = this.#linesNow();
    this.#lines = lines;
    const pieces: string[] = [];
    const goOn = () => {
      // Another save has begun.
      if (this.#lines !== lines) return;
      for (let left: number = limits.presenceRowsPerTurn; left > 0; left -= 1) {
        const { value, done } = lines.next();
        if (done === true) {
          this.#write(pieces, mark);
          return;
        }
        pieces.push(value);
      }
      soon(goOn);
    };
    goOn();
  }

  /** Saves at once. */
  save(): void {
    this.#savedAtMs = this.#options.clock.now();
    this.#lines = null;
    this.#write([...this.#linesNow()], this.#markNow());
  }

  /** A daemon that is killed after a long rest leaves a file that the next one takes. */
  #isOld(): boolean {
    return this.#options.clock.now() - this.#writtenAtMs >= limits.presenceKeptMs / 2;
  }

  /** Stays the same while what `save` would write does. */
  #markNow(): string {
    return `${this.#options.presence.touches} ${this.#offsetMs()}`;
  }

  /** Wall time minus core time. Whole seconds: else every save would differ by a millisecond from the one before. */
  #offsetMs(): number {
    const { clock } = this.#options;
    return Math.round((clock.wall() - clock.now()) / 1000) * 1000;
  }

  /** Yields the fields of the file's sessions. */
  *#linesNow(): Generator<string, void> {
    const { presence } = this.#options;
    const offsetMs = this.#offsetMs();
    for (const [id, row] of presence.rows) {
      const begun = this.#live.get(id)?.begun;
      if (begun !== undefined)
        yield `${JSON.stringify(id)}:${JSON.stringify(storedOf(row, begun, offsetMs))}`;
    }
  }

  #write(lines: readonly string[], mark: string): void {
    const { path, clock, onTrouble } = this.#options;
    const text = `{${lines.join(",")}}`;
    if (text === this.#saved && !this.#isOld()) {
      this.#savedMark = mark;
      return;
    }
    try {
      // As a whole, so that a start finds the old one or the new one.
      writeFileSync(`${path}.new`, `{"savedAt":${Math.round(clock.wall())},"sessions":${text}}\n`, {
        mode: 0o600,
      });
      renameSync(`${path}.new`, path);
      this.#saved = text;
      this.#writtenAtMs = clock.now();
      this.#savedMark = mark;
    } catch (error) {
      if (!this.#hasFailed) onTrouble("who is active could not be stored for a restart", error);
      this.#hasFailed = true;
    }
  }
}

/** Returns null if there is no file of this form: the next events then tell what is. */
function stored(path: string): z.infer<typeof fileSchema> | null {
  try {
    const stat = statSync(path);
    if (!stat.isFile() || stat.size > limits.eventFileBytes) return null;
    const found = fileSchema.safeParse(JSON.parse(readFileSync(path, "utf8")));
    return found.success ? found.data : null;
  } catch {
    return null; // Missing and damaged are the same: nothing depends on it but what is shown.
  }
}

function storedOf(row: Presence, begun: number, offsetMs: number): Stored {
  const { dialogs, transcript, prompt, title } = row;
  return {
    ...pulseOf(row, offsetMs),
    begun,
    dialogs: Array.from(dialogs.entries(), ([agent, { text, at }]) => ({
      agent,
      text,
      at: Math.round(at + offsetMs),
    })),
    transcript,
    prompt,
    title,
    agents: Array.from(row.agents, ([id, agent]) => ({
      ...pulseOf(agent, offsetMs),
      id,
      parent: agent.parent,
      descends: agent.descends,
    })),
  };
}

function pulseOf({ active, since, isReported, failedAt }: Pulse, offsetMs: number) {
  const wall = (at: number) => Math.round(at + offsetMs);
  return { active, since: wall(since), isReported, failedAt: failedAt === null ? null : wall(failedAt) };
}

function take(own: Pulse, one: Pick<Stored, keyof typeof pulseShape>, offsetMs: number): void {
  own.active = one.active;
  own.since = one.since + offsetMs;
  own.isReported = one.isReported;
  own.failedAt = one.failedAt === null ? null : one.failedAt + offsetMs;
}
