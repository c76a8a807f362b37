import type { Command, Entry } from "../../daemon/core/tables/entries.ts";
import type { Journal, ProposeFailure } from "../../daemon/journal/journal.ts";

/** A command that needs space; `text` makes it as long as a test wants it. */
export function wants(text: string): Command {
  return { type: "session_found", session: text };
}

/** A command that frees something. */
export function frees(session = "s1"): Command {
  return { type: "lock_release", actor: { session, agent: null, incarnation: 1 }, files: "all" };
}

/** Proposes through a journal and keeps what comes of it. */
export class Client {
  readonly delivered: Entry[] = [];
  readonly batches: number[] = [];
  readonly failures: { readonly n: number; readonly reason: ProposeFailure }[] = [];
  readonly durable: number[] = [];
  readonly fatal: Error[] = [];
  readonly journal: Journal;
  /** Entries found at the opening. */
  found: readonly Entry[] = [];
  epoch = 0;
  count = 0;
  onBatch: (batch: readonly Entry[]) => void = () => {};

  private constructor(journal: Journal) {
    this.journal = journal;
  }

  /** Opens `journal` after its own snapshot. */
  static async open(journal: Journal): Promise<Client> {
    const client = new Client(journal);
    const snapshot = await journal.loadSnapshot();
    const { epoch, entries } = await opened(journal, snapshot?.seq ?? 0, batch => client.#take(batch));
    client.found = entries;
    client.epoch = epoch;
    journal.onDurable(seq => client.durable.push(seq));
    journal.onFatal(error => client.fatal.push(error));
    return client;
  }

  /** Everything stored that this client knows of: found and delivered. */
  get known(): readonly Entry[] {
    return [...this.found, ...this.delivered];
  }

  propose(...commands: Command[]): void {
    for (const command of commands) {
      this.count += 1;
      const origin = { node: "n1", epoch: this.epoch, n: this.count };
      this.journal.propose({ origin, at: 1000 + this.count, command }, (proposal, reason) =>
        this.failures.push({ n: proposal.origin.n, reason }),
      );
    }
  }

  #take(batch: readonly Entry[]): void {
    this.delivered.push(...batch);
    this.batches.push(batch.length);
    this.onBatch(batch);
  }
}

/** Opens `journal`; returns its epoch and the entries that it found. */
export async function opened(
  journal: Journal,
  after: number,
  deliver: (batch: readonly Entry[]) => void = () => {},
): Promise<{ readonly epoch: number; readonly entries: readonly Entry[] }> {
  const entries: Entry[] = [];
  const { epoch } = await journal.open(after, deliver, entry => void entries.push(entry));
  return { epoch, entries };
}

/** The entries after `after`, as a rebuild reads them. */
export async function entriesOf(journal: Journal, after: number): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  await journal.read(after, entry => void entries.push(entry));
  return entries;
}

/** Tasks that run when a test says so, and everything that follows from them. */
export class Turns {
  #tasks: (() => void)[] = [];

  readonly soon = (task: () => void): void => {
    this.#tasks.push(task);
  };

  /** Runs until nothing is left to do. */
  async settle(): Promise<void> {
    do {
      for (const task of this.#tasks.splice(0)) task();
      await microtasks();
    } while (this.#tasks.length > 0);
  }

  /** Forgets what was to be run, as the end of a process does. */
  forget(): void {
    this.#tasks = [];
  }
}

/** Resolves when no microtask is left: a turn of the event loop begins only then. */
export function microtasks(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}
