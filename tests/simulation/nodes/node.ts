/** A node of the simulation of two logs: its own log, what the disk and a backup have of it, and what it sent. */

import { relaysOf, sharedIdOf } from "../../../daemon/core/outbox/publish.ts";
import { readState, writeState } from "../../../daemon/core/snapshot.ts";
import type { Command, Reply } from "../../../daemon/core/tables/entries.ts";
import type { Session } from "../../../daemon/core/tables/sessions.ts";
import type { Random } from "../random.ts";
import { Log } from "./log.ts";

/** A proposal on its way into the shared log. */
export interface Sent {
  readonly node: string;
  readonly epoch: number;
  readonly command: Command;
}

export class Node {
  readonly id: string;
  readonly log = new Log();
  /** Its epochs in its own log and in the shared one; a start syncs both. */
  epochs = { own: 0, shared: 0 };
  /** In the order in which it sent them. */
  sent: Sent[] = [];
  #saved: string[] = [];
  #wallMs = 0;
  isBehind = false;
  #backup: readonly [state: string, epoch: number] = ["", 0];
  #n = 0;

  constructor(id: string) {
    this.id = id;
  }

  /** Time passes until the next start. `behindMs`: the clock is wrong by so much, until it is set at a later start. */
  start(ms = 0, behindMs = 0): void {
    this.epochs.own += 1;
    this.#wallMs = Math.max(this.#wallMs, this.log.now) + ms;
    this.log.now = this.#wallMs - behindMs;
    this.isBehind = behindMs > 0;
    this.do({ type: "daemon_started", epoch: this.epochs.own, storeId: this.id });
  }

  /** Enters it. */
  enter(command: Command): Reply | null {
    return this.log.enter({ origin: { node: "local", epoch: this.epochs.own, n: this.#n }, command });
  }

  /** The same, as a step after which the disk or a backup may have what there is. */
  do(command: Command): Reply | null {
    this.#n += 1;
    const reply = this.enter(command);
    if (this.#n % 30 === 0) this.#backup = [writeState(this.log.state), this.epochs.own];
    if (this.#n % 5 === 0) this.#saved = [...this.#saved.slice(-4), writeState(this.log.state)];
    return reply;
  }

  /** What the disk had a while ago is all that is left. */
  powerCut(random: Random): void {
    if (this.#saved.length > 0) this.log.state = readState(random.pick(this.#saved));
    this.#saved = [];
  }

  /** Power fails behind `work`, of which the disk has nothing. */
  loses(work: () => void): void {
    const before = writeState(this.log.state);
    work();
    this.log.state = readState(before);
    this.#saved = [];
  }

  /** A backup of the home is put back, in which no later start was counted. */
  restore(): void {
    const [text, own] = this.#backup;
    if (text === "") return;
    this.log.state = readState(text);
    this.epochs.own = own;
    this.#saved = [];
  }

  send(...commands: readonly Command[]): void {
    for (const command of commands) this.sent.push({ node: this.id, epoch: this.epochs.shared, command });
  }

  /** The rows of the outbox, which go ahead of everything that the node's sessions say. */
  get rows(): Command[] {
    return [...relaysOf(this.log.state.outbox)];
  }

  /** The sessions that the others have to know, by their shared ids. */
  get told(): Map<string, Session> {
    const { sessions, outbox } = this.log.state;
    const shared = [...sessions.live.values()].filter(({ project }) => outbox.projects.has(project));
    return new Map(
      shared.flatMap(session =>
        session.incarnations.map(
          ({ begun }) => [sharedIdOf(outbox, session.id, begun) ?? `${session.id} untold`, session] as const,
        ),
      ),
    );
  }
}
