/** Copies of one shared project on two machines, with the stored rows between them in the test's hand. */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { check } from "../../daemon/core/slices.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, CoreEvent } from "../../daemon/core/tables/entries.ts";
import { Copy, type Done, type StepChanges, type StoredRow } from "../../daemon/store/copy.ts";
import { compareSessions, type PartValue, type Present } from "../../daemon/store/roster.ts";
import { headOf, kinds, type Names, outward } from "../../daemon/store/rows.ts";
import type { Random } from "../simulation/random.ts";

export const laptop: Names = {
  node: "n1",
  machine: "laptop",
  project: "/home/ann/shop",
  shared: "team/shop",
};
export const desk: Names = { node: "n2", machine: "desk", project: "/srv/bob/shop", shared: "team/shop" };

/** A session as its machine's own log has it. */
export function present(id: string, more: Partial<Present> = {}): Present {
  return {
    ...{ id, name: id, branch: "main", client: undefined, registeredAt: 1, agents: new Map() },
    incarnations: [{ ordinal: 0, begun: 1, anchor: null }],
    ...more,
  };
}

export function mainAgent(session: string, agent: string | null = null): Actor {
  return { session, agent, incarnation: 0 };
}

/** Each row of the copy in its own form, by kind and key. */
export function formsOf(copy: Copy): Map<string, string> {
  return new Map(
    kinds.flatMap(kind =>
      [...rowsIn(copy.state, kind.name)].map(([key, row]) => {
        const form = kind.form(row) as { readonly letters?: readonly { readonly to: object }[] };
        const letters = form.letters?.map(one => JSON.stringify(one)).sort();
        return [`${kind.name} ${key}`, JSON.stringify({ ...form, letters })] as const;
      }),
    ),
  );
}

/** Each row of the copy as the store has it, by kind and key. */
export function storedFormsOf(copy: Copy): Map<string, unknown> {
  return new Map(
    kinds.flatMap(kind =>
      [...rowsIn(copy.state, kind.name)].map(([key, row]) => {
        const form = outward(JSON.parse(JSON.stringify(kind.lasting(kind.form(row)))), copy.names);
        return [`${kind.name} ${kind.keyThere(key, copy.names)}`, sorted(form)] as const;
      }),
    ),
  );
}

/** The form with its letters in the order of their recipients: a message has them by inbox. */
function sorted(form: unknown): unknown {
  const { letters } = form as { readonly letters?: readonly object[] };
  if (letters === undefined) return form;
  return { ...(form as object), letters: letters.map(one => JSON.stringify(one)).sort() };
}

/** The keys of the tables that keep an order. */
export function orderOf({ state }: Copy): readonly (readonly string[])[] {
  return [[...state.tasks.all.keys()], [...state.messages.all.keys()], [...state.debates.all.keys()]];
}

export function rowsIn(state: State, kind: string): ReadonlyMap<string, object> {
  const all: Record<string, ReadonlyMap<string, object>> = {
    ...{ sessions: state.sessions.live, tasks: state.tasks.all, messages: state.messages.all },
    ...{ context: state.context.items, debates: state.debates.all, parts: state.parts.all },
  };
  const found = all[kind];
  if (found === undefined) throw new Error(`no table of ${kind}`);
  return found;
}

/** What breaks the core's rules in the copy. It knows of no daemon's start, so none is missed for a value. */
export function wrongIn({ state }: Copy): string[] {
  return check(state).filter(one => !one.endsWith(", where no daemon started"));
}

/** What tables have of parts. */
function derivedOf({ state }: Copy): unknown {
  const { declarations, roles, rolesSent, mergesThere } = state;
  const agents = [...roles, ...rolesSent].map(([id, all]) => JSON.stringify([id, ...[...all].sort()]));
  return { declared: [...declarations.live].sort(), agents: agents.sort(), merges: [...mergesThere].sort() };
}

/** What a copy is, as far as a step could change it. */
export function wholeOf(copy: Copy): unknown {
  return {
    rows: [...formsOf(copy)].sort(),
    order: orderOf(copy),
    head: headOf(copy.state, copy.names),
    derived: derivedOf(copy),
    sent: [...copy.state.messages.sent].map(([by, times]) => `${by} ${times.length}`).sort(),
    wrong: wrongIn(copy),
  };
}

/** The stored rows, and the copies that follow them. */
export class StoreWorld {
  readonly rows = new Map<string, StoredRow>();
  readonly copies: Copy[] = [];
  head = "{}";
  version = 0;
  now = 1_000_000;

  join(names: Names): Copy {
    const copy = this.fresh(names);
    this.copies.push(copy);
    return copy;
  }

  /** A copy that reads all rows anew, in the order of `random` if there is one. */
  fresh(names: Names, random?: Random): Copy {
    const copy = new Copy(names);
    const rows = [...this.rows.values()].filter(([, , value]) => value !== null);
    if (random !== undefined) rows.sort(() => random.fraction() - 0.5);
    copy.take(this.version, `${this.version}`, this.head, rows);
    return copy;
  }

  /** Works a step out on the copy, and takes it back. */
  plan(copy: Copy, work: () => void): StepChanges {
    copy.begin(this.now);
    work();
    return copy.end();
  }

  /** Stores the step, and tells the other copies of it. */
  commit(copy: Copy, changes: StepChanges): void {
    copy.accept(changes);
    if (changes.stored.length === 0) return;
    this.version += 1;
    this.head = JSON.stringify(changes.head);
    for (const row of changes.stored) this.rows.set(`${row[0]} ${row[1]}`, row);
    for (const other of this.copies) {
      if (other === copy) Object.assign(copy, { version: this.version, stamp: `${this.version}` });
      else other.take(this.version, `${this.version}`, this.head, changes.stored);
    }
  }

  /** Does the commands in one step; returns what came of each. */
  do(copy: Copy, ...commands: readonly Command[]): Done[] {
    const done: Done[] = [];
    const changes = this.plan(copy, () => void done.push(...commands.map(one => copy.apply(one))));
    this.commit(copy, changes);
    return done;
  }

  /** Makes the sessions of the copy's machine those that are present. Returns what the store got. */
  compare(copy: Copy, ...those: readonly Present[]): StepChanges {
    return this.tell(copy, those).changes;
  }

  /** The same, with what the machine has for others. */
  tell(copy: Copy, those: readonly Present[], ofMachine: readonly PartValue[] = []) {
    let events: readonly CoreEvent[] = [];
    const changes = this.plan(copy, () => {
      events = compareSessions(copy, those, ofMachine);
    });
    this.commit(copy, changes);
    return { changes, events };
  }
}
