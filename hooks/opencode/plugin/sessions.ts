/** What the plugin remembers of the client's sessions: whose subagent each is, its prompt, what it read, and what waits in it. */

/** Sessions remembered; the one that was used least lately goes. */
const sessionsMax = 1_000;
/** Files remembered of a session; the one that was read least lately goes. */
const readsMax = 1_000;

/** One session of the client. A subagent is a session of its own. */
export interface Known {
  readonly id: string;
  /** The session that began it; null for one that a person began. */
  parent: string | null;
  /** The kind of agent, as the client names it. */
  agentType: string | null;
  /** The daemon knows that it began. */
  hasBegun: boolean;
  /** Its model lost what the start told it. */
  isCompacted: boolean;
  /** The last prompt's id. */
  prompt: string | null;
  /** A turn runs. */
  isAtWork: boolean;
  /** The next prompt with this text is the plugin's own. */
  injected: string | null;
  /** The turn goes on because a gate wanted it to. */
  goesOn: boolean;
  /** Ends the calls that wait for a lock, when the turn ends. */
  calls: AbortController;
  /** Ends the wait for something that wakes it. */
  wake: AbortController | null;
  /** When each file was read last, as wall time in milliseconds, by its path. */
  readonly reads: Map<string, number>;
  /** The person was told that Kite does not answer. */
  isTold: boolean;
}

/** The session read the file at this time. */
export function noteRead({ reads }: Known, file: string, atMs: number): void {
  reads.delete(file);
  reads.set(file, atMs);
  const [oldest] = reads.keys();
  if (reads.size > readsMax && oldest !== undefined) reads.delete(oldest);
}

export class Sessions {
  readonly #known = new Map<string, Known>();

  get(id: string): Known | undefined {
    const known = this.#known.get(id);
    if (known === undefined) return undefined;
    this.#known.delete(id);
    this.#known.set(id, known);
    return known;
  }

  add(id: string, parent: string | null, agentType: string | null): Known {
    const known: Known = {
      ...{ id, parent, agentType, hasBegun: false, isCompacted: false, prompt: null, isAtWork: false },
      ...{ injected: null, goesOn: false, calls: new AbortController(), wake: null, isTold: false },
      reads: new Map(),
    };
    this.#known.set(id, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > sessionsMax && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }

  remove(id: string): void {
    this.#known.delete(id);
  }

  /** The session that a person began, above this one. */
  rootOf({ id, parent }: Known): string {
    let root = id;
    for (let up = parent, depth = 0; up !== null && depth < sessionsMax; depth++) {
      root = up;
      up = this.#known.get(up)?.parent ?? null;
    }
    return root;
  }

  all(): readonly Known[] {
    return [...this.#known.values()];
  }
}
