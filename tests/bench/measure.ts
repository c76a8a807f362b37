/** Numbers from samples. */

/** The value below which a share `q` (0 to 1) of the samples lie. Throws on an empty list. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
  if (value === undefined) throw new Error("no samples");
  return value;
}

export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5);
}

/** Runs each of `subjects` in turn, `rounds` times over, and returns their samples by name. */
export async function interleaved<Name extends string>(
  rounds: number,
  subjects: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Map<string, number[]>> {
  const samples = new Map<string, number[]>();
  const names = Object.keys(subjects) as Name[];
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) {
      const sample = await subjects[name]();
      samples.set(name, [...(samples.get(name) ?? []), sample]);
    }
  }
  return samples;
}

/** For each round `a` divided by `b` of the same round: what disturbs a round disturbs both. */
export function ratio(a: readonly number[], b: readonly number[]): number[] {
  return a.map((value, i) => value / (b[i] ?? Number.NaN));
}
