/**
 * A client that does not check what its agents have read, and which writes of others each of them knows of: by what it wrote
 * itself, when it began and what it was told. Written without a look at how the daemon remembers that.
 */
import { claudeCode } from "../../../hooks/claude-code/adapter.ts";
import type { HookAdapter } from "../../../hooks/seam/plan.ts";
import type { SimulatedAgent, Use } from "./agents.ts";

/** The session of this client. */
const carelessSession = "cyd";

/** It has Claude Code's form, and replaces whole files without a look. */
export const careless: HookAdapter = {
  ...claudeCode,
  name: "careless",
  limits: { ...claudeCode.limits, refusesStaleWrites: false },
  plan: (event, context) => {
    const plan = claudeCode.plan(event, context);
    const actions = plan.actions.map(action =>
      action.do === "lock" ? { ...action, unchecked: { whole: action.overwrites } } : action,
    );
    return { ...plan, actions };
  },
};

export function isCareless({ session }: Pick<SimulatedAgent, "session">): boolean {
  return session === carelessSession;
}

/** How Kite says that another agent changed a file. */
const tellsOfChange = /did not run: the file changed|read it again/;

interface ToldWrite {
  readonly by: SimulatedAgent;
  readonly file: string;
  /** When its report was sent, and when the daemon had answered it: moments of this count. */
  readonly sentAt: number;
  readonly toldAt: number;
  /** The daemon's life that was told of it. */
  readonly life: number;
}

export class Unread {
  /** The latest write of each agent in each file. */
  readonly #writes = new Map<string, ToldWrite>();
  /** Until which moment each agent knows of the writes of a file, and of all files. */
  readonly #known = new Map<string, number>();
  readonly #knownAll = new Map<string, number>();
  #moment = 0;

  /** Returns a moment that is later than any before. */
  moment(): number {
    this.#moment += 1;
    return this.#moment;
  }

  /** The daemon of this life has answered the report of a write. */
  wrote({ by, file }: Use, sentAt: number, life: number): void {
    this.#writes.set(`${by.name}\n${file}`, { by, file, sentAt, toldAt: this.moment(), life });
  }

  /** The agent knows the file as it is now. */
  knows({ name }: SimulatedAgent, file: string): void {
    this.#known.set(`${name}\n${file}`, this.moment());
  }

  /** The agent has read an answer; what tells of a change tells of all files, as far as it is looked at here. */
  heard(agent: SimulatedAgent, output: string): void {
    if (tellsOfChange.test(output)) this.#knowsAll(agent);
  }

  /** Whatever was written before its session began, an agent reads as it is. */
  begins({ main, child }: Readonly<Record<"main" | "child", SimulatedAgent>>): void {
    for (const agent of [main, child]) this.#knowsAll(agent);
  }

  #knowsAll({ name }: SimulatedAgent): void {
    this.#knownAll.set(name, this.moment());
  }

  /** Returns who wrote the file, told the daemon of this life before the agent asked, and was not read since; null: nobody. */
  over({ by, file, askedAt }: Use, life: number): string | null {
    const known = Math.max(this.#known.get(`${by.name}\n${file}`) ?? 0, this.#knownAll.get(by.name) ?? 0);
    for (const write of this.#writes.values()) {
      const isOthers = write.file === file && write.by !== by && write.life === life;
      if (isOthers && write.sentAt > known && write.toldAt < askedAt) return write.by.name;
    }
    return null;
  }
}
