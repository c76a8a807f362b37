import type { TestSpecification } from "vitest/node";
import { BaseSequencer } from "vitest/node";

/** Files that take longest, the longest first: begun last, one would run alone while the other processes idle. */
const longest: readonly string[] = [
  "tests/simulation/planted-rest.test.ts",
  "tests/end-to-end/doctor.test.ts",
  "tests/simulation/file.test.ts",
  "tests/simulation/memory.test.ts",
  "tests/end-to-end/crash.test.ts",
  "tests/end-to-end/guard-oracle-files.test.ts",
  "tests/end-to-end/prune.test.ts",
  "tests/end-to-end/tasks-crash.test.ts",
  "tests/end-to-end/hook-client-wake.test.ts",
  "tests/end-to-end/race.test.ts",
  "tests/end-to-end/merge-odd.test.ts",
  "tests/simulation/planted-locks.test.ts",
];

/** The long ones first; all others as always: by the time they took before, or by their size. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => rank(a) - rank(b));
  }
}

function rank({ moduleId }: TestSpecification): number {
  const at = longest.findIndex(path => moduleId.endsWith(`/${path}`));
  return at === -1 ? longest.length : at;
}
