/** Makes a timeline of lines of the trail, one after the other. Pure: who reads the lines is in `answers.ts`. */

import { BoundedMap } from "../../daemon/bounded-map.ts";
import type { TrailLine } from "../../daemon/trail/line.ts";
import { trailReason } from "../refusal-text.ts";
import {
  actorIn,
  type Explained,
  explained,
  isPersons,
  isTaking,
  keyIn,
  LockHistory,
  pathIn,
} from "../trail/explained.ts";
import { sentence } from "../trail/sentences.ts";
import type { Lane, Mark, Span, Timeline } from "./timeline.ts";
import { bounds } from "./wire.ts";

/** A span or a mark; `change` is the number of the line that changed it last. */
interface Entry {
  readonly n: number;
  readonly kind: Span["kind"] | Mark["kind"];
  readonly file: string | null;
  readonly fileKey: string | null;
  readonly fromMs: number;
  readonly who: string | null;
  readonly task: string | null;
  /** Null: an event of a hook, of which there is no sentence. */
  story: Explained | null;
  /** Null: it goes on. */
  untilMs: number | null;
  why: string | null;
  change: number;
}

interface LaneState {
  readonly id: string;
  readonly session: string | null;
  readonly agent: string | null;
  name: string;
  project: string | null;
  beganMs: number | null;
  endedMs: number | null;
  lastMs: number;
  entries: Entry[];
  readonly open: Set<Entry>;
}

/** Which part of what was read is wanted. */
interface Wanted {
  readonly fromMs: number;
  readonly untilMs: number;
  /** Null: all projects. */
  readonly project: string | null;
  /** Only what has changed since; 0: all. */
  readonly since: number;
  /** The person's directory, which sentences write as `~`. */
  readonly home: string;
}

/** What hooks tell besides decisions. */
const hookMarks: ReadonlyMap<string, Mark["kind"]> = new Map([
  ["UserPromptSubmit", "prompt"],
  ["Stop", "turn"],
  ["SubagentStop", "end"],
  ["SessionEnd", "end"],
]);

/** Lines of one millisecond that are told apart, and things that one line tells of an agent: a mark, a wait, a hold. */
const linesMax = 1_000;
const partsMax = 4;

const ends = /^(?:SessionEnd|session_ended)$/;

