/**
 * One client's connection: request lines in, replies and events out.
 *
 * Invariants: replies to requests without a `rid` leave in the order of their requests, except those that wait for a
 * lock. A connection's requests are proposed in the order of arrival. A batch of output is one write. Unread output,
 * unanswered requests and an unfinished line are bounded.
 */

import type { Socket } from "node:net";
import { limits } from "../../protocol/limits.ts";
import { type Line, LineDecoder } from "../../protocol/wire.ts";
import type { MountView } from "../facts/mounts.ts";

/** Returns a reply as a line, with the request's `rid` as its first field. */
export function replyLine(rid: string | number | undefined, reply: object): string {
  return jsonReplyLine(rid, JSON.stringify(reply));
}

/** As `replyLine`, for a reply that is JSON already. The `rid` is added as text: a copy of the object would cost more. */
function jsonReplyLine(rid: string | number | undefined, json: string): string {
  return rid === undefined ? `${json}\n` : `{"rid":${JSON.stringify(rid)},${json.slice(1)}\n`;
}

/** A pending reply. */
export interface Slot {
  readonly rid: string | number | undefined;
  state: "open" | "parked" | "done";
  text: string | null;
  delivered: ((ok: boolean) => void) | null;
}

/** The server, as its connections call it. */
export interface ConnectionOwner {
  /** Handles one line. Returns a promise if later lines of this connection have to wait for it. */
  handle(connection: Connection, line: Line): Promise<void> | undefined;
  /** Adds `bytes` that wait here (negative: removes them); true if those of all connections are over the limit. */
  unfinished(bytes: number): boolean;
  /** Called when the connection is closed in both directions. */
  closed(connection: Connection): void;
  /** Whether a hook may wait for others: each that waits keeps a descriptor. */
  readonly hasRoomToWait: boolean;
  /** Requests a `flush` soon; connections whose client waited (`first`) go before the others. */
  flushSoon(connection: Connection, first: boolean): void;
  /** Called when a subscriber that had stopped reading has read enough. */
  drained(connection: Connection): void;
}

