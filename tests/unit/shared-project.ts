/** A machine `laptop` that shares the project /p, with what its own log still has of it, and what the shared one has. */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, Reply } from "../../daemon/core/tables/entries.ts";
import { type Logs, type LogView, ownView } from "../../daemon/engine/log-view.ts";
import { SharedNames } from "../../daemon/sharing/names.ts";
import { Local, Store } from "./nodes-world.ts";

export class SharedProject implements Logs {
  readonly local = new Local("a");
  readonly store = new Store();
  /** The commands that were proposed, as they were. */
  readonly proposed: Command[] = [];
  readonly epoch = 1;
  readonly voided: readonly number[] = [];
  readonly #own = ownView(this);
  readonly #shared: LogView;
  #rebuilt: State | null = null;

  constructor() {
    const { local, store } = this;
    store.join("a", "laptop");
    store.join("b", "desk");
    local.begin("alice", { name: "alice" });
    store.take("a", local);
    const desk = new Local("b");
    desk.begin("carol", { name: "carol" });
    store.take("b", desk);
    const names = new SharedNames({ node: "a", own: () => local.state, shared: () => store.state });
    const rebuilt = () => this.#rebuilt;
    this.#shared = {
      get state() {
        return rebuilt() ?? store.state;
      },
      get now() {
        return store.now;
      },
      project: project => names.project(project) ?? project,
      actor: one => names.actor(one) ?? one,
      outward: shown => names.outward(shown, "/p"),
    };
  }

  get state(): State {
    return this.local.state;
  }

  get now(): number {
    return this.local.now;
  }

  logOf(project: string | null): LogView {
    return project === "/p" ? this.#shared : this.#own;
  }

  get logs(): readonly LogView[] {
    return [this.#own, this.#shared];
  }

  /** What the shared log calls the session. */
  idOf(session: string): string {
    return this.local.idOf(session);
  }

  /** What the shared log calls carol, a session of another machine. */
  get carol(): string {
    return [...this.store.state.sessions.live.keys()].find(id => id.startsWith("carol")) ?? "";
  }

  /** Enters into the shared log, by the names that it has. */
  enter(command: Command, node = "a"): Reply {
    return this.store.as(node, command);
  }

  /** The shared log's state is another object from now on. */
  rebuildShared(): void {
    this.#rebuilt = { ...this.store.state };
  }

  async read(read: (state: State) => void): Promise<void> {
    read(this.state);
  }

  async upToDate(): Promise<void> {}

  async outputReleased(): Promise<void> {}

  submit(command: Command, caller: { answer(reply: Reply): void }): number {
    const reply = this.#route(command);
    queueMicrotask(() => caller.answer(reply));
    return this.proposed.length;
  }

  submitWithRetry(command: Command): void {
    this.#route(command);
  }

  async submitAndWait(command: Command): Promise<Reply> {
    return this.#route(command);
  }

  /** What proposes to one of the logs. */
  proposer(log: LogView) {
    const enter = (command: Command) => {
      this.proposed.push(command);
      return this.local.do(command);
    };
    if (log !== this.#own) return this;
    return {
      submitAndWait: async (one: Command) => enter(one),
      submitWithRetry: (one: Command) => void enter(one),
    };
  }

  /** What the daemon will do: a command of the project's inboxes goes to the shared log. */
  #route(command: Command): Reply {
    this.proposed.push(command);
    if (command.type !== "inbox_take" && command.type !== "inbox_told") return { ok: true };
    const who: Actor = this.#shared.actor(command.actor);
    return this.#shared.outward(this.enter({ ...command, actor: who }));
  }
}
