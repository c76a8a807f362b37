import { HookWorld } from "./hooks/world.ts";
import type { HostName } from "./host.ts";
import { type Counts, type Looks, World } from "./world.ts";

export interface Outcome {
  readonly seed: number;
  readonly host: HostName;
  readonly failure: string | null;
  /** The last lines before the failure; empty where all went well. */
  readonly transcript: readonly string[];
  readonly counts: Counts;
  /** What Kite would have done, where it only observes. */
  readonly would: ReadonlySet<string>;
  /** Steps that were begun: fewer than asked for where one failed. */
  readonly steps: number;
}

/** Runs one seed for so many steps. The same seed does the same, always. `hooks`: the simulation of hooks. */
export async function runSeed(seed: number, steps: number, host: HostName, hooks = false): Promise<Outcome> {
  const quiet = await runOnce(seed, steps, host, { tell: false, audit: false, hooks });
  // A failing seed is run once more, with every entry told.
  return quiet.failure === null ? quiet : runOnce(seed, steps, host, { tell: true, audit: false, hooks });
}

/** The same once, whatever comes of it. */
export async function runOnce(
  seed: number,
  steps: number,
  host: HostName,
  looks: Looks = { tell: false, audit: false },
): Promise<Outcome> {
  const world = looks.hooks === true ? new HookWorld(seed, host, looks) : new World(seed, host, looks);
  const { random } = world;
  let failure: string | null = null;
  let begun = 0;
  try {
    await world.start();
    while (begun < steps) {
      begun += 1;
      await world.step();
      if (random.chance(0.003)) await world.crash();
      else if (random.chance(0.002)) world.strike();
      if (random.chance(0.002)) await world.settle();
    }
    await world.settle();
    await world.crash();
  } catch (error) {
    failure = error instanceof Error ? `${error.name}: ${error.message}\n${error.stack}` : String(error);
  }
  const transcript = world.transcript.slice(-60);
  const would = world instanceof HookWorld ? world.would : new Set<string>();
  return { seed, host, failure, transcript, counts: world.counts, would, steps: begun };
}
