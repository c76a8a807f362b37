/** Who wrote each file last. */

import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import { type Actor, actorKey, type FileRef, sameActor } from "../core/frame/actors.ts";
import type { State } from "../core/state.ts";
import type { BaseState, Writer as WriterSeenWrites } from "../core/tables/base-state.ts";
import { actorRow, pathOf, type Spelled } from "../core/tables/naming.ts";
import { conflictOf } from "../core/tables/notices.ts";
import { pathOfWork } from "../core/work/dirty-files.ts";
import type { Stamped } from "../facts/paths.ts";
import type { Services } from "../options.ts";
import { isRefusal } from "../server/call.ts";

/** The last write of a file, as the hooks reported it. */
export interface Writer {
  readonly session: string;
  readonly agent: string | null;
  readonly name: string;
  /** Clock time in milliseconds. */
  readonly at: number;
  /** The changed lines, for people. */
  readonly lines: string | null;
}

/** A write that was allowed. */
export interface Writing extends Pick<Writer, "session" | "agent" | "name" | "at"> {
  /** The tool use. */
  readonly flight: string;
}

/**
 * The latest writer of each file, and the latest allowed writer whose write's end was not reported. That report may come
 * after the end of the turn. In memory only; the oldest entries are evicted.
 */
export class Writers {
  readonly #last = new BoundedMap<string, Writer>({ entriesMax: limits.writersMax });
  readonly #writing = new BoundedMap<string, Writing>({ entriesMax: limits.writersMax });

  wrote(key: string, writer: Writer): void {
    this.#last.set(key, writer);
  }

  /** A write of the file begins. */
  began(key: string, writing: Writing): void {
    this.#writing.set(key, writing);
  }

  /** The end of a write was reported. */
  ended(key: string, flight: string): void {
    if (this.#writing.get(key)?.flight === flight) this.#writing.delete(key);
  }

  /** The actor whose write of the file began last, if its end was not reported. */
  unreported(key: string): Writing | null {
    return this.#writing.get(key) ?? null;
  }

  /** The last write that was reported. */
  last(key: string): Writer | null {
    return this.#last.get(key) ?? null;
  }

  /** The last write since `at`, if the daemon saw it. */
  since(key: string, at: number): Writer | null {
    const last = this.#last.get(key);
    return last !== undefined && last.at >= at ? last : null;
  }
}

// Files that two actors wrote within a few minutes.

/**
 * If an unrelated actor wrote the file last within these minutes: tells that one, and notes it in the trail. Whatever was
 * written when: the actor that writes now has read what it was told of the file.
 */
export async function noteConflict(
  services: Services,
  actor: Actor,
  ref: FileRef,
  before: Writer | null,
  lines: string | null,
): Promise<void> {
  const { engine, presence, recorder, clock } = services;
  const session = engine.state.sessions.live.get(actor.session);
  if (session === undefined) return;
  const { name } = actorRow(engine.state, actor);
  const sideOf = (one: Actor, called: string) =>
    ({ actor: one, name: called, prompt: presence.of(one.session).prompt }) as const;
  const own = sideOf(actor, name);
  const others = before === null || isTogether(before, actor) ? null : before;
  if (others === null && conflictOf(engine.state, actor, ref.key) === undefined) return;
  const path = pathOf(ref);
  const sides = [others === null ? own : sideOf(actorOf(engine.state, others), others.name), own] as const;
  const reply = await engine.submitAndWait({
    type: "conflict_noted",
    key: ref.key,
    path,
    sides,
    ...(lines === null ? {} : { lines }),
  });
  if (isRefusal(reply) || reply["told"] !== true || others === null) return;
  const why = `${others.name} wrote it within the last ${limits.conflictMs / 60_000} minutes as well`;
  const who = { id: actor.session, agent: actor.agent, name, project: session.project };
  const what = {
    event: "file_conflict",
    type: "hook",
    rule: "write",
    file: path,
    decision: "note",
    why,
  } as const;
  recorder.note({ at: clock.wall(), ...who, ...what });
}

/** A main agent and its own agents work together and know of each other's writes. */
function isTogether({ session, agent }: Writer, actor: Actor): boolean {
  return session === actor.session && (agent === null || actor.agent === null || agent === actor.agent);
}

function actorOf({ sessions }: State, { session, agent }: Writer): Actor {
  return { session, agent, incarnation: sessions.live.get(session)?.incarnations[0]?.ordinal ?? 0 };
}

// Which writes of others an actor knows of, if its client does not check that itself. The writes are those of the state:
// tools' edits and changes by shell lines, of files in repositories, also after they were committed. A change that no hook
// tells of counts as nobody's.
//
// What an actor was told or has read is in memory only: after a restart it is told once more.

type Known = Pick<BaseState, "writes" | "sessions">;

export class SeenWrites {
  /** The `seq` of the latest write that an actor knows of in a file, if its own writes do not tell that. */
  readonly #known = new BoundedMap<string, number>({ entriesMax: limits.writersMax });

