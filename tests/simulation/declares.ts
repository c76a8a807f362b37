/** What simulated agents declare. The core's own invariants tell what is wrong; notices have an oracle in `notes.ts`. */
import type { CommandOf } from "../../daemon/core/commands.ts";
import { ancestorsOf } from "./families.ts";
import type { Random } from "./random.ts";

const files = ["a", "b", "src/d", "src/"] as const;
const questions = ["is it called twice?", "who owns it?"] as const;

export class DeclareLives {
  readonly #random: Random;

  /** `random` is of its own, so that all else happens as it would without declarations. */
  constructor(random: Random) {
    this.#random = random;
  }

  /** The next declaration, or null if nobody declares anything now. */
  next(sessions: readonly string[]): CommandOf<"declare"> | null {
    const random = this.#random;
    if (!random.chance(0.03)) return null;
    const agent = random.pick([null, null, "child", "mate"]);
    const evidence = random.pick(["", "a test"]);
    const uncertainty = { question: random.pick(questions), evidence, resolved: random.chance(0.5) };
    return {
      type: "declare",
      actor: { session: random.pick(sessions), agent, incarnation: 0 },
      ancestors: ancestorsOf(agent),
      anew: random.chance(0.1),
      role: random.pick(["lead", "tester"]),
      files: files.filter(() => random.chance(0.3)).map(file => this.#viewed(file)),
      uncertainties: random.chance(0.3) ? [uncertainty] : [],
      wallMs: 0,
    };
  }

  #viewed(file: string): CommandOf<"declare">["files"][number] {
    const path = `/p/${file}`.replace(/\/$/, "");
    const ref = { file, lexical: path, key: `local:${path}`, dir: file.endsWith("/") };
    return this.#random.chance(0.1) ? { ref, drop: true } : { ref, will: this.#random.pick(["add", "cut"]) };
  }
}
