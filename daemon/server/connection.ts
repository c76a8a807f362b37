/**
 * One client's connection: lines in, replies and events out.
 *
 * Invariants: replies to requests without a `rid` leave in the order of their requests, except those that wait for
 * a lock; a connection's requests are proposed in the order they came; one write per batch; what is not read by
 * the client, not answered yet or not finished as a line is bounded.
 */
import type { Socket } from "node:net";
import { limits } from "../../protocol/limits.ts";
import { type Line, LineDecoder } from "../../protocol/wire.ts";

/** What a connection asks of its server. */
export interface ConnectionOwner {
  /** Handles one line. Returns a promise where later lines of this connection have to wait for it. */
  handle(connection: Connection, line: Line): Promise<void> | undefined;
  /** More bytes wait here for their newline or their turn (negative: fewer); true when all together are too many. */
  unfinished(bytes: number): boolean;
  /** Nothing goes in or out any more. */
  closed(connection: Connection): void;
  /** The connection has something to send: `flush` it soon, and who waited for it (`first`) before the others. */
  flushSoon(connection: Connection, first: boolean): void;
  /** Room again for a subscriber that had stopped reading. */
  drained(connection: Connection): void;
}

/** A reply to come. */
export interface Slot {
  readonly rid: string | number | undefined;
  state: "open" | "parked" | "done";
  text: string | null;
  delivered: ((ok: boolean) => void) | null;
}

export class Connection {
  readonly number: number;
  client: string | null = null;
  /** Locks are bound to this connection. */
  bound = false;
  readonly #sessions = new Map<string, number | null>();
  readonly #ties = new Set<() => void>();
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #decoder = new LineDecoder();
  #lines: Line[] = [];
  #taken = 0;
  /** Of lines that were not taken yet, and what the owner was told of them and of the unfinished line. */
  #waitingBytes = 0;
  #countedBytes = 0;
  #busy = false;
  #scheduled = false;
  #inFlight = 0;
  #parked = 0;
  #ordered: Slot[] = [];
  #out: string[] = [];
  #outLength = 0;
  #roomWanted: (() => void)[] = [];
  #outcomes: ((ok: boolean) => void)[] = [];
  /** `half_closed`: the client has sent all it will. `ending`: we have; what is under way finds nobody. */
  #state: "open" | "half_closed" | "ending" | "closed" = "open";
  #hooked = false;
  #paused = false;
  #probe: NodeJS.Timeout | null = null;

