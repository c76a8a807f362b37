/**
 * Answers `GET /api/timeline`: reads the trail once for a range, keeps what came of it, and reads on from there when it is
 * asked again. The trail is read a chunk at a time, so the page's other questions are answered meanwhile.
 */
import { type Place, readForward, startBefore } from "../../../daemon/trail/read.ts";
import type { ProcessContext } from "../../process-context.ts";
import { AgentLanes } from "../agent-lanes.ts";
import { bounds } from "../bounds.ts";
import type { TimelineReply } from "../timeline.ts";
import type { Viewer } from "../wire.ts";

/** What was read of a range; `untilMs` is infinite for one that reaches now. */
interface Kept {
  readonly id: number;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly lanes: AgentLanes;
  place: Place;
}

interface Question {
  readonly fromMs: number;
  /** Null: now. */
  readonly untilMs: number | null;
  readonly project: string | null;
  /** As an earlier answer gave it. */
  readonly version: string | null;
}

type Trailed = Pick<ProcessContext, "paths" | "now" | "env">;

export class TimelineSource {
  readonly #world: Trailed;
  readonly #viewer: Pick<Viewer, "project">;
  #kept: readonly Kept[] = [];
  /** The latest question's end. */
  #turn: Promise<unknown> = Promise.resolve();
  #ids = 0;

  constructor(world: Trailed, viewer: Pick<Viewer, "project">) {
    this.#world = world;
    this.#viewer = viewer;
  }

  /**
   * Returns null if the query is none about a range. Questions are answered one after the other: several at once would each
   * have the memory of a range, and those about one range would read it again.
   */
  answer(query: URLSearchParams): Promise<TimelineReply | null> {
    const reply = this.#turn.then(() => this.#answer(query));
    // Who asked is told of a fault; the next question is another one.
    this.#turn = reply.catch(() => {});
    return reply;
  }

  async #answer(query: URLSearchParams): Promise<TimelineReply | null> {
    const question = this.#questionIn(query);
    if (question === null) return null;
    const { fromMs, project, version } = question;
    const kept = this.#keptFor(question) ?? (await this.#begin(question));
    try {
      await read(this.#world.paths.trail, kept);
    } catch (error) {
      this.#kept = this.#kept.filter(one => one !== kept);
      throw error;
    }
    const { lanes } = kept;
    const since = sinceIn(version, kept);
    const untilMs = question.untilMs ?? this.#world.now();
    const home = this.#world.env["HOME"] ?? "";
    const timeline = lanes.timeline({ fromMs, untilMs, project, since, home });
    return { version: `${kept.id}.${lanes.changes}`, isWhole: since === 0, timeline };
  }

  #questionIn(query: URLSearchParams): Question | null {
    const nowMs = this.#world.now();
    const fromMs = timeIn(query.get("from"));
    const until = query.get("until");
    const untilMs = until === null ? null : timeIn(until);
    if (fromMs === null || (until !== null && untilMs === null)) return null;
    const lengthMs = (untilMs ?? nowMs) - fromMs;
    if (lengthMs < bounds.rangeMsMin || lengthMs > bounds.rangeMs) return null;
    const project = this.#viewer.project ?? query.get("project");
    // A range that reaches into the future reaches now.
    const isPast = untilMs !== null && untilMs < nowMs;
    return { fromMs, untilMs: isPast ? untilMs : null, project, version: query.get("version") };
  }

  /** What was read and has all of the range. */
  #keptFor({ fromMs, untilMs }: Question): Kept | null {
    const until = untilMs ?? Number.POSITIVE_INFINITY;
    const found = this.#kept.find(one => one.fromMs <= fromMs && one.untilMs === until);
    if (found === undefined) return null;
    this.#kept = [found, ...this.#kept.filter(one => one !== found)];
    return found;
  }

  async #begin({ fromMs, untilMs }: Question): Promise<Kept> {
    const until = untilMs ?? Number.POSITIVE_INFINITY;
    const place = await startBefore(this.#world.paths.trail, fromMs);
    this.#ids += 1;
    const kept = {
      ...{ id: this.#ids, fromMs, untilMs: until },
      ...{ lanes: new AgentLanes(fromMs, until), place },
    };
    this.#kept = [kept, ...this.#kept].slice(0, bounds.rangesKeptMax);
    return kept;
  }
}

async function read(dir: string, kept: Kept): Promise<void> {
  for await (const { lines, end } of readForward(dir, kept.place)) {
    for (const line of lines) kept.lanes.add(line);
    kept.place = end;
  }
}

/** The changes that a version tells its page has; 0: it has none of this range. */
function sinceIn(version: string | null, { id, lanes }: Kept): number {
  const [, of, number] = /^(\d{1,15})\.(\d{1,15})$/.exec(version ?? "") ?? [];
  return Number(of) === id && Number(number) <= lanes.changes ? Number(number) : 0;
}

/** A wall time in milliseconds; null: none. */
function timeIn(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