  /**
   * Returns the latest write of the file by another actor that this one does not know of. Null: it knows them all. It wrote
   * the file later, got the notice, has read the file since (`readAtMs`, wall time), or its session began later.
   */
  unseen(state: Known, actor: Actor, key: string, readAtMs: number | null): WriterSeenWrites | null {
    const last = workAt(state, key)?.writers.findLast(one => !sameActor(one.actor, actor));
    if (last === undefined || (readAtMs !== null && readAtMs > last.wallMs)) return null;
    return last.seq > this.#knownSeq(state, actor, key) ? last : null;
  }

  /** The actor was told of the file's writes up to the entry `seq`. */
  noteTold(actor: Actor, key: string, seq: number): void {
    this.#known.set(keyOf(actor, key), seq);
  }

  /** The actor changes a part of the file: after that it knows as much of the others' writes as before. */
  changesPart(state: Known, actor: Actor, key: string): void {
    this.#known.set(keyOf(actor, key), this.#knownSeq(state, actor, key));
  }

  /** Returns the keys of the files at these paths of whose change the state has a notice for the actor. */
  noticed(state: BaseState, actor: Actor, paths: ReadonlySet<string>): readonly string[] {
    const own = keyOf(actor, "");
    const ids = [...(state.notes.conflictsOf.get(actor.session) ?? [])].filter(id => id.startsWith(own));
    return ids
      .map(id => id.slice(own.length))
      .filter(key => {
        const work = workAt(state, key);
        return work !== undefined && paths.has(pathOfWork(work));
      });
  }

  #knownSeq(state: Known, actor: Actor, key: string): number {
    const own = workAt(state, key)?.writers.find(one => sameActor(one.actor, actor));
    const known = this.#known.get(keyOf(actor, key)) ?? own?.seq ?? 0;
    return Math.max(known, state.sessions.live.get(actor.session)?.begun ?? 0);
  }
}

function workAt({ writes }: Pick<BaseState, "writes">, key: string) {
  return writes.files.get(key) ?? writes.settled.get(key);
}

/** As the state names an actor's conflict over the file. */
function keyOf(actor: Actor, key: string): string {
  return `${actorKey(actor)}\n${key}`;
}

// What held or uncommitted files looked like when the daemon last saw them.

/** How files are read; the daemon's facts implement it. */
interface Looks {
  stamped(path: string): Promise<Stamped | null>;
  stampedNow(lexical: string, path: string): Stamped | null;
}

/**
 * The last seen stamps of files that are held or have uncommitted work. A file that differs after a shell command was
 * changed by it, or by a writer without its lock. In memory only: after a restart the first look sets the baseline.
 */
export class Baselines {
  readonly #seen = new BoundedMap<string, string | null>({ entriesMax: limits.baselinesMax });
  readonly #facts: Looks;

  constructor(facts: Looks) {
    this.#facts = facts;
  }

  /** Makes the file's present stamp its baseline; before this returns, if the stamp is known without waiting. */
  async take(file: Spelled & { readonly lexical: string }): Promise<void> {
    const now = this.#facts.stampedNow(file.lexical, pathOf(file));
    if (now === null) await this.changed(file);
    else this.#seen.set(file.key, now.stamp);
  }

  /** The stamp of the last look; undefined if there was none. */
  seen(key: string): string | null | undefined {
    return this.#seen.get(key);
  }

  /** When the file changed since the last look; null if it did not, or if this is the first look. */
  async changed(file: Spelled): Promise<number | null> {
    const { key } = file;
    const known = this.#seen.get(key);
    const now = await this.#facts.stamped(pathOf(file));
    if (now === null) return null;
    // Another look may have seen the same change meanwhile: only one of them reports it.
    const isOld = known === undefined || this.#seen.get(key) !== known || known === now.stamp;
    this.#seen.set(key, now.stamp);
    return isOld ? null : now.changedAt;
  }
}