  constructor(number: number, socket: Socket, owner: ConnectionOwner) {
    this.number = number;
    this.#socket = socket;
    this.#owner = owner;
    socket.on("data", chunk => this.#received(chunk));
    socket.on("end", () => this.#ended());
    socket.on("drain", () => {
      if (this.#state === "closed") return;
      owner.drained(this);
      this.#makeRoom();
    });
    // A broken pipe is how a client's death shows; `close` follows and says the rest.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#closed());
  }

  get isClosed(): boolean {
    return this.#state === "closed";
  }

  /** Sessions registered here, with the process each was anchored at. */
  get sessions(): ReadonlyMap<string, number | null> {
    return this.#sessions;
  }

  /** A session was registered here. `isLive` tells which are worth keeping when they become too many. */
  registered(session: string, pid: number | null, isLive: (session: string) => boolean): void {
    if (this.isClosed) return;
    if (this.#sessions.size >= limits.sessionsMax) {
      for (const known of this.#sessions.keys()) if (!isLive(known)) this.#sessions.delete(known);
    }
    this.#sessions.set(session, pid);
  }

  deregistered(session: string): void {
    this.#sessions.delete(session);
  }

  /**
   * Ties something to this connection: `release` is called once, when the connection is gone. Where it is gone
   * already, which whoever waited before cannot know, that is now. Returns what unties it.
   */
  tie(release: () => void): () => void {
    if (this.isClosed) {
      release();
      return () => {};
    }
    this.#ties.add(release);
    return () => this.#ties.delete(release);
  }

  /** Nothing that comes in is looked at any more. */
  get #isOver(): boolean {
    return this.#state === "closed" || this.#state === "ending";
  }

  /** Bytes (about: text counts in UTF-16 units) sent here that the client has not read. */
  get unreadBytes(): number {
    return this.#socket.writableLength + this.#outLength;
  }

  /**
   * Resolves when the client has read what was sent, or has gone; undefined where little is unread. Who makes long
   * replies waits for it: one that does not read keeps nobody else waiting, and none is closed for replies it had no
   * time to read yet.
   */
  room(): Promise<void> | undefined {
    if (this.isClosed || this.unreadBytes < limits.unreadAnswerBytes) return undefined;
    return new Promise(resolve => this.#roomWanted.push(resolve));
  }

  /** This connection carries a hook: its end means that the hook is gone. */
  markHook(): void {
    this.#hooked = true;
  }

  /** Begins a reply. */
  open(rid: string | number | undefined): Slot {
    const slot: Slot = { rid, state: "open", text: null, delivered: null };
    this.#inFlight += 1;
    if (rid === undefined) this.#ordered.push(slot);
    return slot;
  }

  /** The reply comes later than those after it. */
  park(slot: Slot): void {
    if (slot.state !== "open") return;
    slot.state = "parked";
    this.#inFlight -= 1;
    this.#parked += 1;
    if (slot.rid === undefined) this.#flushOrdered();
    if (this.#state === "half_closed") this.#watchPeer();
    this.#resume();
  }

  /** Sends the reply; `delivered` hears whether the kernel took it for a living client. */
  reply(slot: Slot, message: object, delivered: ((ok: boolean) => void) | null = null): void {
    this.replyJson(slot, JSON.stringify(message), delivered);
  }

  /** `reply` with a message that is JSON already. */
  replyJson(slot: Slot, json: string, delivered: ((ok: boolean) => void) | null = null): void {
    const { rid } = slot;
    // Put in front of the rest as text: a copy of the object would cost as much as encoding it.
    const line = rid === undefined ? `${json}\n` : `{"rid":${JSON.stringify(rid)},${json.slice(1)}\n`;
    this.replyText(slot, line, delivered);
  }

  /** `reply` with the bytes as they go out. */
  replyText(slot: Slot, text: string, delivered: ((ok: boolean) => void) | null = null): void {
    if (slot.state === "done") throw new Error("a request was answered twice");
    if (this.#isOver) {
      slot.state = "done";
      delivered?.(false);
      return;
    }
    const wasParked = slot.state === "parked";
    if (wasParked) this.#parked -= 1;
    else this.#inFlight -= 1;
    slot.state = "done";
    slot.text = text;
    slot.delivered = delivered;
    if (wasParked || slot.rid !== undefined) this.#send(text, delivered, wasParked);
    else this.#flushOrdered();
    this.#resume();
  }

  /** Sends a line that is no reply: an event, or the blank line that says a request waits. */
  push(text: string): void {
    if (!this.#isOver) this.#send(text, null);
  }

  /** Hands what there is to send to the kernel, in one write. */
  flush(): void {
    if (this.#out.length === 0) return;
    const text = this.#out.length === 1 ? (this.#out[0] ?? "") : this.#out.join("");
    const outcomes = this.#outcomes;
    this.#out = [];
    this.#outLength = 0;
    this.#outcomes = [];
    if (outcomes.length === 0) this.#socket.write(text);
    else {
      this.#socket.write(text, error => {
        for (const delivered of outcomes) delivered(error == null);
      });
    }
    if (this.#socket.writableLength > limits.unreadReplyBytes) this.#socket.destroy();
    this.#endIfAnswered();
  }

  /** Ends the connection after what was written. */
  end(): void {
    if (this.#isOver) return;
    this.flush();
    this.#endNow();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #received(chunk: Buffer): void {
    if (this.#isOver) return;
    for (const line of this.#decoder.push(chunk)) {
      this.#lines.push(line);
      this.#waitingBytes += lengthOf(line);
    }
    if (this.#countBytes() && this.#decoder.unfinishedBytes > 0) {
      this.#decoder.discard();
      this.#lines.push({ fault: "line_too_long" });
    }
    this.#work();
  }

  /** Tells the owner how many bytes wait here; true when they became more, and all together are too many. */
  #countBytes(): boolean {
    const bytes = this.#decoder.unfinishedBytes + this.#waitingBytes;
    const more = bytes - this.#countedBytes;
    this.#countedBytes = bytes;
    return more !== 0 && this.#owner.unfinished(more) && more > 0;
  }

  /** Nothing of what came is looked at any more. */
  #forgetLines(): void {
    this.#lines = [];
    this.#taken = 0;
    this.#waitingBytes = 0;
    this.#decoder.discard();
    this.#countBytes();
  }

  /** Takes up to a batch of lines; the rest has its turn after the other connections'. */
  #work(): void {
    for (let n = 0; n < limits.batchMax; n += 1) {
      if (this.#busy || this.#inFlight >= limits.inFlightMax || this.#isOver) break;
      const line = this.#lines[this.#taken];
      if (line === undefined) break;
      this.#taken += 1;
      this.#waitingBytes -= lengthOf(line);
      const pending = this.#owner.handle(this, line);
      if (pending !== undefined) {
        this.#busy = true;
        pending.then(
          () => this.#unblock(),
          error =>
            queueMicrotask(() => {
              throw error;
            }),
        );
      }
    }
    this.#tidy();
  }

  #unblock(): void {
    this.#busy = false;
    this.#resume();
  }

  #tidy(): void {
    this.#countBytes();
    const left = this.#lines.length - this.#taken;
    // Under a flood there may always be some left: what was taken goes too, at a cost that evens out.
    if (this.#taken > left) {
      this.#lines = this.#lines.slice(this.#taken);
      this.#taken = 0;
    }
    const wait = this.#busy || this.#inFlight >= limits.inFlightMax;
    if (left > 0 && !wait) this.#schedule();
    const pause = left > limits.inFlightMax || (wait && left > 0);
    if (pause !== this.#paused && this.#state !== "closed") {
      this.#paused = pause;
      if (pause) this.#socket.pause();
      else this.#socket.resume();
    }
    if (left === 0 && !wait) this.#endIfAnswered();
  }

  #resume(): void {
    if (this.#lines.length > this.#taken || this.#paused) this.#schedule();
    else this.#endIfAnswered();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#work();
    });
  }

  #flushOrdered(): void {
    let count = 0;
    for (const slot of this.#ordered) {
      if (slot.state === "open") break;
      count += 1;
      if (slot.state === "done" && slot.text !== null) this.#send(slot.text, slot.delivered);
    }
    if (count > 0) this.#ordered = this.#ordered.slice(count);
  }

  #send(text: string, delivered: ((ok: boolean) => void) | null, first = false): void {
    if (this.#out.length === 0 || first) this.#owner.flushSoon(this, first);
    this.#out.push(text);
    this.#outLength += text.length;
    if (delivered !== null) this.#outcomes.push(delivered);
  }

  /** The client has sent all it will. A client that died and one that only closed its side look alike here. */
  #ended(): void {
    if (this.#state !== "open") return;
    this.#state = "half_closed";
    if (this.#hooked) {
      this.#socket.destroy();
      return;
    }
    this.#watchPeer();
    this.#endIfAnswered();
  }

  /** Who died answers a blank line with a broken pipe; blank lines mean nothing to the living. */
  #watchPeer(): void {
    if (this.#parked === 0 || this.#probe !== null) return;
    this.#socket.write("\n");
    this.#probe = setInterval(() => this.#socket.write("\n"), limits.probeMs);
    this.#probe.unref();
  }

  #endIfAnswered(): void {
    if (this.#state !== "half_closed" || this.#busy || this.#scheduled) return;
    if (this.#inFlight > 0 || this.#parked > 0 || this.#out.length > 0 || this.#lines.length > this.#taken)
      return;
    this.#endNow();
  }

  /** What was written still goes out; the peer need not be asked whether it lives any more. */
  #endNow(): void {
    this.#state = "ending";
    this.#giveUpOrdered();
    if (this.#probe !== null) clearInterval(this.#probe);
    this.#forgetLines();
    this.#socket.end();
    // Its end is still to be read.
    if (this.#paused) this.#socket.resume();
    this.#paused = false;
  }

  #closed(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    if (this.#probe !== null) clearInterval(this.#probe);
    this.#forgetLines();
    this.#giveUpOrdered();
    const ties = [...this.#ties];
    this.#ties.clear();
    for (const release of ties) release();
    this.#sessions.clear();
    this.#owner.closed(this);
    this.#makeRoom();
  }

  /** Replies that are ready behind one that is not will never be written. */
  #giveUpOrdered(): void {
    for (const { state, delivered } of this.#ordered.splice(0)) if (state === "done") delivered?.(false);
  }

  #makeRoom(): void {
    for (const resolve of this.#roomWanted.splice(0)) resolve();
  }
}

/** About what a line takes, in UTF-16 units. */
function lengthOf(line: Line): number {
  return "text" in line ? line.text.length : 0;
}