/** Follows lines in their order. What ended before the range, or began behind it, is not kept. */
export class AgentLanes {
  readonly #fromMs: number;
  readonly #untilMs: number;
  readonly #itemsMax: number;
  readonly #lanes = new Map<string, LaneState>();
  readonly #history = new LockHistory();
  /** The latest agent that took each file. */
  readonly #holders = new BoundedMap<string, { readonly lane: LaneState; readonly held: Entry }>({
    entriesMax: bounds.timelineItemsMax,
  });
  #count = 0;
  /** How many lines there were of the latest times. */
  readonly #lines = new BoundedMap<number, number>({ entriesMax: 256 });
  #changes = 0;
  /** What ended before was left out, since there was too much. */
  #cutMs = 0;

  constructor(fromMs: number, untilMs: number, itemsMax: number = bounds.timelineItemsMax) {
    this.#fromMs = fromMs;
    this.#untilMs = untilMs;
    this.#itemsMax = itemsMax;
  }

  /** The number of lines so far, of which `Wanted.since` is an earlier one. */
  get changes(): number {
    return this.#changes;
  }

  /** Takes the next line. */
  add(line: TrailLine): void {
    this.#changes += 1;
    this.#lines.set(line.at, (this.#lines.get(line.at) ?? 0) + 1);
    if (line.decision === "event") this.#addEvent(line);
    else this.#addDecision(line);
    this.#history.add(line);
    if (this.#count > this.#itemsMax * 1.25) this.#cut();
  }

  #addEvent(line: TrailLine): void {
    const kind = hookMarks.get(line.event);
    if (kind === undefined || line.id === null) return;
    const lane = this.#laneOf(line);
    // The session's end has a line of its own.
    if (kind === "end" && lane.endedMs !== null) return;
    this.#put(lane, this.#markOf(kind, line, null));
    if (kind === "end") this.#end(line, lane);
  }

  #addDecision(line: TrailLine): void {
    const story = explained(line, this.#history);
    const lane = this.#laneOf(line);
    const mark = (kind: Mark["kind"]) => this.#put(lane, this.#markOf(kind, line, story));
    if (ends.test(line.event)) {
      if (lane.endedMs === null) mark("end");
      this.#end(line, lane);
    } else if (isTaking(line) && line.file !== null) this.#take(lane, line, story);
    else if (story.what === "waits") this.#wait(lane, line, story);
    else if (story.what === "released") this.#release(lane, line, story);
    else if (story.what === "denied" || story.what === "not_released" || line.decision === "deny") {
      this.#endWait(lane, line, story);
      mark("denial");
    } else if (story.what === "began") {
      lane.beganMs = line.at;
      lane.endedMs = null;
      mark("begin");
    } else if (story.what === "task") mark("task");
    else if (line.event === "lock_wait_ended") this.#endWait(lane, line, story);
    // An edit that needs no lock is none of Kite's business.
    else if (line.rule !== "ignore") mark("note");
  }

  #take(lane: LaneState, line: TrailLine, story: Explained): void {
    this.#endWait(lane, line, story);
    const fileKey = keyIn(line) ?? "";
    // A lock that its holder asks for again.
    if (openIn(lane, "hold", fileKey) !== null) return;
    const before = this.#holders.get(fileKey);
    // The line of its end is missing; agents of one session may have a file together.
    if (before?.held.untilMs === null && before.lane.session !== lane.session)
      this.#close(before.lane, before.held, line.at, null);
    const held: Entry = this.#entryOf("hold", line, story);
    this.#put(lane, held);
    this.#holders.set(fileKey, { lane, held });
  }

  #wait(lane: LaneState, line: TrailLine, story: Explained): void {
    const fileKey = keyIn(line);
    if (openIn(lane, "wait", fileKey) !== null) return;
    const [, named] = /^behind (.+), queue position \d+$/.exec(line.why ?? "") ?? [];
    const holder = fileKey === null ? null : this.#history.otherHolder(fileKey, story.who);
    const who = holder?.who ?? named ?? null;
    this.#put(lane, { ...this.#entryOf("wait", line, story), who, why: line.why ?? null });
  }

  /** A wait ended with a grant, a refusal, or because its agent gave up. */
  #endWait(lane: LaneState, line: TrailLine, story: Explained): void {
    const wait = openIn(lane, "wait", keyIn(line));
    const why = isTaking(line) ? null : trailReason(line);
    if (wait === null) {
      const { waitedMs } = line;
      if (story.what !== "waited" && waitedMs === undefined) return;
      const fromMs = line.at - (waitedMs ?? story.waitedMs);
      const who = story.before?.who ?? line.holder ?? null;
      this.#put(lane, { ...this.#entryOf("wait", line, story), fromMs, untilMs: line.at, who, why });
      return;
    }
    if (why !== null) wait.why = why;
    wait.story = story;
    this.#close(lane, wait, line.at, null);
    // A request for several files waits for all of them, and only one has the line of its refusal.
    if (isTaking(line)) return;
    for (const other of [...lane.open])
      if (other.kind === "wait" && other.fromMs === wait.fromMs) this.#close(lane, other, line.at, why);
  }

  #release(lane: LaneState, line: TrailLine, story: Explained): void {
    const fileKey = keyIn(line);
    const why = line.why ?? null;
    const held = openIn(lane, "hold", fileKey);
    if (held !== null) {
      this.#close(lane, held, line.at, why);
      return;
    }
    const { heldMs } = line;
    if (heldMs === undefined) return;
    const fromMs = line.at - heldMs;
    const earlier = lane.entries.findLast(one => one.kind === "hold" && one.fileKey === fileKey);
    if (earlier !== undefined && (earlier.untilMs ?? 0) > fromMs) this.#close(lane, earlier, line.at, why);
    else this.#put(lane, { ...this.#entryOf("hold", line, story), fromMs, untilMs: line.at, why });
  }

  /** A session ends with all its agents; an agent alone. */
  #end({ id, at, why }: TrailLine, ended: LaneState): void {
    const lanes = ended.agent === null && id !== null ? this.#lanes.values() : [ended];
    for (const lane of lanes) {
      if (lane !== ended && (lane.session !== id || lane.endedMs !== null)) continue;
      lane.endedMs = at;
      for (const entry of [...lane.open]) this.#close(lane, entry, at, why ?? null);
    }
  }

  #close(lane: LaneState, entry: Entry, at: number, why: string | null): void {
    entry.untilMs = Math.max(at, entry.fromMs);
    entry.why = why ?? entry.why;
    entry.change = this.#changes;
    lane.open.delete(entry);
    if (entry.untilMs < this.#fromMs) this.#drop(lane, entry);
  }

  #put(lane: LaneState, entry: Entry): void {
    const isOver = entry.untilMs !== null && entry.untilMs < this.#fromMs;
    if (isOver || entry.fromMs > this.#untilMs) return;
    lane.entries.push(entry);
    this.#count += 1;
    if (entry.untilMs === null) lane.open.add(entry);
  }

  #drop(lane: LaneState, entry: Entry): void {
    lane.entries = lane.entries.filter(one => one !== entry);
    this.#count -= 1;
  }

  #entryOf(kind: Entry["kind"], line: TrailLine, story: Explained | null): Entry {
    const part = kind === "hold" ? 2 : kind === "wait" ? 1 : 0;
    return {
      // The same thing has the same number in every range: the page finds it again.
      n: (line.at * linesMax + ((this.#lines.get(line.at) ?? 0) % linesMax)) * partsMax + part,
      kind,
      file: pathIn(line),
      fileKey: keyIn(line),
      fromMs: line.at,
      untilMs: null,
      who: story?.before?.who ?? line.holder ?? null,
      task: line.task ?? null,
      story,
      why: line.why ?? null,
      change: this.#changes,
    };
  }

  #markOf(kind: Mark["kind"], line: TrailLine, story: Explained | null): Entry {
    return { ...this.#entryOf(kind, line, story), untilMs: line.at, why: trailReason(line) };
  }

  #laneOf(line: TrailLine): LaneState {
    const { id, agent, name, project, at } = line;
    const isOne = id !== null && !isPersons({ name, id });
    const laneId = isOne
      ? `${id}/${agent ?? ""}`
      : `${isPersons(line) ? "person" : "nobody"} ${project ?? ""}`;
    const known = this.#lanes.get(laneId);
    const lane = known ?? {
      ...{
        id: laneId,
        session: isOne ? id : null,
        agent: isOne ? agent : null,
        name: nameIn(line),
        project,
      },
      ...{ beganMs: null, endedMs: null, lastMs: at, entries: [], open: new Set<Entry>() },
    };
    if (known === undefined) this.#lanes.set(laneId, lane);
    if (name !== null) lane.name = nameIn(line);
    lane.project ??= project ?? this.#lanes.get(`${id}/`)?.project ?? null;
    lane.lastMs = at;
    return lane;
  }

  /** Leaves out what ended first. */
  #cut(): void {
    const times = [...this.#lanes.values()].flatMap(lane => lane.entries.map(lastOf)).sort((a, b) => a - b);
    this.#cutMs = times[times.length - this.#itemsMax] ?? 0;
    this.#count = 0;
    for (const [id, lane] of this.#lanes) {
      lane.entries = lane.entries.filter(entry => lastOf(entry) >= this.#cutMs);
      this.#count += lane.entries.length;
      if (lane.entries.length === 0 && lane.lastMs < this.#cutMs) this.#lanes.delete(id);
    }
  }

  /** Returns what is wanted of the lines so far. */
  timeline({ fromMs, untilMs, project, since, home }: Wanted): Timeline {
    const screen = { width: Number.POSITIVE_INFINITY, color: false, now: untilMs, home };
    const all = [...this.#lanes.values()].filter(lane => project === null || lane.project === project);
    const shown = all.flatMap(lane => {
      const isWanted = (one: Entry) =>
        one.change > since && lastOf(one) >= fromMs && one.fromMs <= Math.min(untilMs, this.#untilMs);
      const entries = lane.entries.filter(isWanted).sort((a, b) => a.fromMs - b.fromMs);
      return entries.length === 0 ? [] : [{ lane, entries }];
    });
    const latest = shown.sort((a, b) => b.lane.lastMs - a.lane.lastMs).slice(0, bounds.lanesMax);
    const first = new Map<string, number>();
    const beginOf = ({ entries: [one] }: (typeof latest)[number]) => one?.fromMs ?? 0;
    for (const one of latest) {
      const { id, session } = one.lane;
      first.set(session ?? id, Math.min(first.get(session ?? id) ?? Number.POSITIVE_INFINITY, beginOf(one)));
    }
    const firstOf = ({ lane: { id, session } }: (typeof latest)[number]) => first.get(session ?? id) ?? 0;
    const inOrder = latest.sort((a, b) => firstOf(a) - firstOf(b) || beginOf(a) - beginOf(b));
    const says = (one: Entry) => (one.story === null ? "" : sentence(one.story, screen));
    return {
      fromMs: Math.max(fromMs, this.#cutMs),
      untilMs,
      lanes: inOrder.map(({ lane, entries }) => laneIn(lane, entries, says)),
      isCut: this.#cutMs > fromMs || shown.length > bounds.lanesMax,
    };
  }
}

/** What nobody did, Kite noted of itself: the end of a freeze, a switch that it saw. */
function nameIn(line: TrailLine): string {
  return line.id === null && !isPersons(line) ? "Kite" : actorIn(line);
}

function openIn(lane: LaneState, kind: Span["kind"], fileKey: string | null): Entry | null {
  for (const entry of lane.open) if (entry.kind === kind && entry.fileKey === fileKey) return entry;
  return null;
}

/** What goes on has no end before any time. */
function lastOf({ untilMs }: Entry): number {
  return untilMs ?? Number.POSITIVE_INFINITY;
}

function laneIn(lane: LaneState, entries: readonly Entry[], says: (entry: Entry) => string): Lane {
  const { id, session, agent, name, project, beganMs, endedMs } = lane;
  const spans: Span[] = [];
  const marks: Mark[] = [];
  for (const entry of entries) {
    const { n, kind, file, who, why, fromMs, untilMs, task } = entry;
    const item = { n, file, who, why, says: says(entry) };
    if (kind === "hold" || kind === "wait") spans.push({ ...item, kind, fromMs, untilMs });
    else marks.push({ ...item, kind, atMs: fromMs, task });
  }
  return { id, session, agent, name, project, beganMs, endedMs, spans, marks };
}
