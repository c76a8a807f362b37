/** Commands that simulated actors run under locks of their own, several at a time and inside each other. */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Hold } from "../../daemon/core/tables/base-state.ts";
import type { Random } from "./random.ts";

/** Some run inside others; `make/sub` is an agent's, which its main agent's `make` runs. */
const names = ["make", "make/cc", "make/cc/ld", "make/ld", "test", "test/run"] as const;
const ofAgent = ["make/sub", "lint"] as const;
const files = ["a", "b", "src/d", "src/", "src/deep/f"] as const;

/** What a command does next: it takes files, bound to its connection or not, or gives up what it has. */
type Next =
  | {
      readonly does: "lock";
      readonly files: readonly string[];
      readonly waitMs: number;
      readonly bound: boolean;
    }
  | { readonly does: "unlock"; readonly hold: Hold };

export class CommandLives {
  readonly #random: Random;
  readonly #isOn: boolean;

  /** `isOn`: else nobody runs any, and all happens as it would without them. */
  constructor(random: Random, isOn: boolean) {
    this.#random = random;
    this.#isOn = isOn;
  }

  next({ sessions, locks }: State): { readonly actor: Actor; readonly next: Next } | null {
    const random = this.#random;
    if (!this.#isOn || random.chance(0.5) || sessions.live.size === 0) return null;
    const held = [...locks.holds.values()].filter(({ actor }) => actor.command !== undefined);
    if (held.length > 0 && random.chance(0.35)) {
      const hold = random.pick(held);
      return { actor: hold.actor, next: { does: "unlock", hold } };
    }
    const session = random.pick([...sessions.live.values()]);
    const isAgent = random.chance(0.2);
    const actor = {
      session: session.id,
      agent: isAgent ? "child" : null,
      incarnation: random.pick(session.incarnations).ordinal,
      command: random.pick<string>(isAgent ? ofAgent : names),
    };
    const wanted = random.chance(0.7) ? [random.pick(files)] : [random.pick(files), random.pick(files)];
    const waitMs = random.pick([0, 1000, 30_000, 600_000]);
    return { actor, next: { does: "lock", files: [...new Set(wanted)], waitMs, bound: random.chance(0.6) } };
  }
}
