import { type Counts, World } from "./world.ts";

export interface Outcome {
  readonly seed: number;
  readonly host: "file" | "remote";
  readonly failure: string | null;
  /** The last lines before the failure; empty where all went well. */
  readonly transcript: readonly string[];
  readonly counts: Counts;
}

/** Runs one seed for so many steps. The same seed does the same, always. */
export async function runSeed(seed: number, steps: number, host: "file" | "remote"): Promise<Outcome> {
  const quiet = await attempt(seed, steps, host, false);
  // A failing seed is run once more, with every entry told.
  return quiet.failure === null ? quiet : attempt(seed, steps, host, true);
}

async function attempt(
  seed: number,
  steps: number,
  host: "file" | "remote",
  tell: boolean,
): Promise<Outcome> {
  const world = new World(seed, host, tell);
  const { random } = world;
  let failure: string | null = null;
  try {
    await world.start();
    for (let n = 0; n < steps; n += 1) {
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
  return { seed, host, failure, transcript: world.transcript.slice(-60), counts: world.counts };
}
