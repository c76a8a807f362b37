/**
 * What a unit of each kind of step costs among more and more of what there may be many of, against ten; and the longest
 * single step. Processor time of the core: what else runs here does not count. `GROWTH=words` in the environment takes
 * the scenarios alone whose name has these words.
 */
import { Crowd, type Meter, type Scenario, scenarios, stepMaxMs } from "./growth-steps.ts";
import { type Figure, figure, plain, type Tables, table } from "./report.ts";

const sizes = [10, 100, 1_000, 10_000] as const;
const rounds = 5;
/** Units of a round, however few one run has. */
const unitsPerRound = 1_000;
const ratioMax = 2;

class ProcessorTime implements Meter {
  us = 0;
  longestUs = 0;
  #begun = false;

  step<T>(work: () => T): T {
    if (!this.#begun) collectWhatIsYoung();
    this.#begun = true;
    const before = process.cpuUsage();
    const result = work();
    const { user, system } = process.cpuUsage(before);
    this.us += user + system;
    this.longestUs = Math.max(this.longestUs, user + system);
    return result;
  }
}

/**
 * What the preparations made is old in a daemon that runs for a while: the first steps do not pay for its way there.
 * Twice: an object is old when it outlived two collections.
 */
function collectWhatIsYoung(): void {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error("run it with --expose-gc, as npm run bench does");
  gc({ type: "minor" });
  gc({ type: "minor" });
}

interface Cost {
  readonly usPerUnit: number;
  /** Of the run whose longest step was the shortest: what disturbs a step once is not the step's. */
  readonly longestMs: number;
}

export async function* growth(): Tables {
  const only = process.env["GROWTH"] ?? "";
  const longest: { readonly what: string; readonly ms: number }[] = [];
  for (const kind of new Set(scenarios.map(one => one.kind))) {
    const figures: Figure[] = [];
    for (const one of scenarios.filter(
      other => other.kind === kind && `${kind}, ${other.what}`.includes(only),
    )) {
      const fitting = [...sizes.filter(size => size < one.most), ...(one.most < 10_000 ? [one.most] : [])];
      if (one.most >= 10_000 && !fitting.includes(10_000)) fitting.push(10_000);
      const costs = costsOf(one, fitting);
      const base = costs[0]?.usPerUnit ?? Number.NaN;
      const ratios = costs.map(cost => cost.usPerUnit / base);
      const last = fitting.at(-1) ?? 0;
      figures.push(plain(`${one.what}, at 10`, base, " us"));
      figures.push(
        figure(`  at most, up to ${last} (${ratios.map(r => r.toFixed(2)).join(" ")})`, Math.max(...ratios), {
          atMost: ratioMax,
        }),
      );
      longest.push({ what: `${kind}, ${one.what} (${last})`, ms: costs.at(-1)?.longestMs ?? Number.NaN });
    }
    yield table(
      `${kind}: processor time a unit, at ${sizes.join(", ")} or what the limits allow, against 10`,
      figures,
    );
  }
  longest.sort((a, b) => b.ms - a.ms);
  yield table(
    "the longest single steps, among as many as the limits allow",
    longest.slice(0, 10).map(({ what, ms }) => figure(what, ms, { atMost: stepMaxMs }, " ms")),
  );
}

/**
 * The sizes in turn, round by round: what disturbs a round disturbs all of them. The least of the rounds counts: what
 * disturbs one only adds to it.
 */
function costsOf(one: Scenario, fitting: readonly number[]): Cost[] {
  const samples = fitting.map(() => ({ us: [] as number[], longestMs: Number.POSITIVE_INFINITY }));
  for (let round = 0; round <= rounds; round += 1) {
    for (const [i, size] of fitting.entries()) {
      const { usPerUnit, longestMs } = runsOf(one, size);
      const sample = samples[i];
      // The first round is for the compilers.
      if (round === 0 || sample === undefined) continue;
      sample.us.push(usPerUnit);
      sample.longestMs = Math.min(sample.longestMs, longestMs);
    }
  }
  return samples.map(({ us, longestMs }) => ({ usPerUnit: Math.min(...us), longestMs }));
}

function runsOf(one: Scenario, size: number): Cost {
  const time = new ProcessorTime();
  let units = 0;
  while (units < unitsPerRound && (units === 0 || size < 1_000)) units += one.run(new Crowd(time), size);
  return { usPerUnit: time.us / units, longestMs: time.longestUs / 1_000 };
}
