/** A line of the table: what was measured, the figure, what it should be, and whether it is. */
export interface Figure {
  readonly what: string;
  readonly value: string;
  readonly target?: string;
  readonly met?: boolean;
}

/** A figure that should be at most (or at least) `bound`. */
export function figure(
  what: string,
  value: number,
  target: { readonly atMost: number } | { readonly atLeast: number },
  unit = "",
): Figure {
  const met = "atMost" in target ? value <= target.atMost : value >= target.atLeast;
  const bound = "atMost" in target ? `at most ${target.atMost}` : `at least ${target.atLeast}`;
  return { what, value: shown(value) + unit, target: bound + unit, met };
}

/** A figure without a target. */
export function plain(what: string, value: number, unit = ""): Figure {
  return { what, value: shown(value) + unit };
}

export function print(title: string, figures: readonly Figure[]): void {
  const lines = figures.map(({ what, value, target, met }) => {
    const verdict = met === undefined ? "" : met ? "met" : "NOT MET";
    return `  ${what.padEnd(66)}${value.padStart(14)}  ${(target ?? "").padEnd(16)}${verdict}`.trimEnd();
  });
  process.stdout.write(`${[title, ...lines].join("\n")}\n\n`);
}

function shown(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en-US") : value.toFixed(2);
}
