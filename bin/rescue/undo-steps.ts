/** Which changes of a file are taken back. Pure. */
import type { VersionRow } from "../../protocol/schemas/rescue.ts";

/** Takes back what lies between two versions; `to` null: what the commit had on which `from` was based. */
export interface Step {
  readonly from: VersionRow;
  readonly to: VersionRow | null;
  /** What is taken back, the latest first. */
  readonly takes: readonly VersionRow[];
}

export type Choice =
  | { readonly is: "last" }
  | { readonly is: "to" | "one"; readonly version: string }
  | { readonly is: "before"; readonly name: string };

/** Whether the version is by the one that a person means: by name or id. */
export function isBy({ by }: Pick<VersionRow, "by">, name: string): boolean {
  return by !== null && (by.name === name || by.id === name || by.agent === name);
}

/**
 * Returns the steps, the latest change first, or a sentence that says why there are none. `rows` are the versions of a file,
 * the latest first; `uncommitted` says how many of them no commit contains.
 */
export function stepsOf(
  rows: readonly VersionRow[],
  uncommitted: number,
  choice: Choice,
): readonly Step[] | string {
  switch (choice.is) {
    case "last": {
      const at = rows.findIndex(({ kind }, i) => kind === "write" && i < uncommitted);
      return at === -1
        ? "Kite keeps no write of it since it was last as committed"
        : [step(rows, at, at + 1)];
    }
    case "to": {
      const at = rows.findIndex(({ version }) => version === choice.version);
      if (at === -1) return `Kite keeps no version ${choice.version} of it`;
      return [step(rows, 0, at)];
    }
    case "one": {
      const at = rows.findIndex(({ version }) => version === choice.version);
      return at === -1 ? `Kite keeps no version ${choice.version} of it` : [step(rows, at, at + 1)];
    }
    case "before": {
      const steps: Step[] = [];
      for (let at = 0; at < uncommitted; ) {
        let end = at;
        while (end < uncommitted && isTaken(rows[end], choice.name)) end += 1;
        if (end > at) steps.push(step(rows, at, end));
        at = end + 1;
      }
      return steps.length === 0
        ? `Kite keeps no write of ${choice.name} in it since it was last as committed`
        : steps;
    }
  }
}

function isTaken(row: VersionRow | undefined, name: string): boolean {
  return row !== undefined && isBy(row, name);
}

/** The step that takes back the versions from `start` on, before `end`. */
function step(rows: readonly VersionRow[], start: number, end: number): Step {
  const from = rows[start];
  if (from === undefined) throw new Error("a step without versions");
  return { from, to: rows[end] ?? null, takes: rows.slice(start, end) };
}
