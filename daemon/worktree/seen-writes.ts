/**
 * Which writes of others an actor knows of, where its client does not check that itself. The writes are those of the state:
 * tools' edits and changes by shell lines, of files in repositories, also after they were committed. A change that no hook
 * tells of counts as nobody's.
 *
 * What an actor was told or has read is in memory only: after a restart it is told once more.
 */
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import { type Actor, actorKey, sameActor } from "../core/frame/actors.ts";
import type { BaseState, Writer } from "../core/tables/base-state.ts";
import { pathOfWork } from "../core/work/dirty-files.ts";

type Known = Pick<BaseState, "writes" | "sessions">;

export class SeenWrites {
  /** The `seq` of the latest write that an actor knows of in a file, where its own writes do not tell that. */
  readonly #known = new BoundedMap<string, number>({ entriesMax: limits.writersMax });

  /**
   * Returns the latest write of the file by another actor that this one does not know of; null if it knows them all: it wrote
   * the file later, was told, has read it since (`readAtMs`, wall time), or its session began later.
   */
  unseen(state: Known, actor: Actor, key: string, readAtMs: number | null): Writer | null {
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
