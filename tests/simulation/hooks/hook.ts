/** The hook client of a simulated agent: one event on its way to the daemon, and what came back. */
import type { Call } from "../../../daemon/server/call.ts";
import type { Payload } from "./agents.ts";

export interface Answer {
  readonly output: string;
}

export class SimulatedHook {
  readonly event: Payload;
  /** Called with the answer that the client reads. */
  readonly answered: (answer: Answer) => void;
  /** Null: it has none; a hook that is answered twice is a bug. */
  answers = 0;
  isParked = false;
  isClosed = false;
  readonly #ties = new Set<() => void>();

  constructor(event: Payload, answered: (answer: Answer) => void) {
    this.event = event;
    this.answered = answered;
  }

  /** The call as the daemon has it; `onBug` hears of a handler that threw. */
  call(onBug: (error: unknown) => void): Call {
    const hook = this;
    const connection = {
      view: null,
      hasRoomToWait: true,
      get isClosed() {
        return hook.isClosed;
      },
      markHook: () => {},
      push: () => {},
      tie: (release: () => void) => this.#tie(release),
    };
    const call = {
      connection,
      wasParked: false,
      alone: (work: Promise<void>) => void work.catch(onBug),
      inTurn: async (work: () => unknown) => (this.isClosed ? null : work()),
      park: () => {
        this.isParked = true;
      },
      reply: (reply: object, delivered: ((ok: boolean) => void) | null = null) =>
        this.#reply(reply, delivered),
    };
    // The handler of hooks uses these of a call and no more.
    return call as unknown as Call;
  }

  /** Its process is killed. */
  kill(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    for (const release of [...this.#ties]) release();
  }

  /** The daemon is gone: what it would still have said nobody hears. */
  drop(): void {
    this.isClosed = true;
  }

  #tie(release: () => void): () => void {
    if (this.isClosed) {
      release();
      return () => {};
    }
    this.#ties.add(release);
    return () => this.#ties.delete(release);
  }

  #reply(reply: object, delivered: ((ok: boolean) => void) | null): void {
    this.answers += 1;
    delivered?.(!this.isClosed);
    if (this.isClosed || this.answers > 1) return;
    this.answered({ output: "output" in reply ? String(reply.output) : "" });
  }
}

/** Whether the answer keeps the tool from running. */
export function isDenial(answer: Answer): boolean {
  return within(within(read(answer), "hookSpecificOutput"), "permissionDecision") === "deny";
}

/** Whether the tool runs without its lock, of which the person is told. */
export function isUnguarded(answer: Answer): boolean {
  return !isDenial(answer) && within(read(answer), "systemMessage") !== undefined;
}

function read({ output }: Answer): unknown {
  return output === "" ? null : JSON.parse(output);
}

function within(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
