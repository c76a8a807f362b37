/**
 * What each session was told of the others, so that a prompt tells only what changed since. In memory only: after a restart a
 * session is told in full once more.
 *
 * Invariant: a change counts as told when an answer with it was delivered.
 */
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import { presentIn } from "../core/sessions/room.ts";
import type { Session } from "../core/tables/base-state.ts";
import type { WorkSource } from "./nearness.ts";

/** What a session is told of the others at one time. */
export interface PeerMarks {
  /** Sessions whose work is known, by id: the name, and a mark of the work. */
  readonly sessions: ReadonlyMap<string, Marked>;
  /** Wall time of the latest finished task and of the latest shared value, in milliseconds; 0: there was none. */
  readonly finishedAt: number;
  readonly sharedAt: number;
}

interface Marked {
  readonly name: string;
  readonly mark: string;
}

export interface PeerChanges {
  /** Ids of sessions whose work began, changed or is over. */
  readonly changed: ReadonlySet<string>;
  /** Names of sessions that have ended. */
  readonly gone: readonly string[];
  /** What the session was told before; null: nothing. */
  readonly before: PeerMarks | null;
}

export class PeerMemory {
  readonly #told = new BoundedMap<string, PeerMarks>({ entriesMax: limits.notedActorsMax });

  /** Compares with what the session was told before; `isLive` says of an id whether it is a session still. */
  changes(session: string, now: PeerMarks, isLive: (id: string) => boolean): PeerChanges {
    const before = this.#told.get(session) ?? null;
    const left = new Map([...(before?.sessions ?? [])].filter(([id]) => !now.sessions.has(id)));
    const changed = new Set<string>();
    for (const [id, { name, mark }] of now.sessions) {
      const known = before?.sessions.get(id) ?? takeNamed(left, name);
      if (known?.mark !== mark) changed.add(id);
    }
    const gone: string[] = [];
    for (const [id, { name }] of left) {
      if (isLive(id)) changed.add(id);
      else gone.push(name);
    }
    return { changed, gone, before };
  }

  told(session: string, now: PeerMarks): void {
    this.#told.set(session, now);
  }

  forget(session: string): void {
    this.#told.delete(session);
  }
}

/** A session that goes on under another id keeps its name. */
function takeNamed(left: Map<string, Marked>, name: string): Marked | undefined {
  for (const [id, one] of left) {
    if (one.name !== name) continue;
    left.delete(id);
    return one;
  }
  return undefined;
}

/**
 * Returns the other sessions of the project that declared, claimed or keep locked something. What passes by itself does not
 * count.
 */
export function marksOf(source: WorkSource, self: Session): PeerMarks["sessions"] {
  const marks = new Map<string, Marked>();
  let left: number = limits.nearSessionsMax;
  // Those that came first, so that the same ones are compared each time.
  for (const one of presentIn(source.engine.state.sessions, self.project)) {
    if (one === self) continue;
    if (left === 0) break;
    left -= 1;
    const { mark } = source.sessionWorks.of(source, one);
    if (mark !== null) marks.set(one.id, { name: one.name, mark });
  }
  return marks;
}