export class Connection {
  readonly number: number;
  client: string | null = null;
  view: MountView | null = null; // How its container names this machine's files; null: it is in none.
  /** Whether it showed a person's token, only looks on (the daemon does not stay for it), has locks bound to it, or merges. */
  isPersons = false;
  isOnlooker = false;
  bound = false;
  merges = false;
  readonly #sessions = new Map<string, number | null>();
  readonly #ties = new Set<() => void>();
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #decoder = new LineDecoder();
  #lines: Line[] = [];
  #taken = 0;
  /** Bytes of lines not handled yet, and the bytes reported to the owner, with those of the unfinished line. */
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
  /** `half_closed`: the client sends no more. `ending`: the daemon sends no more, and pending answers are lost. */
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
    // A broken pipe shows that the client died; `close` follows and does the rest.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#closed());
  }

  get isClosed(): boolean {
    return this.#state === "closed";
  }

  /** Whether a request of it has no answer yet, or the answer has not left. */
  get isAwaited(): boolean {
    return this.#inFlight + this.#parked > 0 || this.#lines.length > this.#taken || this.#out.length > 0;
  }

  get hasRoomToWait(): boolean {
    return this.#owner.hasRoomToWait;
  }

  /** Sessions registered on this connection, with the pid of each one's anchor. */
  get sessions(): ReadonlyMap<string, number | null> {
    return this.#sessions;
  }

  /** Notes a session registered on this connection. If there are too many, keeps those for which `isLive` is true. */
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
   * Calls `release` once when the connection closes; at once if it is closed already, which a caller that waited cannot
   * know. Returns a function that cancels this.
   */
  tie(release: () => void): () => void {
    if (this.isClosed) {
      release();
      return () => {};
    }
    this.#ties.add(release);
    return () => this.#ties.delete(release);
  }

  /** Whether input is ignored from now on. */
  get #isOver(): boolean {
    return this.#state === "closed" || this.#state === "ending";
  }

  /** Bytes sent that the client has not read (roughly: text counts in UTF-16 units). */
  get unreadBytes(): number {
    return this.#socket.writableLength + this.#outLength;
  }

  /**
   * Resolves when the client has read the output, or has gone; undefined if little is unread. Long replies wait for it. So a
   * client that does not read delays no other client. No client is closed for replies that it had no time to read.
   */
  room(): Promise<void> | undefined {
    if (this.isClosed || this.unreadBytes < limits.unreadAnswerBytes) return undefined;
    return new Promise(resolve => this.#roomWanted.push(resolve));
  }

  /** This connection belongs to a hook: when it closes, the hook has ended. */
  markHook(): void {
    this.#hooked = true;
  }

  /** Opens a slot for a reply. */
  open(rid: string | number | undefined): Slot {
    const slot: Slot = { rid, state: "open", text: null, delivered: null };
    this.#inFlight += 1;
    if (rid === undefined) this.#ordered.push(slot);
    return slot;
  }

  /** Lets later replies leave before this one. */
  park(slot: Slot): void {
    if (slot.state !== "open") return;
    slot.state = "parked";
    this.#inFlight -= 1;
    this.#parked += 1;
    if (slot.rid === undefined) this.#flushOrdered();
    if (this.#state === "half_closed") this.#watchPeer();
    this.#resume();
  }

  /** Sends the reply; `delivered` is called with whether the kernel accepted it for a live client. */
  reply(slot: Slot, message: object, delivered: ((ok: boolean) => void) | null = null): void {
    this.replyText(slot, replyLine(slot.rid, message), delivered);
  }

  /** As `reply`, with a message that is already JSON. */
  replyJson(slot: Slot, json: string, delivered: ((ok: boolean) => void) | null = null): void {
    this.replyText(slot, jsonReplyLine(slot.rid, json), delivered);
  }

  /** As `reply`, with the bytes to send. */
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

  /** Sends a line that is no reply: an event, or the blank line of a waiting request. */
  push(text: string): void {
    if (!this.#isOver) this.#send(this.view === null ? text : this.view.outwardLine(text), null);
  }

  /** Hands all pending output to the kernel in one write. */
  flush(): void {
    if (this.#out.length === 0) return;
    const text = this.#out.length === 1 ? (this.#out[0] ?? "") : this.#out.join("");
    const outcomes = this.#outcomes.splice(0);
    this.#out = [];
    this.#outLength = 0;
    if (outcomes.length === 0) this.#socket.write(text);
    else {
      this.#socket.write(text, error => {
        for (const delivered of outcomes) delivered(error == null);
      });
    }
    if (this.#socket.writableLength > limits.unreadReplyBytes) this.#socket.destroy();
    this.#endIfAnswered();
  }

  /** Ends the connection after the pending output. */
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

  /** Reports to the owner how many bytes wait here; true if they grew and the sum of all is over the limit. */
  #countBytes(): boolean {
    const bytes = this.#decoder.unfinishedBytes + this.#waitingBytes;
    const more = bytes - this.#countedBytes;
    this.#countedBytes = bytes;
    return more !== 0 && this.#owner.unfinished(more) && more > 0;
  }

  /** Discards all lines not handled yet. */
  #forgetLines(): void {
    this.#lines = [];
    this.#taken = 0;
    this.#waitingBytes = 0;
    this.#decoder.discard();
    this.#countBytes();
  }

  /** Handles up to a batch of lines; the others follow after the other connections' batches. */
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
    // During a flood some lines always remain. Removing the handled ones here costs little on average.
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

  /** The client sends no more. A dead client and one that only closed its sending side look alike here. */
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

  /** Probes a half-closed client with blank lines: a dead peer fails the write with EPIPE, a live one ignores them. */
  #watchPeer(): void {
    if (this.#parked === 0 || this.#probe !== null) return;
    this.#socket.write("\n");
    this.#probe = setInterval(() => this.#socket.write("\n"), limits.probeMs);
    this.#probe.unref();
  }

  #endIfAnswered(): void {
    if (this.#state !== "half_closed" || this.#busy || this.#scheduled || this.isAwaited) return;
    this.#endNow();
  }

  /** Pending output still leaves; the client need not be probed any more. */
  #endNow(): void {
    this.#state = "ending";
    this.#giveUpOrdered();
    if (this.#probe !== null) clearInterval(this.#probe);
    this.#forgetLines();
    this.#socket.end();
    // A paused socket would never report its end.
    if (this.#paused) this.#socket.resume();
    this.#paused = false;
  }

  #closed(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    if (this.#probe !== null) clearInterval(this.#probe);
    this.#forgetLines();
    this.#giveUpOrdered();
    for (const release of [...this.#ties]) release();
    this.#ties.clear();
    this.#sessions.clear();
    this.#owner.closed(this);
    this.#makeRoom();
  }

  /** Gives up ready replies after a pending one: they can never be sent. */
  #giveUpOrdered(): void {
    for (const { state, delivered } of this.#ordered.splice(0)) if (state === "done") delivered?.(false);
  }

  #makeRoom(): void {
    for (const resolve of this.#roomWanted.splice(0)) resolve();
  }
}

/** Length of a line in UTF-16 units, roughly. */
function lengthOf(line: Line): number {
  return "text" in line ? line.text.length : 0;
}
